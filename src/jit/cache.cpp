// The cache on disk.
#include "jit/cache.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include "common/environment.hpp"
#include "common/files.hpp"
#include "common/log.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_suffix = ".wmjit", unfinished_suffix = ".wmjit-unfinished";
// Writing an entry takes far less; what is older was left by a process that was killed.
constexpr std::time_t abandoned_after_seconds = 3600;

void warn_once(const fs::path& folder, const std::string& problem) {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true))
    log(LogSeverity::warning, fmt::format("compiled kernels are not cached in {}: {}", folder.string(), problem));
}

fs::path folder_by_environment() {
  if (const std::string own = environment("WARPMILL_CACHE_DIR"); !own.empty()) return own;
  return user_folder("XDG_CACHE_HOME", ".cache");
}

// mkdir -p.
void make_folders(const fs::path& folder, mode_t mode) {
  if (::mkdir(folder.c_str(), mode) == 0 || errno != ENOENT || !folder.has_parent_path()) return;
  make_folders(folder.parent_path(), mode);
  ::mkdir(folder.c_str(), mode);
}

std::string entry_name(const Digest& key) { return hexadecimal(key) + std::string(entry_suffix); }

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

enum class FileKind { entry, unfinished, foreign };
FileKind kind_of(std::string_view name) {
  if (name.size() < 64 || !is_hexadecimal(name.substr(0, 64))) return FileKind::foreign;
  if (name.substr(64) == entry_suffix) return FileKind::entry;
  return name.ends_with(unfinished_suffix) ? FileKind::unfinished : FileKind::foreign;
}

struct File {
  std::string name;
  FileKind kind = FileKind::foreign;
  std::uint64_t bytes = 0;
  timespec used{};
};

// Our files in the folder.
std::vector<File> files_in(int folder) {
  std::vector<File> files;
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return files;
  DIR* listing = ::fdopendir(own);
  if (!listing) {
    ::close(own);
    return files;
  }
  while (const dirent* found = ::readdir(listing)) {
    const FileKind kind = kind_of(found->d_name);
    struct stat status;
    if (kind == FileKind::foreign || ::fstatat(folder, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    files.push_back({found->d_name, kind, static_cast<std::uint64_t>(status.st_size), status.st_mtim});
  }
  ::closedir(listing);
  return files;
}

}  // namespace

Cache Cache::open() {
  Cache cache;
  cache.folder_ = folder_by_environment();
  if (const std::string bound = environment("WARPMILL_CACHE_MAX_BYTES"); !bound.empty()) {
    const auto [end, status] = std::from_chars(bound.data(), bound.data() + bound.size(), cache.max_bytes_);
    if (status != std::errc() || end != bound.data() + bound.size()) {
      cache.max_bytes_ = default_max_bytes;
      cache.problem_ = fmt::format("WARPMILL_CACHE_MAX_BYTES is '{}', which is no number of bytes", bound);
    }
  }
  if (cache.max_bytes_ == 0) return cache;

  if (cache.folder_.empty()) {
    cache.problem_ = "there is no home folder; set WARPMILL_CACHE_DIR";
  } else if (cache.problem_.empty()) {
    make_folders(cache.folder_, 0700);
    cache.use_folder();
  }
  if (!cache.problem_.empty()) warn_once(cache.folder_, cache.problem_);
  return cache;
}

Cache Cache::at(const fs::path& folder) {
  Cache cache;
  cache.folder_ = folder;
  cache.private_ = cache.marks_use_ = false;
  make_folders(folder, 0755);
  cache.use_folder();
  return cache;
}

Cache Cache::shipped() {
  Cache cache;
  cache.marks_use_ = false;
  // The image that this code is in; the program's own has no name.
  Dl_info info{};
  link_map* image = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&folder_by_environment), &info, reinterpret_cast<void**>(&image),
                RTLD_DL_LINKMAP) == 0)
    return cache;
  const fs::path named = *image->l_name ? image->l_name : "/proc/self/exe";
  std::error_code failed;
  const fs::path file = fs::canonical(named, failed);
  struct stat status;
  if (!named.is_absolute() || failed || ::stat(file.c_str(), &status) != 0) return cache;
  const fs::path beside = file.parent_path(), in_package = beside / "warpmill-kernels";
  cache.folder_ = environment("WARPMILL_KERNELS_DIR");
  if (cache.folder_.empty())
    cache.folder_ = fs::exists(in_package, failed) ? in_package : beside.parent_path() / "share/warpmill/kernels";
  cache.owners_ = {0, status.st_uid};
  cache.use_folder();
  return cache;
}

void Cache::use_folder() {
  owners_.push_back(geteuid());
  struct stat status;
  descriptor_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0)
    problem_ = fmt::format("it cannot be made or opened: {}", std::strerror(errno));
  else if (!trusts(status))
    problem_ = status.st_uid != geteuid() ? "it belongs to another user"
                                          : "other users may write to it; chmod go-w makes it safe";
  if (!problem_.empty() && descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

bool Cache::trusts(const struct stat& status) const {
  return std::find(owners_.begin(), owners_.end(), status.st_uid) != owners_.end() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Cache::~Cache() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
Cache::Cache(Cache&& other) noexcept
    : folder_(std::move(other.folder_)),
      problem_(std::move(other.problem_)),
      max_bytes_(other.max_bytes_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owners_(std::move(other.owners_)) {}

std::optional<Output> Cache::load(const Digest& key) const {
  if (descriptor_ < 0) return std::nullopt;
  // No links, and no waiting for the other end of a pipe.
  const Descriptor file(::openat(descriptor_, entry_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !trusts(status) ||
      static_cast<std::uint64_t>(status.st_size) > max_bytes_)
    return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (!read_all(file, bytes)) return std::nullopt;
  std::optional<Output> output = decode(key, bytes);
  if (output && marks_use_) ::futimens(file, nullptr);  // used now
  return output;
}

bool Cache::store(const Digest& key, const Output& output) const {
  if (descriptor_ < 0) return false;
  static std::atomic<unsigned> counter = 0;
  const std::string unfinished = fmt::format("{}.{}.{}{}", hexadecimal(key), ::getpid(), counter++, unfinished_suffix);
  const std::vector<std::byte> bytes = encode(key, output);
  int reason = 0;
  {
    const Descriptor file(::openat(descriptor_, unfinished.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, private_ ? 0600 : 0644));
    reason = file < 0 ? errno : write_all(file, bytes, SignalsHeldOff());
  }
  if (reason == 0 && ::renameat(descriptor_, unfinished.c_str(), descriptor_, entry_name(key).c_str()) != 0)
    reason = errno;
  if (reason != 0) {
    ::unlinkat(descriptor_, unfinished.c_str(), 0);
    warn_once(folder_, fmt::format("writing an entry failed: {}", std::strerror(reason)));
    return false;
  }
  trim();
  return true;
}

fs::path Cache::file_of(const Digest& key) const { return folder_ / entry_name(key); }

void Cache::keep_only(const std::vector<fs::path>& files) const {
  if (descriptor_ < 0) return;
  for (const File& file : files_in(descriptor_))
    if (file.kind == FileKind::entry && std::find(files.begin(), files.end(), folder_ / file.name) == files.end())
      ::unlinkat(descriptor_, file.name.c_str(), 0);
}

void Cache::trim() const {
  std::vector<File> files = files_in(descriptor_);
  std::uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  const std::time_t now = std::time(nullptr);
  for (const File& file : files) {
    const bool abandoned = file.kind == FileKind::unfinished && file.used.tv_sec + abandoned_after_seconds < now;
    const bool too_much = file.kind == FileKind::entry && bytes > max_bytes_;
    if (!abandoned && !too_much) continue;
    ::unlinkat(descriptor_, file.name.c_str(), 0);
    bytes -= file.bytes;
  }
}

CacheInfo Cache::info() const {
  CacheInfo info{folder_, problem_, 0, 0};
  if (descriptor_ < 0) return info;
  for (const File& file : files_in(descriptor_)) {
    info.entries += file.kind == FileKind::entry;
    info.bytes += file.bytes;
  }
  return info;
}

std::size_t Cache::clear() const {
  std::size_t removed = 0;
  if (descriptor_ < 0) return removed;
  for (const File& file : files_in(descriptor_))
    if (::unlinkat(descriptor_, file.name.c_str(), 0) == 0) removed += file.kind == FileKind::entry;
  return removed;
}

}  // namespace wm::jit
