// The runtime on a chip. Exits with 2 where there is none; what spoils a context runs in a process of its own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <thread>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/kernels.hpp"
#include "warpmill/warpmill.hpp"

using namespace wm;

namespace {

constexpr unsigned test_seconds = 180, child_seconds = 30;

// first(out) lets the next kernel start, spins for 5 ms and writes when it ends; second(out) notes when it starts,
// waits for the kernel before it, and copies what that wrote.
constexpr std::string_view dependent_ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 out) {
  .reg .pred %p;
  .reg .b64 %d<5>;
  ld.param.u64 %d4, [out];
  griddepcontrol.launch_dependents;
  mov.u64 %d1, %globaltimer;
SPIN:
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p, %d3, 5000000;
  @%p bra SPIN;
  st.global.u64 [%d4], %d2;
  ret;
}
.visible .entry second(.param .u64 out) {
  .reg .b64 %d<4>;
  ld.param.u64 %d3, [out];
  mov.u64 %d1, %globaltimer;
  griddepcontrol.wait;
  ld.volatile.global.u64 %d2, [%d3];
  st.global.u64 [%d3+8], %d1;
  st.global.u64 [%d3+16], %d2;
  ret;
}
)";

// The driver as a program around us would use it.
template <class Function>
Function* driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* address = library ? dlsym(library, name) : nullptr;
  if (!address) throw std::runtime_error(fmt::format("libcuda has no {}", name));
  return reinterpret_cast<Function*>(address);
}
template <class Function, class... Args>
void call(const char* name, Args... args) {
  const CUresult result = driver_function<Function>(name)(args...);
  if (result != CUDA_SUCCESS) throw std::runtime_error(fmt::format("{} gave {}", name, static_cast<int>(result)));
}

const Device& gpu() {
  static const Device device = Device::open("cuda:0");
  return device;
}
constexpr LaunchConfig one_thread{.grid = {1}, .block = {1}};

// Entered by the child: what it prints is what the parent looks at.
void say(const std::function<void()>& action) {
  const test::Refusal refusal = test::refusal_of(action);
  fmt::print("{}: {}\n", name_of(refusal.code), refusal.text);
}
int child(std::string_view name) {
  alarm(child_seconds);
  const Module module = Module::load_ptx(gpu(), test::store_ptx, "store.ptx");
  const Stream stream(gpu());
  const Buffer buffer(gpu(), 64);
  if (name == "illegal_address") launch(stream, module.kernel("store"), one_thread, std::uint64_t{16});
  if (name == "misaligned_address") launch(stream, module.kernel("store"), one_thread, buffer.address() + 1);
  if (name == "trap") launch(stream, module.kernel("stop"), one_thread);
  say([&] { stream.synchronize(); });
  say([&] { buffer.download<int>(); });
  say([&] { launch(stream, module.kernel("store"), one_thread, buffer); });
  say([&] { Buffer(gpu(), 64); });
  fmt::print("end\n");
  return 0;
}
std::string output_of_child(std::string_view name) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  FILE* pipe = popen(fmt::format("'{}' --child {} 2>&1", program, name).c_str(), "r");
  std::string output;
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) output.push_back(static_cast<char>(c));
  if (!pipe || pclose(pipe) != 0) output += "\nthe child failed or ran out of time";
  return output;
}

void expect_sticky(std::string_view name, std::string_view answer) {
  const std::string output = output_of_child(name);
  const auto expect = [&](std::string_view part) { EXPECT_NE(output.find(part), std::string::npos) << part; };
  expect(fmt::format("execution failed: waiting for a stream of cuda:0: CUDA answered {}", answer));
  expect("; a kernel given to cuda:0 before this call failed.");
  expect("; a kernel failed on cuda:0 earlier in this process, and nothing runs there since");
  expect("end\n");
  EXPECT_EQ(output.find("nothing was refused"), std::string::npos);
  if (testing::Test::HasFailure()) fmt::print("{}\n", output);
}

}  // namespace

TEST(Gpu, IsDescribed) {
  const DeviceInfo& info = gpu().info();
  fmt::print("{} {}: {}, {} multiprocessors, {} B memory, {} B L2, {} B shared memory a block\n", info.id, info.name,
             info.arch.name(), info.multiprocessors, info.memory_bytes, info.l2_bytes, info.shared_bytes_per_block);
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, std::size_t{1} << 30);
  if (info.arch.name() == "sm_90a") {
    EXPECT_EQ(info.shared_bytes_per_block, 232448u);
    EXPECT_EQ(info.shared_bytes_per_multiprocessor, 233472u);
    EXPECT_EQ(info.blocks_per_cluster, 16);
  }
}

TEST(Gpu, KernelsAreDescribed) {
  const Module module = Module::load_ptx(gpu(), test::signatures_ptx, "signatures.ptx");
  EXPECT_EQ(module.entries().size(), 6u);
  const Kernel typed = module.kernel("typed");
  const runtime::PtxSummary summary = runtime::summarize(test::signatures_ptx);
  ASSERT_EQ(typed.parameters().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {  // the driver and the text agree
    EXPECT_EQ(typed.parameters()[i].offset, summary.find("typed")->parameters[i].offset) << i;
    EXPECT_EQ(typed.parameters()[i].bytes, summary.find("typed")->parameters[i].bytes) << i;
    EXPECT_EQ(typed.parameters()[i].kind, summary.find("typed")->parameters[i].kind) << i;
  }
  EXPECT_GT(typed.registers(), 0);
  EXPECT_EQ(module.kernel("at_most_64").max_threads(), 64);
  EXPECT_EQ(module.kernel("with_shared").static_shared_bytes(), 4096u);
  EXPECT_EQ(module.kernel("in_pairs").loaded().required_cluster, (Dim3{2, 1, 1}));
  EXPECT_REFUSED(module.kernel("absent"), not_found, "with_shared");
}

TEST(Gpu, ACompiledProgramRuns) {
  const jit::Program program =
      jit::compile({"twice.cu", "template <class T> __global__ void twice(T* x, T by) { x[threadIdx.x] *= by; }"},
                   {.arch = gpu().info().arch, .name_expressions = {"twice<float>"}});
  const Kernel twice = Module::load(gpu(), program, "twice.cu").kernel("twice<float>");
  const Buffer buffer = Buffer::of<float>(gpu(), std::vector<float>(32, 1.5f));
  const Stream stream(gpu());
  launch(stream, twice, {.grid = {1}, .block = {32}}, buffer, 2.f);
  EXPECT_REFUSED(launch(stream, twice, {.grid = {1}, .block = {32}}, buffer, 2), launch,
                 "argument 2 of 2 is an integer of 4 B, and the kernel takes a floating-point number of 4 B there");
  EXPECT_EQ(buffer.download<float>(), std::vector<float>(32, 3.f));
}

TEST(Gpu, TakesTheCallersStreamAndPointers) {
  gpu().synchronize();
  CUcontext context = nullptr;
  call<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", &context, 0);
  call<CUresult(CUcontext)>("cuCtxSetCurrent", context);
  CUstream raw = nullptr;
  CUdeviceptr memory = 0;
  call<decltype(cuStreamCreate)>("cuStreamCreate", &raw, CU_STREAM_NON_BLOCKING);
  call<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2", &memory, 4000);
  {
    const Kernel add = Module::load_ptx(gpu(), test::add_ptx).kernel("add");
    const Stream stream = Stream::wrap(gpu(), raw);
    const View view(gpu(), reinterpret_cast<const void*>(memory), DType::i32, {1000});
    stream.fill(view.address, std::byte{0}, view.span_bytes());
    for (int i = 0; i < 3; ++i) launch(stream, add, {.grid = {8}, .block = {128}}, view, view, 1000, 5);
    launch(stream, add, {.grid = {8}, .block = {128}}, reinterpret_cast<int*>(memory), memory, 1000, 5);
    std::vector<std::int32_t> values(1000);
    stream.download(std::as_writable_bytes(std::span(values)), memory);
    stream.synchronize();
    EXPECT_EQ(values, std::vector<std::int32_t>(1000, 20));
  }
  // The stream and the memory are still the caller's.
  EXPECT_EQ(driver_function<CUresult(CUstream)>("cuStreamQuery")(raw), CUDA_SUCCESS);
  call<CUresult(CUdeviceptr)>("cuMemFree_v2", memory);
  call<CUresult(CUstream)>("cuStreamDestroy_v2", raw);
  call<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease_v2", 0);
}

TEST(Gpu, LeavesTheCallersContextCurrent) {
  gpu().synchronize();
  CUcontext other = nullptr, current = nullptr;
  call<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2", &other, 0, 0);
  CUstream foreign = nullptr;
  call<decltype(cuStreamCreate)>("cuStreamCreate", &foreign, 0);
  const Kernel add = Module::load_ptx(gpu(), test::add_ptx).kernel("add");
  const Buffer buffer = Buffer::of<std::int32_t>(gpu(), std::vector<std::int32_t>(32, 1));
  launch(Stream(gpu()), add, {.grid = {1}, .block = {32}}, buffer, buffer, 32, 1);
  EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(32, 2));
  call<CUresult(CUcontext*)>("cuCtxGetCurrent", &current);
  EXPECT_EQ(current, other);
  EXPECT_REFUSED(Stream::wrap(gpu(), foreign), invalid_argument, "a context that is not the device's primary one");
  call<CUresult(CUcontext)>("cuCtxDestroy_v2", other);
}

TEST(Gpu, LaunchesClusters) {
  const Kernel ranks = Module::load_ptx(gpu(), test::cluster_ptx).kernel("ranks");
  for (const std::uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    const Buffer out(gpu(), 32 * 4);
    launch(Stream(gpu()), ranks, {.grid = {32}, .block = {32}, .cluster = {size}}, out);
    const auto values = out.download<std::uint32_t>();
    for (std::uint32_t block = 0; block < 32; ++block) EXPECT_EQ(values[block], size * 100 + block % size);
  }
}

TEST(Gpu, GivesABlockAllItsSharedMemory) {
  const Kernel kernel = Module::load_ptx(gpu(), test::signatures_ptx).kernel("with_shared");
  const auto most = static_cast<std::uint32_t>(gpu().info().shared_bytes_per_block) - 4096;
  const Stream stream(gpu());
  launch(stream, kernel, {.grid = {1}, .block = {32}, .shared_bytes = most});
  EXPECT_NO_THROW(stream.synchronize());
  EXPECT_REFUSED(launch(stream, kernel, {.grid = {1}, .block = {32}, .shared_bytes = most + 1}), launch,
                 "are more than the");
}

TEST(Gpu, ADependentKernelStartsBeforeTheOneAheadEnds) {
  const Module module = Module::load_ptx(gpu(), dependent_ptx);
  const Stream stream(gpu());
  for (const bool dependent : {false, true}) {
    const Buffer out(gpu(), 24);
    stream.fill(out.address(), std::byte{0}, 24);
    launch(stream, module.kernel("first"), one_thread, out);
    launch(stream, module.kernel("second"), {.grid = {1}, .block = {1}, .programmatic_dependent = dependent}, out);
    const auto times = out.download<std::uint64_t>();
    EXPECT_EQ(times[2], times[0]) << "griddepcontrol.wait saw what the first kernel wrote";
    EXPECT_EQ(times[1] < times[0], dependent) << "first ended at " << times[0] << ", second began at " << times[1];
  }
}

TEST(Gpu, LaunchesAreCapturedIntoGraphs) {
  const Kernel add = Module::load_ptx(gpu(), test::add_ptx).kernel("add");
  const Kernel ranks = Module::load_ptx(gpu(), test::cluster_ptx).kernel("ranks");
  const Buffer buffer = Buffer::of<std::int32_t>(gpu(), std::vector<std::int32_t>(64, 0));
  const Buffer out(gpu(), 16);
  const Stream stream(gpu());
  const auto raw = static_cast<CUstream>(stream.native());
  CUgraph graph = nullptr;
  CUgraphExec ready = nullptr;
  // Graphs are the caller's business, and the driver wants the caller's context for them.
  CUcontext context = nullptr;
  call<CUresult(CUstream, CUcontext*)>("cuStreamGetCtx", raw, &context);
  call<CUresult(CUcontext)>("cuCtxPushCurrent_v2", context);
  call<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2", raw, CU_STREAM_CAPTURE_MODE_GLOBAL);
  for (int i = 0; i < 3; ++i)
    launch(stream, add, {.grid = {1}, .block = {64}, .programmatic_dependent = i == 1}, buffer, buffer, 64, 1);
  launch(stream, ranks, {.grid = {4}, .block = {32}, .cluster = {2}}, out);
  const int value = 0;
  EXPECT_REFUSED(stream.upload(buffer.address(), std::as_bytes(std::span(&value, 1))), invalid_argument,
                 "a stream is being captured into a graph");
  call<decltype(cuStreamEndCapture)>("cuStreamEndCapture", raw, &graph);
  call<decltype(cuGraphInstantiateWithFlags)>("cuGraphInstantiateWithFlags", &ready, graph, 0ull);
  EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(64, 0)) << "a capture runs nothing";
  for (int i = 0; i < 2; ++i) call<decltype(cuGraphLaunch)>("cuGraphLaunch", ready, raw);
  EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(64, 6));
  EXPECT_EQ(out.download<std::int32_t>(), (std::vector<std::int32_t>{200, 201, 200, 201}));
  call<decltype(cuGraphExecDestroy)>("cuGraphExecDestroy", ready);
  call<decltype(cuGraphDestroy)>("cuGraphDestroy", graph);
}

TEST(Gpu, EventsOrderStreamsAndMeasureTime) {
  const Kernel spin = Module::load_ptx(gpu(), dependent_ptx).kernel("first");
  const Stream stream(gpu()), other(gpu());
  const Buffer out(gpu(), 24), copied(gpu(), 8);
  const Event start(gpu()), end(gpu());
  EXPECT_REFUSED(end.since(start), invalid_argument, "both must be recorded, and done");
  stream.record(start);
  launch(stream, spin, one_thread, out);
  stream.record(end);
  EXPECT_REFUSED(end.since(start), invalid_argument, "CUDA_ERROR_NOT_READY");
  other.wait(end);
  other.copy(copied.address(), out.address(), 8);
  end.synchronize();
  EXPECT_GT(end.since(start), 4.9);
  EXPECT_LT(end.since(start), 50.0);
  other.synchronize();
  EXPECT_EQ(copied.download<std::uint64_t>()[0], out.download<std::uint64_t>()[0]);
}

TEST(Gpu, IsSafeFromSeveralThreads) {
  const Module module = Module::load_ptx(gpu(), test::add_ptx);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&module, id] {  // threads that never touched CUDA
      const Stream stream(gpu());
      const Kernel add = module.kernel("add");
      const Buffer buffer = Buffer::of<std::int32_t>(gpu(), std::vector<std::int32_t>(1000, id));
      for (int i = 0; i < 1000; ++i) launch(stream, add, {.grid = {8}, .block = {128}}, buffer, buffer, 1000, 1);
      EXPECT_EQ(buffer.download<std::int32_t>(), std::vector<std::int32_t>(1000, id + 1000));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Gpu, SaysHowMuchMemoryThereWas) {
  EXPECT_REFUSED(Buffer(gpu(), std::size_t{1} << 50), out_of_memory, "allocating 1125899906842624 B on cuda:0 (");
  EXPECT_REFUSED(Buffer(gpu(), std::size_t{1} << 50), out_of_memory,
                 "B are free): CUDA answered CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(Buffer(gpu(), 64).bytes(), 64u) << "and the device goes on";
}

// What the checks above the driver would have refused, given to the driver.
TEST(Gpu, ALaunchTheDriverRefusesIsExplained) {
  const Kernel kernel = Module::load_ptx(gpu(), test::signatures_ptx).kernel("nothing");
  EXPECT_REFUSED(
      gpu().backend().launch(nullptr, kernel.loaded(), {.grid = {1}, .block = {2048}}, {}, {}), launch,
      "launching 'nothing' on cuda:0 (grid 1x1x1, block 2048x1x1, 0 B of dynamic shared memory): CUDA answered "
      "CUDA_ERROR_INVALID_VALUE");
  EXPECT_REFUSED(
      gpu().backend().launch(nullptr, kernel.loaded(), {.grid = {64}, .block = {1}, .cluster = {32}}, {}, {}), launch,
      "cluster 32x1x1");
  EXPECT_NO_THROW(launch(Stream(gpu()), kernel, one_thread));
}

TEST(Gpu, RefusesAddressesThatAreNone) {
  const Stream stream(gpu());
  const int value = 0;
  EXPECT_REFUSED(stream.upload(16, std::as_bytes(std::span(&value, 1))), invalid_argument,
                 "uploading 4 B to 0x10 on cuda:0: CUDA answered CUDA_ERROR_INVALID_VALUE");
}

TEST(Gpu, RefusesCodeItCannotRun) {
  const jit::Source source{"empty.cu", "extern \"C\" __global__ void empty() {}"};
  const jit::Program ampere = jit::compile(source, {.arch = Architecture::parse("sm_80")});
  EXPECT_REFUSED(
      Module::load_cubin(gpu(), ampere.cubin, "ampere.cubin"), unsupported,
      "a cubin runs on the architecture it was compiled for alone: CUDA answered CUDA_ERROR_NO_BINARY_FOR_GPU");
  EXPECT_NO_THROW(Module::load(gpu(), ampere).kernel("empty")) << "its PTX is translated";

  const jit::Program native = jit::compile(source, {.arch = gpu().info().arch});
  EXPECT_EQ(Module::load_cubin(gpu(), native.cubin).entries(), std::vector<std::string>{"empty"});
  EXPECT_REFUSED(Module::load_cubin(gpu(), std::span(native.cubin).first(native.cubin.size() / 2), "half.cubin"),
                 invalid_argument, "is no whole cubin");
  EXPECT_REFUSED(Module::load_ptx(gpu(), ".version 8.7\n.target sm_120a\n.address_size 64\n", "later.ptx"), unsupported,
                 "module 'later.ptx' is compiled for sm_120a, which cuda:0");
  EXPECT_REFUSED(Module::load_ptx(gpu(), ".version 8.0\n.target sm_80\n.entry a() { nonsense; }\n", "bad.ptx"), compile,
                 "line 3");
}

TEST(Gpu, AnIllegalAddressIsExplainedForGood) { expect_sticky("illegal_address", "CUDA_ERROR_ILLEGAL_ADDRESS"); }
TEST(Gpu, AMisalignedAddressIsExplainedForGood) {
  expect_sticky("misaligned_address", "CUDA_ERROR_MISALIGNED_ADDRESS");
}
TEST(Gpu, ATrapIsExplainedForGood) { expect_sticky("trap", "CUDA_ERROR_"); }

// Median host time of a launch of ours and of the driver's own, in turns, with the queue kept short.
TEST(Gpu, ALaunchCostsWhatTheDriverTakes) {
  using Clock = std::chrono::steady_clock;
  const Kernel add = Module::load_ptx(gpu(), test::add_ptx).kernel("add");
  const Buffer buffer(gpu(), 128);
  const Stream stream(gpu());
  const LaunchConfig config{.grid = {1}, .block = {32}};

  const runtime::cuda::Driver& driver = runtime::cuda::Driver::get();
  CUcontext context = nullptr;
  driver.retain_context(&context, 0);
  driver.push_context(context);
  std::uint64_t address = buffer.address();
  std::uint32_t n = 32;
  std::int32_t value = 1;
  void* values[] = {&address, &address, &n, &value};
  CUlaunchConfig raw{};
  raw.gridDimX = raw.gridDimY = raw.gridDimZ = raw.blockDimY = raw.blockDimZ = 1;
  raw.blockDimX = 32;
  raw.hStream = static_cast<CUstream>(stream.native());

  std::vector<double> ours, drivers;
  const auto measure = [](std::vector<double>& times, const auto& action) {
    const auto start = Clock::now();
    action();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  };
  for (int i = 0; i < 20000; ++i) {
    measure(ours, [&] { launch(stream, add, config, buffer, buffer, n, value); });
    measure(drivers, [&] { driver.launch(&raw, static_cast<CUfunction>(add.loaded().native), values, nullptr); });
    if (i % 100 == 0) stream.synchronize();
  }
  stream.synchronize();
  CUcontext popped = nullptr;
  driver.pop_context(&popped);
  driver.release_context(0);
  const auto median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  };
  const double our_median = median(ours), driver_median = median(drivers);
  fmt::print("host cost of a launch, median of {}: {:.0f} ns, the driver's own {:.0f} ns\n", ours.size(), our_median,
             driver_median);
  EXPECT_LT(our_median, 2 * driver_median);
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const std::string problem = Device::gpu_problem(); !problem.empty()) {
    fmt::print(stderr, "these tests need a GPU: {}\n", problem);
    return 2;
  }
  try {
    if (argc == 3 && std::string_view(argv[1]) == "--child") return child(argv[2]);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  alarm(test_seconds);  // a hang ends here
  return RUN_ALL_TESTS();
}
