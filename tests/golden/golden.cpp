// The command line of a golden program: running the cases, on a GPU in child processes.
#include "golden/golden.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "warpmill/error.hpp"

namespace wm::golden {

namespace {

std::string family_of(const std::string& name) { return name.substr(0, name.find('/')); }

struct Options {
  std::string record, compare, device, filter;
  bool list = false, all = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      if (i + 1 >= argc) throw Error(ErrorCode::invalid_argument, fmt::format("{} needs a value", name));
      return std::string(argv[++i]);
    };
    if (name == "--record")
      options.record = value();
    else if (name == "--compare")
      options.compare = value();
    else if (name == "--device")
      options.device = value();
    else if (name == "--filter")
      options.filter = value();
    else if (name == "--list")
      options.list = true;
    else if (name == "--all")
      options.all = true;
    else
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} is no option: --record FILE, --compare FILE, --list; --device, --filter, --all", name));
  }
  if (options.record.empty() + options.compare.empty() + !options.list != 2)
    throw Error(ErrorCode::invalid_argument, "give one of --record FILE, --compare FILE, --list");
  if (options.device.empty()) options.device = options.record.empty() ? "virtual" : "cuda:0";
  return options;
}

using Group = std::vector<const Case*>;

// What became of one case: a record of every element, or why there is none.
struct Outcome {
  std::optional<Record> record;
  std::string problem;
};
using Report = std::function<void(const Case&, const Outcome&)>;

Outcome run_case(const Case& one, const Device& device) {
  try {
    return {make_record(one, one.run(device), true), ""};
  } catch (const std::exception& error) {
    return {std::nullopt, error.what()};
  }
}

// The child's side of a pipe: one message a case. It ends where the device no longer answers, because a kernel that
// failed takes the context with it; the parent goes on with a new child.
[[noreturn]] void run_as_child(std::span<const Case* const> group, const std::string& device_id, std::FILE* out) {
  const auto send = [&](char kind, const std::string& text) {
    const std::uint64_t size = text.size();
    std::fputc(kind, out);
    std::fwrite(&size, sizeof(size), 1, out);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
  };
  bool begun = false;
  try {
    const Device device = Device::open(device_id);
    for (const Case* one : group) {
      begun = true;
      const Outcome outcome = run_case(*one, device);
      if (outcome.record)
        send('r', encode({device.info().name, {*outcome.record}}));
      else
        send('p', outcome.problem);
      if (!outcome.record) device.synchronize();
    }
  } catch (const std::exception& error) {
    // After a failed case the reason is known; otherwise it is that the device does not open.
    if (!begun) fmt::print(stderr, "{}\n", error.what());
    _exit(1);
  }
  _exit(0);
}

// Reads exactly `size` bytes before the deadline.
bool receive(int pipe, void* data, std::size_t size, std::chrono::steady_clock::time_point deadline) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{pipe, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    const ssize_t got = read(pipe, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// Runs the cases in a child process, and in another one after each case that hangs, crashes or breaks the device. CUDA
// survives no fork, so the device is first touched in the child.
void run_in_children(std::span<const Case* const> group, const std::string& device_id, int time_limit,
                     std::string* device_name, const Report& report) {
  while (!group.empty()) {
    int ends[2];
    std::fflush(nullptr);
    if (pipe(ends) != 0) throw Error(ErrorCode::io, "cannot make a pipe");
    const pid_t child = fork();
    if (child < 0) throw Error(ErrorCode::io, "fork failed");
    if (child == 0) {
      close(ends[0]);
      run_as_child(group, device_id, fdopen(ends[1], "wb"));
    }
    close(ends[1]);
    const std::size_t before = group.size();
    while (!group.empty()) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(time_limit);
      char kind = 0;
      std::uint64_t size = 0;
      std::string text;
      bool whole = receive(ends[0], &kind, 1, deadline) && receive(ends[0], &size, sizeof(size), deadline);
      if (whole) {
        text.resize(size);
        whole = receive(ends[0], text.data(), size, deadline);
      }
      if (!whole) break;
      const Case& one = *group.front();
      group = group.subspan(1);
      if (kind == 'r') {
        File file = decode(text, "a child's message");
        *device_name = file.device;
        report(one, {std::move(file.records.front()), ""});
      } else {
        report(one, {std::nullopt, text});
      }
    }
    close(ends[0]);
    int status = 0;
    const bool ended = waitpid(child, &status, WNOHANG) == child;
    if (!ended) {
      usleep(200'000);  // a child that has just closed its pipe may still be leaving
      if (waitpid(child, &status, WNOHANG) == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
      }
    }
    // A child that left after a failed case leaves the next one to a new child; one that said nothing lost its first.
    if (!group.empty() && (group.size() == before || !WIFEXITED(status))) {
      report(*group.front(),
             {std::nullopt, WIFEXITED(status) ? fmt::format("the process ended with status {}", WEXITSTATUS(status))
                                              : fmt::format("killed by signal {} (the limit is {} s)", WTERMSIG(status),
                                                            time_limit)});
      group = group.subspan(1);
    }
  }
}

struct Tally {
  std::uint64_t cases = 0, failed = 0, elements = 0, mismatches = 0;
  double worst = 0;
};

int run_checked(const Options& options, std::span<const Case> cases, int time_limit) {
  std::map<std::string, Group> families;
  for (const Case& one : cases)
    if (one.name.find(options.filter) != std::string::npos) families[family_of(one.name)].push_back(&one);
  if (options.list) {
    for (const auto& [family, group] : families)
      for (const Case* one : group) fmt::print("{}\n", one->name);
    return 0;
  }
  std::map<std::string, Record> recorded;
  if (!options.compare.empty())
    for (Record& record : read_file(options.compare).records) recorded.emplace(record.name, std::move(record));

  const auto start = std::chrono::steady_clock::now();
  File out;
  std::map<std::string, Tally> tallies;
  const Report report = [&](const Case& one, const Outcome& outcome) {
    Tally& tally = tallies[family_of(one.name)];
    ++tally.cases;
    if (!outcome.record) {
      ++tally.failed;
      fmt::print("{}: {}\n", one.name, outcome.problem);
      return;
    }
    const Results results{outcome.record->type, outcome.record->stored};
    if (!options.record.empty()) {
      out.records.push_back(make_record(one, results, options.all));
      tally.elements += outcome.record->count;
      return;
    }
    const auto found = recorded.find(one.name);
    if (found == recorded.end()) {
      ++tally.failed;
      fmt::print("{}: not recorded\n", one.name);
      return;
    }
    const Comparison comparison = compare(one, found->second, results);
    for (const std::string& message : comparison.messages) fmt::print("{}\n", message);
    tally.failed += comparison.mismatches != 0;
    tally.elements += comparison.elements;
    tally.mismatches += comparison.mismatches;
    tally.worst = std::max(tally.worst, comparison.worst);
  };
  Group all;
  for (const auto& [family, group] : families) all.insert(all.end(), group.begin(), group.end());
  if (options.device.starts_with("cuda")) {
    run_in_children(all, options.device, time_limit, &out.device, report);
  } else {
    const Device device = Device::open(options.device);
    out.device = device.info().name;
    for (const Case* one : all) report(*one, run_case(*one, device));
  }
  fmt::print("{:<24}{:>8}{:>8}{:>12}{:>12}{:>16}\n", "family", "cases", "failed", "elements", "mismatches",
             "worst/bound");
  bool failed = families.empty();
  for (const auto& [family, tally] : tallies) {
    fmt::print("{:<24}{:>8}{:>8}{:>12}{:>12}{:>16}\n", family, tally.cases, tally.failed, tally.elements,
               tally.mismatches, tally.worst > 0 ? fmt::format("{:.3f}", tally.worst) : "exact");
    failed |= tally.failed != 0;
  }
  fmt::print("{} cases in {:.1f} s\n", all.size(),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!out.records.empty()) write_file(options.record, out);
  return failed ? 1 : 0;
}

}  // namespace

int run_golden(int argc, char** argv, std::span<const Case> cases, int time_limit) {
  try {
    return run_checked(parse(argc, argv), cases, time_limit);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}

}  // namespace wm::golden
