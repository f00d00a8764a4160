// The environment's variables and the user's folders.
#include "common/environment.hpp"

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

namespace wm {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::filesystem::path user_folder(const char* variable, const char* fallback) {
  if (const std::filesystem::path base = environment(variable); base.is_absolute()) return base / "warpmill";
  std::string home = environment("HOME");
  if (home.empty())
    if (const passwd* user = getpwuid(geteuid())) home = user->pw_dir;
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / fallback / "warpmill";
}

}  // namespace wm
