// tcgen05 (sm_100a): tensor memory, and asynchronous products D = A B + D with D in it; A in shared or tensor memory, B
// in shared memory.
//
// A multiprocessor has 512 columns of tensor memory by 128 lanes of 32 bits. Warp w of a block reads and writes lanes
// 32 (w % 4) to 31 more, of any column. One thread asks for products and copies; nothing waits for them but the
// mbarrier of a commit.
//
//   tcgen05::allocate<1>(&address, 512);                        a warp; the address comes to shared memory
//   ...
//   for (...) tcgen05::multiply<1, Kind::f16>(d, a, b, product, accumulate);      one thread
//   tcgen05::commit<1>(full);                                   arrives there when all of them are done
//   ...
//   mbarrier::wait_parity(full, phase); tcgen05::fence_after_thread_sync();
//   tcgen05::load<Shape::lanes16_bytes32>(values, d);           a warp, its lanes
//   tcgen05::wait_load();
//
// `blocks` is 1, or 2 where a pair of blocks (ranks that differ in bit 0) multiplies together; the same in the whole
// kernel. Products of one thread are done in the order in which they were asked for.
#pragma once

#include "warpmill/ptx/tcgen05_descriptor.h"
#include "warpmill/types.cuh"

namespace wm {

// A cell of tensor memory: lane and column.
struct TensorAddress {
  u32 value;  // the lane in the upper half
  WM_DEVICE TensorAddress operator+(u32 columns) const { return {value + columns}; }
  WM_DEVICE TensorAddress lane(u32 lanes) const { return {value + (lanes << 16)}; }
};

}  // namespace wm

namespace wm::tcgen05 {

namespace detail {
template <int blocks>
__device__ constexpr bool check_blocks() {
  static_assert(blocks == 1 || blocks == 2, "tcgen05: one block, or two that multiply together");
  return true;
}
}  // namespace detail

// tcgen05.alloc: `columns` (a power of two, 32 to 512) of all lanes, once they are free; their address is written to
// `place`. A whole warp; of two blocks, one warp of each. No later allocation of the block is larger.
template <int blocks>
WM_DEVICE void allocate(SharedAddress place, u32 columns) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(place.value), "r"(columns)
                 : "memory");
  else
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(place.value), "r"(columns)
                 : "memory");
}

// tcgen05.dealloc: what was allocated at `address`, in the same size. A whole warp, after everybody's accesses.
template <int blocks>
WM_DEVICE void free(TensorAddress address, u32 columns) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address.value), "r"(columns) : "memory");
  else
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address.value), "r"(columns) : "memory");
}

// tcgen05.relinquish_alloc_permit: this block allocates no more. A whole warp.
template <int blocks>
WM_DEVICE void allocate_no_more() {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1)
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
  else
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}

// What one access of a warp moves: lanes by bytes of a row, repeated along the columns as often as the registers are
// enough for. Lane t of the warp, register r:
enum class Shape : u32 {
  lanes32,          // 32x32b: lane t, column r
  lanes16_bytes8,   // 16x64b: lane t/4 + 8 (t%2), column 2r + t/2%2
  lanes16_bytes16,  // 16x128b: lane t/4 + 8 (r%2), column 4 (r/2) + t%4
  lanes16_bytes32,  // 16x256b: lane t/4 + 8 (r/2%2), column 8 (r/4) + 2 (t%4) + r%2: as wgmma leaves its sums
  lanes16_twice,    // 16x32bx2: lane t%16, column r + t/16 `apart`
};

// The accesses themselves: tcgen05_access.cuh has those of each shape and number of registers.
template <Shape shape, int count>
struct Access {
  static_assert(never<Fact<shape == Shape::lanes32>>,
                "include warpmill/ptx/tcgen05_access.cuh; a tcgen05 access has a power of two of registers up to 128: "
                "at least 2 of lanes16_bytes16, 4 of lanes16_bytes32");
};

// tcgen05.ld: cells to registers, from this warp's lanes on. A whole warp, all lanes the same address; lanes16 shapes
// begin at the warp's lane 0 or 16. The registers may be used at once; wait_load() comes before somebody else may
// write the cells.
template <Shape shape, int count>
WM_DEVICE void load(u32 (&values)[count], TensorAddress from) {
  static_assert(shape != Shape::lanes16_twice, "lanes16_twice is told how far apart its halves lie");
  Access<shape, count>::load(values, from);
}
// tcgen05.ld.pack::16b: two columns' low halves in each register.
template <Shape shape, int count>
WM_DEVICE void load_packed(u32 (&values)[count], TensorAddress from) {
  static_assert(shape != Shape::lanes16_twice, "lanes16_twice is told how far apart its halves lie");
  Access<shape, count>::load_packed(values, from);
}
// tcgen05.ld.16x32bx2: lanes 16 to 31 of the warp read `apart` columns further on.
template <int apart, int count>
WM_DEVICE void load_twice(u32 (&values)[count], TensorAddress from) {
  Access<Shape::lanes16_twice, count>::template load<apart>(values, from);
}
template <int apart, int count>
WM_DEVICE void load_twice_packed(u32 (&values)[count], TensorAddress from) {
  Access<Shape::lanes16_twice, count>::template load_packed<apart>(values, from);
}

// tcgen05.st, and tcgen05.st.unpack::16b: registers to cells, in the same ways. wait_store() comes before somebody is
// told of them.
template <Shape shape, int count>
WM_DEVICE void store(TensorAddress to, const u32 (&values)[count]) {
  static_assert(shape != Shape::lanes16_twice, "lanes16_twice is told how far apart its halves lie");
  Access<shape, count>::store(to, values);
}
template <Shape shape, int count>
WM_DEVICE void store_unpacked(TensorAddress to, const u32 (&values)[count]) {
  static_assert(shape != Shape::lanes16_twice, "lanes16_twice is told how far apart its halves lie");
  Access<shape, count>::store_unpacked(to, values);
}
template <int apart, int count>
WM_DEVICE void store_twice(TensorAddress to, const u32 (&values)[count]) {
  Access<Shape::lanes16_twice, count>::template store<apart>(to, values);
}
template <int apart, int count>
WM_DEVICE void store_twice_unpacked(TensorAddress to, const u32 (&values)[count]) {
  Access<Shape::lanes16_twice, count>::template store_unpacked<apart>(to, values);
}

// tcgen05.wait::ld, tcgen05.wait::st: this thread's earlier loads (stores) are done. Whole warps.
WM_DEVICE void wait_load() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
WM_DEVICE void wait_store() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

// tcgen05.fence::before_thread_sync: this thread's earlier asynchronous tcgen05 operations, before the arrival or
// barrier that tells others. tcgen05.fence::after_thread_sync: the converse, after the wait.
WM_DEVICE void fence_before_thread_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
WM_DEVICE void fence_after_thread_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// tcgen05.commit: one arrival at `barrier` when all that this thread has asked for is done. Contains
// fence_before_thread_sync.
template <int blocks>
WM_DEVICE void commit(ClusterAddress barrier) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1)
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier.value)
                 : "memory");
  else
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier.value)
                 : "memory");
}
// The same with .multicast::cluster: at the same place in each block of `to` (bit = rank).
template <int blocks>
WM_DEVICE void commit_multicast(SharedAddress barrier, u16 to) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1)
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            barrier.value),
        "h"(to)
        : "memory");
  else
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            barrier.value),
        "h"(to)
        : "memory");
}

// What tcgen05.cp copies from shared memory (a K-major operand's descriptor) into columns: rows by bytes.
enum class Copied {
  rows128_bytes32,            // 128x256b
  rows128_bytes16,            // 128x128b
  rows64_bytes16_apart64,     // 64x128b.warpx2::02_13: row i to lanes i and i + 64
  rows64_bytes16_neighbours,  // 64x128b.warpx2::01_23: each 32 rows to the next 32 lanes as well
  rows32_bytes16_everywhere,  // 32x128b.warpx4: row i to lanes i, i + 32, i + 64, i + 96
};

// tcgen05.cp: one thread, asynchronous; products that it asks for afterwards see it. Of two blocks each is filled from
// its own shared memory.
template <int blocks, Copied copied>
WM_DEVICE void copy(TensorAddress to, u64 from) {
  static_assert(detail::check_blocks<blocks>());
#define WM_COPY(what)                                                                                 \
  if constexpr (blocks == 1)                                                                          \
    asm volatile("tcgen05.cp.cta_group::1." what " [%0], %1;" ::"r"(to.value), "l"(from) : "memory"); \
  else                                                                                                \
    asm volatile("tcgen05.cp.cta_group::2." what " [%0], %1;" ::"r"(to.value), "l"(from) : "memory")
  if constexpr (copied == Copied::rows128_bytes32) WM_COPY("128x256b");
  if constexpr (copied == Copied::rows128_bytes16) WM_COPY("128x128b");
  if constexpr (copied == Copied::rows64_bytes16_apart64) WM_COPY("64x128b.warpx2::02_13");
  if constexpr (copied == Copied::rows64_bytes16_neighbours) WM_COPY("64x128b.warpx2::01_23");
  if constexpr (copied == Copied::rows32_bytes16_everywhere) WM_COPY("32x128b.warpx4");
#undef WM_COPY
}

// Lanes of D that a product leaves alone: a bit for each, lane 0 the lowest of word 0.
template <int blocks>
struct DisabledLanes {
  u32 word[4 * blocks];
};

// Each kind for one block and for two; the instruction's text is a literal.
#define WM_EACH_KIND(statement)                                                \
  if constexpr (blocks == 1 && kind == Kind::f16) statement("1", "f16");       \
  if constexpr (blocks == 1 && kind == Kind::tf32) statement("1", "tf32");     \
  if constexpr (blocks == 1 && kind == Kind::f8f6f4) statement("1", "f8f6f4"); \
  if constexpr (blocks == 1 && kind == Kind::i8) statement("1", "i8");         \
  if constexpr (blocks == 2 && kind == Kind::f16) statement("2", "f16");       \
  if constexpr (blocks == 2 && kind == Kind::tf32) statement("2", "tf32");     \
  if constexpr (blocks == 2 && kind == Kind::f8f6f4) statement("2", "f8f6f4"); \
  if constexpr (blocks == 2 && kind == Kind::i8) statement("2", "i8")
#define WM_PRODUCT(blocks, kind) "{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::" blocks ".kind::" kind
#define WM_OPERANDS ::"r"(d.value), WM_A, "l"(b), "r"(product), "r"(u32(accumulate))

// tcgen05.mma: D (+)= A B, one thread. `a` and `b` are operands in shared memory (OperandLayout::at), `product` is
// Product::bits(). Without `accumulate` the old sums are ignored.
#define WM_A "l"(a)
template <int blocks, Kind kind>
WM_DEVICE void multiply(TensorAddress d, u64 a, u64 b, u32 product, bool accumulate) {
  static_assert(detail::check_blocks<blocks>());
#define WM_MULTIPLY(blocks, kind) asm volatile(WM_PRODUCT(blocks, kind) " [%0], %1, %2, %3, p;}" WM_OPERANDS : "memory")
  WM_EACH_KIND(WM_MULTIPLY);
#undef WM_MULTIPLY
}
// The same with lanes that stay as they are.
template <int blocks, Kind kind>
WM_DEVICE void multiply(TensorAddress d, u64 a, u64 b, u32 product, bool accumulate,
                        const DisabledLanes<blocks>& disabled) {
  const auto& lanes = disabled.word;
#define WM_MULTIPLY(blocks_text, kind)                                                                                \
  if constexpr (blocks == 1)                                                                                          \
    asm volatile(WM_PRODUCT(blocks_text, kind) " [%0], %1, %2, %3, {%5, %6, %7, %8}, p;}" WM_OPERANDS, "r"(lanes[0]), \
                 "r"(lanes[1]), "r"(lanes[2]), "r"(lanes[3])                                                          \
                 : "memory");                                                                                         \
  else                                                                                                                \
    asm volatile(                                                                                                     \
        WM_PRODUCT(blocks_text, kind) " [%0], %1, %2, %3, {%5, %6, %7, %8, %9, %10, %11, %12}, p;}" WM_OPERANDS,      \
        "r"(lanes[0]), "r"(lanes[1]), "r"(lanes[2]), "r"(lanes[3]), "r"(lanes[4 % (4 * blocks)]),                     \
        "r"(lanes[5 % (4 * blocks)]), "r"(lanes[6 % (4 * blocks)]), "r"(lanes[7 % (4 * blocks)])                      \
        : "memory")
  WM_EACH_KIND(WM_MULTIPLY);
#undef WM_MULTIPLY
}
// D = A B + D / 2^halvings, of 16-bit floats and tf32.
template <int blocks, Kind kind, int halvings>
WM_DEVICE void multiply_scaled(TensorAddress d, u64 a, u64 b, u32 product, bool accumulate) {
  static_assert(halvings >= 0 && halvings <= 15, "tcgen05: D is halved 0 to 15 times");
  static_assert(kind == Kind::f16 || kind == Kind::tf32, "tcgen05: only sums of f16, bf16 and tf32 are scaled");
#define WM_MULTIPLY(blocks, kind) \
  asm volatile(WM_PRODUCT(blocks, kind) " [%0], %1, %2, %3, p, %5;}" WM_OPERANDS, "n"(halvings) : "memory")
  WM_EACH_KIND(WM_MULTIPLY);
#undef WM_MULTIPLY
}
#undef WM_A

// The same products with A in tensor memory: K-major, packed, its rows where D's would lie.
#define WM_A "r"(a.value)
template <int blocks, Kind kind>
WM_DEVICE void multiply(TensorAddress d, TensorAddress a, u64 b, u32 product, bool accumulate) {
  static_assert(detail::check_blocks<blocks>());
#define WM_MULTIPLY(blocks, kind) \
  asm volatile(WM_PRODUCT(blocks, kind) " [%0], [%1], %2, %3, p;}" WM_OPERANDS : "memory")
  WM_EACH_KIND(WM_MULTIPLY);
#undef WM_MULTIPLY
}
#undef WM_A
#undef WM_OPERANDS
#undef WM_PRODUCT
#undef WM_EACH_KIND

// tcgen05.mma.block_scale: D (+)= (A times its scales) (B times its scales), one thread; `product` is
// ScaledProduct::bits(). The scales of row i are bytes of the cell in column i / 32, lane i % 32, of every 32 lanes.
#define WM_SCALED(text)                                                                                   \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::" text                        \
               ", %2, %3, [%5], [%6], p;}" ::"r"(d.value),                                                \
               WM_A, "l"(b), "r"(product), "r"(u32(accumulate)), "r"(a_scales.value), "r"(b_scales.value) \
               : "memory")
#define WM_EACH_SCALED(blocks_text)                                                                                  \
  if constexpr (kind == ScaledKind::mxf8f6f4)                                                                        \
    WM_SCALED(blocks_text ".kind::mxf8f6f4.block_scale.block32 [%0], " WM_A_TEXT);                                   \
  if constexpr (kind == ScaledKind::mxf4) WM_SCALED(blocks_text ".kind::mxf4.block_scale.block32 [%0], " WM_A_TEXT); \
  if constexpr (kind == ScaledKind::mxf4nvf4_by_32)                                                                  \
    WM_SCALED(blocks_text ".kind::mxf4nvf4.block_scale.block32 [%0], " WM_A_TEXT);                                   \
  if constexpr (kind == ScaledKind::mxf4nvf4_by_16)                                                                  \
  WM_SCALED(blocks_text ".kind::mxf4nvf4.block_scale.block16 [%0], " WM_A_TEXT)
#define WM_A "l"(a)
#define WM_A_TEXT "%1"
template <int blocks, ScaledKind kind>
WM_DEVICE void multiply_block_scaled(TensorAddress d, u64 a, u64 b, u32 product, TensorAddress a_scales,
                                     TensorAddress b_scales, bool accumulate) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1) {
    WM_EACH_SCALED("1");
  } else {
    WM_EACH_SCALED("2");
  }
}
#undef WM_A
#undef WM_A_TEXT
// The same with A in tensor memory.
#define WM_A "r"(a.value)
#define WM_A_TEXT "[%1]"
template <int blocks, ScaledKind kind>
WM_DEVICE void multiply_block_scaled(TensorAddress d, TensorAddress a, u64 b, u32 product, TensorAddress a_scales,
                                     TensorAddress b_scales, bool accumulate) {
  static_assert(detail::check_blocks<blocks>());
  if constexpr (blocks == 1) {
    WM_EACH_SCALED("1");
  } else {
    WM_EACH_SCALED("2");
  }
}
#undef WM_A
#undef WM_A_TEXT
#undef WM_EACH_SCALED
#undef WM_SCALED

}  // namespace wm::tcgen05
