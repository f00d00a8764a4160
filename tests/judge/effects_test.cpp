// What decoders say of their instructions: memory, proxy, order, scope, completion, and the registers they touch.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/isa/decoder.hpp"
#include "vgpu/machine/program.hpp"

namespace wm::vgpu {
namespace {

constexpr const char* head = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 x, .param .align 64 .b8 map[128]) {
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .f32 %f<8>;
.reg .pred %p<4>;
)";

// The effects of a text's ops.
struct Decoded {
  explicit Decoded(const std::string& text)
      : memory(u64{1} << 30),
        program(std::string(head) + text + "\nret;\n}\n", "text.ptx", memory, Chip::of(Architecture::parse("sm_90a")),
                &decode) {}
  const Function& function() const { return *program.find("kernel"); }
  // Of the text's last instruction before `ret`.
  Effect effect() const {
    Effect last = function().effects[function().effects.size() - 2];
    last.first = false;
    return last;
  }
  Memory memory;
  Program program;
};

struct Said {
  const char* text;
  Effect effect;
};
// The name of the test that fails.
void PrintTo(const Said& said, std::ostream* out) { *out << said.text; }

class EffectOf : public testing::TestWithParam<Said> {};

TEST_P(EffectOf, IsWhatTheInstructionSays) { EXPECT_EQ(Decoded(GetParam().text).effect(), GetParam().effect); }

constexpr AddressSpace generic = AddressSpace::generic, global = AddressSpace::global, shared = AddressSpace::shared;
const Said said[] = {
    {"add.u32 %r1, %r2, %r3;", Effect::arithmetic()},
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", Effect::arithmetic()},
    {"setp.eq.s32 %p1, %r1, %r2;", Effect::arithmetic()},
    {"mov.u32 %r1, %r2;", Effect::move()},
    {"mov.u32 %r1, %tid.x;", Effect::move()},
    {"selp.b32 %r1, %r2, %r3, %p1;", Effect::none()},
    {"prmt.b32 %r1, %r2, %r3, %r4;", Effect::none()},
    {"nanosleep.u32 20;", Effect::none()},
    {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", Effect::gathering()},
    {"vote.sync.ballot.b32 %r1, %p1, -1;", Effect::gathering()},
    {"match.any.sync.b32 %r1, %r2, -1;", Effect::gathering()},
    {"redux.sync.add.u32 %r1, %r2, -1;", Effect::gathering()},
    {"elect.sync _|%p1, -1;", Effect::none()},

    {"ld.global.u32 %r1, [%rd1];", Effect::access(global)},
    {"ld.param.u64 %rd1, [x];", Effect::access(AddressSpace::param)},
    {"ld.volatile.shared.u32 %r1, [%r2];", Effect::access(shared, Ordering::volatile_)},
    {"ld.relaxed.sys.u32 %r1, [%rd1];", Effect::access(generic, Ordering::relaxed)},
    {"ld.acquire.cluster.shared::cluster.u32 %r1, [%r2];",
     Effect::access(AddressSpace::shared_cluster, Ordering::acquire, Scope::cluster)},
    {"st.release.cta.global.u32 [%rd1], %r1;", Effect::access(global, Ordering::release, Scope::block)},
    {"atom.add.u32 %r1, [%rd1], %r2;", Effect::atomic_access(generic, Ordering::weak, Scope::device, false)},
    {"atom.acq_rel.cta.shared.cas.b32 %r1, [%r2], %r3, %r4;",
     Effect::atomic_access(shared, Ordering::acq_rel, Scope::block, true)},
    {"red.release.cluster.global.add.u32 [%rd1], %r2;",
     Effect::atomic_access(global, Ordering::release, Scope::cluster, false)},
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", Effect::access(shared).by_whole_warp()},

    {"fence.acq_rel.cta;", Effect::fence(Ordering::acq_rel, Scope::block)},
    {"fence.sc.cluster;", Effect::fence(Ordering::acq_rel, Scope::cluster)},
    {"fence.acquire.gpu;", Effect::fence(Ordering::acquire, Scope::device)},
    {"fence.release.sys;", Effect::fence(Ordering::release, Scope::device)},
    {"membar.cta;", Effect::fence(Ordering::acq_rel, Scope::block)},
    {"membar.gl;", Effect::fence(Ordering::acq_rel, Scope::device)},
    {"fence.proxy.async;", Effect::proxy_fence(generic)},
    {"fence.proxy.async.global;", Effect::proxy_fence(global)},
    {"fence.proxy.async.shared::cta;", Effect::proxy_fence(shared)},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", Effect::proxy_fence(shared)},
    {"fence.proxy.alias;", Effect::none()},
    {"fence.mbarrier_init.release.cluster;", Effect::init_fence()},
    {"fence.proxy.tensormap::generic.release.gpu;", Effect::map_release(Scope::device)},
    {"fence.proxy.tensormap::generic.acquire.cta [%rd1], 128;", Effect::map_acquire(Scope::block)},

    {"bar.warp.sync %r1;", Effect::warp_sync()},
    {"bar.sync 0;", Effect::block_barrier().by_whole_warp()},
    {"barrier.sync 1, 64;", Effect::block_barrier()},
    {"barrier.arrive.aligned 1, 64;", Effect::block_barrier().by_whole_warp()},
    {"barrier.cluster.arrive.aligned;", Effect::cluster_arrive(Ordering::release).by_whole_warp()},
    {"barrier.cluster.arrive.relaxed;", Effect::cluster_arrive(Ordering::relaxed)},
    {"barrier.cluster.wait.acquire;", Effect::cluster_wait()},
    {"mbarrier.arrive.shared::cta.b64 %rd1, [%r1];", Effect::mbarrier(Ordering::release, Scope::block)},
    {"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];",
     Effect::mbarrier(Ordering::release, Scope::cluster)},
    {"mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r1];", Effect::mbarrier(Ordering::relaxed, Scope::block)},
    {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", Effect::mbarrier(Ordering::acquire, Scope::block)},
    {"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], %r2;",
     Effect::mbarrier(Ordering::acquire, Scope::cluster)},

    {"cp.async.ca.shared.global [%r1], [%rd1], 4;", Effect::copy(Proxy::generic, Completion::copy_groups)},
    {"cp.async.commit_group;", Effect::commit(Completion::copy_groups)},
    {"cp.async.wait_group 3;", Effect::wait(Completion::copy_groups, 3)},
    {"cp.async.wait_all;", Effect::wait_for_all(Completion::copy_groups)},
    {"cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];", Effect::copy_arrival()},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];",
     Effect::copy(Proxy::generic, Completion::mbarrier)},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];",
     Effect::reduction(Proxy::generic, Completion::mbarrier)},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
     Effect::copy(Proxy::async, Completion::mbarrier)},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
     Effect::copy(Proxy::async, Completion::bulk_groups)},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;",
     Effect::reduction(Proxy::async, Completion::bulk_groups)},
    {"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];",
     Effect::copy(Proxy::async, Completion::mbarrier)},
    {"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%r1];",
     Effect::copy(Proxy::async, Completion::bulk_groups)},
    {"cp.async.bulk.commit_group;", Effect::commit(Completion::bulk_groups)},
    {"cp.async.bulk.wait_group 1;", Effect::wait(Completion::bulk_groups, 1)},
    {"cp.async.bulk.wait_group.read 0;", Effect::wait_for_sources(Completion::bulk_groups, 0)},

    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;",
     Effect::multiply().by_whole_warp()},
    {"wgmma.fence.sync.aligned;", Effect::multiply_fence().by_whole_warp()},
    {"wgmma.commit_group.sync.aligned;", Effect::commit(Completion::products).by_whole_warp()},
    {"wgmma.wait_group.sync.aligned 2;", Effect::wait(Completion::products, 2).by_whole_warp()},
    {"setmaxnreg.inc.sync.aligned.u32 240;", Effect::register_budget().by_whole_warp()},
};
INSTANTIATE_TEST_SUITE_P(Decoders, EffectOf, testing::ValuesIn(said));

TEST(Touched, RegistersAreThoseThatTheDecoderResolved) {
  const Decoded decoded(
      "@%p1 add.u32 %r1, %r2, %r3;\n"                   // 0
      "ld.global.v2.u32 {%r4, %r5}, [%rd1+8];\n"        // 1
      "st.shared.u32 [%r6], %r7;\n"                     // 2
      "setp.eq.and.s32 %p2|%p3, %r1, 4, %p1;\n"         // 3
      "mbarrier.arrive.shared::cta.b64 %rd2, [%r6];\n"  // 4
      "mov.b64 %rd3, {%r1, %r2};\n"                     // 5
      "mov.b64 {%r1, _}, %rd3;");                       // 6
  const auto registers = [&](std::span<const u32> list) {
    std::string text;
    for (const u32 reg : list) text += decoded.function().source->registers[reg].name + " ";
    return text;
  };
  const auto reads = [&](u32 i) { return registers(decoded.function().touched.reads(i)); };
  const auto writes = [&](u32 i) { return registers(decoded.function().touched.writes(i)); };
  EXPECT_EQ(reads(0), "%r2 %r3 %p1 ");
  EXPECT_EQ(writes(0), "%r1 ");
  EXPECT_EQ(reads(1), "%rd1 ");
  EXPECT_EQ(writes(1), "%r4 %r5 ");
  EXPECT_EQ(reads(2), "%r6 %r7 ");
  EXPECT_EQ(writes(2), "");
  EXPECT_EQ(reads(3), "%p1 %r1 ");
  EXPECT_EQ(writes(3), "%p2 %p3 ");
  EXPECT_EQ(reads(4), "%r6 ");
  EXPECT_EQ(writes(4), "%rd2 ");
  EXPECT_EQ(reads(5), "%r1 %r2 ");
  EXPECT_EQ(writes(5), "%rd3 ");
  EXPECT_EQ(reads(6), "%rd3 ");
  EXPECT_EQ(writes(6), "%r1 ");
}

TEST(Touched, AnInstructionOfSeveralOpsHasOneFirst) {
  const Decoded decoded("add.u32 %r1, %tid.x, %ctaid.x;");
  u32 first = 0;
  for (const Effect& effect : decoded.function().effects) first += effect.first;
  EXPECT_EQ(decoded.function().effects.size(), 4u);  // two special registers, the sum, ret
  EXPECT_EQ(first, 2u);
  EXPECT_TRUE(decoded.function().effects[0].first);
}

// Where the assembler puts a wait for wgmma: for each text the numbers of the instructions it comes before.
TEST(Awaits, WhatTouchesAccumulatorsWithNoWaitBehindTheProduct) {
  const auto awaits = [](const std::string& text) {
    const Decoded decoded(text);
    std::string numbers;
    for (u32 i = 0; i < decoded.function().awaits.size(); ++i)
      if (decoded.function().awaits[i]) numbers += std::to_string(i) + " ";
    return numbers;
  };
  const std::string product =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;"
      "wgmma.commit_group.sync.aligned;";
  const std::string wait = "wgmma.wait_group.sync.aligned 0;", touch = "mov.f32 %f5, %f2;";
  EXPECT_EQ(awaits(touch), "") << "no wgmma at all";
  EXPECT_EQ(awaits(product + touch), "2 ");
  EXPECT_EQ(awaits(product + "mov.f32 %f2, %f5;"), "2 ");
  EXPECT_EQ(awaits(product + "mov.f32 %f6, %f5;"), "") << "another register";
  EXPECT_EQ(awaits(product + product + wait + touch), "") << "one product adds to the other's sums";
  EXPECT_EQ(awaits(product + "wgmma.wait_group.sync.aligned 1;" + touch), "") << "any wait is believed";
  EXPECT_EQ(awaits(product + "@%p1 bra on;" + wait + "on: " + touch), "4 ") << "on one of two ways";
  EXPECT_EQ(awaits(product + "@%p1 bra on; ret; on: " + wait + touch), "");
  EXPECT_EQ(awaits("again: " + touch + product + "@%p1 bra again;" + wait), "0 ") << "in the next round of a loop";
  EXPECT_EQ(awaits("again: " + touch + product + wait + "@%p1 bra again;"), "");
  EXPECT_EQ(awaits(product + "bra on; " + touch + "on: " + wait), "") << "nobody comes there";
  EXPECT_EQ(awaits(product + "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f5, %f6, %f7, %f0}, "
                             "{%f1, %f2, %f3, %f4}, %rd2, 1, 1, 1, 0;"),
            "2 ")
      << "sums as another product's factors";
}

}  // namespace
}  // namespace wm::vgpu
