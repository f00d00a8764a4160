// The parts below compile(): the digest, the reading of #include lines, work shared by threads.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "jit/build.hpp"
#include "jit/headers.hpp"
#include "jit/line_table.hpp"
#include "jit/sha256.hpp"
#include "jit/single_flight.hpp"
#include "jit/support.hpp"

namespace wm::jit {
namespace {

std::string hash(std::string_view text) { return hexadecimal(sha256(text)); }

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePiecesItIsGivenIn) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    Sha256 pieces;
    for (std::size_t i = 0; i < size; i += 7) pieces.add(std::string_view(text).substr(i, 7));
    EXPECT_EQ(pieces.finish(), sha256(std::string_view(text))) << size;
  }
}

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> result;
  for (const Inclusion& inclusion : read_inclusions(text).names)
    result.push_back((inclusion.quoted ? "q " : "a ") + inclusion.name);
  return result;
}

TEST(Inclusions, AreFoundHoweverTheyAreWritten) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("#include \"a.h\"\n  #  include <b/c.h> // x\n"), (Names{"q a.h", "a b/c.h"}));
  EXPECT_EQ(names("#/* x */include/**/\"a.h\""), Names{"q a.h"});
  EXPECT_EQ(names("#inc\\\nlude \"a\\\r\n.h\""), Names{"q a.h"});
  EXPECT_EQ(names("%:include <a.h>"), Names{"a a.h"});
  EXPECT_EQ(names("#include_next <a.h>"), Names{"a a.h"});
  EXPECT_EQ(names("#if __has_include(<a.h>) || __has_include ( \"b.h\" )"), (Names{"a a.h", "q b.h"}));
  EXPECT_EQ(names("int included = 1; // include what is needed"), Names{});
  EXPECT_EQ(names("#include \"unfinished\n#include <"), Names{});
}

TEST(Inclusions, OfANameMadeByAMacroAreKnownToBeUnknown) {
  for (const char* text : {"#include NAME", "#define A\n # include NAME(x)", "/* x */ #include NAME",
                           "#/**/include NAME", "#if __has_include(NAME)"})
    EXPECT_FALSE(read_inclusions(text).complete) << text;
  for (const char* text : {"// the #include guard", "#ifdef __has_include\n#endif", "#include \"a.h\"", "include me"})
    EXPECT_TRUE(read_inclusions(text).complete) << text;
}

TEST(Headers, ThatIncludeEachOtherThroughParentFoldersComeToAnEnd) {
  const Folder folder;
  folder.write("a.h", "#include \"../" + folder.path().filename().string() + "/a.h\"\n#include \"lib/b.h\"\n");
  folder.write("lib/b.h", "#include \"../lib/../a.h\"\n#include <c.h>\n");
  folder.write("c.h", "");
  const Headers headers = find_headers("#include \"a.h\"", {}, {folder.path()}, {});
  EXPECT_TRUE(headers.complete);
  EXPECT_EQ(headers.files.size(), 3u);
}

const std::map<std::string, std::string_view> embedded{
    {"warpmill/outer.cuh", "#pragma once\n#include \"warpmill/deep/inner.cuh\"\n"},
    {"warpmill/deep/inner.cuh", "#pragma once\n__device__ inline int inner(int* x) {\n  return atomicAdd(x, 1);\n}\n"},
    {"warpmill/other.cuh", "#error not included\n"}};

TEST(EmbeddedHeaders, AreGivenToTheCompilerWhereTheyAreIncluded) {
  const Source source{"k.cu", "#include <warpmill/outer.cuh>\n__global__ void k(int* x) { x[1] = inner(x); }"};
  Headers headers = find_headers(source.text, embedded, {}, {});
  EXPECT_EQ(headers.embedded.size(), 2u);
  EXPECT_FALSE(headers.embedded.contains("warpmill/other.cuh"));
  const Options options{.arch = hopper, .line_table = true};
  const Output output = build(nvrtc(), {source, options, headers.embedded, flags_of(options, nvrtc())});
  EXPECT_TRUE(holds(output.ptx, "\"k.cu\"")) << output.ptx;
  EXPECT_TRUE(holds(output.ptx, "\"warpmill/deep/inner.cuh\"")) << output.ptx;
}

TEST(Headers, MacrosInsideTheToolkitDoNotMakeAProgramUnknown) {
  const Folder toolkit;
  toolkit.write("t.h", "#include \"detail.h\"\n");
  toolkit.write("detail.h", "#include NAME\n");
  EXPECT_TRUE(find_headers("#include <t.h>", {}, {}, {toolkit.path()}).complete);
  EXPECT_FALSE(find_headers("#include <t.h>", {}, {toolkit.path()}, {}).complete);
}

TEST(LineTable, FileNamesLoseTheFolderTheyWereFoundIn) {
  const std::string here = std::filesystem::current_path().string();
  const auto renamed = [&](const std::string& path) {
    return with_names_as_given("\t.file\t1 \"" + path + "\"\n.loc 1 2 3", {"inc", "/opt/x", "/opt/x/deep/"});
  };
  const auto named = [](const std::string& path) { return "\t.file\t1 \"" + path + "\"\n.loc 1 2 3"; };
  EXPECT_EQ(renamed(here + "/k.cu"), named("k.cu"));
  EXPECT_EQ(renamed(here + "/inc/a/b.h"), named("a/b.h"));
  EXPECT_EQ(renamed("/opt/x/c.h"), named("c.h"));
  EXPECT_EQ(renamed("/opt/x/deep/d.h"), named("d.h"));
  EXPECT_EQ(renamed("/elsewhere/e.h"), named("/elsewhere/e.h"));
}

TEST(SingleFlight, DoesTheWorkOnceForAllWhoWaitAndForgetsItAfterwards) {
  SingleFlight<int, int> flights;
  std::atomic<int> runs = 0, asked = 0, sum = 0;
  constexpr int count = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      ++asked;
      sum += flights.run(7, [&] {
        // The work ends only when everybody has asked and had time to find it under way.
        while (asked < count) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        ++runs;
        return 42;
      });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(sum, 42 * count);
  EXPECT_EQ(flights.run(7, [] { return 43; }), 43);
}

TEST(SingleFlight, PassesAnErrorOnAndWorksAgain) {
  SingleFlight<int, int> flights;
  EXPECT_THROW(flights.run(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(flights.run(1, [] { return 5; }), 5);
}

}  // namespace
}  // namespace wm::jit
