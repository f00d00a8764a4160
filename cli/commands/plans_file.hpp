// The table of measured plans that a command writes into.
#pragma once

#include <filesystem>
#include <vector>

#include "plan/tuned_plans.hpp"

namespace wm::cli {

// The folder of a file, made; and taken away again where nothing came of it.
class MadeFolder {
 public:
  explicit MadeFolder(const std::filesystem::path& file);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
};

// Read, and found writable, before long work begins.
class PlansFile {
 public:
  explicit PlansFile(const std::filesystem::path& out);  // none: the user's own table
  const std::filesystem::path& path() const { return path_; }
  void write() const;

 private:
  std::filesystem::path path_;

 public:
  plan::TunedPlans table;

 private:
  MadeFolder folder_;
};

}  // namespace wm::cli
