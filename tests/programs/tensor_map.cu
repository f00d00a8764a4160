// Tensor maps: made by the driver's function, found through the runtime; a kernel loads a box and stores it elsewhere.
#include <utility>

#include <cuda.h>

#include "report.cuh"

constexpr unsigned columns = 40, rows = 20, box_columns = 16, box_rows = 8;

struct Job {
  CUtensorMap from, to;
  int column, row;
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// One box at (column, row), whatever is outside the tensor being zero; its negative goes to the other tensor's corner.
__global__ void move_box(const __grid_constant__ Job job, float* sum) {
  __shared__ alignas(128) float box[box_rows * box_columns];
  __shared__ alignas(8) unsigned long long arrived;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&arrived)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&arrived)),
                 "r"(static_cast<unsigned>(sizeof(box)))
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared_address(box)),
        "l"(&job.from), "r"(job.column), "r"(job.row), "r"(shared_address(&arrived))
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(&arrived))
                 : "memory");
  float& own = box[threadIdx.x];
  atomicAdd(sum, own);
  own = -own;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&job.to),
                 "r"(0), "r"(0), "r"(shared_address(box))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

int main() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  good(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  std::printf("found: %d\n", status == cudaDriverEntryPointSuccess && found != nullptr);
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  say("a name that is none",
      cudaGetDriverEntryPointByVersion("cuNoSuchThing", &found, 12000, cudaEnableDefault, &status));
  std::printf("not found: %d %d\n", status == cudaDriverEntryPointSymbolNotFound, found == nullptr);

  std::vector<float> host(columns * rows);
  for (std::size_t i = 0; i != host.size(); ++i) host[i] = static_cast<float>(i);
  float *from, *to, *sum;
  const std::size_t bytes = host.size() * sizeof(float);
  good(cudaMalloc(&from, bytes));
  good(cudaMalloc(&to, bytes));
  good(cudaMalloc(&sum, sizeof(float)));
  good(cudaMemcpy(from, host.data(), bytes, cudaMemcpyHostToDevice));

  Job job = {};
  const cuuint64_t sizes[] = {columns, rows}, strides[] = {columns * sizeof(float)};
  const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
  const auto make = [&](CUtensorMap& map, void* address, const cuuint64_t* stride) {
    return static_cast<int>(encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, address, sizes, stride, box, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  };
  std::printf("maps: %d %d\n", make(job.from, from, strides), make(job.to, to, strides));
  for (const auto& [column, row] : {std::pair(0, 0), std::pair(4, 3), std::pair(32, 16), std::pair(-4, -2)}) {
    job.column = column;
    job.row = row;
    good(cudaMemset(to, 0, bytes));
    good(cudaMemset(sum, 0, sizeof(float)));
    move_box<<<1, box_columns * box_rows>>>(job, sum);
    std::printf("box at (%d, %d)\n", column, row);
    say_device("sum", sum, 1);
    say_device("row 0", to + 2, 6);
    say_device("row 3", to + 3 * columns + 2, 6);
  }
  const cuuint64_t odd[] = {columns * sizeof(float) + 4};
  std::printf("odd stride: %d\n", make(job.from, from, odd));
  std::printf("odd address: %d\n", make(job.from, reinterpret_cast<char*>(from) + 4, strides));
  for (float* memory : {from, to, sum}) good(cudaFree(memory));
}
