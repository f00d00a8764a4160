// PTX text, one entry a copy instruction.
#include "tensor_map/movement_kernels.hpp"

#include <fmt/format.h>

namespace wm::test {
namespace {

// Shared memory is filled from `out`, and handed to the async proxy.
constexpr std::string_view head = R"(
.visible .entry {name}(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 bytes, .param .u32 tile,
    .param .u32 words, .param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4,
    .param .u32 o0, .param .u32 o1, .param .u32 o2)
{{
  .reg .pred %p<4>;
  .reg .b16 %h<3>;
  .reg .b32 %r<32>;
  .reg .b64 %d<8>;
  mov.b64 %d0, map;
  cvta.param.u64 %d1, %d0;
  ld.param.u64 %d2, [out];
  cvta.to.global.u64 %d2, %d2;
  ld.param.u32 %r0, [bytes];
  ld.param.u32 %r1, [tile];
  ld.param.u32 %r2, [words];
  ld.param.u32 %r3, [c0];
  ld.param.u32 %r4, [c1];
  ld.param.u32 %r5, [c2];
  ld.param.u32 %r6, [c3];
  ld.param.u32 %r7, [c4];
  ld.param.u32 %r8, [o0];
  ld.param.u32 %r9, [o1];
  ld.param.u32 %r10, [o2];
  cvt.u16.u32 %h0, %r8;
  cvt.u16.u32 %h1, %r9;
  cvt.u16.u32 %h2, %r10;
  mov.u32 %r11, memory;
  add.u32 %r11, %r11, 1023;
  and.b32 %r11, %r11, 0xfffffc00;   // base
  add.u32 %r12, %r11, %r1;          // tile
  mov.u32 %r13, 0;
  mov.u64 %d3, %d2;
  mov.u32 %r14, %r11;
fill:
  ld.global.u32 %r15, [%d3];
  st.shared.u32 [%r14], %r15;
  add.u64 %d3, %d3, 4;
  add.u32 %r14, %r14, 4;
  add.u32 %r13, %r13, 1;
  setp.lt.u32 %p0, %r13, %r2;
  @%p0 bra fill;
  mov.u32 %r16, barrier;
  mbarrier.init.shared::cta.b64 [%r16], 1;
  fence.proxy.async;
)";

// The wait gives up after a while, so that a wrong byte count shows itself instead of hanging.
constexpr std::string_view load_body = R"(
  mbarrier.arrive.expect_tx.shared::cta.b64 %d4, [%r16], %r0;
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes
      [%r12], [%d1, {{{coordinates}}}], [%r16]{offsets};
  mov.u32 %r17, 0;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r16], 0;
  @%p1 bra done;
  add.u32 %r17, %r17, 1;
  setp.lt.u32 %p2, %r17, 2000;
  @%p2 bra wait;
done:
  selp.u32 %r18, 1, 0, %p1;
  mov.u32 %r13, 0;
  mov.u64 %d3, %d2;
  mov.u32 %r14, %r11;
drain:
  ld.shared.u32 %r15, [%r14];
  st.global.u32 [%d3], %r15;
  add.u64 %d3, %d3, 4;
  add.u32 %r14, %r14, 4;
  add.u32 %r13, %r13, 1;
  setp.lt.u32 %p0, %r13, %r2;
  @%p0 bra drain;
  st.global.u32 [%d3], %r18;
  ret;
}}
)";

constexpr std::string_view store_body = R"(
  {instruction}.{rank}d.global.shared::cta.{operation}{mode}.bulk_group [%d1, {{{coordinates}}}], [%r12];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}}
)";

std::string registers(std::string_view letter, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, first + i);
  return text;
}

std::string load_entry(int rank, bool im2col) {
  using fmt::arg;
  return fmt::format(fmt::runtime(std::string(head) + std::string(load_body)),
                     arg("name", fmt::format("load_{}_{}", im2col ? "im2col" : "tile", rank)), arg("rank", rank),
                     arg("mode", im2col ? "im2col" : "tile"), arg("coordinates", registers("r", 3, rank)),
                     arg("offsets", im2col ? fmt::format(", {{{}}}", registers("h", 0, rank - 2)) : std::string()));
}

// An empty operation: a plain store.
std::string store_entry(int rank, bool im2col, std::string_view operation) {
  using fmt::arg;
  const std::string_view mode = im2col ? "im2col_no_offs" : "tile";
  return fmt::format(
      fmt::runtime(std::string(head) + std::string(store_body)),
      arg("name", fmt::format("{}_{}_{}", operation.empty() ? "store" : fmt::format("reduce_{}", operation),
                              im2col ? "im2col" : "tile", rank)),
      arg("instruction", operation.empty() ? "cp.async.bulk.tensor" : "cp.reduce.async.bulk.tensor"), arg("rank", rank),
      arg("mode", mode), arg("coordinates", registers("r", 3, rank)),
      arg("operation", operation.empty() ? std::string() : fmt::format("{}.", operation)));
}

}  // namespace

std::string movement_ptx() {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".shared .align 8 .b64 barrier;\n.extern .shared .align 16 .b8 memory[];\n";
  for (const bool im2col : {false, true})
    for (int rank = im2col ? 3 : 1; rank <= 5; ++rank) {
      text += load_entry(rank, im2col);
      for (const std::string_view operation : {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"})
        text += store_entry(rank, im2col, operation);
    }
  return text;
}

}  // namespace wm::test
