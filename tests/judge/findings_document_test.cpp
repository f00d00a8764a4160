// docs/findings.md says what is true: its list is the library's, its kernels are the corpus's, its reports are what is
// printed.
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "case/check_case.hpp"
#include "corpus.hpp"
#include "marked_parts.hpp"

namespace wm::judge {
namespace {

const std::filesystem::path document = std::filesystem::path(WARPMILL_SOURCE) / "docs/findings.md";

// What the judge prints of a planted bug under its name, in the friendly mode.
std::string report_of(const Planted& bug) {
  const auto description = cases::read_case(corpus_folder / (bug.name + ".json"));
  const auto result = cases::check_case(description, {{vgpu::Mode::friendly}, 1, most_instructions});
  for (const auto& finding : result.report.findings)
    if (finding.name == bug.finding) return finding.text();
  return "nothing\n";
}

std::string list_of_findings() {
  std::ostringstream text;
  text << "| finding | | |\n|---|---|---|\n";
  for (const vgpu::FindingKind& kind : vgpu::finding_kinds())
    text << "| [`" << kind.name << "`](#" << kind.name << ") | " << name_of(kind.severity) << " | " << kind.meaning
         << " |\n";
  return text.str();
}

std::string list_of_omissions() {
  std::ostringstream text;
  text << "| what is omitted | PTX ISA |\n|---|---|\n";
  for (const vgpu::OmissionKind& kind : vgpu::omission_kinds())
    text << "| " << kind.meaning << " | " << kind.section << " |\n";
  return text.str();
}

TEST(FindingsDocument, HoldsTheKernelsAndTheReportsAsPrinted) {
  std::map<std::string, Planted> bugs;
  for (const Planted& bug : planted_bugs()) bugs[bug.name] = bug;
  test::expect_parts(document, [&](const std::vector<std::string>& words) -> std::optional<std::string> {
    if (words[0] == "findings") return list_of_findings();
    if (words[0] == "omissions") return list_of_omissions();
    if (words[0] == "kernel") return test::indented(read_text(corpus_folder / (words.at(1) + ".cu")));
    if (words[0] == "report") return test::indented(report_of(bugs.at(words.at(1))));
    return std::nullopt;
  });
}

TEST(FindingsDocument, HasASectionForEveryFindingInTheOrderOfTheList) {
  std::istringstream lines(read_text(document));
  std::vector<std::string> sections, kinds;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("## ")) sections.push_back(line.substr(3));
  for (const vgpu::FindingKind& kind : vgpu::finding_kinds()) kinds.emplace_back(kind.name);
  EXPECT_EQ(sections, kinds);
}

TEST(Readme, CountsThePlantedBugs) {
  const std::string readme = read_text(std::filesystem::path(WARPMILL_SOURCE) / "README.md");
  const std::string count = "Of " + std::to_string(planted_bugs().size()) + " planted bugs it finds all";
  EXPECT_NE(readme.find(count), std::string::npos) << count;
}

}  // namespace
}  // namespace wm::judge
