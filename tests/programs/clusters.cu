// Clusters: sizes fixed in the kernel and chosen at the launch, shared memory of the neighbours, dependent launches.
#include <cooperative_groups.h>

#include "report.cuh"

namespace groups = cooperative_groups;

// Every block reads its right neighbour's shared memory.
__device__ void pass_around(int* out) {
  __shared__ int mine[32];
  groups::cluster_group cluster = groups::this_cluster();
  const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
  mine[threadIdx.x] = static_cast<int>(blockIdx.x * 100 + threadIdx.x);
  cluster.sync();
  const int* theirs = cluster.map_shared_rank(mine, (rank + 1) % size);
  out[blockIdx.x * 32 + threadIdx.x] = theirs[threadIdx.x];
  cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) fixed(int* out) { pass_around(out); }
__global__ void chosen(int* out) { pass_around(out); }

// All blocks add into the first block's shared counters.
__global__ void histogram(const int* values, int count, int* out) {
  extern __shared__ int bins[];
  groups::cluster_group cluster = groups::this_cluster();
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  cluster.sync();
  int* const first = cluster.map_shared_rank(bins, 0);
  for (unsigned i = cluster.thread_rank(); i < static_cast<unsigned>(count); i += cluster.num_threads())
    atomicAdd(first + values[i] % 8, 1);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void places(unsigned* out) {
  groups::cluster_group cluster = groups::this_cluster();
  if (blockIdx.x == 3 && blockIdx.y == 1 && threadIdx.x == 0) {
    const dim3 index = cluster.block_index(), dims = cluster.dim_blocks();
    out[0] = index.x, out[1] = index.y, out[2] = cluster.block_rank();
    out[3] = dims.x, out[4] = dims.y, out[5] = cluster.num_threads();
  }
}

__global__ void before(int* values) {
  cudaTriggerProgrammaticLaunchCompletion();
  values[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
}

__global__ void behind(const int* values, int* out) {
  cudaGridDependencySynchronize();
  out[threadIdx.x] = 10 * values[threadIdx.x];
}

cudaLaunchConfig_t config(dim3 grid, dim3 block, std::vector<cudaLaunchAttribute>& attributes) {
  cudaLaunchConfig_t made = {};
  made.gridDim = grid;
  made.blockDim = block;
  made.attrs = attributes.data();
  made.numAttrs = static_cast<unsigned>(attributes.size());
  return made;
}

cudaLaunchAttribute cluster_of(unsigned x, unsigned y = 1, unsigned z = 1) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {x, y, z};
  return attribute;
}

int main() {
  int supported = 0;
  good(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0));
  std::printf("cluster launches: %d\n", supported);
  int* out;
  good(cudaMalloc(&out, 32 * 16 * sizeof(int)));

  fixed<<<4, 32>>>(out);
  say_device("fixed, block 0", out, 3);
  say_device("fixed, block 3", out + 96, 3);
  cudaFuncAttributes facts;
  good(cudaFuncGetAttributes(&facts, fixed));
  std::printf("fixed: %d %d %d, must be set: %d\n", facts.requiredClusterWidth, facts.requiredClusterHeight,
              facts.requiredClusterDepth, facts.clusterDimMustBeSet);

  for (const unsigned size : {1u, 4u, 8u}) {
    std::vector<cudaLaunchAttribute> attributes = {cluster_of(size)};
    cudaLaunchConfig_t launch = config(8, 32, attributes);
    int most = 0;
    good(cudaOccupancyMaxActiveClusters(&most, chosen, &launch));
    std::printf("clusters of %u fit: %d\n", size, most > 0);
    say("launch", cudaLaunchKernelEx(&launch, chosen, out));
    say_device("chosen, block 7", out + 7 * 32, 2);
  }

  std::vector<cudaLaunchAttribute> sixteen = {cluster_of(16)};
  cudaLaunchConfig_t launch = config(16, 32, sixteen);
  say("16 without being allowed", cudaLaunchKernelEx(&launch, chosen, out));
  say("last error", cudaGetLastError());
  int largest = 0;
  std::vector<cudaLaunchAttribute> none;
  const cudaLaunchConfig_t open = config(16, 32, none);
  good(cudaOccupancyMaxPotentialClusterSize(&largest, chosen, &open));
  std::printf("largest portable: %d\n", largest);
  good(cudaFuncSetAttribute(chosen, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  good(cudaOccupancyMaxPotentialClusterSize(&largest, chosen, &open));
  std::printf("largest of all: %d\n", largest);
  say("16 when allowed", cudaLaunchKernelEx(&launch, chosen, out));
  say_device("chosen, block 15", out + 15 * 32, 2);

  constexpr int count = 1000;
  int* values;
  std::vector<int> host(count);
  for (int i = 0; i != count; ++i) host[i] = i * i;
  good(cudaMalloc(&values, count * sizeof(int)));
  good(cudaMemcpy(values, host.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  std::vector<cudaLaunchAttribute> four = {cluster_of(4)};
  launch = config(4, 64, four);
  launch.dynamicSmemBytes = 8 * sizeof(int);
  good(cudaLaunchKernelEx(&launch, histogram, static_cast<const int*>(values), count, out));
  say_device("histogram of squares", out, 8);

  std::vector<cudaLaunchAttribute> flat = {cluster_of(2, 2)};
  launch = config(dim3(4, 2), 32, flat);
  good(cudaLaunchKernelEx(&launch, places, reinterpret_cast<unsigned*>(out)));
  say_device("place of block (3, 1)", out, 6);

  // The second kernel may start before the first is done; it waits before it reads.
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  std::vector<cudaLaunchAttribute> dependent(2);
  dependent[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent[0].val.programmaticStreamSerializationAllowed = 1;
  dependent[1].id = cudaLaunchAttributePriority;
  dependent[1].val.priority = 0;
  launch = config(1, 4, dependent);
  launch.stream = stream;
  before<<<1, 4, 0, stream>>>(values);
  say("dependent launch", cudaLaunchKernelEx(&launch, behind, static_cast<const int*>(values), out));
  say_device("dependent", out, 4);

  good(cudaStreamDestroy(stream));
  good(cudaFree(values));
  good(cudaFree(out));
}
