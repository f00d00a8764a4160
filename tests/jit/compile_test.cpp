// What compile() promises: outputs, resources, errors with their place, lost speed, line tables.
#include <algorithm>
#include <thread>

#include "jit/log.hpp"
#include "jit/support.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

// What an earlier run compiled is not what is tested; the tests of the cache have one of their own.
class WithoutCache : public testing::Environment {
 public:
  void SetUp() override { setenv("WARPMILL_CACHE_MAX_BYTES", "0", 1); }
};
const auto* const without_cache = testing::AddGlobalTestEnvironment(new WithoutCache);

std::string refusal(const Source& source, const Options& options, ErrorCode code = ErrorCode::compile) {
  try {
    compile(source, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << source.name << " was not refused";
  return "";
}

constexpr const char* spilling = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* x, int n) {
  float a[90];
  #pragma unroll
  for (int i = 0; i < 90; i++) a[i] = x[i * n + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 90; i++) x[i * n * 3 + threadIdx.x] = a[i] * a[(i * 7) % 90];
}
)";

constexpr const char* ignored_setmaxnreg = R"(
extern "C" __global__ void keeps(float* x) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  x[threadIdx.x] = 1;
}
)";

TEST(Compile, GivesPtxCubinAndResourcesOfEveryEntry) {
  const Program program = compile({"two.cu", R"(
extern "C" __global__ void plain(int* x) { x[threadIdx.x] = WIDTH; }
extern "C" __global__ void shared(int* x) {
  __shared__ int tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[31 - threadIdx.x];
}
)"},
                                  {.arch = hopper, .defines = {{"WIDTH", "(40 + 2)"}}});
  EXPECT_TRUE(holds(program.ptx, ".visible .entry plain("));
  EXPECT_TRUE(holds(program.ptx, ".target sm_90a"));
  EXPECT_TRUE(holds(program.ptx, "42;"));
  EXPECT_EQ(program.ptx.find('\0'), std::string::npos);
  ASSERT_GT(program.cubin.size(), 4u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(program.cubin.data()) + 1, 3), "ELF");
  ASSERT_EQ(program.resources.size(), 2u);
  for (const Resources& entry : program.resources) {
    EXPECT_GT(entry.registers, 0);
    EXPECT_EQ(entry.stack_bytes, 0u);
    EXPECT_EQ(entry.static_shared_bytes, entry.entry == "shared" ? 128u : 0u);
    EXPECT_EQ(entry.barriers, entry.entry == "shared" ? 1 : 0);
  }
  EXPECT_TRUE(program.lost_speed.empty());
  EXPECT_EQ(program.log, "");
}

TEST(Compile, AnEmptySourceIsAProgramWithoutEntries) {
  const Program program = compile({"empty.cu", ""}, {.arch = hopper});
  EXPECT_TRUE(program.resources.empty());
  EXPECT_TRUE(holds(program.ptx, ".version"));
}

TEST(Compile, WarningsAreInTheLogVerbatim) {
  const Program program = compile({"warn.cu", "__global__ void k() {\n  int idle;\n}\n"}, {.arch = hopper});
  EXPECT_TRUE(holds(program.log, "warn.cu(2): warning")) << program.log;
  EXPECT_FALSE(holds(program.log, "ptxas info"));
}

TEST(Compile, CompilesForBlackwellsChipAndForItsFamily) {
  for (const char* name : {"sm_100a", "sm_100f"}) {
    const Program program =
        compile({"copy.cu", "__global__ void k(int* x) { *x = 1; }"}, {.arch = Architecture::parse(name)});
    EXPECT_TRUE(holds(program.ptx, std::string(".target ") + name)) << program.ptx;
    EXPECT_FALSE(program.cubin.empty());
  }
}

TEST(Compile, ANameExpressionMayHoldAPlan) {
  const Program program =
      compile({"plan.cu", R"(
struct Tile { int m, n; };
struct Plan {
  Tile tile; int stages;
  constexpr int bytes() const { return tile.m * tile.n * stages; }
};
template <Plan plan> __global__ void run(int* x) { *x = plan.bytes(); }
)"},
              {.arch = hopper, .name_expressions = {"run<Plan{.tile={8, 4}, .stages=2}>", "run<Plan{{1, 1}, 7}>"}});
  ASSERT_EQ(program.lowered.size(), 2u);
  for (const auto& [expression, name] : program.lowered)
    EXPECT_TRUE(holds(program.ptx, ".entry " + name + "(")) << expression;
  EXPECT_EQ(program.resources.size(), 2u);
  EXPECT_TRUE(holds(program.ptx, "64;"));
}

TEST(Compile, AWrongNameExpressionIsNamed) {
  const std::string message =
      refusal({"k.cu", "template <int n> __global__ void k() {}"}, {.arch = hopper, .name_expressions = {"k<absent>"}});
  EXPECT_TRUE(holds(message, "k<absent>")) << message;
}

TEST(CompileError, ShowsFileLineTextAndCaret) {
  const std::string message =
      refusal({"bad.cu", "__global__ void k(int* x) {\n  *x = absent + 1;\n}\n"}, {.arch = hopper});
  EXPECT_TRUE(holds(message, "bad.cu(2): error")) << message;
  EXPECT_TRUE(holds(message, "*x = absent + 1;"));
  EXPECT_TRUE(holds(message, "^"));
  EXPECT_FALSE(holds(message, "/nonexistent"));
}

TEST(CompileError, OfInlinePtxShowsTheSourceLineItCameFrom) {
  const std::string message = refusal({"asm.cu", R"(__device__ void inner() {
  asm volatile("no.such.instruction;");
}
extern "C" __global__ void k(int* x) {
  *x = 1;
  inner();
}
)"},
                                      {.arch = hopper});
  EXPECT_TRUE(holds(message, "asm.cu(2): error")) << message;
  EXPECT_TRUE(holds(message, "PTX: \tno.such.instruction;")) << message;
  EXPECT_TRUE(holds(message, "asm volatile(\"no.such.instruction;\");")) << message;
}

TEST(CompileError, OfPtxasAloneIsPassedOn) {
  const std::string message = refusal({"big.cu", R"(extern "C" __global__ void big(float* x) {
  __shared__ float y[60000];
  y[threadIdx.x] = 1;
  __syncthreads();
  *x = y[3];
})"},
                                      {.arch = hopper});
  EXPECT_TRUE(holds(message, "too much shared data")) << message;
}

TEST(CompileError, RequestsThatCannotBeServedAreRefusedInWords) {
  const Source source{"k.cu", "__global__ void k() {}"};
  EXPECT_TRUE(holds(refusal(source, {.arch = {5, 0, false}}, ErrorCode::unsupported), "sm_50"));
  EXPECT_TRUE(holds(refusal(source, {.arch = {8, 0, true}}, ErrorCode::unsupported), "sm_80a"));
  EXPECT_TRUE(holds(refusal({"", ""}, {.arch = hopper}, ErrorCode::invalid_argument), "name"));
  EXPECT_TRUE(holds(refusal({"k.cu", std::string("a\0b", 3)}, {.arch = hopper}, ErrorCode::invalid_argument), "null"));
  EXPECT_TRUE(holds(refusal(source, {.arch = hopper, .defines = {{"A B", "1"}}}, ErrorCode::invalid_argument), "A B"));
  EXPECT_TRUE(
      holds(refusal(source, {.arch = hopper, .defines = {{"A", "1\n#error"}}}, ErrorCode::invalid_argument), "'A'"));
}

TEST(LostSpeed, ASpillAndAStackFrameAreReported) {
  const Program program = compile({"spill.cu", spilling}, {.arch = hopper});
  ASSERT_EQ(program.resources.size(), 1u);
  EXPECT_GT(program.resources[0].spill_store_bytes, 0u);
  EXPECT_GT(program.resources[0].spill_load_bytes, 0u);
  EXPECT_GT(program.resources[0].stack_bytes, 0u);
  ASSERT_EQ(program.lost_speed.size(), 2u);
  EXPECT_TRUE(holds(program.lost_speed[0], "'spilling' spills registers")) << program.lost_speed[0];
  EXPECT_TRUE(holds(program.lost_speed[1], "stack frame"));
}

TEST(LostSpeed, AnIgnoredSetmaxnregIsReported) {
  const Program program = compile({"keeps.cu", ignored_setmaxnreg}, {.arch = hopper});
  ASSERT_EQ(program.lost_speed.size(), 1u);
  EXPECT_TRUE(holds(program.lost_speed[0], "(C7508)")) << program.lost_speed[0];
  EXPECT_TRUE(holds(program.lost_speed[0], "__launch_bounds__"));
}

TEST(LostSpeed, IsAnErrorForAShippedKernel) {
  EXPECT_TRUE(holds(refusal({"spill.cu", spilling}, {.arch = hopper, .shipped = true}), "spills registers"));
  EXPECT_TRUE(holds(refusal({"keeps.cu", ignored_setmaxnreg}, {.arch = hopper, .shipped = true}), "(C7508)"));
  EXPECT_NO_THROW(compile({"fine.cu", "__global__ void k() {}"}, {.arch = hopper, .shipped = true}));
}

TEST(LostSpeed, AStackFrameOfAFunctionThatWasNotInlinedIsReportedUnderItsName) {
  const CompilerLog log = read_log(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in the "
      "function 'k'\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers, 128 bytes cumulative stack size\n"
      "ptxas info    : Function properties for helper\n"
      "ptxas         .     128 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n");
  ASSERT_EQ(log.resources.size(), 1u);
  EXPECT_EQ(log.resources[0].spill_store_bytes, 0u);
  EXPECT_EQ(log.resources[0].stack_bytes, 128u);
  ASSERT_EQ(log.lost_speed.size(), 3u);
  EXPECT_TRUE(holds(log.lost_speed[0], "(C7510)"));
  EXPECT_TRUE(holds(log.lost_speed[1], "'helper' spills registers"));
  EXPECT_TRUE(holds(log.lost_speed[2], "'helper' has a stack frame of 128 bytes"));
}

TEST(Headers, OfTheCallerAreFoundInTheFoldersGiven) {
  const Folder folder;
  folder.write("lib/outer.h", "#include \"detail/inner.h\"\n");
  folder.write("lib/detail/inner.h", "constexpr int inner = 77;\n");
  const Program program = compile({"k.cu", "#include <lib/outer.h>\n__global__ void k(int* x) { *x = inner; }"},
                                  {.arch = hopper, .include_folders = {folder.path()}});
  EXPECT_TRUE(holds(program.ptx, "77;"));
}

TEST(Headers, OfTheToolkitAreFound) {
  EXPECT_NO_THROW(compile({"k.cu", "#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = __float2half(1.f); }"},
                          {.arch = hopper}));
}

TEST(EmbeddedHeaders, EachCompilesAlone) {
  for (const auto& [name, text] : embedded_headers()) {
    EXPECT_TRUE(name.starts_with("warpmill/")) << name;
    EXPECT_NO_THROW(compile({"alone.cu", "#include \"" + name + "\"\n"}, {.arch = hopper})) << name;
  }
}

class InFolder : public testing::Test {
 protected:
  InFolder() : before_(fs::current_path()) { fs::current_path(folder.path()); }
  ~InFolder() override { fs::current_path(before_); }
  Folder folder;

 private:
  fs::path before_;
};

TEST_F(InFolder, TheWorkingDirectoryIsNoPlaceForHeaders) {
  folder.write("stray.h", "");
  EXPECT_TRUE(holds(refusal({"k.cu", "#include \"stray.h\"\n"}, {.arch = hopper}), "stray.h"));
}

TEST_F(InFolder, OutputsNeverHoldTheWorkingDirectory) {
  folder.write("include/mine/add.h", "__device__ int add(int* x) {\n  return atomicAdd(x, 1);\n}\n");
  folder.write("other/sub.h", "__device__ int sub(int* x) {\n  return atomicSub(x, 1);\n}\n");
  const Source source{"sub folder/k.cu", R"(#include "mine/add.h"
#include "sub.h"
__global__ void k(int* x, const char** y) { *x = add(x) + sub(x); *y = __FILE__; })"};
  Options options{.arch = hopper, .include_folders = {"include", folder.path() / "other"}};
  const std::string here = fs::current_path().string();
  const Program plain = compile(source, options);
  EXPECT_FALSE(holds(plain.ptx, here));
  EXPECT_FALSE(holds(plain.cubin, here));
  options.line_table = true;
  const Program table = compile(source, options);
  EXPECT_FALSE(holds(table.ptx, here)) << table.ptx;
  EXPECT_TRUE(table.cubin.empty());
  EXPECT_TRUE(table.resources.empty());
  for (const char* name : {"\"sub folder/k.cu\"", "\"mine/add.h\"", "\"sub.h\""})
    EXPECT_TRUE(holds(table.ptx, std::string(".file\t1 ") + name) ||
                holds(table.ptx, std::string(".file\t2 ") + name) || holds(table.ptx, std::string(".file\t3 ") + name))
        << name << "\n"
        << table.ptx;
  EXPECT_TRUE(holds(table.ptx, ".loc"));
}

TEST(Compile, ManyThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> texts(8);
  for (std::size_t i = 0; i < texts.size(); ++i)
    threads.emplace_back([&texts, i] {
      texts[i] = compile({"k.cu", "__global__ void k(int* x) { *x = NUMBER; }"},
                         {.arch = hopper, .defines = {{"NUMBER", std::to_string(1000 + i)}}})
                     .ptx;
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_TRUE(holds(texts[i], std::to_string(1000 + i) + ";"));
}

TEST(CompilerInfo, SaysWhichNvrtcIsInUse) {
  const CompilerInfo info = compiler_info();
  ASSERT_TRUE(info.found) << info.problem;
  EXPECT_TRUE(fs::exists(info.path)) << info.path;
  EXPECT_TRUE(info.version.starts_with("13.")) << info.version;
  EXPECT_NE(std::find(info.architectures.begin(), info.architectures.end(), hopper), info.architectures.end());
}

}  // namespace
}  // namespace wm::jit
