// Reports of kernels as lines of JSON.
#include "cudart/report.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "common/files.hpp"

namespace wm::cudart {
namespace {

using nlohmann::json;
using vgpu::Finding;
using vgpu::FindingPlace;

json to_json(const std::vector<FindingPlace::Frame>& frames) {
  json list = json::array();
  for (const auto& frame : frames) list.push_back({frame.file, frame.line});
  return list;
}
std::vector<FindingPlace::Frame> frames_from(const json& list) {
  std::vector<FindingPlace::Frame> frames;
  for (const json& frame : list) frames.push_back({frame.at(0), frame.at(1)});
  return frames;
}

json to_json(const Finding& finding) {
  json places = json::array(), consequences = json::array(), parties = json::array();
  for (const FindingPlace& place : finding.places)
    places.push_back({place.file, place.line, place.instruction, place.block.x, place.block.y, place.block.z,
                      place.warp, place.role, place.what, to_json(place.inlined_at), to_json(place.through)});
  for (const Finding& one : finding.consequences) consequences.push_back(to_json(one));
  return {{"name", finding.name},
          {"severity", static_cast<int>(finding.severity)},
          {"message", finding.message},
          {"help", finding.help},
          {"relies_on", finding.relies_on},
          {"section", finding.section},
          {"places", places},
          {"count", finding.count},
          {"consequences", consequences}};
}

Finding finding_from(const json& object) {
  Finding finding;
  finding.name = object.at("name");
  finding.severity = static_cast<vgpu::Severity>(object.at("severity").get<int>());
  finding.message = object.at("message");
  finding.help = object.at("help");
  finding.relies_on = object.at("relies_on");
  finding.section = object.at("section");
  finding.count = object.at("count");
  for (const json& place : object.at("places"))
    finding.places.push_back({.file = place.at(0),
                              .line = place.at(1),
                              .instruction = place.at(2),
                              .block = {place.at(3), place.at(4), place.at(5)},
                              .warp = place.at(6),
                              .role = place.at(7),
                              .what = place.at(8),
                              .inlined_at = frames_from(place.at(9)),
                              .through = frames_from(place.at(10))});
  for (const json& one : object.at("consequences")) finding.consequences.push_back(finding_from(one));
  return finding;
}

KernelReport report_from(const json& object) {
  KernelReport kernel;
  kernel.name = object.at("kernel");
  kernel.launches = object.at("launches");
  kernel.judged = object.at("judged");
  kernel.instructions = object.at("instructions");
  kernel.blocks = object.at("blocks");
  kernel.faults = object.at("faults");
  kernel.refused = object.at("refused");
  for (const json& finding : object.at("findings")) kernel.check.findings.push_back(finding_from(finding));
  const json& executed = object.at("executed");
  kernel.check.executed = {executed.at(0), executed.at(1), executed.at(2),
                           executed.at(3), executed.at(4), executed.at(5)};
  return kernel;
}

void join(KernelReport& kernel, const KernelReport& other) {
  kernel.launches += other.launches;
  kernel.judged += other.judged;
  kernel.instructions += other.instructions;
  kernel.blocks += other.blocks;
  kernel.check.join(other.check);
  if (kernel.refused.empty()) kernel.refused = other.refused;
  for (const std::string& fault : other.faults)
    if (std::ranges::find(kernel.faults, fault) == kernel.faults.end()) kernel.faults.push_back(fault);
}

}  // namespace

std::string to_line(const KernelReport& kernel) {
  json findings = json::array();
  for (const Finding& finding : kernel.check.findings) findings.push_back(to_json(finding));
  const auto& executed = kernel.check.executed;
  return json{{"kernel", kernel.name},
              {"launches", kernel.launches},
              {"judged", kernel.judged},
              {"instructions", kernel.instructions},
              {"blocks", kernel.blocks},
              {"faults", kernel.faults},
              {"refused", kernel.refused},
              {"findings", findings},
              {"executed",
               {executed.instructions, executed.accesses, executed.copies, executed.copied_bytes, executed.products,
                executed.barriers}}}
             .dump(-1, ' ', true, json::error_handler_t::replace) +
         "\n";
}

std::vector<KernelReport> read_reports(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".kernels") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<KernelReport> all;
  for (const auto& file : files) {
    std::vector<KernelReport> of_process;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const json object = json::parse(line, nullptr, false);
      if (object.is_discarded()) continue;
      try {
        KernelReport kernel = report_from(object);
        const auto known = std::ranges::find(of_process, kernel.name, &KernelReport::name);
        if (known == of_process.end())
          of_process.push_back(std::move(kernel));
        else
          *known = std::move(kernel);
      } catch (const json::exception&) {
      }
    }
    for (KernelReport& kernel : of_process) {
      const auto known = std::ranges::find(all, kernel.name, &KernelReport::name);
      if (known == all.end())
        all.push_back(std::move(kernel));
      else
        join(*known, kernel);
    }
  }
  return all;
}

LiveProgress* map_progress(const std::filesystem::path& folder) {
  const Descriptor file(::open((folder / LiveProgress::file_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file < 0 || ::ftruncate(file, sizeof(LiveProgress)) != 0) return nullptr;
  void* const mapped = ::mmap(nullptr, sizeof(LiveProgress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<LiveProgress*>(mapped);
}

}  // namespace wm::cudart
