// PTX written by hand for the runtime's tests, and a way to look at refusals.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "warpmill/error.hpp"

namespace wm::test {

// add(out, in, n, value): out[i] = in[i] + value for i < n.
inline constexpr std::string_view add_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 .ptr .global .align 4 out, .param .u64 in, .param .u32 n, .param .s32 value) {
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p, %r4, %r5;
  @%p bra DONE;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [in];
  ld.param.u32 %r6, [value];
  mul.wide.u32 %d3, %r4, 4;
  add.u64 %d4, %d2, %d3;
  ld.global.u32 %r7, [%d4];
  add.u32 %r7, %r7, %r6;
  add.u64 %d5, %d1, %d3;
  st.global.u32 [%d5], %r7;
DONE:
  ret;
}
)";

// Kernels that do nothing, each with something a launch must respect.
inline constexpr std::string_view signatures_ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry typed(.param .u64 .ptr .align 1 pointer, .param .f32 single, .param .f64 twice,
                      .param .align 8 .b8 block[24], .param .b32 untyped, .param .u8 small)
{ ret; }
.visible .entry nothing() { ret; }
.visible .entry at_most_64() .maxntid 64, 1, 1 { ret; }
.visible .entry exactly_32() .reqntid 32, 1, 1 { ret; }
.visible .entry in_pairs() .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry with_shared() {
  .shared .align 16 .b8 tile[4096];
  .reg .b32 %r;
  mov.u32 %r, 7;
  st.shared.u32 [tile], %r;
  ret;
}
)";

// store(address): writes 1 there, 4 bytes wide.
inline constexpr std::string_view store_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 address) {
  .reg .b32 %r;
  .reg .b64 %d;
  ld.param.u64 %d, [address];
  mov.u32 %r, 1;
  st.global.u32 [%d], %r;
  ret;
}
.visible .entry stop() { trap; ret; }
)";

// ranks(out): out[block] = rank of the block in its cluster + 100 * the cluster's size.
inline constexpr std::string_view cluster_ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 out) {
  .reg .b32 %r<6>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, %cluster_nctarank;
  mad.lo.u32 %r4, %r3, 100, %r2;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  st.global.u32 [%d2], %r4;
  ret;
}
)";

// The error that `action` throws; fails the test where there is none.
struct Refusal {
  ErrorCode code = ErrorCode::internal;
  std::string text = "nothing was refused";
  bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
};
inline Refusal refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

}  // namespace wm::test

// Checks that something is refused with this code and with this text in its message.
#define EXPECT_REFUSED(action, expected_code, part)                        \
  do {                                                                     \
    const auto refusal = wm::test::refusal_of([&] { action; });            \
    EXPECT_EQ(refusal.code, wm::ErrorCode::expected_code) << refusal.text; \
    EXPECT_TRUE(refusal.says(part)) << refusal.text;                       \
  } while (false)
