// The program started as a user starts it, in a folder with a cache and cases of its own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "case/files.hpp"
#include "support/temporary_folder.hpp"

struct Ended {
  int status = -1;  // -1: a signal
  std::string out, err;
};

inline const std::filesystem::path corpus = std::filesystem::path(WARPMILL_SOURCE) / "tests/judge/corpus";
inline const std::filesystem::path examples = std::filesystem::path(WARPMILL_SOURCE) / "examples/first_light";

class Program : public testing::Test {
 protected:
  Ended start(const std::string& arguments, const std::string& environment = "") {
    const std::string command = "WARPMILL_PLANS=" + (folder_ / "plans.txt").string() + " " + environment +
                                " WARPMILL_CACHE_DIR=" + (folder_ / "cache").string() + " " WARPMILL_PROGRAM " " +
                                arguments + " >" + (folder_ / "out").string() + " 2>" + (folder_ / "err").string() +
                                " </dev/null";
    Ended ended;
    const int status = std::system(command.c_str());
    if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
    ended.out = wm::cases::read_text(folder_ / "out");
    ended.err = wm::cases::read_text(folder_ / "err");
    return ended;
  }
  // A copy of an example with one part replaced.
  std::string changed(const std::string& example, std::string_view part, std::string_view by) {
    for (const auto& entry : std::filesystem::directory_iterator(examples))
      std::filesystem::copy(entry, folder_.path(), std::filesystem::copy_options::skip_existing);
    std::string text = wm::cases::read_text(examples / example);
    const auto at = text.find(part);
    EXPECT_NE(at, text.npos) << part;
    return folder_.write("changed.json", text.replace(at, part.size(), by)).string();
  }
  std::string run_virtual(const std::string& case_file) { return "run --device virtual " + case_file; }
  TemporaryFolder folder_;
};
