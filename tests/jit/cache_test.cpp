// The cache: what is in its key, every kind of damage, races, a full disk, folders that are not to be trusted.
#include <algorithm>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>

#include "jit/entry.hpp"
#include "jit/support.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The group alone, everybody alone, and what files and folders are often left as.
constexpr mode_t modes_open_to_others[] = {0720, 0702, 0660, 0777};
std::string in_octal(mode_t mode) { return fmt::format("mode {:o}: ", mode); }

class CacheTest : public testing::Test {
 protected:
  // Every file below the cache's folder.
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(cache)) result.push_back(entry.path());
    return result;
  }
  // The one entry of a cache that has one.
  fs::path entry() const {
    const auto all = files();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? fs::path() : all.front();
  }
  Program compile_number(int number) const {
    return compile({"number.cu", "__global__ void k(int* x) { *x = NUMBER; }"},
                   {.arch = hopper, .defines = {{"NUMBER", std::to_string(number)}}});
  }
  std::string use_cache() const { return "WARPMILL_CACHE_DIR=" + in_shell_quotes(cache); }

  Folder folder;
  const fs::path cache = folder.path() / "not yet/there";
  const Variable variable{"WARPMILL_CACHE_DIR", cache.string()}, bound{"WARPMILL_CACHE_MAX_BYTES", ""};
};

TEST_F(CacheTest, ASecondCompileGivesTheSameProgramFromTheCache) {
  const Source source{"two.cu",
                      "template <int n> __global__ void k(int* x) { int idle; __shared__ int y[n]; y[*x] = 1; "
                      "__syncthreads(); *x = y[threadIdx.x]; }"};
  const Options options{.arch = hopper, .name_expressions = {"k<4>", "k<8>"}};
  const Program first = compile(source, options), second = compile(source, options);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.ptx, second.ptx);
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_EQ(first.lowered, second.lowered);
  EXPECT_EQ(first.log, second.log);
  EXPECT_FALSE(second.log.empty());
  ASSERT_EQ(second.resources.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first.resources[i].entry, second.resources[i].entry);
    EXPECT_EQ(first.resources[i].registers, second.resources[i].registers);
    EXPECT_GT(second.resources[i].static_shared_bytes, 0u);
  }
}

TEST_F(CacheTest, IsPrivateToTheUser) {
  compile_number(1);
  struct stat status;
  for (const fs::path& path : {cache, cache.parent_path()}) {
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << path;
  }
  ASSERT_EQ(stat(entry().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CacheTest, EverythingThatMattersIsInTheKey) {
  folder.write("one/h.h", "#include \"deep/d.h\"\n");
  folder.write("one/deep/d.h", "constexpr int value = 1;\n");
  folder.write("two/h.h", "constexpr int value = 2;\n");
  const Source source{"k.cu", "#include \"h.h\"\ntemplate <int n> __global__ void k(int* x) { *x = value + n; }"};
  const Options options{.arch = hopper,
                        .defines = {{"A", "1"}},
                        .include_folders = {folder.path() / "one", folder.path() / "two"},
                        .name_expressions = {"k<1>"}};
  EXPECT_FALSE(compile(source, options).from_cache);
  EXPECT_TRUE(compile(source, options).from_cache);

  const auto compiles = [&](const char* what, auto change) {
    Source other_source = source;
    Options other = options;
    change(other_source, other);
    EXPECT_FALSE(compile(other_source, other).from_cache) << what;
    EXPECT_TRUE(compile(other_source, other).from_cache) << what;
  };
  compiles("the text", [](Source& changed, Options&) { changed.text += " "; });
  compiles("the name", [](Source& changed, Options&) { changed.name = "j.cu"; });
  compiles("the architecture", [](Source&, Options& changed) { changed.arch.specific = false; });
  compiles("a define's value", [](Source&, Options& changed) { changed.defines["A"] = "2"; });
  compiles("a further define", [](Source&, Options& changed) { changed.defines["B"] = "1"; });
  compiles("the name expressions", [](Source&, Options& changed) { changed.name_expressions = {"k<2>"}; });
  compiles("the line table", [](Source&, Options& changed) { changed.line_table = true; });
  compiles("the order of folders",
           [](Source&, Options& changed) { std::swap(changed.include_folders[0], changed.include_folders[1]); });
  compiles("a header of a header",
           [&](Source&, Options&) { folder.write("one/deep/d.h", "constexpr int value = 3;\n"); });
  compiles("a header that stands before another", [&](Source&, Options&) {
    folder.write("one/deep/deep/d.h", "");
    folder.write("one/h.h", "constexpr int value = 4;\n");
  });
  EXPECT_FALSE(compile(source, options).ptx.empty());
  EXPECT_TRUE(holds(compile(source, options).ptx, "5;")) << "value + n with the header as it is now";
}

TEST_F(CacheTest, AFlagOfTheEnvironmentIsNotMissed) {
  compile_number(1);
  const Variable more{"NVRTC_APPEND_FLAGS", "-DUNUSED=1"};
  EXPECT_FALSE(compile_number(1).from_cache);
}

TEST_F(CacheTest, AHeaderNamedByAMacroIsCompiledEveryTime) {
  folder.write("h.h", "constexpr int value = 11;\n");
  const Source source{"k.cu", "#define NAME \"h.h\"\n#include NAME\n__global__ void k(int* x) { *x = value; }"};
  const Options options{.arch = hopper, .include_folders = {folder.path()}};
  EXPECT_TRUE(holds(compile(source, options).ptx, "11;"));
  folder.write("h.h", "constexpr int value = 12;\n");
  EXPECT_TRUE(holds(compile(source, options).ptx, "12;"));
}

TEST_F(CacheTest, AShippedKernelThatLosesSpeedIsRefusedFromTheCacheToo) {
  const Source source{"k.cu", "__global__ void k(float* x) { asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\"); }"};
  EXPECT_FALSE(compile(source, {.arch = hopper}).from_cache);
  EXPECT_TRUE(compile(source, {.arch = hopper}).from_cache);
  EXPECT_THROW(compile(source, {.arch = hopper, .shipped = true}), Error);
}

// Damage: the entry is compiled again, gives the same program, and is whole afterwards.
class DamageTest : public CacheTest {
 protected:
  DamageTest() : before(compile_number(1)), path(entry()), bytes(read(path)) {}
  void expect_recovery(const std::string& damage) {
    const Program after = compile_number(1);
    EXPECT_FALSE(after.from_cache) << damage;
    EXPECT_EQ(after.ptx, before.ptx) << damage;
    const Program again = compile_number(1);
    EXPECT_TRUE(again.from_cache) << damage;
    EXPECT_EQ(again.ptx, before.ptx) << damage;
    EXPECT_EQ(files().size(), 1u) << damage;
  }
  void overwrite(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }

  const Program before;
  const fs::path path;
  const std::string bytes;
};

TEST_F(DamageTest, NoTruncationAndNoFlippedBitIsEverTaken) {
  const Output output{"ptx text", std::vector<std::byte>(300, std::byte{7}), "a log", {{"k<1>", "_Z1kv"}}};
  const Digest key = sha256(std::string_view("key"));
  const std::vector<std::byte> whole = encode(key, output);
  ASSERT_EQ(decode(key, whole), output);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode(key, std::span(whole).first(size))) << "cut to " << size;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto flipped = whole;
      flipped[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(decode(key, flipped)) << "bit " << bit << " of byte " << i;
    }
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(key, longer));
  EXPECT_FALSE(decode(sha256(std::string_view("another key")), whole));
}

TEST_F(DamageTest, ATruncatedEntryIsReplaced) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{79}, std::size_t{80}, bytes.size() / 2, bytes.size() - 1}) {
    overwrite(std::string_view(bytes).substr(0, size));  // of its own: another has times of its own in its log
    expect_recovery("cut to " + std::to_string(size));
  }
}

TEST_F(DamageTest, AnAlteredEntryIsReplaced) {
  // The magic, its version, the key, the length, the digest, the first and the last byte of the body.
  for (const std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{40}, std::size_t{48},
                               std::size_t{80}, bytes.size() - 1}) {
    std::string altered = bytes;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    overwrite(altered);
    expect_recovery("byte " + std::to_string(at));
  }
  overwrite(bytes + "x");
  expect_recovery("a byte more");
}

TEST_F(DamageTest, AnEntryUnderAnotherName) {
  compile_number(2);
  const auto all = files();
  ASSERT_EQ(all.size(), 2u);
  const fs::path other = all[0] == path ? all[1] : all[0];
  fs::rename(path, folder.path() / "moved");
  fs::rename(other, path);
  fs::rename(folder.path() / "moved", other);
  const Program one = compile_number(1), two = compile_number(2);
  EXPECT_FALSE(one.from_cache);
  EXPECT_FALSE(two.from_cache);
  EXPECT_EQ(one.ptx, before.ptx);
  EXPECT_TRUE(compile_number(1).from_cache);
  EXPECT_TRUE(compile_number(2).from_cache);
}

TEST_F(DamageTest, AnEntryThatMayNotBeReadOrIsAnotherUsersIsReplaced) {
  // Root may read anything, but can give the file away.
  if (geteuid() == 0)
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  else
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
  expect_recovery("unreadable");
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, geteuid()) << "it was replaced, not written to";
}

TEST_F(DamageTest, AnEntryThatOthersMayWriteToIsReplaced) {
  for (const mode_t mode : modes_open_to_others) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    expect_recovery(in_octal(mode));
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << in_octal(mode);
  }
  // What others may only read is no danger.
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(compile_number(1).from_cache);
}

TEST_F(DamageTest, AnEntryLargerThanTheWholeCacheMayBeIsNotRead) {
  const Variable small{"WARPMILL_CACHE_MAX_BYTES", std::to_string(bytes.size() - 1)};
  EXPECT_FALSE(compile_number(1).from_cache);
}

TEST_F(DamageTest, ALinkOrAPipeInPlaceOfAnEntryIsReplaced) {
  fs::rename(path, folder.path() / "moved");
  fs::create_symlink(folder.path() / "moved", path);
  expect_recovery("a link");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_recovery("a pipe");
}

TEST_F(DamageTest, AFolderInPlaceOfAnEntryCostsOnlyTheCompile) {
  fs::remove(path);
  fs::create_directories(path / "inside");
  EXPECT_EQ(compile_number(1).ptx, before.ptx);
  EXPECT_FALSE(compile_number(1).from_cache);
  EXPECT_TRUE(fs::exists(path / "inside"));
  EXPECT_EQ(files().size(), 1u) << "a file was left behind";
}

// The digests a worker printed, whether it compiled or loaded: which of the two depends on the race.
std::vector<std::string> ptx_digests(const std::string& output) {
  std::vector<std::string> result;
  for (const std::string_view word : {"\ncompiled ", "\ncached "})
    for (std::size_t at = output.find(word); at != output.npos; at = output.find(word, at + 1))
      result.push_back(output.substr(at + word.size(), 64));
  std::sort(result.begin(), result.end());
  return result;
}

TEST_F(CacheTest, ProcessesMayRaceOnAColdCache) {
  constexpr int kernels = 4;
  std::vector<std::future<Ended>> processes;
  for (int i = 0; i < 3; ++i)
    processes.push_back(
        std::async(std::launch::async, [this] { return run_worker(use_cache(), std::to_string(kernels)); }));
  std::vector<std::string> outputs;
  for (auto& process : processes) {
    const Ended ended = process.get();
    ASSERT_EQ(ended.status, 0) << ended.output;
    outputs.push_back(ended.output);
  }
  EXPECT_EQ(ptx_digests(outputs[0]).size(), std::size_t{kernels});
  EXPECT_EQ(ptx_digests(outputs[0]), ptx_digests(outputs[1]));
  EXPECT_EQ(ptx_digests(outputs[0]), ptx_digests(outputs[2]));
  EXPECT_EQ(files().size(), std::size_t{kernels});
  const Ended later = run_worker(use_cache(), std::to_string(kernels));
  EXPECT_FALSE(holds(later.output, "\ncompiled ")) << later.output;
  EXPECT_EQ(ptx_digests(later.output), ptx_digests(outputs[0]));
}

TEST_F(CacheTest, ThreadsMayRaceOnAColdCache) {
  std::vector<std::thread> threads;
  std::vector<Program> programs(16);
  for (std::size_t i = 0; i < programs.size(); ++i)
    threads.emplace_back([&, i] { programs[i] = compile_number(static_cast<int>(i % 4)); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < programs.size(); ++i) EXPECT_EQ(programs[i].ptx, programs[i % 4].ptx);
  EXPECT_NE(programs[0].ptx, programs[1].ptx);
  EXPECT_EQ(files().size(), 4u);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_F(CacheTest, AFileSizeLimitFailsNoCompileAndLeavesNoFile) {
  for (const char* limit : {"0", "79", "4096"}) {
    const Ended ended = run_worker(use_cache(), std::string("3 ") + limit);
    EXPECT_EQ(ended.status, 0) << ended.output;
    EXPECT_EQ(count(ended.output, "\ncompiled "), 3u) << ended.output;
    EXPECT_EQ(count(ended.output, "are not cached in"), 1u) << "one warning: " << ended.output;
    EXPECT_TRUE(files().empty()) << limit;
  }
}

TEST_F(CacheTest, AFullDiskFailsNoCompileAndLeavesNoHalfFile) {
  fs::create_directories(cache);
  const std::string mount = "unshare --map-root-user --mount sh -c \"mount -t tmpfs -o size=12k none " +
                            in_shell_quotes(cache) + " && chmod 700 " + in_shell_quotes(cache);
  if (run_command(mount + "\"").status != 0) GTEST_SKIP() << "a small file system cannot be mounted here";
  const Ended ended = run_command(mount + " && " + use_cache() + " " + in_shell_quotes(WARPMILL_JIT_WORKER) +
                                  " 6; ls -1 " + in_shell_quotes(cache) + "\"");
  EXPECT_EQ(count(ended.output, "\ncompiled "), 6u) << ended.output;
  EXPECT_EQ(count(ended.output, "No space left on device"), 1u) << ended.output;
  EXPECT_EQ(count(ended.output, "unfinished"), 0u) << ended.output;
}

TEST_F(CacheTest, AFolderThatCannotBeMadeCostsOneWarning) {
  folder.write("file", "");
  const Ended ended = run_worker("WARPMILL_CACHE_DIR=" + in_shell_quotes(folder.path() / "file/cache"), "2");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(count(ended.output, "\ncompiled "), 2u);
  EXPECT_EQ(count(ended.output, "warning: "), 1u) << ended.output;
}

TEST_F(CacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  run_worker(use_cache(), "1");
  for (const mode_t mode : modes_open_to_others) {
    ASSERT_EQ(chmod(cache.c_str(), mode), 0);
    const Ended ended = run_worker(use_cache(), "2");
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(count(ended.output, "\ncompiled "), 2u) << in_octal(mode) << ended.output;
    EXPECT_TRUE(holds(ended.output, "other users may write to it")) << in_octal(mode) << ended.output;
    EXPECT_EQ(files().size(), 1u) << in_octal(mode);
    EXPECT_TRUE(holds(cache_info().problem, "other users may write to it")) << in_octal(mode);
    EXPECT_EQ(clear_cache(), 0u) << in_octal(mode);
  }
  ASSERT_EQ(chmod(cache.c_str(), 0755), 0);  // what others may only look into serves
  EXPECT_EQ(count(run_worker(use_cache(), "1").output, "\ncached "), 1u);
}

TEST_F(CacheTest, AFolderOfAnotherUserIsNotUsed) {
  // Root gives its own away; to anybody else the root folder belongs to another.
  std::string environment = "WARPMILL_CACHE_DIR=/";
  if (geteuid() == 0) {
    environment = use_cache();
    run_worker(environment, "1");
    ASSERT_EQ(chown(cache.c_str(), 65534, 65534), 0);
  }
  const Ended foreign = run_worker(environment, "1");
  EXPECT_EQ(count(foreign.output, "\ncompiled "), 1u) << foreign.output;
  EXPECT_TRUE(holds(foreign.output, "belongs to another user")) << foreign.output;
}

TEST_F(CacheTest, TheFolderFollowsTheEnvironment) {
  const auto base = in_shell_quotes(folder.path());
  run_worker("-u WARPMILL_CACHE_DIR XDG_CACHE_HOME=" + base, "1");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "warpmill"), {}), 1);
  run_worker("-u WARPMILL_CACHE_DIR -u XDG_CACHE_HOME HOME=" + base, "1");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / ".cache/warpmill"), {}), 1);
  // The specification has a relative one ignored.
  run_worker("-u WARPMILL_CACHE_DIR XDG_CACHE_HOME=relative HOME=" + base, "2");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / ".cache/warpmill"), {}), 2);
}

TEST_F(CacheTest, StaysWithinItsBoundByForgettingWhatWasUsedLongestAgo) {
  compile_number(1);
  const fs::path first = entry();
  const auto size = fs::file_size(first);
  compile_number(2);
  const auto all = files();
  const fs::path second = all[0] == first ? all[1] : all[0];
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(first, now - std::chrono::hours(2));
  fs::last_write_time(second, now - std::chrono::hours(1));
  EXPECT_TRUE(compile_number(1).from_cache);  // used now
  const Variable bound{"WARPMILL_CACHE_MAX_BYTES", std::to_string(size * 5 / 2)};
  compile_number(3);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_TRUE(fs::exists(first));
  EXPECT_FALSE(fs::exists(second));
}

TEST_F(CacheTest, ABoundOfZeroTurnsItOff) {
  const Variable bound{"WARPMILL_CACHE_MAX_BYTES", "0"};
  EXPECT_FALSE(compile_number(1).from_cache);
  EXPECT_FALSE(compile_number(1).from_cache);
  EXPECT_FALSE(fs::exists(cache));
}

TEST_F(CacheTest, WhatAKilledProcessLeftIsRemovedInTime) {
  compile_number(1);
  const std::string stem = entry().stem().string();
  const fs::path old = cache / (stem + ".1.0.wmjit-unfinished"), fresh = cache / (stem + ".2.0.wmjit-unfinished");
  for (const fs::path& path : {old, fresh}) std::ofstream(path) << "half an en";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_TRUE(compile_number(1).from_cache);
  compile_number(2);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "its writer may still be at work";
}

TEST_F(CacheTest, InfoAndClearAreAboutOurFilesOnly) {
  compile_number(1);
  compile_number(2);
  std::ofstream(cache / "notes.txt") << "mine";
  fs::create_directory(cache / "folder");
  const CacheInfo info = cache_info();
  EXPECT_EQ(info.folder, cache);
  EXPECT_EQ(info.problem, "");
  EXPECT_EQ(info.entries, 2u);
  EXPECT_GT(info.bytes, 1000u);
  EXPECT_EQ(clear_cache(), 2u);
  EXPECT_EQ(cache_info().entries, 0u);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_FALSE(compile_number(1).from_cache);
}

}  // namespace
}  // namespace wm::jit
