__global__ void publish(int* out) {
  __shared__ alignas(16) int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group 0;" ::"l"(out),
        "r"(unsigned(__cvta_generic_to_shared(tile)))
        : "memory");
}
int main() {
  int* out;
  cudaMalloc(&out, 256);
  publish<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
