// A process that works for the program: its lines, its end, and its silence.
#include "commands/worker.hpp"

#include <cerrno>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warpmill/error.hpp"

using namespace std::chrono_literals;
using testing::ElementsAre;
using wm::cli::run_worker;
using wm::cli::WorkerEnd;

namespace {

struct Ran {
  WorkerEnd end;
  std::vector<std::string> lines;
};
Ran run(const std::string& script, std::chrono::milliseconds longest_silence = 60s) {
  Ran ran;
  ran.end = run_worker(
      {"/bin/sh", "-c", script}, longest_silence, [&](std::string_view line) { ran.lines.emplace_back(line); }, [] {});
  return ran;
}

}  // namespace

TEST(Worker, ItsLinesAndItsStatusArrive) {
  const Ran ran = run("echo one; printf 'two\\n\\nthr'; printf 'ee'; exit 3");
  EXPECT_THAT(ran.lines, ElementsAre("one", "two", "", "three"));
  EXPECT_EQ(ran.end.status, 3);
  EXPECT_FALSE(ran.end.silent);
}

TEST(Worker, ASilentOneIsEndedAndWhatItSaidBeforeIsKept) {
  const auto start = std::chrono::steady_clock::now();
  const Ran ran = run("echo alive; exec sleep 600", 300ms);
  EXPECT_THAT(ran.lines, ElementsAre("alive"));
  EXPECT_TRUE(ran.end.silent);
  EXPECT_EQ(ran.end.status, 128 + 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
}

TEST(Worker, OneThatDiesSaysBySignal) {
  const Ran ran = run("echo last; kill -SEGV $$");
  EXPECT_THAT(ran.lines, ElementsAre("last"));
  EXPECT_EQ(ran.end.status, 128 + 11);
  EXPECT_FALSE(ran.end.silent);
}

TEST(Worker, AProgramThatIsNotThereIsSaidByName) {
  try {
    run_worker(
        {"/nowhere/program"}, 1s, [](std::string_view) {}, [] {});
    FAIL();
  } catch (const wm::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot start /nowhere/program: No such file"));
  }
}

TEST(Worker, IsEndedWhereItsCallerWantsNoMore) {
  std::string number;
  const auto line = [&](std::string_view text) { number = text; };
  const auto stop = [&] {
    if (!number.empty()) throw wm::Error(wm::ErrorCode::stopped, "enough");
  };
  EXPECT_THROW(run_worker({"/bin/sh", "-c", "echo $$; exec sleep 600"}, 60s, line, stop), wm::Error);
  EXPECT_NE(::kill(std::stoi(number), 0), 0) << "it is still there";
  EXPECT_EQ(errno, ESRCH);
}
