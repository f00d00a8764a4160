// The judge for C.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "capi/boundary.hpp"
#include "vgpu/check/runs.hpp"
#include "warpmill/check.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;
using namespace wm::capi;

struct wm_report {
  vgpu::CheckReport report;
  std::vector<std::string> texts;  // of the findings
  std::uint64_t runs = 0;
};

static_assert(static_cast<int>(vgpu::Severity::error) == WM_ERROR &&
              static_cast<int>(vgpu::Severity::warning) == WM_WARNING &&
              static_cast<int>(vgpu::Severity::advice) == WM_ADVICE);

namespace {

// A device of one check's own: its options are the check's until it is over, and then as they were.
class DeviceTaken {
 public:
  explicit DeviceTaken(const Device& device) : device_(device) {
    const std::lock_guard lock(mutex);
    before_ = vgpu::run_options(device);
    if (!taken.insert(&device.backend()).second)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} is being checked already, and does one check at a time: wait for its end, or open "
                              "another device, such as {}:sms=8",
                              device.info().id, device.info().id.substr(0, device.info().id.find(":sms="))));
  }
  ~DeviceTaken() {
    vgpu::set_run_options(device_, before_);
    const std::lock_guard lock(mutex);
    taken.erase(&device_.backend());
  }
  DeviceTaken(const DeviceTaken&) = delete;
  DeviceTaken& operator=(const DeviceTaken&) = delete;

 private:
  static inline std::mutex mutex;
  static inline std::set<const runtime::Backend*> taken;

  Device device_;
  vgpu::RunOptions before_;
};

const vgpu::Finding& finding_of(const wm_report* report, std::size_t index) {
  const auto& findings = at(report, "report").report.findings;
  if (index >= findings.size())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the report has {} findings, and none of index {}", findings.size(), index));
  return findings[index];
}

}  // namespace

wm_status wm_check(const wm_device* device, const wm_check_request* request, wm_check_run run, void* user,
                   wm_report** report) {
  wm_status ended = WM_OK;  // how the run that ended the check did; its words are the thread's already
  const wm_status status = guarded([&] {
    const Device& own = at(device, "device").device;
    const wm_check_request given = read(request, "request");
    if (!run) throw Error(ErrorCode::invalid_argument, "run is NULL");
    wm_report*& place = at(report, "the place of the result");
    std::vector<vgpu::Mode> modes;
    if (given.friendly) modes.push_back(vgpu::Mode::friendly);
    if (given.random) modes.push_back(vgpu::Mode::random);
    if (given.adversarial) modes.push_back(vgpu::Mode::adversarial);
    const DeviceTaken device_taken(own);
    auto made = std::make_unique<wm_report>();
    for (const vgpu::CheckRun& next : vgpu::runs_of_check(modes, given.seeds > 0 ? given.seeds : 3)) {
      vgpu::RunOptions options{.mode = next.mode, .seed = next.seed, .max_instructions = given.max_instructions};
      options.check = true;
      options.strict = given.strict != 0;
      // The device's report may be of an earlier run.
      const auto launched = std::make_shared<std::atomic<bool>>(false);
      options.progress = [launched](const vgpu::RunProgress&) {
        *launched = true;
        return vgpu::Answer::go_on;
      };
      vgpu::set_run_options(own, options);
      ended = run(user);
      if (ended != WM_OK) return;
      const vgpu::RunReport seen = vgpu::last_run(own);
      if (!*launched || !seen.check)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the run launched nothing on {}, the device that is checked; what it did elsewhere is "
                                "not judged",
                                own.info().id));
      made->report.join(*seen.check);
      ++made->runs;
    }
    for (const vgpu::Finding& finding : made->report.findings) made->texts.push_back(finding.text());
    place = made.release();
  });
  return status != WM_OK ? status : ended;
}
void wm_report_free(wm_report* report) { delete report; }

wm_status wm_report_info_of(const wm_report* report, wm_report_info* info) {
  return guarded([&] {
    const vgpu::CheckReport& own = at(report, "report").report;
    const auto errors = std::count_if(own.findings.begin(), own.findings.end(), [](const vgpu::Finding& finding) {
      return finding.severity == vgpu::Severity::error;
    });
    const vgpu::CheckSummary& executed = own.executed;
    write(info,
          {0, own.findings.size(), static_cast<std::size_t>(errors), report->runs, executed.instructions,
           executed.accesses, executed.copies, executed.products, executed.barriers},
          "info");
  });
}

wm_status wm_report_finding(const wm_report* report, std::size_t index, wm_finding* finding) {
  return guarded([&] {
    const vgpu::Finding& own = finding_of(report, index);
    write(finding,
          {0, own.name.c_str(), static_cast<wm_severity>(own.severity), own.message.c_str(), own.help.c_str(),
           report->texts[index].c_str(), own.count, own.places.size()},
          "finding");
  });
}

wm_status wm_report_place(const wm_report* report, std::size_t finding, std::size_t index, wm_place* place) {
  return guarded([&] {
    const auto& places = finding_of(report, finding).places;
    if (index >= places.size())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the finding has {} places, and none of index {}", places.size(), index));
    const vgpu::FindingPlace& own = places[index];
    write(place,
          {0,
           own.file.c_str(),
           own.line,
           own.instruction.c_str(),
           {own.block.x, own.block.y, own.block.z},
           own.warp,
           own.role.c_str(),
           own.what.c_str()},
          "place");
  });
}
