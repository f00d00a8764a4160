// The command line of a golden program: running the cases, on a GPU in child processes.
#include "golden/golden.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>
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

// Runs the cases of one family; those that throw are reported and left out.
File run_family(const Group& group, const std::string& device_id, bool all, bool* failed) {
  const Device device = Device::open(device_id);
  File file{device.info().name, {}};
  for (const Case* one : group) {
    try {
      file.records.push_back(make_record(*one, one->run(device), all));
    } catch (const std::exception& error) {
      *failed = true;
      fmt::print(stderr, "{}: {}\n", one->name, error.what());
    }
  }
  return file;
}

// The same in a child process, killed at the time limit. A device is first touched in the child: CUDA survives no fork.
std::optional<File> run_in_child(const Group& group, const Options& options, int time_limit, bool* failed) {
  const std::string part = fmt::format("/tmp/golden.{}.part", getpid());
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorCode::io, "fork failed");
  if (child == 0) {
    alarm(static_cast<unsigned>(time_limit));
    bool child_failed = false;
    try {
      write_file(part, run_family(group, options.device, true, &child_failed));
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", family_of(group.front()->name), error.what());
      child_failed = true;
    }
    std::fflush(nullptr);
    _exit(child_failed ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) *failed = true;
  if (!WIFEXITED(status))
    fmt::print(stderr, "{}: ended by signal {} (the limit is {} s)\n", family_of(group.front()->name), WTERMSIG(status),
               time_limit);
  std::optional<File> file;
  if (access(part.c_str(), R_OK) == 0) file = read_file(part);
  unlink(part.c_str());
  return file;
}

struct Tally {
  std::uint64_t cases = 0, elements = 0, mismatches = 0;
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

  bool failed = families.empty();
  File out;
  std::map<std::string, Tally> tallies;
  for (const auto& [family, group] : families) {
    const bool on_gpu = options.device.starts_with("cuda");
    const auto file = on_gpu ? run_in_child(group, options, time_limit, &failed)
                             : std::optional(run_family(group, options.device, true, &failed));
    if (!file) continue;
    out.device = file->device;
    Tally& tally = tallies[family];
    for (const Record& full : file->records) {
      const Case& one = **std::find_if(group.begin(), group.end(), [&](const Case* c) { return c->name == full.name; });
      const Results results{full.type, full.stored};
      ++tally.cases;
      if (!options.record.empty()) {
        out.records.push_back(make_record(one, results, options.all));
        tally.elements += full.count;
        continue;
      }
      const auto found = recorded.find(full.name);
      if (found == recorded.end()) {
        fmt::print("{}: not recorded\n", full.name);
        failed = true;
        continue;
      }
      const Comparison comparison = compare(one, found->second, results);
      for (const std::string& message : comparison.messages) fmt::print("{}\n", message);
      tally.elements += comparison.elements;
      tally.mismatches += comparison.mismatches;
      tally.worst = std::max(tally.worst, comparison.worst);
      failed |= comparison.mismatches != 0;
    }
  }
  fmt::print("{:<24}{:>8}{:>12}{:>12}{:>16}\n", "family", "cases", "elements", "mismatches", "worst/bound");
  for (const auto& [family, tally] : tallies)
    fmt::print("{:<24}{:>8}{:>12}{:>12}{:>16}\n", family, tally.cases, tally.elements, tally.mismatches,
               tally.worst > 0 ? fmt::format("{:.3f}", tally.worst) : "exact");
  if (!options.record.empty()) write_file(options.record, out);
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
