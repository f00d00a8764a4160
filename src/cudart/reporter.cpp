// Keeping and writing the report of this process.
#include "cudart/reporter.hpp"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/files.hpp"
#include "cudart/names.hpp"
#include "cudart/platform.hpp"

namespace wm::cudart {
namespace {

constexpr auto write_interval = std::chrono::milliseconds(200);

std::atomic<int> stopping_signal = 0;
std::atomic<int> runs_going = 0;

void stop(int signal) {
  if (stopping_signal.exchange(signal) == 0 && runs_going > 0) return;  // the run ends, and then the program
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Reporter& Reporter::get() {
  static auto* const reporter = new Reporter;
  return *reporter;
}

Reporter::Reporter() : settings_(Platform::get().settings) {
  if (settings_.report.empty()) return;
  const std::string path = fmt::format("{}/{}.kernels", settings_.report, ::getpid());
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  live_ = map_progress(settings_.report);
  if (settings_.judge) watch_signals();
}

Reporter::Entry& Reporter::entry_of(const std::string& kernel) {
  const auto [found, fresh] = entries_.try_emplace(kernel);
  Entry& entry = found->second;
  if (!fresh) return entry;
  entry.report.name = kernel;
  in_order_.push_back(&entry);
  const std::string readable = demangled(kernel);
  const auto named = [&](const std::string& pattern) { return matches(pattern, readable) || matches(pattern, kernel); };
  entry.matches = (settings_.kernels.empty() || std::ranges::any_of(settings_.kernels, named)) &&
                  std::ranges::none_of(settings_.skipped_kernels, named);
  return entry;
}

bool Reporter::wants_judge(const std::string& kernel) {
  if (!settings_.judge) return false;
  const std::lock_guard lock(mutex_);
  if (!entry_of(kernel).matches) return false;
  const std::uint64_t number = matching_launches_++;
  return number >= settings_.skip && (settings_.count == 0 || number - settings_.skip < settings_.count);
}

void Reporter::note(const std::string& kernel, const vgpu::RunReport& run, bool judged, const std::string& fault) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(kernel);
  KernelReport& report = entry.report;
  ++report.launches;
  report.instructions += run.warp_instructions;
  report.blocks += run.blocks;
  const std::size_t known = report.check.findings.size();
  if (judged) ++report.judged;
  if (run.check) report.check.join(*run.check);
  bool news = report.launches == 1 || report.check.findings.size() != known;
  if (!fault.empty() && std::ranges::find(report.faults, fault) == report.faults.end()) {
    report.faults.push_back(fault);
    news = true;
  }
  entry.changed = true;
  if (live_ != nullptr) {
    live_->launches.fetch_add(1, std::memory_order_relaxed);
    live_->instructions.fetch_add(run.warp_instructions, std::memory_order_relaxed);
    live_->blocks_done = live_->blocks = 0;
  }
  if (file_ < 0) return;
  if (news || ending_)
    write(entry);
  else if (Clock::now() >= next_write_)
    write_changed();
}

void Reporter::note_refused(const std::string& kernel, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(kernel);
  if (!entry.matches) return;
  entry.report.refused = why;
  if (file_ >= 0) write(entry);
}

void Reporter::write(Entry& entry) {
  const std::string line = to_line(entry.report);
  const SignalsHeldOff signals;
  write_all(file_, std::as_bytes(std::span(line)), signals);
  entry.changed = false;
}

void Reporter::write_changed() {
  for (Entry* entry : in_order_)
    if (entry->changed) write(*entry);
  next_write_ = Clock::now() + write_interval;
}

void Reporter::finish() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  if (file_ >= 0) write_changed();
}

vgpu::Answer Reporter::look(const vgpu::RunProgress& progress) {
  if (live_ != nullptr) {
    live_->blocks_done = progress.blocks_done;
    live_->blocks = progress.blocks;
  }
  return ending_ || stopping_signal != 0 ? vgpu::Answer::stop : vgpu::Answer::go_on;
}

void watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(signal, stop);
  }
}

RunGoing::RunGoing() { ++runs_going; }
RunGoing::~RunGoing() {
  --runs_going;
  const int signal = stopping_signal;
  if (signal == 0) return;
  Reporter::get().finish();
  std::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
}

}  // namespace wm::cudart
