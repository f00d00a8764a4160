// The files that the program reads and writes.
#include <sys/stat.h>

#include "cli/program.hpp"

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Program, WritesOutputsAsNpyAndReadsThemAgain) {
  ASSERT_EQ(start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"y.npy\""))).status, 0);
  EXPECT_THAT(wm::cases::read_text(folder_ / "y.npy"), AllOf(StartsWith("\x93NUMPY"), HasSubstr("(100, 76)")));
  EXPECT_EQ(start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"equals\": \"y.npy\""))).status, 0);
}

// A limit on the size of files stands in for a full disk.
TEST_F(Program, AnOutputThatCannotBeWrittenWholeIsNotThere) {
  const Ended ended =
      start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"y.npy\"")), "ulimit -f 8;");
  EXPECT_EQ(ended.status, 2) << "no signal ended it";
  EXPECT_THAT(ended.err, AllOf(HasSubstr("outputs.y: cannot write"), HasSubstr("File too large")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("y.npy")));
}

TEST_F(Program, AnOutputThatCannotBeWrittenIsSaidBeforeAnythingIsCompiled) {
  folder_.write("tma_copy.cu", "this does not compile");
  const Ended ended = start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"write\": \"none/y.npy\"")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("changed.json:12:"), HasSubstr("outputs.y: cannot create a file beside"),
                               HasSubstr("none/y.npy: No such file or directory")));
}

TEST_F(Program, FilesWithoutAnEndAreRefused) {
  const std::string pipe = (folder_ / "pipe.json").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(start("run " + pipe).err, "warpmill: cannot read " + pipe + ": it is a pipe, not a file\n");
  EXPECT_EQ(start("check /dev/zero").err, "warpmill: cannot read /dev/zero: it is a device, not a file\n");
  std::filesystem::create_symlink("/dev/zero", folder_ / "zero.npy");
  const Ended ended = start(run_virtual(changed("tma_copy.json", "\"equals\": \"x\"", "\"equals\": \"zero.npy\"")));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("zero.npy: it is a device, not a file"));
}
