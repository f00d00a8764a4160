// This process's part of the report: which launches are judged, and what came of each.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "cudart/report.hpp"
#include "cudart/settings.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cudart {

class Reporter {
 public:
  static Reporter& get();

  // Whether this launch of the kernel is one that the judge is to see.
  bool wants_judge(const std::string& kernel);
  void note(const std::string& kernel, const vgpu::RunReport& run, bool judged, const std::string& fault);
  void note_refused(const std::string& kernel, const std::string& why);  // it cannot run here at all
  void finish();                                                         // writes what is not written yet

  // For RunOptions::progress: shows how far the run is, and ends it where a signal or the process's end asks for it.
  vgpu::Answer look(const vgpu::RunProgress& progress);
  void end_runs() { ending_ = true; }  // those that are still going

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    KernelReport report;
    bool changed = false;
    bool matches = true;  // the patterns
  };
  Reporter();
  Entry& entry_of(const std::string& kernel);
  void write(Entry& entry);
  void write_changed();

  const Settings& settings_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::vector<Entry*> in_order_;
  std::uint64_t matching_launches_ = 0;
  int file_ = -1;
  Clock::time_point next_write_{};
  LiveProgress* live_ = nullptr;
  std::atomic<bool> ending_ = false;
};

// The first SIGINT, SIGTERM or SIGHUP ends a judged run with its findings and then the program, where the program has
// nothing of its own to do about it.
void watch_signals();
// While a judged run goes, whose findings are to be kept; its report must have been noted when this ends.
struct RunGoing {
  RunGoing();
  ~RunGoing();
  RunGoing(const RunGoing&) = delete;
  RunGoing& operator=(const RunGoing&) = delete;
};

}  // namespace wm::cudart
