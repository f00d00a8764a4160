// Reading the corpus: its manifest, and the marks in its kernels.
#include "corpus.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "warpmill/error.hpp"

namespace wm::judge {
namespace {

// Names of the .cu files of a folder that have a case beside them.
std::vector<std::string> kernels_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, int> marks(const std::string& source) {
  constexpr std::string_view mark = "// expect: ";
  std::map<std::string, int> found;
  std::istringstream lines(source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number)
    if (const auto at = line.find(mark); at != line.npos) found[line.substr(at + mark.size())] = number;
  return found;
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::io, "cannot read " + path.string());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<Planted> planted_bugs() {
  std::vector<Planted> bugs;
  for (const auto& entry : nlohmann::json::parse(read_text(corpus_folder / "manifest.json"))) {
    Planted bug;
    bug.name = entry.at("case");
    bug.finding = entry.at("finding");
    for (const auto severity : {vgpu::Severity::error, vgpu::Severity::warning, vgpu::Severity::advice})
      if (entry.at("severity") == vgpu::name_of(severity)) bug.severity = severity;
    if (entry.contains("also")) bug.also = entry.at("also").get<std::vector<std::string>>();
    bug.marked = marks(read_text(corpus_folder / (bug.name + ".cu")));
    bugs.push_back(std::move(bug));
  }
  std::vector<std::string> listed;
  for (const auto& bug : bugs) listed.push_back(bug.name);
  std::sort(listed.begin(), listed.end());
  if (listed != kernels_of(corpus_folder))
    throw Error(ErrorCode::invalid_argument, "the manifest of the judge's corpus does not list the kernels beside it");
  return bugs;
}

std::vector<std::string> clean_kernels() { return kernels_of(clean_folder); }

}  // namespace wm::judge
