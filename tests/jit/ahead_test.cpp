// Programs compiled ahead: found where the cache has nothing, and only where the folder is to be trusted.
#include "jit/ahead.hpp"

#include <sys/stat.h>

#include "jit/support.hpp"
#include "warpmill/error.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

class CompiledAhead : public testing::Test {
 protected:
  Folder folder;
  const fs::path shipped = folder.path() / "shipped";
  const Variable cache{"WARPMILL_CACHE_DIR", (folder.path() / "cache").string()},
      kernels{"WARPMILL_KERNELS_DIR", shipped.string()}, bound{"WARPMILL_CACHE_MAX_BYTES", ""};
  const Source source{"ahead.cu", "#include \"warpmill/types.cuh\"\n__global__ void k(wm::u32* x) { *x = 7; }"};
  const Options options{.arch = hopper};

  void forget() const { fs::remove_all(folder.path() / "cache"); }
  fs::path entry() const { return *fs::directory_iterator(shipped); }
};

TEST_F(CompiledAhead, IsTakenWhereTheCacheHasNothing) {
  EXPECT_TRUE(compile_ahead(source, options, shipped).compiled);
  EXPECT_FALSE(compile_ahead(source, options, shipped).compiled);  // it is there
  const Program program = compile(source, options);
  EXPECT_TRUE(program.from_cache);
  EXPECT_FALSE(program.cubin.empty());
  EXPECT_TRUE(program.ptx.empty()) << "three times the cubin, and a chip does not need it";
  EXPECT_EQ(program.resources.size(), 1u);
  EXPECT_FALSE(compile({"ahead.cu", source.text + " "}, options).from_cache);
  EXPECT_FALSE(compile(source, {.arch = hopper, .defines = {{"ANOTHER", "1"}}}).from_cache);
  EXPECT_FALSE(compile(source, {.arch = hopper, .line_table = true}).from_cache);
}

TEST_F(CompiledAhead, IsNotTakenFromAFolderOthersMayWriteToNorDamaged) {
  compile_ahead(source, options, shipped);
  for (const mode_t mode : {0720, 0702}) {
    ASSERT_EQ(::chmod(shipped.c_str(), mode), 0);
    EXPECT_FALSE(compile(source, options).from_cache);
    forget();
  }
  ASSERT_EQ(::chmod(shipped.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(entry().c_str(), 0606), 0);
  EXPECT_FALSE(compile(source, options).from_cache);
  forget();
  ASSERT_EQ(::chmod(entry().c_str(), 0600), 0);
  fs::resize_file(entry(), fs::file_size(entry()) - 1);
  EXPECT_FALSE(compile(source, options).from_cache);
}

TEST_F(CompiledAhead, KeepsWhatIsNamedAlone) {
  const fs::path first = compile_ahead(source, options, shipped).file;
  const fs::path second = compile_ahead({"b.cu", source.text}, options, shipped).file;
  EXPECT_TRUE(fs::exists(first));
  EXPECT_EQ(fs::status(first).permissions() & fs::perms::others_read, fs::perms::others_read);
  keep_only(shipped, {second});
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(second));
}

// As it is built and installed, and as it lies in a Python package.
TEST_F(CompiledAhead, IsFoundBesideTheProgram) {
  const Source of_worker{"worker.cu", "__global__ void k(int* x) { *x = NUMBER; }"};
  for (const char* const place : {"share/warpmill/kernels", "bin/warpmill-kernels"}) {
    const fs::path prefix = folder.path() / fs::path(place).filename();
    fs::create_directories(prefix / "bin");
    fs::copy_file(WARPMILL_JIT_WORKER, prefix / "bin/worker");
    compile_ahead(of_worker, {.arch = hopper, .defines = {{"NUMBER", "0"}}}, prefix / place);
    const Ended ended = run_command("env -u WARPMILL_KERNELS_DIR " + in_shell_quotes(prefix / "bin/worker") + " 2");
    EXPECT_TRUE(holds(ended.output, "\ncached ")) << place << ": " << ended.output;
    EXPECT_TRUE(holds(ended.output, "\ncompiled ")) << "the second is not there: " << ended.output;
    forget();
  }
}

TEST_F(CompiledAhead, RefusesLostSpeed) {
  const Source spilling{"spill.cu", R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* x) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = v[63 - i] * v[i / 2];
})"};
  try {
    compile_ahead(spilling, options, shipped);
    FAIL() << "it was compiled";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "spills registers")) << error.what();
  }
  EXPECT_TRUE(fs::is_empty(shipped));
}

TEST_F(CompiledAhead, IsNotTakenWhereTheCacheIsTurnedOff) {
  compile_ahead(source, options, shipped);
  const Variable none{"WARPMILL_CACHE_MAX_BYTES", "0"};
  EXPECT_FALSE(compile(source, options).from_cache);
}

TEST_F(CompiledAhead, RefusesFlagsOfTheEnvironment) {
  const Variable flags{"NVRTC_APPEND_FLAGS", "-G"};
  EXPECT_THROW(compile_ahead(source, options, shipped), Error);
}

TEST_F(CompiledAhead, RefusesWhatReadsFilesOfTheMachine) {
  folder.write("own.h", "");
  const Options reading{.arch = hopper, .include_folders = {folder.path()}};
  EXPECT_THROW(compile_ahead({"a.cu", "#include \"own.h\"\n__global__ void k() {}"}, reading, shipped), Error);
  EXPECT_THROW(compile_ahead(source, options, "/proc/nowhere"), Error);
}

}  // namespace
}  // namespace wm::jit
