// The log function: who is told, and that it may be changed at any time.
#include "common/log.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

using namespace wm;

namespace {

class Log : public testing::Test {
 protected:
  ~Log() override { set_log({}); }
};

}  // namespace

TEST_F(Log, WhatIsToldGoesToTheFunctionSetLastAndToNobodyWithoutOne) {
  log(LogSeverity::warning, "nobody listens");
  std::string heard;
  set_log([&](LogSeverity severity, std::string_view text) {
    heard += severity == LogSeverity::warning ? "warning " : "note ";
    heard += text;
  });
  log(LogSeverity::note, "one, ");
  log(LogSeverity::warning, "two");
  set_log({});
  log(LogSeverity::warning, "nobody listens");
  EXPECT_EQ(heard, "note one, warning two");
}

TEST_F(Log, AFunctionMaySetAnotherWhileItIsCalled) {
  int first = 0, second = 0;
  set_log([&](LogSeverity, std::string_view) {
    ++first;
    set_log([&](LogSeverity, std::string_view) { ++second; });
    log(LogSeverity::note, "to the second");
  });
  log(LogSeverity::note, "to the first");
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST_F(Log, ManyThreadsMayTellAndSetAtOnce) {
  std::atomic<int> heard = 0;
  const LogFunction count = [&](LogSeverity, std::string_view) { ++heard; };
  set_log(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        log(LogSeverity::note, "text");
        if (j % 10 == 0) set_log(count);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, 400);
}
