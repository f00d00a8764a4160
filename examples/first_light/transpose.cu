// A matrix of codes, decoded and transposed through shared memory. Tiles at the right and the bottom are cut off, and
// each lane looks for its code as long as it takes.

constexpr int tile = 32, rows_per_pass = 8;  // a block of 32 x 8 threads moves a tile in four passes

__device__ unsigned decode(unsigned code, const unsigned* codes, int count) {
  for (int i = 0; i < count; ++i)
    if (codes[i] == code) return i;
  return count;
}

extern "C" __global__ void transpose(unsigned* y, const unsigned* x, const unsigned* codes, int count, int rows,
                                     int columns) {
  __shared__ unsigned staged[tile][tile + 1];  // the extra column keeps a column's elements in different banks
  const int row = blockIdx.y * tile, column = blockIdx.x * tile;

  for (int r = threadIdx.y; r < tile; r += rows_per_pass)
    if (row + r < rows && column + threadIdx.x < columns)
      staged[r][threadIdx.x] = decode(x[(row + r) * columns + column + threadIdx.x], codes, count);
  __syncthreads();
  for (int c = threadIdx.y; c < tile; c += rows_per_pass)
    if (column + c < columns && row + threadIdx.x < rows)
      y[(column + c) * rows + row + threadIdx.x] = staged[threadIdx.x][c];
}
