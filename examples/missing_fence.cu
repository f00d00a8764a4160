__device__ int4 out;
__global__ void publish() {
  __shared__ int4 tile;
  tile = make_int4(1, 2, 3, 4);
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(&tile));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(&out), "r"(from) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
int main() { return publish<<<1, 1>>>(), cudaDeviceSynchronize(); }
