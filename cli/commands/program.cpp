// `warpmill run PROGRAM` and `warpmill check PROGRAM`: the program gets a CUDA runtime of ours, and tells what its
// kernels did through files of a folder.
#include "program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.hpp"
#include "common/environment.hpp"
#include "cudart/names.hpp"
#include "cudart/report.hpp"
#include "cudart/settings.hpp"
#include "judged.hpp"
#include "output.hpp"
#include "program_environment.hpp"
#include "progress.hpp"
#include "warpmill/device.hpp"
#include "warpmill/error.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

namespace fs = std::filesystem;
using cudart::KernelReport;
using vgpu::Finding;
using vgpu::Severity;

// Gone at the end, with what the program's processes wrote into it.
class ReportFolder {
 public:
  ReportFolder() {
    std::string pattern = (fs::temp_directory_path() / "warpmill-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorCode::io, fmt::format("cannot make a folder for the report: {}", std::strerror(errno)));
    path_ = pattern;
  }
  ~ReportFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

cudart::Settings settings_of(const ProgramCommand& command, const fs::path& report) {
  const Device device = Device::open(command.device);
  if (device.info().kind != DeviceKind::virtual_gpu)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a program runs on a virtual device here, such as virtual:sm_90a, not on {}; on a GPU it "
                            "runs by itself",
                            device.info().id));
  return {.arch = device.info().arch.name(),
          .multiprocessors = device.info().multiprocessors,
          .devices = command.devices,
          .judge = command.judge,
          .kernels = command.kernels,
          .skipped_kernels = command.skipped_kernels,
          .skip = command.skip,
          .count = command.count,
          .seeds = command.seeds,
          .modes = command.modes,
          .max_instructions = command.max_instructions,
          .strict = command.strict,
          .kept = folders_for_compilers(report),
          .named = command.ptx,
          .report = report.string()};
}

// How the program ended: by itself, or by a signal.
struct End {
  int status = 0;
  int signal = 0;  // 0: none
  int exit_status() const { return signal != 0 ? 128 + signal : status; }
  std::string in_words() const {
    return signal != 0 ? fmt::format("signal {} ({}) ended it", signal, ::strsignal(signal))
                       : fmt::format("it ended with {}", status);
  }
};

pid_t start(const ProgramCommand& command, const cudart::Settings& settings) {
  const std::vector<std::string> variables = environment_of_program(settings);
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
  };
  ::signal(SIGCHLD, SIG_DFL);  // who started us may ignore it, and then nobody learns how the program ended
  pid_t process = -1;
  const int reason = ::posix_spawnp(&process, command.words[0].c_str(), nullptr, nullptr,
                                    pointers(command.words).data(), pointers(variables).data());
  if (reason != 0)
    throw Error(ErrorCode::not_found, fmt::format("cannot start {}: {}", command.words[0], std::strerror(reason)));
  return process;
}

// Waits with the progress in view. A signal goes to the program too, from the terminal or from here.
End wait_for(pid_t process, const fs::path& report) {
  using namespace std::chrono_literals;
  const cudart::LiveProgress* live = cudart::map_progress(report);
  Progress progress(SecondSignal::is_ignored);  // both go to the program, and its findings are still to be told
  auto pause = std::chrono::milliseconds(1);
  const auto begin = std::chrono::steady_clock::now();
  bool passed_on = false;
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process)
      return WIFEXITED(status) ? End{.status = WEXITSTATUS(status)} : End{.signal = WTERMSIG(status)};
    if (ended == -1 && errno != EINTR)
      throw Error(ErrorCode::io, fmt::format("cannot wait for the program: {}", std::strerror(errno)));
    if (stopping_signal() == SIGTERM && !std::exchange(passed_on, true)) ::kill(process, SIGTERM);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20ms));
    if (live == nullptr || live->launches + live->blocks == 0) continue;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress.show(
        fmt::format("{} kernels done, {} warp instructions per second; {} of {} blocks", count_in_words(live->launches),
                    count_in_words(static_cast<std::uint64_t>(static_cast<double>(live->instructions) / seconds)),
                    count_in_words(live->blocks_done), count_in_words(live->blocks)),
        seconds);
  }
}

// How many findings there are of each severity.
struct Counts {
  std::size_t errors = 0, warnings = 0, advice = 0;
  explicit Counts(const KernelReport& kernel)
      : errors(kernel.faults.size() + (kernel.refused.empty() ? 0 : 1) + kernel.check.count(Severity::error)),
        warnings(kernel.check.count(Severity::warning)),
        advice(kernel.check.count(Severity::advice)) {}
  explicit Counts(const std::vector<KernelReport>& kernels) {
    for (const KernelReport& kernel : kernels) {
      const Counts of_one(kernel);
      errors += of_one.errors;
      warnings += of_one.warnings;
      advice += of_one.advice;
    }
  }
  std::string in_words() const {
    return fmt::format("{} error{}, {} warning{}, {} of advice", errors, errors == 1 ? "" : "s", warnings,
                       warnings == 1 ? "" : "s", advice);
  }
};

// A fault of a launch that was not judged.
std::string fault_in_words(const std::string& fault) { return fmt::format("error[fault]: {}\n", fault); }

std::string in_words(const ProgramCommand& command, const std::vector<KernelReport>& kernels, const End& end) {
  std::string text;
  std::uint64_t launches = 0, judged = 0;
  for (const KernelReport& kernel : kernels) {
    for (const Finding& finding : kernel.check.findings) text += finding.text() + "\n";
    for (const std::string& fault : kernel.faults) text += fault_in_words(fault);
    if (!kernel.refused.empty()) text += fmt::format("error[refused]: it cannot run here: {}\n", kernel.refused);
    text += fmt::format("{}: {}; {} launch{}, {} judged, {} warp instructions\n", cudart::demangled(kernel.name),
                        Counts(kernel).in_words(), count_in_words(kernel.launches), kernel.launches == 1 ? "" : "es",
                        count_in_words(kernel.judged), count_in_words(kernel.instructions));
    launches += kernel.launches;
    judged += kernel.judged;
  }
  if (launches == 0) return text + fmt::format("{}: no kernel was launched; {}\n", command.words[0], end.in_words());
  return text + fmt::format("{}: {} in {} kernel{}; {} launch{}, {} judged; {}\n", command.words[0],
                            Counts(kernels).in_words(), kernels.size(), kernels.size() == 1 ? "" : "s",
                            count_in_words(launches), launches == 1 ? "" : "es", count_in_words(judged),
                            end.in_words());
}

// Before the program starts, so that its report has somewhere to go.
std::ofstream open_json(const ProgramCommand& command) {
  if (command.json.empty()) return {};
  std::ofstream file(command.json);
  if (!file) throw Error(ErrorCode::io, fmt::format("cannot write {}", command.json.string()));
  return file;
}

void write_json(std::ofstream& file, const ProgramCommand& command, const std::vector<KernelReport>& kernels,
                const End& end) {
  const nlohmann::json none;
  nlohmann::json list = nlohmann::json::array();
  for (const KernelReport& kernel : kernels) {
    nlohmann::json findings = nlohmann::json::array();
    for (const Finding& finding : kernel.check.findings) findings.push_back(as_json(finding));
    list.push_back({{"name", cudart::demangled(kernel.name)},
                    {"symbol", kernel.name},
                    {"launches", kernel.launches},
                    {"judged", kernel.judged},
                    {"instructions", kernel.instructions},
                    {"blocks", kernel.blocks},
                    {"faults", kernel.faults},
                    {"refused", kernel.refused.empty() ? none : nlohmann::json(kernel.refused)},
                    {"findings", findings}});
  }
  const nlohmann::json report = {{"program", command.words},
                                 {"status", end.signal == 0 ? nlohmann::json(end.status) : none},
                                 {"signal", end.signal != 0 ? nlohmann::json(end.signal) : none},
                                 {"kernels", list}};
  file << report.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  if (!file.flush()) throw Error(ErrorCode::io, fmt::format("cannot write {}", command.json.string()));
}

}  // namespace

int run_program(const ProgramCommand& command) {
  const ReportFolder report;
  std::ofstream json = open_json(command);
  const End end = wait_for(start(command, settings_of(command, report.path())), report.path());
  const std::vector<KernelReport> kernels = cudart::read_reports(report.path());
  if (command.judge) {
    say(in_words(command, kernels, end));
  } else {
    for (const KernelReport& kernel : kernels)
      for (const std::string& fault : kernel.faults) complain(fault_in_words(fault));
  }
  if (!command.json.empty()) write_json(json, command, kernels, end);
  if (stopping_signal() != 0 && end.exit_status() > 128) return end.exit_status();
  return command.judge && Counts(kernels).errors > 0 ? wrong_result : end.exit_status();
}

}  // namespace wm::cli
