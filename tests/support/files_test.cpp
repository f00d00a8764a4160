// Files are written whole or not at all.
#include "case/files.hpp"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

using namespace wm::cases;
using testing::HasSubstr;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::size_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace

TEST(Files, AreReplacedWhole) {
  TemporaryFolder folder;
  write_file(folder / "a", bytes_of("first"));
  write_file(folder / "a", bytes_of("second"));
  EXPECT_EQ(read_text(folder / "a"), "second");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

// A limit on the size of files stands in for a full disk: writes fail half way. Its signal, which ends a program, does
// not come.
TEST(Files, AFailedWriteLeavesTheOldFileAndNoRemains) {
  TemporaryFolder folder;
  write_file(folder / "a", bytes_of("old"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string large(100000, 'x');
  const std::string message = refusal([&] { write_file(folder / "a", bytes_of(large)); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(message, HasSubstr("cannot write " + (folder / "a").string()));
  EXPECT_EQ(read_text(folder / "a"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Files, AFullDeviceIsSaidSo) {
  EXPECT_EQ(refusal([] { write_file("/dev/full", bytes_of("x")); }), "cannot write /dev/full: No space left on device");
}

TEST(Files, AMissingFolderIsSaidSo) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { write_file(folder / "none/a", bytes_of("x")); }), HasSubstr("No such file or directory"));
}

TEST(Files, WhetherOneCanBeWrittenIsSaidBeforeAndNothingChanges) {
  TemporaryFolder folder;
  write_file(folder / "a", bytes_of("old"));
  for (const auto& file : {folder / "a", folder / "b", std::filesystem::path("/dev/null")})
    EXPECT_EQ(refusal([&] { check_writable(file); }), "(not refused)") << file;
  EXPECT_THAT(refusal([&] { check_writable(folder / "none/a"); }), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal([&] { check_writable(folder / "a/b"); }), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal([&] { check_writable(folder.path()); }), HasSubstr("Is a directory"));
  EXPECT_EQ(read_text(folder / "a"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Files, LinksAndDevicesStayWhatTheyAre) {
  TemporaryFolder folder;
  write_file(folder / "target", bytes_of("old"));
  std::filesystem::create_symlink(folder / "target", folder / "link");
  write_file(folder / "link", bytes_of("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "target"), "new");
  write_file("/dev/null", bytes_of("x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Files, ALinkToNothingStaysOneAndTheFileItNamesIsMade) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "there");
  std::filesystem::create_symlink("there/target", folder / "second");
  std::filesystem::create_symlink("second", folder / "first");
  check_writable(folder / "first");
  EXPECT_FALSE(std::filesystem::exists(folder / "there/target"));
  write_file(folder / "first", bytes_of("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
  EXPECT_EQ(read_text(folder / "there/target"), "new");
  EXPECT_EQ(files_in(folder / "there"), 1u);

  std::filesystem::create_symlink(folder / "none/target", folder / "nowhere");
  EXPECT_THAT(refusal([&] { write_file(folder / "nowhere", bytes_of("x")); }), HasSubstr("No such file or directory"));
  std::filesystem::create_symlink("round", folder / "round");
  EXPECT_THAT(refusal([&] { write_file(folder / "round", bytes_of("x")); }), HasSubstr("Too many levels"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "round"));
  EXPECT_EQ(files_in(folder.path()), 5u);
}

TEST(Files, ASignalDuringAWriteLeavesNoRemains) {
  TemporaryFolder folder;
  const std::string large(std::size_t{32} << 20, 'x');
  for (int round = 0; round < 5; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (bool first = true;; first = false) {
        write_file(folder / "a", bytes_of(large));
        if (first && ::write(ready[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char begun = 0;
    ASSERT_EQ(::read(ready[0], &begun, 1), 1);
    ::usleep(3000 * (round + 1));  // into one of its writes
    ::kill(writer, SIGTERM);
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
    EXPECT_EQ(std::filesystem::file_size(folder / "a"), large.size());
    EXPECT_EQ(files_in(folder.path()), 1u) << "round " << round;
    for (const int end : ready) ::close(end);
  }
}

TEST(Files, APipeIsWrittenWhereSomebodyReadsIt) {
  TemporaryFolder folder;
  const std::string path = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { write_file(path, bytes_of("x")); }), "cannot write " + path + ": nobody reads this pipe");

  std::string got;
  std::thread reader([&] { std::getline(std::ifstream(path), got); });
  while (refusal([&] { write_file(path, bytes_of("text\n")); }) != "(not refused)") ::usleep(1000);
  reader.join();
  EXPECT_EQ(got, "text");

  // One that stops reading half way costs an error, not the program.
  const int end = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  const std::string large(1 << 20, 'x');
  std::thread gone([&] { ::usleep(50'000), ::close(end); });
  EXPECT_THAT(refusal([&] { write_file(path, bytes_of(large)); }), HasSubstr("Broken pipe"));
  gone.join();
}

TEST(Files, WhatHasNoEndOrNeverComesIsNotRead) {
  TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { read_text(pipe); }), "cannot read " + pipe + ": it is a pipe, not a file");
  EXPECT_EQ(refusal([] { read_bytes("/dev/zero"); }), "cannot read /dev/zero: it is a device, not a file");
  EXPECT_THAT(refusal([&] { read_text(folder.path()); }), HasSubstr("it is a folder, not a file"));
  // A file with a hole takes no disk and may be larger than any memory.
  folder.write("hole", "");
  std::filesystem::resize_file(folder / "hole", std::uintmax_t{1} << 43);
  EXPECT_THAT(refusal([&] { read_bytes(folder / "hole"); }), HasSubstr("it has 8796093022208 bytes, more than the "));
}

TEST(Files, WithoutASizeAreReadToTheirEnd) { EXPECT_THAT(read_text("/proc/self/status"), HasSubstr("VmPeak")); }
