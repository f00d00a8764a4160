// The cache on disk: one folder, one file an entry. Nothing here throws for a disk's sake: a cache that cannot be used
// costs a compilation, never a failure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jit/entry.hpp"
#include "jit/sha256.hpp"
#include "warpmill/jit.hpp"

struct stat;

namespace wm::jit {

class Cache {
 public:
  // The folder of WARPMILL_CACHE_DIR, or warpmill/ in XDG_CACHE_HOME or ~/.cache, made (private) if it is not there.
  // A folder that belongs to another user, or that others may write to, is not used: what lies in it becomes code that
  // runs. WARPMILL_CACHE_MAX_BYTES bounds it (1 GiB); 0 turns it off.
  static Cache open();
  // A folder of kernels compiled ahead, to be filled; made if it is not there. Everybody may read it.
  static Cache at(const std::filesystem::path& folder);
  // Kernels that came with the library: warpmill-kernels beside the program or library that this code is in, as in a
  // Python package, else share/warpmill/kernels beside its folder; or the folder of WARPMILL_KERNELS_DIR. Only read,
  // and only what we, root or the library's owner wrote.
  static Cache shipped();
  ~Cache();
  Cache(Cache&& other) noexcept;
  Cache& operator=(Cache&&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& problem() const { return problem_; }  // why it is not in use; empty where it is, or is turned off

  std::optional<Output> load(const Digest& key) const;  // nothing where the entry is missing or damaged
  // Written beside and renamed, so that no reader ever sees half an entry and writers may race; then the entries used
  // longest ago are removed while there are too many bytes.
  // Says whether it did; where not, a warning was told.
  bool store(const Digest& key, const Output& output) const;
  std::filesystem::path file_of(const Digest& key) const;
  void keep_only(const std::vector<std::filesystem::path>& files) const;  // of the entries
  bool turned_off() const { return max_bytes_ == 0; }

  CacheInfo info() const;
  std::size_t clear() const;

 private:
  Cache() = default;
  void use_folder();
  bool trusts(const struct stat& status) const;  // only those who may have written code that we run could have
  void trim() const;

  std::filesystem::path folder_;
  std::string problem_;
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_bytes_ = default_max_bytes;
  int descriptor_ = -1;           // of the folder; -1 where it is not in use
  std::vector<unsigned> owners_;  // users whose files count
  bool private_ = true;           // nobody else may read it
  bool marks_use_ = true;         // an entry that is loaded is the one used last
};

}  // namespace wm::jit
