// Reading and writing the table of measured plans.
#include "commands/plans_file.hpp"

#include <span>

#include <fmt/format.h>

#include "case/files.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

std::filesystem::path plans_file(const std::filesystem::path& out) {
  const std::filesystem::path file = out.empty() ? plan::user_plans_file() : out;
  if (file.empty()) throw Error(ErrorCode::not_found, "there is no home folder to keep the plans in; give --out FILE");
  return file;
}

plan::TunedPlans read(const std::filesystem::path& file) {
  std::vector<std::string> problems;
  plan::TunedPlans table = plan::read_plans(file, problems);
  if (!problems.empty())
    throw Error(ErrorCode::invalid_argument, fmt::format("{}; mend it first, or give another --out", problems.front()));
  return table;
}

}  // namespace

MadeFolder::MadeFolder(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::absolute(file, failed).parent_path();
  for (fs::path missing = folder; !fs::exists(missing, failed) && missing.has_relative_path();
       missing = missing.parent_path())
    made_.push_back(missing);
  fs::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorCode::io, fmt::format("cannot make the folder of {}: {}", file.string(), failed.message()));
}

MadeFolder::~MadeFolder() {
  std::error_code not_empty;
  for (const auto& folder : made_) std::filesystem::remove(folder, not_empty);
}

PlansFile::PlansFile(const std::filesystem::path& out) : path_(plans_file(out)), table(read(path_)), folder_(path_) {
  cases::check_writable(path_);
}

void PlansFile::write() const {
  const std::string text = table.text();
  cases::write_file(path_, std::as_bytes(std::span(text)));
}

}  // namespace wm::cli
