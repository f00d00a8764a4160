// The cache on disk: one folder, one file an entry. Nothing here throws for a disk's sake: a cache that cannot be used
// costs a compilation, never a failure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "jit/entry.hpp"
#include "jit/sha256.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {

class Cache {
 public:
  // The folder of WARPMILL_CACHE_DIR, or warpmill/ in XDG_CACHE_HOME or ~/.cache, made (private) if it is not there.
  // A folder that belongs to another user, or that others may write to, is not used: what lies in it becomes code that
  // runs. WARPMILL_CACHE_MAX_BYTES bounds it (1 GiB); 0 turns it off.
  static Cache open();
  ~Cache();
  Cache(Cache&& other) noexcept;
  Cache& operator=(Cache&&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& problem() const { return problem_; }  // why it is not in use; empty where it is, or is turned off

  std::optional<Output> load(const Digest& key) const;  // nothing where the entry is missing or damaged
  // Written beside and renamed, so that no reader ever sees half an entry and writers may race; then the entries used
  // longest ago are removed while there are too many bytes.
  void store(const Digest& key, const Output& output) const;

  CacheInfo info() const;
  std::size_t clear() const;

 private:
  Cache() = default;
  void trim() const;

  std::filesystem::path folder_;
  std::string problem_;
  std::uint64_t max_bytes_ = 0;
  int descriptor_ = -1;  // of the folder; -1 where it is not in use
};

}  // namespace wm::jit
