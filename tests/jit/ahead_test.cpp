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
