// From a multiply group's sums to D: what the plan's EpilogueFacts ask for, rounding, and the way out.
#pragma once

#include "warpmill/gemm/arguments.h"
#include "warpmill/gemm/plan.h"
#include "warpmill/tile/fragment.cuh"
#include "warpmill/tile/shared_tile.cuh"
#include "warpmill/tile/strip_writer.cuh"

namespace wm {

// What the tensor cores leave, and what D's elements are rounded from: floats, unless D is made of integers.
template <GemmPlan plan>
using Sum = Select<plan.kind.integer(), i32, f32>;
template <GemmPlan plan>
using Finished = Select<plan.kind.d == DType::i32, i32, f32>;

// What the kernel of a plan gets.
template <GemmPlan plan>
using ArgumentsOf = Select<plan.kind.listed, ListedGemmArguments,
                           Select<plan.scales_by_map(), ClusterScaledGemmArguments, GemmArguments>>;

// Where a fragment's corner lies in D.
struct Corner {
  u32 m, n, matrix;  // the matrix's number in the batch
};

// max.NaN.f32: a NaN stays.
WM_DEVICE f32 larger_or_nan(f32 a, f32 b) {
  f32 larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

template <class T>
WM_DEVICE const T* elements_at(u64 address) {
  return reinterpret_cast<const T*>(address);
}

// The values that sums become: scales, residual, biases, the activation. `corner` is where the first of them lies in D;
// `amax` collects magnitudes.
template <GemmPlan plan, class Function, int columns, int warp_rows>
WM_DEVICE Fragment<columns, Finished<plan>, warp_rows> finish(const Fragment<columns, Sum<plan>, warp_rows>& sums,
                                                              const ArgumentsOf<plan>& args, Corner corner, f32& amax) {
  constexpr EpilogueFacts facts = plan.kind.epilogue;
  using Out = Fragment<columns, Finished<plan>, warp_rows>;
  Out out;
  if constexpr (plan.kind.d == DType::i32) {
#pragma unroll
    for (int i = 0; i < Out::count; ++i) out.value[i] = sums.value[i];
  } else {
    using Bias = Element<facts.bias>;
    using C = Element<facts.c>;
    f32 row_factor[2], row_term[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 m = corner.m + Out::row(half * 2);
      row_factor[half] = facts.alpha ? args.alpha : 1.f;
      row_term[half] = 0.f;
      if (m < args.m) {
        if constexpr (facts.row_scale) row_factor[half] *= elements_at<f32>(args.row_scale)[m * args.row_scale_stride];
        if constexpr (facts.row_bias) row_term[half] = to_float(elements_at<Bias>(args.row_bias)[m]);
      }
    }
    const f32 d_scale = facts.d_scale ? *elements_at<f32>(args.d_scale) : 1.f;
#pragma unroll
    for (int column = 0; column < Out::count; column += 4) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const u32 n = corner.n + Out::column(column + side);
        f32 column_factor = 1.f, column_term = 0.f;
        if (n < args.n) {
          if constexpr (facts.column_scale)
            column_factor = elements_at<f32>(args.column_scale)[n * args.column_scale_stride];
          if constexpr (facts.column_bias) column_term = to_float(elements_at<Bias>(args.column_bias)[n]);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = column + half * 2 + side;
          const u32 m = corner.m + Out::row(i);
          const bool inside = m < args.m && n < args.n;
          f32 x = f32(sums.value[i]);
          if constexpr (facts.alpha || facts.row_scale) x *= row_factor[half];
          if constexpr (facts.column_scale) x *= column_factor;
          if constexpr (facts.residual)
            if (inside)
              x += args.beta *
                   to_float(elements_at<C>(args.c_at.base)[args.c_matrix(corner.matrix) * args.c_at.matrix_stride +
                                                           m * args.c_at.row_stride + n * args.c_at.column_stride]);
          if constexpr (facts.row_bias) x += row_term[half];
          if constexpr (facts.column_bias) x += column_term;
          x = Function::of(x);
          if constexpr (facts.amax) amax = inside ? larger_or_nan(amax, fabsf(x)) : amax;
          if constexpr (facts.d_scale) x *= d_scale;
          out.value[i] = x;
        }
      }
    }
  }
  return out;
}

// One value for all blocks: magnitudes are not negative, so their bits compare like numbers, and NaN above all.
WM_DEVICE void collect_amax(f32 amax, u64 address) {
  const u32 most = __reduce_max_sync(0xffffffffu, __float_as_uint(amax));
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<u32*>(address), most);
}

// A multiply group's sums of 64 rows in registers, as a writer takes them: `row_parts` parts of 64 rows, which begin
// `part_rows` rows below each other, and the strips that are this group's.
template <GemmPlan plan>
struct SumsInRegisters {
  static constexpr int row_parts = 1, part_rows = 0, unrolled = 16;  // loops over strips and parts
  static constexpr u32 first_strip = 0, strip_step = 1;
  const Fragment<plan.written_columns(), Sum<plan>>& sums;
  template <int columns>
  WM_DEVICE Fragment<columns, Sum<plan>> strip(int, int first) const {
    return sums.template slice<columns>(first);
  }
};

// A part of a tile on its way out: rows of D, or where its columns are contiguous, columns; those of the tile's next 64
// rows follow.
template <GemmPlan plan>
using Strip = SharedTile<Element<plan.kind.d>,
                         plan.kind.d_columns ? plan.strip_columns() * (plan.strip_rows() / 64) : plan.strip_rows(),
                         GemmPlan::row_bytes / plan.d_bytes()>;

// A multiply group's way out: strips in shared memory that the copy engine stores while the next are made, or where
// there is none, the group's threads, 16 bytes at a time.
template <GemmPlan plan, class Function>
class StripsToD {
 public:
  using Strips =
      StripWriter<Strip<plan>, plan.out_buffers(), plan.facts().copy_engine ? StripStore::engine : StripStore::threads>;
  using Shared = typename Strips::Shared;
  WM_DEVICE StripsToD(Shared& strips, u32 barrier) : strips_(strips, {barrier}) {}

  // From registers, each strip by code of its own; from tensor memory, all by the same.
  template <class Sums>
  WM_DEVICE void write(const Sums& sums, const ArgumentsOf<plan>& args, Corner corner, f32& amax) {
    constexpr int columns = plan.strip_columns(), last = plan.strips() - 1;
#pragma unroll Sums::unrolled
    for (int i = sums.first_strip; i < last; i += sums.strip_step)
      write_strip<columns>(sums, i * columns, args.d, args, corner, amax);
    if (last % sums.strip_step == sums.first_strip)
      write_strip<plan.last_strip_columns()>(sums, last * columns, args.d_last, args, corner, amax);
  }
  WM_DEVICE void end() const { strips_.end(); }

 private:
  template <int columns, class Sums>
  WM_DEVICE void write_strip(const Sums& sums, int first, const TensorMap& map, const ArgumentsOf<plan>& args,
                             Corner corner, f32& amax) {
    corner.n += first;
    if (corner.m >= args.m || corner.n >= args.n) return;
    auto& strip = strips_.begin();
#pragma unroll Sums::unrolled
    for (int part = 0; part < Sums::row_parts; ++part) {
      const u32 first_row = part * Sums::part_rows;
      const auto values = finish<plan, Function>(sums.template strip<columns>(part, first), args,
                                                 {corner.m + first_row, corner.n, corner.matrix}, amax);
      if constexpr (plan.kind.d_columns)
        store_columns(strip, values, first_row);
      else
        store_rows(strip, values, first_row);
    }
    strips_.filled();
    if constexpr (plan.facts().copy_engine) {
      const i32 m = corner.m, n = corner.n, matrix = args.d_matrix(corner.matrix);
      if constexpr (plan.kind.d_columns && plan.strip_rows() == 128)
        strips_.send(strip, map, {{m, n, matrix}, {m + 64, n, matrix}});
      else if constexpr (plan.kind.d_columns)
        strips_.send(strip, map, {m, n, matrix});
      else
        strips_.send(strip, map, {n, m, matrix});
    } else {
      copy<columns>(strip, args, corner);
    }
  }
  // Chunks of 16 bytes, those of a line side by side. D's lines are whole chunks (GemmKind::d_scattered).
  template <int columns>
  WM_DEVICE void copy(Strip<plan>& strip, const ArgumentsOf<plan>& args, Corner corner) {
    using Out = Element<plan.kind.d>;
    constexpr bool by_columns = plan.kind.d_columns;
    constexpr u32 lines = by_columns ? columns : 64, chunk_elements = 16 / sizeof(Out);
    constexpr u32 chunks = (by_columns ? 64 : columns) / chunk_elements;  // a line
    Out* const d = reinterpret_cast<Out*>(args.d_at.base) + args.d_matrix(corner.matrix) * args.d_at.matrix_stride;
#pragma unroll
    for (u32 first = 0; first < lines * chunks; first += warpgroup_threads) {
      const u32 i = first + thread_of_warpgroup(), line = i / chunks, chunk = i % chunks;
      const u32 m = corner.m + (by_columns ? chunk * chunk_elements : line);
      const u32 n = corner.n + (by_columns ? line : chunk * chunk_elements);
      if (line < lines && m < args.m && n < args.n)
        *reinterpret_cast<Quad<u32>*>(d + m * args.d_at.row_stride + n * args.d_at.column_stride) =
            *reinterpret_cast<const Quad<u32>*>(strip.data + strip.offset(line, chunk));
    }
  }

  Strips strips_;
};

// Straight from the registers, each element by itself.
template <GemmPlan plan, class Values>
WM_DEVICE void store_elements(const Values& values, const ArgumentsOf<plan>& args, Corner corner) {
  using Out = Element<plan.kind.d>;
  Out* const d = reinterpret_cast<Out*>(args.d_at.base) + args.d_matrix(corner.matrix) * args.d_at.matrix_stride;
#pragma unroll
  for (int i = 0; i < values.count; ++i) {
    const u32 m = corner.m + values.row(i), n = corner.n + values.column(i);
    if (m < args.m && n < args.n)
      d[m * args.d_at.row_stride + n * args.d_at.column_stride] = round_to<Out>(values.value[i]);
  }
}

// The same for whole tiles: for a D that the copy engine cannot address, or whose rows end inside 16 bytes, which it
// would overwrite.
struct NoStrips {};
template <GemmPlan plan, class Function>
class ElementsToD {
 public:
  using Shared = NoStrips;
  WM_DEVICE ElementsToD(Shared&, u32) {}
  template <class Sums>
  WM_DEVICE void write(const Sums& sums, const ArgumentsOf<plan>& args, Corner corner, f32& amax) {
    constexpr int columns = plan.written_columns() < 16 ? 8 : 16;  // at a time
    corner.n += sums.first_strip * columns;
#pragma unroll Sums::unrolled
    for (int first = sums.first_strip * columns; first < plan.written_columns(); first += sums.strip_step * columns) {
#pragma unroll Sums::unrolled
      for (int part = 0; part < Sums::row_parts; ++part) {
        const Corner here{corner.m + part * Sums::part_rows, corner.n, corner.matrix};
        store_elements<plan>(finish<plan, Function>(sums.template strip<columns>(part, first), args, here, amax), args,
                             here);
      }
      corner.n += sums.strip_step * columns;
      asm volatile("" ::: "memory");  // the next loads come after these stores: fewer registers
    }
  }
  WM_DEVICE void end() const {}
};

template <GemmPlan plan, class Function>
using Writer = Select<plan.kind.store_by_threads(), ElementsToD<plan, Function>, StripsToD<plan, Function>>;

}  // namespace wm
