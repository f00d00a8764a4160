// A program started as a process of its own: its lines are read as they come, and it is ended when it stays silent.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wm::cli {

struct WorkerEnd {
  int status = 0;       // its exit status; 128 and the signal's number where one ended it
  bool silent = false;  // it was ended for that
};

// `line` is called with each line of its standard output, `wait` a few times a second meanwhile; where they throw, the
// process is ended first. Its standard error is ours.
WorkerEnd run_worker(const std::vector<std::string>& command, std::chrono::milliseconds longest_silence,
                     const std::function<void(std::string_view)>& line, const std::function<void()>& wait);

}  // namespace wm::cli
