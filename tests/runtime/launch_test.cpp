// Launches and modules: what runs, and what each refusal says before anything does.
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/kernels.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;

namespace {

const Device& hopper() {
  static const Device device = Device::open("virtual:sm_90a");
  return device;
}
const Module& signatures() {
  static const Module module = Module::load_ptx(hopper(), test::signatures_ptx, "signatures.ptx");
  return module;
}

// Launches `entry` of the signature kernels.
template <class... Args>
void try_launch(const char* entry, const LaunchConfig& config, const Args&... args) {
  launch(Stream::wrap(hopper(), nullptr), signatures().kernel(entry), config, args...);
}

struct Block24 {
  double values[3];
};
struct Block16 {
  double values[2];
};

}  // namespace

TEST(MappedMemory, IsTheDevicesUntilItIsUnmapped) {
  const Module module = Module::load_ptx(hopper(), test::add_ptx, "add.ptx");
  std::vector<std::uint32_t> values(100);
  std::iota(values.begin(), values.end(), 0u);
  const std::span<std::byte> memory = std::as_writable_bytes(std::span(values));
  const auto add = [&](std::uint32_t count) {
    launch(Stream::wrap(hopper(), nullptr), module.kernel("add"), {.grid = {1}, .block = {128}}, values.data(),
           values.data(), count, 5);
  };
  vgpu::map_memory(hopper(), memory);
  add(100);
  EXPECT_EQ(values[0], 5u);
  EXPECT_EQ(values[99], 104u);
  EXPECT_REFUSED(add(101), execution, "past the end of `host memory` of 400 bytes");
  EXPECT_REFUSED(vgpu::map_memory(hopper(), memory.subspan(396)), invalid_argument, "mapped already");
  EXPECT_REFUSED(vgpu::unmap_memory(hopper(), memory.data() + 4), invalid_argument, "no mapped memory");
  vgpu::unmap_memory(hopper(), memory.data());
  EXPECT_REFUSED(add(100), execution, "lie in no allocation");
  EXPECT_REFUSED(vgpu::map_memory(hopper(), memory.first(0)), invalid_argument, "no bytes");
}

TEST(Launch, RunsAKernelOnViewsAndNumbers) {
  std::vector<std::int32_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  const Buffer in = Buffer::of<std::int32_t>(hopper(), values);
  const Buffer out(hopper(), in.bytes());
  const Kernel add = Module::load_ptx(hopper(), test::add_ptx).kernel("add");  // the module goes, its code stays
  const Stream stream(hopper());
  launch(stream, add, {.grid = {8}, .block = {128}}, out, in.view<std::int32_t>({1000}), 1000, -7);
  stream.synchronize();
  for (std::int32_t& value : values) value -= 7;
  EXPECT_EQ(out.download<std::int32_t>(), values);
  EXPECT_GT(vgpu::last_run(hopper()).warp_instructions, 0u);
  EXPECT_EQ(vgpu::last_run(hopper()).blocks, 8u);
}

TEST(Modules, GiveTheAddressesOfTheirVariables) {
  const Module module = Module::load_ptx(hopper(), R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter[3] = {5, 6, 7};
.const .align 8 .u64 factor = 9;
.visible .entry k() { ret; }
)");
  const Symbol counter = module.symbol("counter"), factor = module.symbol("factor");
  EXPECT_EQ(counter.bytes, 12u);
  EXPECT_EQ(factor.bytes, 8u);
  const Stream stream(hopper());
  std::uint32_t values[3] = {};
  std::uint64_t value = 0;
  stream.download(std::as_writable_bytes(std::span(values)), counter.address);
  stream.download(std::as_writable_bytes(std::span(&value, 1)), factor.address);
  stream.synchronize();
  EXPECT_EQ(values[2], 7u);
  EXPECT_EQ(value, 9u);
  EXPECT_EQ(module.kernel("k").symbol("counter").address, counter.address);
  EXPECT_REFUSED(module.symbol("nothing"), not_found, "has no variable 'nothing'");
}

TEST(Launch, TakesAPreparedListOfArguments) {
  const std::vector<std::int32_t> values(4, 5);
  const Buffer buffer = Buffer::of<std::int32_t>(hopper(), values);
  const Kernel add = Module::load_ptx(hopper(), test::add_ptx).kernel("add");
  const std::uint64_t address = buffer.address();
  const std::uint32_t n = 4;
  const std::vector<Argument> arguments{
      {&address, 8, ParameterKind::pointer}, {&address, 8, ParameterKind::pointer}, {&n, 4}, {&n, 4}};
  launch(Stream(hopper()), add, {.grid = {1}, .block = {32}}, arguments);
  EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(4, 9));
}

TEST(Launch, GivesBlocksOfAClusterTheirRanks) {
  const Buffer out(hopper(), 8 * 4);
  const Kernel ranks = Module::load_ptx(hopper(), test::cluster_ptx).kernel("ranks");
  launch(Stream(hopper()), ranks, {.grid = {8}, .block = {32}, .cluster = {4}}, out);
  EXPECT_EQ(out.download<std::int32_t>(), (std::vector<std::int32_t>{400, 401, 402, 403, 400, 401, 402, 403}));
}

TEST(Launch, RefusesSizesNoDeviceHas) {
  EXPECT_REFUSED(try_launch("nothing", {.grid = {0}, .block = {1}}), launch,
                 "launch of 'nothing' on virtual:sm_90a refused: the grid 0x1x1 has a size of 0");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1}, .block = {32, 0}}), launch, "the block 32x0x1 has a size of 0");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1, 65536}, .block = {1}}), launch,
                 "the grid 1x65536x1 is more than 2147483647x65535x65535");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1u << 31}, .block = {1}}), launch, "the grid 2147483648x1x1 is more");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1}, .block = {1, 1, 65}}), launch,
                 "the block 1x1x65 is more than 1024x1024x64");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1}, .block = {64, 32}}), launch,
                 "the block 64x32x1 has 2048 threads, and this kernel allows 1024");
}

TEST(Launch, RefusesBlocksTheKernelWasNotCompiledFor) {
  EXPECT_REFUSED(try_launch("at_most_64", {.grid = {1}, .block = {65}}), launch, "has 65 threads");
  EXPECT_NO_THROW(try_launch("at_most_64", {.grid = {1}, .block = {64}}));
  EXPECT_REFUSED(try_launch("exactly_32", {.grid = {1}, .block = {16}}), launch, "compiled for exactly 32x1x1");
  EXPECT_NO_THROW(try_launch("exactly_32", {.grid = {1}, .block = {32}}));
}

TEST(Launch, RefusesClustersThatCannotBe) {
  EXPECT_REFUSED(try_launch("nothing", {.grid = {6}, .block = {1}, .cluster = {4}}), launch,
                 "the cluster 4x1x1 does not divide the grid 6x1x1");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {4, 3}, .block = {1}, .cluster = {2, 2}}), launch,
                 "the cluster 2x2x1 does not divide the grid 4x3x1");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {4, 4, 3}, .block = {1}, .cluster = {1, 1, 2}}), launch,
                 "the cluster 1x1x2 does not divide the grid 4x4x3");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {6}, .block = {1}, .cluster = {0}}), launch,
                 "the cluster 0x1x1 has a size of 0");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {32}, .block = {1}, .cluster = {32}}), launch,
                 "the cluster 32x1x1 is more than 16x16x16");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {8, 4}, .block = {1}, .cluster = {8, 4}}), launch,
                 "the cluster 8x4x1 has 32 blocks, and sm_90a allows 16");
  EXPECT_REFUSED(try_launch("in_pairs", {.grid = {4}, .block = {1}, .cluster = {4}}), launch,
                 "the cluster is 4x1x1, and the kernel was compiled for exactly 2x1x1");
  EXPECT_REFUSED(try_launch("in_pairs", {.grid = {3}, .block = {1}}), launch, "cluster 2x1x1 does not divide the grid");
  EXPECT_NO_THROW(try_launch("in_pairs", {.grid = {4}, .block = {1}}));

  const Device ampere = Device::open("virtual:sm_80");
  const Kernel store = Module::load_ptx(ampere, test::store_ptx).kernel("stop");
  EXPECT_REFUSED(launch(Stream(ampere), store, {.grid = {2}, .block = {1}, .cluster = {2}}), launch,
                 "sm_80 has no clusters");
}

TEST(Launch, RefusesMoreSharedMemoryThanABlockHas) {
  EXPECT_REFUSED(try_launch("with_shared", {.grid = {1}, .block = {1}, .shared_bytes = 229000}), launch,
                 "229000 B of dynamic shared memory and the kernel's own 4096 B are more than the 232448 B");
  EXPECT_REFUSED(try_launch("nothing", {.grid = {1}, .block = {1}, .shared_bytes = ~0u}), launch, "4294967295 B");
  EXPECT_NO_THROW(try_launch("with_shared", {.grid = {1}, .block = {1}, .shared_bytes = 228352}));
}

TEST(Launch, RefusesArgumentsTheKernelDoesNotTake) {
  const LaunchConfig one{.grid = {1}, .block = {1}};
  const Buffer buffer(hopper(), 64);
  const Block24 block{};
  const std::uint8_t small = 1;
  EXPECT_NO_THROW(try_launch("typed", one, buffer, 1.f, 2.0, block, 3, small));
  EXPECT_NO_THROW(try_launch("typed", one, buffer.address(), 1.f, 2.0, block, 3.f, true));  // .b32 takes both
  EXPECT_NO_THROW(try_launch("typed", one, nullptr, 1.f, 2.0, block, 3, small));
  EXPECT_REFUSED(try_launch("typed", one, buffer), launch, "1 arguments were given, and the kernel takes 6");
  EXPECT_REFUSED(try_launch("nothing", one, 1), launch, "1 arguments were given, and the kernel takes 0");
  EXPECT_REFUSED(try_launch("typed", one, buffer, 1, 2.0, block, 3, small), launch,
                 "argument 2 of 6 is an integer of 4 B, and the kernel takes a floating-point number of 4 B there");
  EXPECT_REFUSED(try_launch("typed", one, buffer, 1.f, 2.f, block, 3, small), launch,
                 "argument 3 of 6 is a floating-point number of 4 B");
  EXPECT_REFUSED(try_launch("typed", one, 2.0, 1.f, 2.0, block, 3, small), launch,
                 "argument 1 of 6 is a floating-point number of 8 B, and the kernel takes a pointer of 8 B there");
  EXPECT_REFUSED(try_launch("typed", one, buffer, 1.f, 2.0, Block16{}, 3, small), launch,
                 "argument 4 of 6 is a struct of 16 B, and the kernel takes a struct of 24 B there");
  EXPECT_REFUSED(try_launch("typed", one, buffer, 1.f, buffer, block, 3, small), launch,
                 "argument 3 of 6 is a pointer of 8 B");
  EXPECT_REFUSED(try_launch("typed", one, 7, 1.f, 2.0, block, 3, small), launch,
                 "argument 1 of 6 is an integer of 4 B");
}

TEST(Launch, RefusesMemoryAndStreamsOfAnotherDevice) {
  const Device ampere = Device::open("virtual:sm_80");
  const Kernel store = Module::load_ptx(hopper(), test::store_ptx).kernel("store");
  const LaunchConfig one{.grid = {1}, .block = {1}};
  EXPECT_REFUSED(launch(Stream(hopper()), store, one, Buffer(ampere, 4)), launch,
                 "argument 1 of 1 is memory of virtual:sm_80");
  EXPECT_REFUSED(launch(Stream(ampere), store, one, Buffer(hopper(), 4)), launch, "the stream is one of virtual:sm_80");
}

TEST(Launch, AFailingKernelSaysSoAndTheDeviceGoesOn) {
  const Module module = Module::load_ptx(hopper(), test::store_ptx);
  const Stream stream(hopper());
  const LaunchConfig one{.grid = {1}, .block = {1}};
  const Buffer buffer(hopper(), 4);
  EXPECT_EQ(test::refusal_of([&] { launch(stream, module.kernel("store"), one, std::uint64_t{16}); }).code,
            ErrorCode::execution);
  EXPECT_EQ(test::refusal_of([&] { launch(stream, module.kernel("stop"), one); }).code, ErrorCode::execution);
  launch(stream, module.kernel("store"), one, buffer);
  EXPECT_EQ(buffer.download<std::int32_t>()[0], 1);
}

TEST(Launch, IsSafeFromSeveralThreads) {
  const Kernel add = Module::load_ptx(hopper(), test::add_ptx).kernel("add");
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&add, id] {
      const Stream stream(hopper());
      const Buffer buffer = Buffer::of<std::int32_t>(hopper(), std::vector<std::int32_t>(100, id));
      for (int i = 0; i < 20; ++i) launch(stream, add, {.grid = {1}, .block = {128}}, buffer, buffer, 100, 1);
      EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(100, id + 20));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Module, SaysWhichKernelsThereAre) {
  EXPECT_REFUSED(signatures().kernel("type"), not_found, "module 'signatures.ptx' has no kernel 'type'; it has ");
  EXPECT_REFUSED(signatures().kernel("type"), not_found, "with_shared");
  const Kernel typed = signatures().kernel("typed");
  EXPECT_EQ(typed.name(), "typed");
  ASSERT_EQ(typed.parameters().size(), 6u);
  EXPECT_EQ(typed.parameters()[3].kind, ParameterKind::aggregate);
  EXPECT_EQ(signatures().kernel("with_shared").static_shared_bytes(), 4096u);
  EXPECT_EQ(signatures().kernel("at_most_64").max_threads(), 64);
}

TEST(Module, RefusesCodeOfAnotherArchitecture) {
  const Device ampere = Device::open("virtual:sm_80");
  EXPECT_REFUSED(Module::load_ptx(ampere, test::cluster_ptx, "ranks.ptx"), unsupported,
                 "module 'ranks.ptx' is compiled for sm_90, which virtual:sm_80");
  EXPECT_REFUSED(Module::load_ptx(hopper(), ".version 8.7\n.target sm_100a\n.address_size 64\n"), unsupported,
                 "sm_100a");
  EXPECT_NO_THROW(Module::load_ptx(hopper(), test::add_ptx));  // older PTX runs on newer chips
}

TEST(Module, FindsKernelsByNameExpression) {
  jit::Program program;
  program.arch = Architecture::parse("sm_90a");
  program.ptx = std::string(test::add_ptx);
  program.lowered["add<int>"] = "add";
  const Module module = Module::load(hopper(), program, "add.cu");
  EXPECT_EQ(module.kernel("add<int>").name(), "add");
  EXPECT_EQ(module.entries(), std::vector<std::string>{"add"});
}

TEST(Module, OfACubinAloneIsNotForTheVirtualDevice) {
  const std::vector<std::byte> cubin(64);
  EXPECT_REFUSED(Module::load_cubin(hopper(), cubin, "a.cubin"), unsupported, "a virtual device executes PTX");
}
