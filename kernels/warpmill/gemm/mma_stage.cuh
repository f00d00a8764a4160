// The products of one stage with mma.sync: each warp takes its rows and all columns out of shared memory with ldmatrix.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/ptx/mma.cuh"
#include "warpmill/tile/mma_operand.cuh"

namespace wm {

// sums += a b, for 16 rows, 8 columns and 32 bytes of k.
template <class A, class B, class T>
WM_DEVICE void multiply_add(T (&sums)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (same<A, tf32>)
    mma::m16n8k8<A>(sums, a, b, sums);
  else if constexpr (sizeof(A) == 2)
    mma::m16n8k16<A>(sums, a, b, sums);
  else
    mma::m16n8k32<A, B>(sums, a, b, sums);
}

// The words of one product, as the tensor cores take them: f32 rounded to tf32, the low bits of which they ignore. The
// copy engine has rounded already.
template <class Element, bool by_tma, u32 count>
WM_DEVICE void round_words(u32 (&words)[count]) {
  if constexpr (same<Element, tf32> && !by_tma)
#pragma unroll
    for (u32& word : words) word = round_to<tf32>(__uint_as_float(word)).bits;
}

// The products of one stage, by each warp for its rows: four steps along k.
template <GemmPlan plan>
WM_DEVICE void multiply_stage(GemmSums<plan>& sums, u32 index, u32 first_row, GemmShared<plan>& shared) {
  constexpr int slabs = GemmSums<plan>::slabs;
  first_row += warp_of_warpgroup() * 16;
#pragma unroll
  for (u32 step = 0; step < 4; ++step) {
    u32 a[slabs][4];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab) {
      load_a(a[slab], shared.a[index], first_row + slab * 64, step);
      round_words<Element<plan.kind.a>, plan.kind.by_tma()>(a[slab]);
    }
#pragma unroll
    for (int column = 0; column < plan.tile.n; column += 16) {
      u32 b[2][2];
      load_b(b, shared.b[index], column, step);
      for (auto& words : b) round_words<Element<plan.kind.b>, plan.kind.by_tma()>(words);
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          auto& four = sums.slab[slab].value[column / 2 + half * 4];  // of this thread, in eight columns
          multiply_add<Element<plan.kind.a>, Element<plan.kind.b>>(reinterpret_cast<Sum<plan>(&)[4]>(four), a[slab],
                                                                   b[half]);
        }
    }
  }
}

}  // namespace wm
