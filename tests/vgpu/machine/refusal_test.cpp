// What is refused when a module is loaded: by name, line and reason, a family each.
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

struct Refused {
  const char* instruction;
  const char* reason;
};

TEST(Refusal, EveryFamilySaysWhatItDoesNotKnow) {
  const Refused cases[] = {
      {"frobnicate.u32 %r1, %r2;", "no such instruction is known here"},
      {"add.u8 %r1, %r2, %r3;", "it has no form for .u8"},
      {"add.wibble.u32 %r1, %r2, %r3;", "the modifier `.wibble` is not known here"},
      {"add.sat.u32 %r1, %r2, %r3;", "`.sat` is for .s32 alone"},
      {"add.u32 %r1, %r2;", "it takes 3 operands, not 2"},
      {"add.u64 %rd1, %rd2, %r3;", "register %r3 has 32 bits where 64 are read"},
      {"mul.u32 %r1, %r2, %r3;", "it needs .lo, .hi or .wide"},
      {"add.rz.f16 %h1, %h2, %h3;", "16-bit floats are rounded to nearest even"},
      {"fma.rn.ftz.f64 %d1, %d2, %d3, %d4;", "f64 has neither .ftz nor .sat"},
      {"sin.f32 %f1, %f2;", "it needs .approx"},
      {"sqrt.f32 %f1, %f2;", "it needs .approx or a rounding mode"},
      {"setp.num.s32 %p1, %r1, %r2;", "integers have no such comparison"},
      {"setp.lt.b32 %p1, %r1, %r2;", "bits compare with .eq and .ne only"},
      {"cvt.s32.f32 %r1, %f1;", "a float becomes an integer with .rni, .rzi, .rmi or .rpi"},
      {"lop3.b32 %r1, %r2, %r3, %r4, %r5;", "the look-up table must be a number known when the module is loaded"},
      {"mov.u32 %r1, %tid.w;", "the special register %tid.w is not known here"},
      {"mov.v4.u64 {%rd1, %rd2, %rd3, %rd4}, %tid;", "with .v4 it has a type of 16 or 32 bits"},
      {"mov.v4.pred {%p1, %p2, %p3, %p4}, %ctaid;", "with .v4 it has a type of 16 or 32 bits"},
      {"mul.rn.f32.f16 %f1, %h1, %f2;", "16-bit operands are widened by add, sub and fma of f32"},
      {"add.rn.f64.f16 %d1, %h1, %d2;", "16-bit operands are widened by add, sub and fma of f32"},
      {"add.rn.ftz.f32.bf16 %f1, %h1, %f2;", "16-bit operands are widened by add, sub and fma of f32"},
      {"wmma.mma.sync.aligned.row.col.m8n8k32.f16.s4.s4.f16 {%r1}, {%r2}, {%r3}, {%r4};",
       "there is no product of these types"},
      {"wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};",
       "of 4 bits A is .row and B .col"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f16.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
       "there is no product of these types"},
      // Behind one that is right, products in flight are looked for before operands are.
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16;\n"
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;",
       "operand 2 is missing"},
      {"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];", "at most 16 bytes a thread"},
      {"ld.acquire.global.u32 %r1, [%rd1];", "an ordering needs a scope"},
      {"st.const.u32 [%rd1], %r1;", "this space cannot be written"},
      {"atom.global.add.b32 %r1, [%rd1], %r2;", "this operation has no form for this type"},
      {"red.global.cas.b32 [%rd1], %r2, %r3;", "`red` has neither .cas nor .exch"},
      {"shfl.down.b32 %r1, %r2, 1, 31;", "only the .sync form exists since sm_70"},
      {"redux.sync.add.f64 %d1, %d2, -1;", "it is redux.sync"},
      {"bar.red.xor.pred %p1, 0, %p2;", "it is .red.popc.u32, .red.and.pred or .red.or.pred"},
      {"mbarrier.wibble.b64 [%rd1];", "mbarriers have no such operation"},
      {"mbarrier.init.global.b64 [%rd1], 1;", "an mbarrier lies in shared memory"},
      {"fence.proxy.wibble;", "there is no such proxy"},
      {"cp.async.cg.shared.global [%r1], [%rd1], 4;", "cp.async.cg copies 16 bytes"},
      {"cp.async.bulk.global.global.bulk_group [%rd1], [%rd2], 16;", "there is no bulk copy between these spaces"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
       "%r3}], [%r4];",
       "this load mode is not of this architecture"},
      {"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
       "2 coordinates are given for 3 dimensions"},
      {"tensormap.replace.tile.wibble.global.b1024.b64 [%rd1], %rd2;", "wibble"},
      {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f5, %f6, "
       "%f7, %f8}, %r5, 0;",
       "sparse matrices are not supported"},
      {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};",
       "matrices of .b1 are not supported"},
      {"mma.sync.aligned.m16n8k16.row.col.s32.s4.s4.s32 {%r1, %r2, %r3, %r4}, {%r5}, {%r6}, {%r1, %r2, %r3, %r4};",
       "there is no m16n8k16 of integers of four bits"},
      {"mma.sync.aligned.m8n8k32.row.col.s32.s4.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};",
       "A and B have types that do not go together"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3}, {%r4, %r5}, {%f5, "
       "%f6, %f7, %f8};",
       "operand A has 4 registers, not 3"},
      {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];", "its shape is .m8n8 on this architecture"},
      {"wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4, %f5, %f6}, %rd1, %rd2, 1, 1, 1, 0, "
       "0;",
       "n"},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
       "D has 4 registers, not 3"},
      {"wgmma.wait_group.sync.aligned 9;", "the number of groups is 0 to 7"},
      {"setmaxnreg.inc.sync.aligned.u32 100;", "the number of registers is a multiple of 8 from 24 to 256"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", "textures and surfaces are not supported"},
  };
  Gpu gpu;
  for (const Refused& c : cases) {
    const std::string text = gpu.refusal(kernel_text(c.instruction));
    EXPECT_TRUE(contains(text, c.reason)) << c.instruction << "\n" << text;
    const std::string name = std::string(c.instruction).substr(0, std::string_view(c.instruction).find_first_of(" ;"));
    EXPECT_TRUE(contains(text, "test.ptx:20: `" + name + "` is not supported: ")) << text;
  }
}

TEST(Refusal, WhatIsNoSpecialRegisterIsNotDeclared) {
  Gpu gpu;
  for (const char* name : {"%envreg32", "%envreg01", "%envreg", "%pmx", "%pm8", "%pm0_32"}) {
    const std::string text = gpu.refusal(kernel_text(std::string("mov.u32 %r1, ") + name + ";"));
    EXPECT_TRUE(contains(text, std::string("the register '") + name + "' is not declared")) << text;
  }
  for (const char* name : {"%envreg0", "%envreg31", "%pm7"})
    EXPECT_EQ(gpu.refusal(kernel_text(std::string("mov.u32 %r1, ") + name + ";")), "");
  EXPECT_EQ(gpu.refusal(kernel_text("mov.u64 %rd1, %pm3_64;")), "");
}

TEST(Refusal, AllOfAModuleAreListedTogether) {
  Gpu gpu;
  std::string body;
  for (int i = 0; i < 12; ++i) body += "wibble.u32 %r1;\n";
  const std::string text = gpu.refusal(kernel_text(body));
  EXPECT_TRUE(contains(text, "test.ptx:20: `wibble.u32`")) << text;
  EXPECT_TRUE(contains(text, "test.ptx:29: `wibble.u32`")) << text;
  EXPECT_FALSE(contains(text, "test.ptx:30:")) << text;
  EXPECT_TRUE(contains(text, "... and 2 more like these")) << text;
}

}  // namespace
}  // namespace wm::vgpu::testing
