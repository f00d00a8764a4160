// Block primitives of CUB: loads, scans, reductions, radix sort, histogram, exchange.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int threads = 128, items = 4;

extern "C" __global__ void __launch_bounds__(threads) block_scan(const int* in, int* out, int* totals) {
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Scan = cub::BlockScan<int, threads, cub::BLOCK_SCAN_WARP_SCANS>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    Load::TempStorage load;
    Scan::TempStorage scan;
    Store::TempStorage store;
  } shared;
  int values[items], total;
  Load(shared.load).Load(in + blockIdx.x * threads * items, values);
  __syncthreads();
  Scan(shared.scan).ExclusiveSum(values, values, total);
  __syncthreads();
  Store(shared.store).Store(out + blockIdx.x * threads * items, values);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(threads) block_sort(const unsigned* in, unsigned* keys, int* places) {
  using Sort = cub::BlockRadixSort<unsigned, threads, items, int, 4>;
  __shared__ Sort::TempStorage shared;
  unsigned key[items];
  int place[items];
  for (int i = 0; i < items; ++i) {
    place[i] = threadIdx.x * items + i;
    key[i] = in[place[i]];
  }
  Sort(shared).Sort(key, place);
  for (int i = 0; i < items; ++i) {
    keys[threadIdx.x * items + i] = key[i];
    places[threadIdx.x * items + i] = place[i];
  }
}

struct Extremes {
  float low, high;
  int where;
};
struct Wider {
  __device__ Extremes operator()(const Extremes& a, const Extremes& b) const {
    return {fminf(a.low, b.low), fmaxf(a.high, b.high), a.high >= b.high ? a.where : b.where};
  }
};

extern "C" __global__ void __launch_bounds__(threads) block_reduce(const float* in, Extremes* out, int valid) {
  using Reduce = cub::BlockReduce<Extremes, threads, cub::BLOCK_REDUCE_RAKING>;
  __shared__ Reduce::TempStorage shared;
  const float value = in[threadIdx.x];
  const Extremes result = Reduce(shared).Reduce({value, value, int(threadIdx.x)}, Wider(), valid);
  if (threadIdx.x == 0) *out = result;
}

extern "C" __global__ void __launch_bounds__(threads) block_histogram(const unsigned char* in, unsigned* bins) {
  using Histogram = cub::BlockHistogram<unsigned char, threads, items, 64, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ Histogram::TempStorage shared;
  __shared__ unsigned counts[64];
  unsigned char values[items];
  for (int i = 0; i < items; ++i) values[i] = in[threadIdx.x * items + i];
  Histogram(shared).Histogram(values, counts);
  __syncthreads();
  if (threadIdx.x < 64) bins[threadIdx.x] = counts[threadIdx.x];
}

struct Larger {
  __device__ bool operator()(int a, int b) const { return a > b; }
};

extern "C" __global__ void warp_primitives(const int* in, int* sorted, long long* sums) {
  using Sort = cub::WarpMergeSort<int, 2>;
  using Scan = cub::WarpScan<long long>;
  __shared__ Sort::TempStorage sort[2];
  __shared__ Scan::TempStorage scan[2];
  const int warp = threadIdx.x / 32;
  int values[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]};
  long long sum;
  Scan(scan[warp]).InclusiveSum((long long)values[0] << 20, sum);
  Sort(sort[warp]).Sort(values, Larger());
  sorted[threadIdx.x * 2] = values[0];
  sorted[threadIdx.x * 2 + 1] = values[1];
  sums[threadIdx.x] = sum;
}
