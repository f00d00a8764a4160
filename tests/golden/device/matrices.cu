// ldmatrix and stmatrix: rows at addresses the host chose.
#include "warpmill/ptx/ldmatrix.cuh"
#include "warpmill/ptx/stmatrix.cuh"

using namespace wm;

constexpr int bytes = 4096;

// Lane l loads from byte offset rows[l].
template <int count, bool transposed>
__global__ void load(const Quad<u32>* image, const u32* rows, u32* out) {
  __shared__ Quad<u32> memory[bytes / 16];
  for (u32 i = threadIdx.x; i < bytes / 16; i += 32) memory[i] = image[i];
  __syncwarp();
  const SharedAddress row = SharedAddress(memory) + rows[threadIdx.x];
  u32 words[count];
  if constexpr (transposed)
    ldmatrix::load_transposed(words, row);
  else
    ldmatrix::load(words, row);
  for (int i = 0; i < count; ++i) out[i * 32 + threadIdx.x] = words[i];
}

// Lane l stores to byte offset rows[l]; `out` is the whole memory afterwards.
template <int count, bool transposed>
__global__ void store(const u32* fragments, const u32* rows, Quad<u32>* out) {
  __shared__ Quad<u32> memory[bytes / 16];
  for (u32 i = threadIdx.x; i < bytes / 16; i += 32) memory[i] = {0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5};
  __syncwarp();
  const SharedAddress row = SharedAddress(memory) + rows[threadIdx.x];
  u32 words[count];
  for (int i = 0; i < count; ++i) words[i] = fragments[i * 32 + threadIdx.x];
  if constexpr (transposed)
    stmatrix::store_transposed(row, words);
  else
    stmatrix::store(row, words);
  __syncwarp();
  for (u32 i = threadIdx.x; i < bytes / 16; i += 32) out[i] = memory[i];
}
