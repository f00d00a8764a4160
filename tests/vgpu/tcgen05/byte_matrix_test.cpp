// ldmatrix and stmatrix of 8-, 6- and 4-bit elements, byte by byte as the sheet and CuTe have them; what is refused.
#include <random>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"
#include "vgpu/tcgen05/cute.hpp"

namespace wm::vgpu::testing {
namespace {

using std::uint32_t;

struct Form {
  const char* shape;
  uint32_t matrices;
  uint32_t bits = 8;  // of an element in memory; those of fewer than 8 lie together and get a byte each

  bool stores() const { return std::string(shape) == "m16n8"; }
  bool turned() const { return std::string(shape) != "m8n16"; }
  uint32_t registers() const { return std::string(shape) == "m16n16" ? 2 * matrices : matrices; }
  uint32_t row_words() const { return bits / 2; }  // that hold elements, of sixteen
  std::string instruction() const {
    std::string list = "{%r4";
    for (uint32_t i = 1; i < registers(); ++i) list += fmt::format(", %r{}", 4 + i);
    const char* const type = bits == 8 ? "b8" : bits == 6 ? "b8x16.b6x16_p32" : "b8x16.b4x16_p64";
    const std::string words =
        fmt::format("sync.aligned.{}.x{}{}.shared.{}", shape, matrices, turned() ? ".trans" : "", type);
    return stores() ? fmt::format("stmatrix.{} [%r2], {}}};", words, list)
                    : fmt::format("ldmatrix.{} {}}}, [%r2];", words, list);
  }
};

// One warp. Each lane has 16 bytes at `in` and gives them at `out`: a row of memory on one side of the instruction,
// its registers on the other. Rows do not lie one behind the other, and what no element has is not even written.
std::string kernel_of(const Form& form, const char* target) {
  std::string text = fmt::format(R"(.version 8.8
.target {}
.address_size 64
.visible .entry test(.param .u64 test_out, .param .u64 test_in)
{{
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  .shared .align 16 .b8 rows[512];
  ld.param.u64 %rd0, [test_out];
  ld.param.u64 %rd1, [test_in];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %rd0, %r0, 16, %rd0;
  mad.wide.u32 %rd1, %r0, 16, %rd1;
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd1];
  mov.u32 %r2, rows;
  sub.u32 %r1, 31, %r0;
  mad.lo.u32 %r2, %r1, 16, %r2;
)",
                                 target);
  const auto each_word = [&](uint32_t count, const char* line) {
    for (uint32_t i = 0; i < count; ++i) text += fmt::format(fmt::runtime(line), 4 * i, 4 + i);
  };
  if (form.stores()) {
    text += form.instruction() + "\n  bar.warp.sync 0xffffffff;\n";
    text += fmt::format("  setp.lt.u32 %p, %r0, {};\n  @!%p exit;\n", 8 * form.registers());
    text.replace(text.find("  .reg .b32"), 0, "  .reg .pred %p;\n");
    each_word(4, "  ld.shared.u32 %r{1}, [%r2+{0}];\n");
    each_word(4, "  st.global.u32 [%rd0+{0}], %r{1};\n");
  } else {
    each_word(form.row_words(), "  st.shared.u32 [%r2+{0}], %r{1};\n");
    text += "  bar.warp.sync 0xffffffff;\n" + form.instruction() + "\n";
    each_word(form.registers(), "  st.global.u32 [%rd0+{0}], %r{1};\n");
  }
  return text + "  ret;\n}\n";
}

// The sheet: row (the lane that gives its address) and byte of byte `i` of register `r` in lane t.
sheet::Cell by_sheet(const Form& form, uint32_t t, uint32_t r, uint32_t i) {
  if (std::string(form.shape) == "m8n16") return {8 * r + t / 4, 4 * (t % 4) + i};
  if (form.stores()) return {8 * r + 2 * (t % 4) + i % 2, t / 4 + 8 * (i / 2)};
  return {16 * (r / 2) + 4 * (t % 4) + i, t / 4 + 8 * (r % 2)};
}

void check(const Form& form, const char* target) {
  SCOPED_TRACE(fmt::format("{} {}", target, form.instruction()));
  std::mt19937 dice(form.bits + form.matrices);
  std::vector<uint32_t> in(32 * 4);
  for (uint32_t& word : in) word = dice();
  Gpu gpu(target);
  gpu.options.check = true;
  gpu.load(kernel_of(form, target));
  const auto out = gpu.upload(std::vector<uint32_t>(in.size()));
  gpu.run("test", {{1}, {32}, {1}, 0}, parameters(out, gpu.upload(in)));
  for (const Finding& finding : gpu.report.check->findings)
    EXPECT_EQ(finding.severity, Severity::advice) << finding.text();
  const auto got = gpu.download<uint32_t>(out, in.size());
  const auto& rows = form.stores() ? got : in;
  const auto& registers = form.stores() ? in : got;
  const auto& walks =
      cute::vectors().walks(fmt::format("matrix {} {} {}", form.stores() ? "st" : "ld", form.shape, form.matrices));
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < form.registers(); ++r)
      for (uint32_t i = 0; i < 4; ++i) {
        const sheet::Cell place = by_sheet(form, t, r, i), thread = walks.at(0).at(t),
                          value = walks.at(1).at(4 * r + i);
        ASSERT_EQ(place, (sheet::Cell{thread.lane + value.lane, thread.column + value.column}));
        uint32_t want = 0;
        for (uint32_t bit = 0; bit < form.bits; ++bit) {
          const uint32_t at = place.column * form.bits + bit;
          want |= (rows[place.lane * 4 + at / 32] >> at % 32 & 1) << bit;
        }
        ASSERT_EQ(registers[t * 4 + r] >> 8 * i & 0xff, want) << "lane " << t << " register " << r << " byte " << i;
      }
}

TEST(ByteMatrix, LiesInRegistersAsSheetAndCuTeSay) {
  for (const char* target : {"sm_100a", "sm_120a"}) {
    for (const uint32_t count : {1u, 2u, 4u}) {
      ASSERT_NO_FATAL_FAILURE(check({"m16n8", count}, target));
      for (const uint32_t bits : {4u, 6u}) ASSERT_NO_FATAL_FAILURE(check({"m8n16", count, bits}, target));
      if (count == 4) continue;
      for (const uint32_t bits : {4u, 6u, 8u}) ASSERT_NO_FATAL_FAILURE(check({"m16n16", count, bits}, target));
    }
  }
}

// A transposed 16 x 32 tile of bytes is the B operand of mma.sync once bytes are taken in the order that a published
// kernel measured on an RTX 5090: register 0 of lane 5 has rows 4 to 7 of column 1.
TEST(ByteMatrix, IsTransposedAsMeasured) {
  const Form form{"m16n16", 1};
  std::vector<uint32_t> in(32 * 4);
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 16; ++column)
      in[row * 4 + column / 4] |= (row * 16 + column) << 8 * (column % 4);
  Gpu gpu("sm_120a");
  gpu.load(kernel_of(form, "sm_120a"));
  const auto out = gpu.upload(std::vector<uint32_t>(in.size()));
  gpu.run("test", {{1}, {32}, {1}, 0}, parameters(out, gpu.upload(in)));
  const auto got = gpu.download<uint32_t>(out, in.size());
  EXPECT_EQ(got[5 * 4], 0x71615141u);
  EXPECT_EQ(got[5 * 4 + 1], 0x79695949u);
  EXPECT_EQ(got[31 * 4 + 1], 0xffefdfcfu);
}

TEST(ByteMatrix, FormsThatThereAreNotAreRefused) {
  const std::pair<const char*, const char*> forms[] = {
      {"ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r1, %r2}, [%r3];", "matrices of bytes are .trans"},
      {"ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r1, %r2}, [%r3];", "it needs .x1 or .x2"},
      {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [%r3];",
       "1 registers are named for 1 matrices, which take 2"},
      {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b16 {%r1, %r2}, [%r3];", "its type is .b8"},
      {"ldmatrix.sync.aligned.m16n8.x1.trans.shared.b8 {%r1}, [%r3];", "its shapes are .m8n8, .m8n16 and .m16n16"},
      {"ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r1}, [%r3];", "its types are .b8x16.b4x16_p64"},
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r3];", "its type is .b16"},
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b8x16.b4x16_p64 {%r1}, [%r3];", "are loaded, as .m8n16 and .m16n16"},
      {"stmatrix.sync.aligned.m16n16.x1.trans.shared.b8 [%r3], {%r1};", "its shapes are .m8n8 and .m16n8"},
      {"stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r3], {%r1};", "matrices of bytes are .trans"},
      {"stmatrix.sync.aligned.m16n8.x1.trans.shared.b8x16.b4x16_p64 [%r3], {%r1};", "of 4 and 6 bits are loaded"},
  };
  Gpu gpu("sm_120a");
  for (const auto& [text, why] : forms) {
    const std::string refusal = gpu.refusal(kernel_text(text, "sm_120a"));
    EXPECT_NE(refusal.find(why), std::string::npos) << text << "\n" << refusal;
  }
  const std::string plain =
      gpu.refusal(kernel_text("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};", "sm_120"));
  EXPECT_NE(plain.find("of sm_100a, sm_120a and their families; this is code for sm_120"), std::string::npos) << plain;
}

}  // namespace
}  // namespace wm::vgpu::testing
