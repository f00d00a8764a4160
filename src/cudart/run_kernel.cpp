// Running kernels, plainly or judged, and what their ends mean for the program.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cudart/failure.hpp"
#include "cudart/launch.hpp"
#include "cudart/reporter.hpp"
#include "cudart/snapshot.hpp"
#include "vgpu/machine/fault.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

// What the chip would have said.
cudaError_t status_of(const vgpu::Fault& fault) {
  using vgpu::Flaw;
  switch (fault.finding) {
    case Flaw::out_of_bounds:
    case Flaw::use_after_free: return cudaErrorIllegalAddress;
    case Flaw::misaligned: return cudaErrorMisalignedAddress;
    case Flaw::deadlock:
    case Flaw::no_end: return cudaErrorLaunchTimeout;
    default: break;
  }
  // What has no kind of its own is known by its words.
  constexpr std::pair<std::string_view, cudaError_t> words[] = {
      {"assertion", cudaErrorAssert},
      {"local memory would grow", cudaErrorIllegalAddress},
      {"is asked for in a cluster of", cudaErrorIllegalInstruction},
      {"which is no function", cudaErrorIllegalInstruction},
      {"tensor map", cudaErrorIllegalInstruction},
      {"innermost coordinate", cudaErrorIllegalInstruction},
  };
  for (const auto& [part, status] : words)
    if (fault.what_happened.find(part) != std::string::npos) return status;
  return cudaErrorLaunchFailure;
}

// "assertion `x > 0` failed at a.cu:32 in void f(int)" as the chip's runtime writes it to standard error.
std::string assertion_line(const vgpu::Fault& fault) {
  const std::string& text = fault.what_happened;
  const auto between = [&](std::string_view before, std::string_view after) {
    const std::size_t begin = text.find(before) + before.size();
    return text.substr(begin, after.empty() ? text.npos : text.find(after, begin) - begin);
  };
  const std::string all = fault.what();
  const std::size_t at = all.find("(thread (");
  unsigned x = 0, y = 0, z = 0;
  if (at != all.npos) std::sscanf(all.c_str() + at, "(thread (%u,%u,%u", &x, &y, &z);
  return fmt::format("{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n",
                     between(" failed at ", " in "), between(" in ", ""), fault.block.x, fault.block.y, fault.block.z,
                     x, y, z, between("`", "`"));
}

struct Ended {
  cudaError_t status = cudaSuccess;
  std::string why;
};

Ended how_ended(const std::exception_ptr& exception) {
  try {
    if (exception) std::rethrow_exception(exception);
  } catch (const vgpu::Fault& fault) {
    const cudaError_t status = status_of(fault);
    if (status == cudaErrorAssert) std::fputs(assertion_line(fault).c_str(), stderr);
    return {status, fault.what()};
  } catch (const Error& error) {
    const bool stopped = error.code() == ErrorCode::stopped;
    return {stopped                                    ? cudaErrorLaunchTimeout
            : error.code() == ErrorCode::out_of_memory ? cudaErrorMemoryAllocation
                                                       : cudaErrorLaunchFailure,
            stopped ? "" : error.what()};
  } catch (const std::exception& error) {
    return {cudaErrorUnknown, error.what()};
  }
  return {};
}

// One run; an exception becomes the report's.
vgpu::RunReport run_once(const KernelLaunch& launch, const vgpu::RunOptions& options) {
  const Kernel::Loaded& loaded = launch.kernel->on(launch.device);
  vgpu::RunReport report;
  try {
    Platform::get().machine.run(*loaded.program, *loaded.kernel, launch.shape, launch.parameters, options, report);
  } catch (...) {
    report.ended_by = std::current_exception();
  }
  return report;
}

// Several runs of the same launch from the same memory; what the program goes on with is what the last left.
vgpu::RunReport run_judged(const KernelLaunch& launch, vgpu::RunOptions options) {
  const Settings& settings = Platform::get().settings;
  const std::vector<vgpu::Mode> modes = settings.modes.empty() ? std::vector{vgpu::Mode::friendly} : settings.modes;
  std::vector<std::pair<vgpu::Mode, std::uint64_t>> runs;
  for (const vgpu::Mode mode : modes)
    for (std::uint64_t seed = 0; seed < (mode == vgpu::Mode::friendly ? 1 : settings.seeds); ++seed)
      runs.emplace_back(mode, seed);
  std::optional<Snapshot> before;
  if (runs.size() > 1) before.emplace();
  vgpu::RunReport all;
  options.check = true;
  options.strict = settings.strict;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) before->restore();
    std::tie(options.mode, options.seed) = runs[i];
    vgpu::RunReport one = run_once(launch, options);
    if (i > 0 && all.check) {
      if (one.check) all.check->join(*one.check);
      one.check = std::move(all.check);
      if (all.ended_by) one.ended_by = all.ended_by;
    }
    all = std::move(one);
  }
  return all;
}

}  // namespace

void run_kernel(const KernelLaunch& launch) {
  Platform& platform = Platform::get();
  Reporter& reporter = Reporter::get();
  const std::string& name = launch.kernel->name();
  const bool judged = reporter.wants_judge(name);
  const vgpu::RunOptions options{.max_instructions = platform.settings.max_instructions,
                                 .progress = [&](const vgpu::RunProgress& far) { return reporter.look(far); }};
  std::optional<RunGoing> going;
  if (judged) going.emplace();
  vgpu::RunReport report = judged ? run_judged(launch, options) : run_once(launch, options);
  if (!report.printed.empty()) platform.print(std::move(report.printed));
  const Ended ended = how_ended(report.ended_by);
  reporter.note(name, report, judged, judged ? std::string() : ended.why);
  if (ended.status != cudaSuccess) platform.fault(ended.status);
}

}  // namespace wm::cudart
