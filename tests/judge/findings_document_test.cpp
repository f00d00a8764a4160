// docs/findings.md says what is true: its list is the library's, its kernels are the corpus's, its reports are what is
// printed.
//
// WARPMILL_UPDATE_DOCS=1 writes both into the document instead.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "case/check_case.hpp"
#include "corpus.hpp"

namespace wm::judge {
namespace {

const std::filesystem::path document = std::filesystem::path(WARPMILL_SOURCE) / "docs/findings.md";

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result, line;
  while (std::getline(lines, line)) result.append(line.empty() ? 0 : 4, ' ').append(line).append("\n");
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

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
    text << "| [`" << kind.name << "`](#" << kind.name << ") | "
         << (kind.severity == vgpu::Severity::error ? "error" : "advice") << " | " << kind.meaning << " |\n";
  return text.str();
}

// The document with the list after `<!-- findings -->` and each block after a `<!-- kernel name -->` or `<!-- report
// name -->` as it should be.
std::string as_it_should_be(const std::string& text) {
  std::map<std::string, Planted> bugs;
  for (const Planted& bug : planted_bugs()) bugs[bug.name] = bug;
  std::istringstream lines(text);
  std::string result, line;
  bool skipping = false;
  while (std::getline(lines, line)) {
    if (skipping && (line.empty() || line.starts_with("    ") || line.starts_with("|"))) continue;
    skipping = false;
    result += line + "\n";
    const auto replace_by = [&](const std::string& block) {
      result.append("\n").append(block).append("\n");
      skipping = true;
    };
    if (line == "<!-- findings -->") replace_by(list_of_findings());
    for (const std::string_view kind : {"<!-- kernel ", "<!-- report "}) {
      if (!line.starts_with(kind)) continue;
      const std::string name = line.substr(kind.size(), line.find(' ', kind.size()) - kind.size());
      const bool kernel = kind.find("kernel") != kind.npos;
      replace_by(indented(kernel ? read_text(corpus_folder / (name + ".cu")) : report_of(bugs.at(name))));
    }
  }
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

TEST(FindingsDocument, HoldsTheKernelsAndTheReportsAsPrinted) {
  const std::string now = read_text(document), right = as_it_should_be(now);
  if (std::getenv("WARPMILL_UPDATE_DOCS") != nullptr) {
    std::ofstream(document, std::ios::binary) << right;
    return;
  }
  EXPECT_EQ(now, right) << "WARPMILL_UPDATE_DOCS=1 writes it anew";
}

TEST(FindingsDocument, HasASectionForEveryFindingInTheOrderOfTheList) {
  std::istringstream lines(read_text(document));
  std::vector<std::string> sections, kinds;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("## ")) sections.push_back(line.substr(3));
  for (const vgpu::FindingKind& kind : vgpu::finding_kinds()) kinds.emplace_back(kind.name);
  EXPECT_EQ(sections, kinds);
}

}  // namespace
}  // namespace wm::judge
