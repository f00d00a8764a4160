// What the judge's kernels share: the instruction layer, and barriers made ready in the usual way.
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/ldmatrix.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/registers.cuh"
#include "warpmill/ptx/tensor_map.cuh"
#include "warpmill/ptx/tma.cuh"
#include "warpmill/types.cuh"

using namespace wm;

template <class... Rest>
WM_DEVICE void initialise(u64& barrier, u32 arrivals, Rest&... rest) {
  mbarrier::init(&barrier, arrivals);
  if constexpr (sizeof...(rest) > 0) initialise(rest...);
}

// Barriers of this block, each with its arrivals, ready for every thread and for copies.
template <class... Barriers>
WM_DEVICE void prepare(Barriers&&... barriers_and_arrivals) {
  if (threadIdx.x == 0) {
    initialise(barriers_and_arrivals...);
    fence::mbarrier_init();
  }
  __syncthreads();
}
