// Files are written whole or not at all.
#include "case/files.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

// A limit on the size of files stands in for a full disk: writes fail half way.
TEST(Files, AFailedWriteLeavesTheOldFileAndNoRemains) {
  TemporaryFolder folder;
  write_file(folder / "a", bytes_of("old"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string large(100000, 'x');
  const std::string message = refusal([&] { write_file(folder / "a", bytes_of(large)); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
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

TEST(Files, FoldersAreNotRead) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { read_text(folder.path()); }), HasSubstr("Is a directory"));
}
