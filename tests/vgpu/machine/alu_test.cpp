// What arithmetic, logic, comparison and conversion instructions compute: that each decodes to the right operation of
// the right type. The arithmetic itself is tested in numeric/.
#include <bit>
#include <cmath>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

struct Case {
  const char* body;  // from %r1.. or %rd1.. to %r0 or %rd0
  std::uint64_t a, b, c;
  std::uint64_t result;
};

std::uint64_t f(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t d(double value) { return std::bit_cast<std::uint64_t>(value); }

void check(const std::vector<Case>& cases) {
  Gpu gpu;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    const bool wide = contains(c.body, "%rd0");
    try {
      const std::vector<std::vector<std::uint64_t>> inputs = {{c.a}, {c.b}, {c.c}};
      if (wide)
        EXPECT_EQ(compute<std::uint64_t>(gpu, c.body, inputs)[17], c.result);
      else
        EXPECT_EQ(compute<std::uint32_t>(gpu, c.body, inputs)[17], c.result);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Alu, Integers) {
  check({
      {"add.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
      {"add.sat.s32 %r0, %r1, %r2;", 0x7fffffff, 2, 0, 0x7fffffff},
      {"add.u64 %rd0, %rd1, %rd2;", 0xffffffff, 2, 0, 0x100000001},
      {"sub.u32 %r0, %r1, 5;", 3, 0, 0, 0xfffffffe},
      {"sub.sat.s32 %r0, %r1, %r2;", 0x80000000, 1, 0, 0x80000000},
      {"mul.lo.u32 %r0, %r1, %r2;", 0x10001, 0x10001, 0, 0x20001},
      {"mul.hi.u32 %r0, %r1, %r2;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
      {"mul.hi.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 0xffffffff},
      {"mul.hi.s64 %rd0, %rd1, %rd2;", ~0ull, 2, 0, ~0ull},
      {"mul.hi.u64 %rd0, %rd1, %rd2;", ~0ull, 2, 0, 1},
      {"mul.wide.s32 %rd0, %r1, %r2;", 0xffffffff, 3, 0, ~0ull - 2},
      {"mul.wide.u32 %rd0, %r1, %r2;", 0xffffffff, 3, 0, 0x2fffffffd},
      {"cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; mul.wide.s16 %r0, %h1, %h2;", 0xffff, 3, 0, 0xfffffffd},
      {"cvt.u16.u32 %h1, %r1; mul.lo.u16 %h2, %h1, %h1; cvt.u32.u16 %r0, %h2;", 0x101, 0, 0, 0x201},
      {"mad.lo.s32 %r0, %r1, %r2, %r3;", 7, 6, 5, 47},
      {"mad.hi.u32 %r0, %r1, %r2, %r3;", 0x80000000, 4, 5, 7},
      {"mad.hi.sat.s32 %r0, %r1, %r2, %r3;", 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
      {"mad.wide.s32 %rd0, %r1, %r2, %rd3;", 0xffffffff, 3, 4, 1},
      {"mul24.lo.u32 %r0, %r1, %r2;", 0xff000002, 3, 0, 6},
      {"mul24.hi.s32 %r0, %r1, %r2;", 0x00800000, 0x10000, 0, 0xff800000},
      {"mad24.lo.s32 %r0, %r1, %r2, %r3;", 0xffffff, 3, 4, 1},
      {"sad.u32 %r0, %r1, %r2, %r3;", 3, 10, 1, 8},
      {"sad.s32 %r0, %r1, %r2, %r3;", 0xffffffff, 1, 1, 3},
      {"div.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xfffffffd},
      {"div.u32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0x7ffffffc},
      {"div.s32 %r0, %r1, %r2;", 0x80000000, 0xffffffff, 0, 0x80000000},
      {"div.u32 %r0, %r1, %r2;", 7, 0, 0, 0xffffffff},
      {"rem.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xffffffff},
      {"rem.u64 %rd0, %rd1, %rd2;", 1000000000007, 1000, 0, 7},
      {"abs.s32 %r0, %r1;", 0xfffffffb, 0, 0, 5},
      {"neg.s64 %rd0, %rd1;", 5, 0, 0, ~0ull - 4},
      {"min.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
      {"min.u32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 1},
      {"max.s64 %rd0, %rd1, %rd2;", ~0ull, 1, 0, 1},
      {"min.relu.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0},
      {"max.s16x2 %r0, %r1, %r2;", 0xffff0005, 0x00010003, 0, 0x00010005},
      {"min.u16x2 %r0, %r1, %r2;", 0xffff0005, 0x00010003, 0, 0x00010003},
      {"add.u16x2 %r0, %r1, %r2;", 0xffff0005, 0x00020003, 0, 0x00010008},
      {"dp4a.u32.s32 %r0, %r1, %r2, %r3;", 0x01020304, 0xff010101, 10, 18},
      {"dp4a.s32.s32 %r0, %r1, %r2, %r3;", 0xffffffff, 0x01010101, 10, 6},
      {"dp2a.lo.u32.u32 %r0, %r1, %r2, %r3;", 0x00020003, 0x0405, 1, 24},
      {"dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", 0xffff0003, 0x04050000, 1, 12},
      {"add.cc.u32 %r4, %r1, %r2; addc.u32 %r0, %r3, 0;", 0xffffffff, 1, 5, 6},
      {"sub.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r3, 0;", 0, 1, 5, 4},
      {"mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 0;", 0xffffffff, 0xffffffff, 0xffffffff,
       0xffffffff},
  });
}

TEST(Alu, BitsAndShifts) {
  check({
      {"and.b32 %r0, %r1, %r2;", 0xf0f0, 0xff00, 0, 0xf000},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 1, 3},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 0xffffffff, 3},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 2, 5},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 0xfffffffe, 1},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 4, 0, 0xffffffff},
      {"fns.b32 %r0, %r1, %r2, %r3;", 0x00000100, 0, 2, 0xffffffff},
      {"or.b64 %rd0, %rd1, %rd2;", 0xf0f0, 0xff00, 0, 0xfff0},
      {"xor.b32 %r0, %r1, %r2;", 0xf0f0, 0xff00, 0, 0x0ff0},
      {"not.b32 %r0, %r1;", 0xf0f0, 0, 0, 0xffff0f0f},
      {"cnot.b32 %r0, %r1;", 0, 0, 0, 1},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 0xf0, 0xcc, 0xaa, 0x96},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0xca;", 0xf0, 0xcc, 0xaa, 0xca},
      {"setp.ne.u32 %p2, %r1, 0; lop3.and.b32 %r4|%p1, %r1, %r2, %r3, 0x80, %p2; selp.u32 %r0, 1, 0, %p1;", 4, 4, 4, 1},
      {"shl.b32 %r0, %r1, %r2;", 1, 31, 0, 0x80000000},
      {"shl.b32 %r0, %r1, %r2;", 1, 32, 0, 0},
      {"shr.u32 %r0, %r1, %r2;", 0x80000000, 31, 0, 1},
      {"shr.s32 %r0, %r1, %r2;", 0x80000000, 100, 0, 0xffffffff},
      {"shr.s64 %rd0, %rd1, %r2;", 1ull << 63, 62, 0, ~0ull - 1},
      {"cvt.u16.u32 %h1, %r1; shr.s16 %h2, %h1, %r2; cvt.u32.u16 %r0, %h2;", 0x8000, 3, 0, 0xf000},
      {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 0x1, 33, 0x3},
      {"shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 0x80000000, 0x1, 33, 0x80000000},
      {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 0x2, 0x1, 1, 0x80000001},
      {"prmt.b32 %r0, %r1, %r2, 0x7531;", 0x33221100, 0x77665544, 0, 0x77553311},
      {"prmt.b32 %r0, %r1, %r2, 0x888f;", 0x80, 0x80000000, 0, 0xffffffff},
      {"prmt.b32.f4e %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x44332211},
      {"prmt.b32.rc16 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x33223322},
      {"bfe.u32 %r0, %r1, 4, 8;", 0x12345678, 0, 0, 0x67},
      {"bfe.s32 %r0, %r1, 4, 4;", 0x000000f0, 0, 0, 0xffffffff},
      {"bfe.s64 %rd0, %rd1, 60, 4;", 0x8ull << 60, 0, 0, ~0ull - 7},
      {"bfi.b32 %r0, %r1, %r2, 8, 4;", 0xff, 0, 0, 0xf00},
      {"bfi.b64 %rd0, %rd1, %rd2, 60, 4;", 0xff, 1, 0, 0xf000000000000001},
      {"bfind.u32 %r0, %r1;", 0x00010000, 0, 0, 16},
      {"bfind.s32 %r0, %r1;", 0xffffffff, 0, 0, 0xffffffff},
      {"bfind.shiftamt.u64 %r0, %rd1;", 1ull << 40, 0, 0, 23},
      {"brev.b32 %r0, %r1;", 1, 0, 0, 0x80000000},
      {"brev.b64 %rd0, %rd1;", 1, 0, 0, 1ull << 63},
      {"clz.b32 %r0, %r1;", 1, 0, 0, 31},
      {"clz.b64 %r0, %rd1;", 0, 0, 0, 64},
      {"popc.b32 %r0, %r1;", 0xf0f0, 0, 0, 8},
      {"popc.b64 %r0, %rd1;", ~0ull, 0, 0, 64},
      {"bmsk.clamp.b32 %r0, %r1, %r2;", 4, 8, 0, 0xff0},
      {"szext.clamp.s32 %r0, %r1, %r2;", 0xff, 8, 0, 0xffffffff},
  });
}

TEST(Alu, Floats) {
  const auto f2 = [](const char* op) {
    return std::string("mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; ") + op + " mov.b32 %r0, %f0;";
  };
  const auto d2 = [](const char* op) {
    return std::string("mov.b64 %d1, %rd1; mov.b64 %d2, %rd2; mov.b64 %d3, %rd3; ") + op + " mov.b64 %rd0, %d0;";
  };
  const std::uint64_t tiny = 1;  // a subnormal
  const std::vector<std::pair<std::string, Case>> cases = {
      {f2("add.f32 %f0, %f1, %f2;"), {"", f(1), f(2), 0, f(3)}},
      {f2("add.rz.f32 %f0, %f1, %f2;"), {"", f(1), f(0x1p-24f * 3), 0, f(1 + 0x1p-23f)}},
      {f2("add.rp.f32 %f0, %f1, %f2;"), {"", f(1), f(0x1p-30f), 0, f(1 + 0x1p-23f)}},
      {f2("add.ftz.f32 %f0, %f1, %f2;"), {"", tiny, tiny, 0, 0}},
      {f2("add.f32 %f0, %f1, %f2;"), {"", tiny, tiny, 0, 2}},
      {f2("add.sat.f32 %f0, %f1, %f2;"), {"", f(1), f(2), 0, f(1)}},
      {f2("add.f32 %f0, %f1, 0f3F800000;"), {"", f(1), 0, 0, f(2)}},
      {f2("add.f32 %f0, %f1, 1.5;"), {"", f(1), 0, 0, f(2.5)}},
      {f2("sub.f32 %f0, %f1, %f2;"), {"", f(1), f(2), 0, f(-1)}},
      {f2("mul.f32 %f0, %f1, %f2;"), {"", f(3), f(2), 0, f(6)}},
      {f2("fma.rn.f32 %f0, %f1, %f2, %f3;"), {"", f(1 + 0x1p-23f), f(1 + 0x1p-23f), f(-1), f(0x1p-22f + 0x1p-46f)}},
      {f2("mad.rn.f32 %f0, %f1, %f2, %f3;"), {"", f(3), f(2), f(1), f(7)}},
      {f2("div.rn.f32 %f0, %f1, %f2;"), {"", f(1), f(3), 0, f(1.f / 3)}},
      {f2("div.full.f32 %f0, %f1, %f2;"), {"", f(6), f(3), 0, f(2)}},
      {f2("abs.f32 %f0, %f1;"), {"", f(-2), 0, 0, f(2)}},
      {f2("neg.f32 %f0, %f1;"), {"", f(-2), 0, 0, f(2)}},
      {f2("min.f32 %f0, %f1, %f2;"), {"", f(NAN), f(2), 0, f(2)}},
      {f2("max.NaN.f32 %f0, %f1, %f2;"), {"", f(NAN), f(2), 0, 0x7fffffff}},
      {f2("max.xorsign.abs.f32 %f0, %f1, %f2;"), {"", f(-3), f(2), 0, f(-3)}},
      {f2("copysign.f32 %f0, %f1, %f2;"), {"", f(-3), f(2), 0, f(-2)}},
      {f2("sqrt.rn.f32 %f0, %f1;"), {"", f(2), 0, 0, f(std::sqrt(2.f))}},
      {f2("sqrt.approx.f32 %f0, %f1;"), {"", f(4), 0, 0, f(2)}},
      {f2("rcp.rn.f32 %f0, %f1;"), {"", f(3), 0, 0, f(1.f / 3)}},
      {f2("rcp.approx.ftz.f32 %f0, %f1;"), {"", f(4), 0, 0, f(0.25)}},
      {f2("rsqrt.approx.f32 %f0, %f1;"), {"", f(4), 0, 0, f(0.5)}},
      {f2("ex2.approx.f32 %f0, %f1;"), {"", f(3), 0, 0, f(8)}},
      {f2("lg2.approx.f32 %f0, %f1;"), {"", f(8), 0, 0, f(3)}},
      {f2("sin.approx.f32 %f0, %f1;"), {"", f(0), 0, 0, f(0)}},
      {f2("cos.approx.f32 %f0, %f1;"), {"", f(0), 0, 0, f(1)}},
      {f2("tanh.approx.f32 %f0, %f1;"), {"", f(0), 0, 0, f(0)}},
      {d2("add.f64 %d0, %d1, %d2;"), {"", d(1), d(2), 0, d(3)}},
      {d2("add.rm.f64 %d0, %d1, %d2;"), {"", d(1), d(0x1p-60), 0, d(1)}},
      {d2("fma.rn.f64 %d0, %d1, %d2, %d3;"), {"", d(3), d(2), d(1), d(7)}},
      {d2("mul.f64 %d0, %d1, 0d4000000000000000;"), {"", d(3), 0, 0, d(6)}},
      {d2("div.rn.f64 %d0, %d1, %d2;"), {"", d(1), d(3), 0, d(1. / 3)}},
      {d2("sqrt.rn.f64 %d0, %d1;"), {"", d(2), 0, 0, d(std::sqrt(2.))}},
      {d2("max.f64 %d0, %d1, %d2;"), {"", d(1), d(3), 0, d(3)}},
      {d2("rcp.approx.ftz.f64 %d0, %d1;"), {"", d(4), 0, 0, d(0.25)}},
      // two halves at a time
      {"add.f16x2 %r0, %r1, %r2;", {"", 0x3c004000, 0x3c003c00, 0, 0x40004200}},
      {"mul.bf16x2 %r0, %r1, %r2;", {"", 0x40003f80, 0x40404000, 0, 0x40c04000}},
      {"fma.rn.f16x2 %r0, %r1, %r2, %r3;", {"", 0x40004000, 0x40003c00, 0x3c003c00, 0x45004200}},
      {"fma.rn.relu.bf16x2 %r0, %r1, %r2, %r3;", {"", 0xbf803f80, 0x3f803f80, 0, 0x00003f80}},
      {"max.f16x2 %r0, %r1, %r2;", {"", 0x3c00bc00, 0x00004000, 0, 0x3c004000}},
      {"neg.bf16x2 %r0, %r1;", {"", 0x3f80bf80, 0, 0, 0xbf803f80}},
      {"abs.f16x2 %r0, %r1;", {"", 0xbc00bc00, 0, 0, 0x3c003c00}},
      {"ex2.approx.f16x2 %r0, %r1;", {"", 0x3c000000, 0, 0, 0x40003c00}},
      {"tanh.approx.bf16x2 %r0, %r1;", {"", 0x00000000, 0, 0, 0x00000000}},
      {"cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; add.f16 %h3, %h1, %h2; cvt.u32.u16 %r0, %h3;",
       {"", 0x3c00, 0x4000, 0, 0x4200}},
      {"cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; sub.bf16 %h3, %h1, %h2; cvt.u32.u16 %r0, %h3;",
       {"", 0x4040, 0x3f80, 0, 0x4000}},
  };
  std::vector<Case> all;
  for (const auto& [text, c] : cases) all.push_back({text.c_str(), c.a, c.b, c.c, c.result});
  check(all);
}

TEST(Alu, ComparisonsAndSelections) {
  check({
      {"setp.lt.s32 %p1, %r1, %r2; selp.u32 %r0, 1, 2, %p1;", 0xffffffff, 0, 0, 1},
      {"setp.lt.u32 %p1, %r1, %r2; selp.u32 %r0, 1, 2, %p1;", 0xffffffff, 0, 0, 2},
      {"setp.lo.u32 %p1, %r1, %r2; selp.u32 %r0, 1, 2, %p1;", 1, 2, 0, 1},
      {"setp.eq.b64 %p1, %rd1, %rd2; selp.u32 %r0, 1, 2, !%p1;", 5, 5, 0, 2},
      {"setp.gt.s32 %p1|%p2, %r1, %r2; selp.u32 %r0, 1, 2, %p2;", 1, 2, 0, 1},
      {"setp.eq.u32 %p3, %r3, 7; setp.lt.and.u32 %p1, %r1, %r2, %p3; selp.u32 %r0, 1, 2, %p1;", 1, 2, 7, 1},
      {"setp.eq.u32 %p3, %r3, 7; setp.lt.or.u32 %p1, %r1, %r2, !%p3; selp.u32 %r0, 1, 2, %p1;", 3, 2, 7, 2},
      {"setp.eq.u32 %p3, %r3, 7; setp.lt.xor.u32 %p1, %r1, %r2, %p3; selp.u32 %r0, 1, 2, %p1;", 1, 2, 7, 2},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.lt.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;", f(1), f(2), 0, 1},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.ne.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;", f(NAN), f(2), 0, 2},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.neu.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;", f(NAN), f(2), 0, 1},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.nan.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 2, %p1;", f(NAN), f(2), 0, 1},
      {"mov.b32 %f1, %r1; setp.eq.ftz.f32 %p1, %f1, 0f00000000; selp.u32 %r0, 1, 2, %p1;", 1, 0, 0, 1},
      {"mov.b64 %d1, %rd1; mov.b64 %d2, %rd2; setp.geu.f64 %p1, %d1, %d2; selp.u32 %r0, 1, 2, %p1;", d(1), d(2), 0, 2},
      {"setp.gt.f16x2 %p1|%p2, %r1, %r2; selp.u32 %r0, 1, 2, %p1; @%p2 add.u32 %r0, %r0, 4;", 0x3c000000, 0x00003c00, 0,
       6},
      {"set.lt.u32.s32 %r0, %r1, %r2;", 1, 2, 0, 0xffffffff},
      {"set.lt.f32.s32 %f0, %r1, %r2; mov.b32 %r0, %f0;", 1, 2, 0, f(1)},
      {"set.gt.f16x2.f16x2 %r0, %r1, %r2;", 0x3c000000, 0x00003c00, 0, 0x3c000000},
      {"slct.u32.s32 %r0, %r1, %r2, %r3;", 1, 2, 0xffffffff, 2},
      {"mov.b32 %f3, %r3; slct.b32.f32 %r0, %r1, %r2, %f3;", 1, 2, f(3), 1},
      {"mov.b32 %f1, %r1; testp.notanumber.f32 %p1, %f1; selp.u32 %r0, 1, 2, %p1;", f(NAN), 0, 0, 1},
      {"setp.ne.u32 %p1, %r1, 0; not.pred %p2, %p1; and.pred %p3, %p1, !%p2; selp.u32 %r0, 1, 2, %p3;", 1, 0, 0, 1},
  });
}

TEST(Alu, Conversions) {
  check({
      {"cvt.s32.s8 %r0, %r1;", 0xff, 0, 0, 0xffffffff},
      {"cvt.u32.u8 %r0, %r1;", 0x1ff, 0, 0, 0xff},
      {"cvt.s64.s32 %rd0, %r1;", 0xffffffff, 0, 0, ~0ull},
      {"cvt.u64.u32 %rd0, %r1;", 0xffffffff, 0, 0, 0xffffffff},
      {"cvt.u32.u64 %r0, %rd1;", 0x123456789a, 0, 0, 0x3456789a},
      {"cvt.sat.u8.s32 %r0, %r1;", 300, 0, 0, 255},
      {"cvt.sat.s16.s32 %r0, %r1;", 0xffff0000, 0, 0, 0xffff8000},
      {"cvt.s8.s32 %rd0, %r1;", 0x80, 0, 0, 0xffffffffffffff80},
      {"cvt.rn.f32.s32 %f0, %r1; mov.b32 %r0, %f0;", 0xffffffff, 0, 0, f(-1)},
      {"cvt.rn.f32.u32 %f0, %r1; mov.b32 %r0, %f0;", 0xffffffff, 0, 0, f(4294967296.f)},
      {"cvt.rz.f32.u32 %f0, %r1; mov.b32 %r0, %f0;", 0xffffffff, 0, 0, f(4294967040.f)},
      {"cvt.rn.f64.s64 %d0, %rd1; mov.b64 %rd0, %d0;", ~0ull, 0, 0, d(-1)},
      {"cvt.f64.f32 %d0, %f1; mov.b64 %rd0, %d0;", 0, 0, 0, 0},
      {"mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r0, %f1;", f(-2.7f), 0, 0, 0xfffffffe},
      {"mov.b32 %f1, %r1; cvt.rni.s32.f32 %r0, %f1;", f(2.5f), 0, 0, 2},
      {"mov.b32 %f1, %r1; cvt.rmi.s32.f32 %r0, %f1;", f(-2.1f), 0, 0, 0xfffffffd},
      {"mov.b32 %f1, %r1; cvt.rpi.f32.f32 %f0, %f1; mov.b32 %r0, %f0;", f(2.1f), 0, 0, f(3)},
      {"mov.b32 %f1, %r1; cvt.rzi.u32.f32 %r0, %f1;", f(-3), 0, 0, 0},
      {"mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r0, %f1;", f(1e20f), 0, 0, 0x7fffffff},
      {"mov.b32 %f1, %r1; cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r0, %h1;", f(1.5f), 0, 0, 0x3e00},
      {"mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 %r0, %h1;", f(1.5f), 0, 0, 0x3fc0},
      {"cvt.u16.u32 %h1, %r1; cvt.f32.f16 %f0, %h1; mov.b32 %r0, %f0;", 0x3e00, 0, 0, f(1.5f)},
      {"cvt.u16.u32 %h1, %r1; cvt.f32.bf16 %f0, %h1; mov.b32 %r0, %f0;", 0x3fc0, 0, 0, f(1.5f)},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.bf16x2.f32 %r0, %f1, %f2;", f(1), f(2), 0, 0x3f804000},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.relu.f16x2.f32 %r0, %f1, %f2;", f(-1), f(2), 0, 0x00004000},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r0, %h1;", f(1000),
       f(1), 0, 0x7e38},
      {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.satfinite.e5m2x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r0, %h1;", f(2),
       f(1), 0, 0x403c},
      {"cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x3840, 0, 0, 0x3c004000},
      {"mov.b32 %f1, %r1; cvt.rna.tf32.f32 %r0, %f1;", f(1 + 0x1p-11f), 0, 0, f(1 + 0x1p-10f)},
      {"cvt.pack.sat.s16.s32 %r0, %r1, %r2;", 0x12345, 0xffffffff, 0, 0x7fffffff},
      {"cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", 300, 5, 0x1234, 0x1234ff05},
      {"cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", 300, 0xffffff00, 0x1234, 0x123478},
      {"cvt.pack.sat.u2.s32.b32 %r0, %r1, %r2, %r3;", 300, 2, 0x1234, 0x1234e},
      {"mov.b64 %d1, %rd1; cvt.rn.f32.f64 %f0, %d1; mov.b32 %r0, %f0;", d(1.25), 0, 0, f(1.25)},
  });
}

TEST(Alu, MovesTakeRegistersApart) {
  check({
      {"mov.b64 {%r4, %r0}, %rd1;", 0x1234567800000001, 0, 0, 0x12345678},
      {"mov.b64 %rd0, {%r1, %r2};", 5, 6, 0, 0x600000005},
      {"mov.b32 {%h1, %h2}, %r1; cvt.u32.u16 %r0, %h2;", 0x12345678, 0, 0, 0x1234},
      {"cvt.u16.u32 %h1, %r1; mov.b32 %r0, {%h1, %h1};", 0x1234, 0, 0, 0x12341234},
      {".reg .b128 %q; mov.b128 %q, {%rd1, %rd2}; mov.b128 {%rd3, %rd0}, %q;", 5, 6, 0, 6},
      {"mov.b64 {%r0, _}, %rd1;", 0x1234567800000007, 0, 0, 7},
      {"mov.f32 %f1, 0f40490FDB; mov.b32 %r0, %f1;", 0, 0, 0, 0x40490fdb},
  });
}

TEST(Alu, IntegersInPairsAndFours) {
  check({{"vadd2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x7fff0001, 0x0001ffff, 0, 0x80000000},
         {"vadd2.s32.s32.s32.sat %r0, %r1, %r2, %r3;", 0x7fff0001, 0x0001ffff, 0, 0x7fff0000},
         {"vadd4.u32.u32.s32.sat %r0, %r1, %r2, %r3;", 0xff800105, 0x0180ff7f, 0, 0xff000084},
         {"vsub4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x00102030, 0x01010101, 0, 0xff0f1f2f},
         {"vavrg2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x0003fffd, 0x0004fffe, 0,
          0x0004fffd},  // up, where it is not negative
         {"vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0xff000102, 0xff010103, 0, 0xff010103},
         {"vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x00ff1005, 0xff001004, 7, 0xffff0001},
         {"vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;", 0x00ff1005, 0xff001004, 7, 7 + 255 + 255 + 1},
         {"vabsdiff2.u32.s32.s32.add %r0, %r1, %r2, %r3;", 0x80007fff, 0x7fff8000, 1, 1 + 2 * 65535},
         {"vmax2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0xffff0001, 0x0000fffe, 0, 0x00000001},
         {"vmin4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0xff01807f, 0x01ff7f80, 0, 0x01017f7f},
         {"vset4.u32.u32.lt %r0, %r1, %r2, %r3;", 0x01020304, 0x02020202, 0, 0x01000000},
         {"vset2.s32.s32.ge.add %r0, %r1, %r2, %r3;", 0xffff0001, 0xfffe0001, 5, 7}});
}

TEST(Alu, GuardsLeaveOtherLanesAlone) {
  Gpu gpu;
  std::vector<std::uint64_t> in(32);
  for (std::uint32_t i = 0; i < 32; ++i) in[i] = i;
  const auto out = compute<std::uint32_t>(
      gpu, "mov.u32 %r0, 100; and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1; @%p1 add.u32 %r0, %r1, %r1;", {in});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 ? 2 * i : 100);
}

TEST(Alu, SpecialRegistersKnowWhoTheyAre) {
  Gpu gpu;
  const auto lanes = compute<std::uint32_t>(gpu, "mov.u32 %r0, %laneid;", {}, 64);
  const auto warps = compute<std::uint32_t>(gpu, "mov.u32 %r0, %warpid;", {}, 64);
  const auto below = compute<std::uint32_t>(gpu, "mov.u32 %r0, %lanemask_lt;", {}, 64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(lanes[i], i % 32);
    EXPECT_EQ(warps[i], i / 32);
    EXPECT_EQ(below[i], (1u << i % 32) - 1);
  }
  EXPECT_EQ(compute<std::uint32_t>(gpu, "mov.u32 %r0, %nsmid;", {})[0], 132u);
  EXPECT_EQ(compute<std::uint32_t>(gpu, "mov.u32 %r0, %lanemask_gt;", {})[31], 0u);
  EXPECT_EQ(compute<std::uint32_t>(gpu, "mov.u32 %r0, %reserved_smem_offset_end;", {})[0], 1024u);
  EXPECT_EQ(compute<std::uint64_t>(gpu, "mov.u64 %rd0, %pm3_64;", {})[0], 0u);
  EXPECT_TRUE(contains(gpu.refusal(kernel_text("mov.u32 %r0, %wibble;")), "wibble"));
  EXPECT_EQ(
      compute<std::uint32_t>(
          gpu, "mov.u64 %rd1, %clock64; mov.u64 %rd2, %clock64; setp.lt.u64 %p1, %rd1, %rd2; selp.u32 %r0, 1, 0, %p1;",
          {})[0],
      1u);
}

}  // namespace
}  // namespace wm::vgpu::testing
