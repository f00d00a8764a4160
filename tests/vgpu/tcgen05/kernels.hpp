// Kernels around tcgen05 instructions, as text: one block or a pair, 128 threads each.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {

inline std::string replaced(std::string text, std::string_view name, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

// {%r100, %r101, ...}
inline std::string registers(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}%r{}", i == 0 ? "" : ", ", first + i);
  return list + "}";
}

// Allocates all columns, runs `body`, writes every cell to `out` ([block][lane][column]) and gives them back. Before
// it, `image_bytes` at in + rank * image_bytes are in shared memory at %image, a multiple of 1024. %thread, %rank,
// %base (of the columns) and %bar (an mbarrier of one arrival) are ready; `body` runs in all threads.
inline std::string tensor_kernel(std::string_view body, int blocks, int image_bytes, int columns = 512) {
  std::string text = R"(.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 image[];
.visible .entry test(.param .u64 test_out, .param .u64 test_in)
{
  .reg .pred %p<8>, %first;
  .reg .b32 %r<400>;
  .reg .b64 %rd<40>;
  .reg .b16 %h<4>;
  .reg .b32 %thread, %rank, %base, %bar, %image, %warp;
  .reg .b64 %out, %in;
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b32 slot;
  ld.param.u64 %out, [test_out];
  ld.param.u64 %in, [test_in];
  mov.u32 %thread, %tid.x;
  shr.u32 %warp, %thread, 5;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %image, image;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %thread, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mul.lo.u32 %r0, %rank, IMAGE;
  cvt.u64.u32 %rd0, %r0;
  add.u64 %rd0, %in, %rd0;
  mov.u32 %r1, %thread;
fill:
  setp.ge.u32 %p1, %r1, WORDS;
  @%p1 bra filled;
  mad.wide.u32 %rd1, %r1, 4, %rd0;
  ld.global.u32 %r2, [%rd1];
  mad.lo.u32 %r3, %r1, 4, %image;
  st.shared.u32 [%r3], %r2;
  add.u32 %r1, %r1, 128;
  bra fill;
filled:
  fence.proxy.async.shared::cta;
  mov.u32 %r4, slot;
  setp.eq.u32 %p2, %warp, 0;
  @%p2 tcgen05.alloc.cta_group::GROUP.sync.aligned.shared::cta.b32 [%r4], COLUMNS;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.fence::after_thread_sync;
  ld.shared.u32 %base, [%r4];
BODY
)";
  text = replaced(text, "BODY", body);
  for (int column = 0; column < columns; column += 8) {
    text += fmt::format("  add.u32 %r4, %base, {};\n  tcgen05.ld.sync.aligned.32x32b.x8.b32 {}, [%r4];\n", column,
                        registers(8, 8));
    text += fmt::format("  mad.lo.u32 %r5, %rank, 128, %thread;\n  mad.wide.u32 %rd1, %r5, 2048, %out;\n");
    for (int i = 0; i < 8; ++i) text += fmt::format("  st.global.u32 [%rd1+{}], %r{};\n", (column + i) * 4, 8 + i);
  }
  text += R"(
  tcgen05.wait::ld.sync.aligned;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p2 tcgen05.relinquish_alloc_permit.cta_group::GROUP.sync.aligned;
  @%p2 tcgen05.dealloc.cta_group::GROUP.sync.aligned.b32 %base, COLUMNS;
  ret;
}
)";
  text = replaced(text, "GROUP", std::to_string(blocks));
  text = replaced(text, "COLUMNS", std::to_string(columns));
  text = replaced(text, "IMAGE", std::to_string(image_bytes));
  return replaced(text, "WORDS", std::to_string(image_bytes / 4));
}

// All threads wait for the first phase of %bar, and may then look at tensor memory.
inline constexpr std::string_view wait_for_commit = R"(
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;
  @!%p3 bra wait;
  tcgen05.fence::after_thread_sync;
)";

// Every cell that is not written holds this.
inline constexpr std::uint32_t fresh = ~0u;

}  // namespace wm::vgpu::testing
