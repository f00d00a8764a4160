// Tensor memory with types (sm_100a): the columns that a block owns, sums that live there, and products that make them.
//
//   #include "warpmill/ptx/tcgen05_access.cuh"                the loads
//   TensorMemory<512, 1>::allocate(shared.address);     one warp
//   ... a barrier ...
//   const TensorMemory<512, 1> memory(shared.address);  everybody
//   const TensorSums<128, 256> sums = memory.sums<128, 256>(0);
//   multiply<1>(sums, a, b, accumulate);                      one thread: queued, not awaited
//   ... a commit, its barrier ...
//   const auto fragment = sums.load<64>(0, first);            a warpgroup
#pragma once

#include "warpmill/ptx/tcgen05.cuh"
#include "warpmill/tile/fragment.cuh"
#include "warpmill/tile/operand_tile.cuh"

namespace wm {

// What a thread of a warpgroup has of 128 rows in tensor memory where warps load 32 lanes: columns of one row.
template <int columns_>
struct TensorRow {
  static constexpr int columns = columns_, count = columns;
  f32 value[count];

  // Where value[i] lies; with the words of a Fragment, which has two rows.
  static WM_DEVICE u32 row(int) { return thread_of_warpgroup(); }
  static WM_DEVICE u32 column(int i) { return i; }
  static constexpr int offset(int i) { return i; }
  static constexpr int halves = 1;
  static constexpr int half(int) { return 0; }
  static WM_DEVICE u32 row_of_half(int) { return thread_of_warpgroup(); }
};

namespace detail {
// The lanes of this warp of a warpgroup.
WM_DEVICE TensorAddress own_lanes(TensorAddress address) { return address.lane(thread_of_warpgroup() / 32 * 32); }
}  // namespace detail

// The sums of a product: `rows` (64 or 128) of one block by `columns`, a cell each. Of 128, row i lies in lane i; of
// 64, rows 16w to 16w + 15 lie in the first lanes of warp w's. Each warp of a warpgroup so has 16 rows, or twice 16.
template <int rows_, int columns_, class T_ = f32>
struct TensorSums {
  using T = T_;
  static constexpr int rows = rows_, columns = columns_;
  static_assert(rows == 64 || rows == 128, "a block has 64 or 128 rows of a product");
  static constexpr int row_parts = rows / 64, part_rows = 16, warp_rows = rows / 4;
  TensorAddress address;  // of the first column

  // `count` columns from `first` on, of rows 32w + 16 part to 15 more in warp w (of 64 rows: 16w). All warps of a
  // warpgroup; what they have loaded is there.
  template <int count>
  WM_DEVICE Fragment<count, T, warp_rows> load(int part, int first) const {
    static_assert(count % 8 == 0, "tensor memory is loaded by eight columns");
    Fragment<count, T, warp_rows> fragment;
    load_from<0>(fragment, address.lane(thread_of_warpgroup() / 32 * 32 + part * part_rows) + first);
    tcgen05::wait_load();
    return fragment;
  }
  // `count` columns of the thread's row, from `first` on. All warps of a warpgroup. tcgen05::wait_load() comes before
  // somebody writes them, tcgen05::wait_store() before somebody is told of them.
  template <int count>
  WM_DEVICE TensorRow<count> load_row(int first) const {
    static_assert(rows == 128 && same<T, f32> && count % 16 == 0, "128 rows of f32, by 16 columns");
    constexpr int piece = count % 32 == 0 ? 32 : 16;
    TensorRow<count> row;
#pragma unroll
    for (int at = 0; at < count; at += piece) {
      u32 cells[piece];
      tcgen05::load<tcgen05::Shape::lanes32>(cells, detail::own_lanes(address) + (first + at));
#pragma unroll
      for (int i = 0; i < piece; ++i) row.value[at + i] = __uint_as_float(cells[i]);
    }
    return row;
  }
  template <int count>
  WM_DEVICE void store_row(int first, const TensorRow<count>& row) const {
    static_assert(rows == 128 && same<T, f32>, "128 rows of f32");
    u32 cells[count];
#pragma unroll
    for (int i = 0; i < count; ++i) cells[i] = __float_as_uint(row.value[i]);
    tcgen05::store<tcgen05::Shape::lanes32>(detail::own_lanes(address) + first, cells);
  }

 private:
  // The largest power of two of columns, then the rest.
  template <int done, int count>
  static WM_DEVICE void load_from(Fragment<count, T, warp_rows>& fragment, TensorAddress from) {
    if constexpr (done < count) {
      constexpr int rest = count - done;
      constexpr int piece = rest >= 128 ? 128 : rest >= 64 ? 64 : rest >= 32 ? 32 : rest >= 16 ? 16 : 8;
      u32 cells[piece / 2];
      tcgen05::load<tcgen05::Shape::lanes16_bytes32>(cells, from + done);
      load_from<done + piece>(fragment, from);
#pragma unroll
      for (int i = 0; i < piece / 2; ++i) fragment.value[done / 2 + i] = __builtin_bit_cast(T, cells[i]);
    }
  }
};

// The A operand of a product in tensor memory: 128 rows by `k`, K-major, packed: two 16-bit elements in a cell, or four
// of 8 bits. A step is a product of 32 bytes along k.
template <class Element_, int k_>
struct TensorOperand {
  using Element = Element_;
  static_assert(sizeof(Element) <= 2, "elements of 16 bits, or 8");
  static constexpr int extent = 128, k = k_, step_elements = 32 / sizeof(Element), step_columns = 8;
  static constexpr int cell_elements = 4 / sizeof(Element);
  TensorAddress address;

  // Cells of the thread's row from the one of element `first` on. All warps of a warpgroup; tcgen05::wait_store() comes
  // before somebody is told of them.
  template <int count>
  WM_DEVICE void store_row(int first, const u32 (&cells)[count]) const {
    tcgen05::store<tcgen05::Shape::lanes32>(detail::own_lanes(address) + first / cell_elements, cells);
  }
};

// The columns of a block, or of each of two blocks that multiply together.
template <int columns, int blocks>
class TensorMemory {
 public:
  static_assert(columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0,
                "tensor memory is allocated in powers of two of columns, 32 to 512");
  // One warp (of each block, the same one). The address comes to `place`, in shared memory, for everybody after a
  // barrier.
  static WM_DEVICE void allocate(u32& place) {
    tcgen05::allocate<blocks>(&place, columns);
    tcgen05::allocate_no_more<blocks>();
    tcgen05::fence_before_thread_sync();
  }
  // After the barrier.
  WM_DEVICE explicit TensorMemory(const u32& place) {
    tcgen05::fence_after_thread_sync();
    address_ = {place};
  }
  // The warp that allocated, after a barrier that follows everybody's last access.
  WM_DEVICE void free() const {
    tcgen05::fence_after_thread_sync();
    tcgen05::free<blocks>(address_, columns);
  }
  WM_DEVICE TensorAddress column(u32 number) const { return address_ + number; }
  // From column `first` on.
  template <int rows, int sum_columns, class T = f32>
  WM_DEVICE TensorSums<rows, sum_columns, T> sums(u32 first) const {
    static_assert(sum_columns <= columns, "the sums of a product have a column each");
    return {address_ + first};
  }

 private:
  TensorAddress address_;
};

namespace detail {
template <class Tile>
WM_DEVICE u64 first_operand(Tile& tile) {
  constexpr tcgen05::OperandLayout layout =
      Tile::major == Major::k ? tcgen05::k_major_layout() : tcgen05::mn_major_layout(Tile::k);
  return layout.at(SharedAddress(&tile).value);
}

// Where the products of one step along k begin in a tile.
template <class Tile>
WM_DEVICE u32 step_offset(u32 step) {
  constexpr u32 bytes = tcgen05::k_step_bytes(Tile::major, sizeof(typename Tile::Element));
  if constexpr (Tile::major == Major::k)
    return step / Tile::steps_per_width * sizeof(Tile::width[0]) + step % Tile::steps_per_width * bytes;
  else
    return step * bytes;
}
}  // namespace detail

// sums (+)= A B: all rows of `a`, all columns of `b` (of two blocks, the rows and columns of both), all of k. One
// thread; queued, not awaited: a commit says when they are done. Without `accumulate` the old sums are ignored.
template <int blocks, int rows, int columns, class T, class ATile, class BTile>
WM_DEVICE void multiply(const TensorSums<rows, columns, T>& sums, ATile& a, BTile& b, bool accumulate) {
  using AElement = typename ATile::Element;
  using BElement = typename BTile::Element;
  static_assert(ATile::k == BTile::k && ATile::extent == rows && BTile::extent * blocks == columns,
                "A has the sums' rows, B (of both blocks) their columns, and both the same k");
  constexpr tcgen05::Product product{.a = dtype_of<AElement>,
                                     .b = dtype_of<BElement>,
                                     .sums = dtype_of<T>,
                                     .a_major = ATile::major,
                                     .b_major = BTile::major,
                                     .m = rows * blocks,
                                     .n = columns};
  static_assert(product.problem(blocks) == nullptr,
                "the tensor cores have no such product: Product::problem() says why");
  const u64 first_a = detail::first_operand(a), first_b = detail::first_operand(b);
#pragma unroll
  for (u32 step = 0; step < ATile::steps; ++step)
    tcgen05::multiply<blocks, tcgen05::kind_of(dtype_of<AElement>)>(
        sums.address, first_a + (detail::step_offset<ATile>(step) >> 4),
        first_b + (detail::step_offset<BTile>(step) >> 4), product.bits(), accumulate || step > 0);
}

// The same with A in tensor memory, for elements `begin` up to but not including `end` along k.
template <int blocks, int begin, int end, int columns, class T, class Element, int k, class BTile>
WM_DEVICE void multiply_part(const TensorSums<128, columns, T>& sums, const TensorOperand<Element, k>& a, BTile& b,
                             bool accumulate) {
  using A = TensorOperand<Element, k>;
  static_assert(BTile::k == k && BTile::extent * blocks == columns,
                "B (of both blocks) has the sums' columns, and A's k");
  constexpr int each = A::step_elements;
  static_assert(begin % each == 0 && end % each == 0 && begin < end && end <= k,
                "a part is a whole number of products");
  constexpr tcgen05::Product product{.a = dtype_of<Element>,
                                     .b = dtype_of<typename BTile::Element>,
                                     .sums = dtype_of<T>,
                                     .b_major = BTile::major,
                                     .m = 128 * blocks,
                                     .n = columns};
  static_assert(product.problem(blocks) == nullptr,
                "the tensor cores have no such product: Product::problem() says why");
  const u64 first_b = detail::first_operand(b);
#pragma unroll
  for (u32 step = begin / each; step < end / each; ++step)
    tcgen05::multiply<blocks, tcgen05::kind_of(dtype_of<Element>)>(sums.address, a.address + step * A::step_columns,
                                                                   first_b + (detail::step_offset<BTile>(step) >> 4),
                                                                   product.bits(), accumulate || step * each > begin);
}

// An arrival at `barrier`, of two blocks at each one's, when all products that this thread has asked for are done.
template <int blocks>
WM_DEVICE void commit_products(SharedAddress barrier) {
  if constexpr (blocks == 1)
    tcgen05::commit<1>(barrier);
  else
    tcgen05::commit_multicast<2>(barrier, u16(3));
}

}  // namespace wm
