// The JIT's front: compile() and what it says of the compiler.
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "jit/ahead.hpp"
#include "jit/build.hpp"
#include "jit/cache.hpp"
#include "jit/headers.hpp"
#include "jit/log.hpp"
#include "jit/nvrtc.hpp"
#include "jit/sha256.hpp"
#include "jit/single_flight.hpp"
#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::jit {
namespace {

// A kernel of this library that lost speed is a bug of ours, never a slow success.
void refuse_lost_speed(const Source& source, const Architecture& arch, const std::vector<std::string>& lost_speed) {
  if (lost_speed.empty()) return;
  std::string message = fmt::format("{} compiles for {} but loses speed:", source.name, arch.name());
  for (const std::string& words : lost_speed) message += fmt::format("\n  {}", words);
  throw Error(ErrorCode::compile, message);
}

// Names everything an output depends on.
Digest key_of(const Source& source, const Options& options, const std::vector<std::string>& flags,
              const Headers& headers, const std::string& compiler) {
  Sha256 hash;
  hash.add_field("warpmill jit 1");  // counts up when the same request is handed to NVRTC in another way
  hash.add_field(compiler);
  hash.add_field(options.arch.name());
  hash.add_field(options.line_table ? "line table" : "cubin");
  hash.add_field(source.name);
  hash.add_field(source.text);
  // Each list ends with its length, so that nothing moves from one to the next.
  const auto add_list = [&hash](const std::vector<std::string>& list) {
    for (const std::string& item : list) hash.add_field(item);
    hash.add_field(std::to_string(list.size()));
  };
  add_list(flags);
  add_list(options.name_expressions);
  for (const auto& [name, text] : headers.embedded) {
    hash.add_field(name);
    hash.add_field(text);
  }
  hash.add_field(std::to_string(headers.embedded.size()));
  for (const auto& [path, digest] : headers.files) {
    hash.add_field(path);
    hash.add(digest);
  }
  return hash.finish();
}

// The same without what a machine has a part in, for kernels compiled on another one: of the compiler the major
// version, within which drivers take each other's cubins. Nothing where the program may read files.
std::optional<Digest> shipped_key(const Source& source, const Options& options, const Headers& headers,
                                  const Nvrtc& compiler) {
  if (!headers.complete || !headers.files.empty() || !options.include_folders.empty() || options.line_table) return {};
  return key_of(source, options, defines_of(options), headers, std::to_string(compiler.major));
}

// NVRTC takes further flags from the environment; they may name headers of their own.
bool flags_from_environment() {
  const char* const flags = std::getenv("NVRTC_APPEND_FLAGS");
  return flags && *flags;
}

Headers headers_of(const Source& source, const Options& options, const Nvrtc& compiler) {
  return find_headers(source.text, embedded_headers(), options.include_folders, compiler.include_folders);
}

struct Result {
  Output output;
  bool from_cache = false;
};

std::shared_ptr<const Result> build_or_load(const Source& source, const Options& options, const Nvrtc& compiler) {
  static SingleFlight<Digest, std::shared_ptr<const Result>> flights;
  const Headers headers = headers_of(source, options, compiler);
  const bool known = headers.complete && !flags_from_environment();
  const Request request{source, options, known ? headers.embedded : embedded_headers(), flags_of(options, compiler)};
  if (!known) return std::make_shared<const Result>(Result{build(compiler, request), false});

  const auto key_now = [&](const Headers& found) {
    return key_of(source, options, request.flags, found, compiler.identity);
  };
  const Digest key = key_now(headers);
  return flights.run(key, [&] {
    const Cache cache = Cache::open();
    if (auto output = cache.load(key)) return std::make_shared<const Result>(Result{std::move(*output), true});
    if (const auto shipped = shipped_key(source, options, headers, compiler); shipped && !cache.turned_off())
      if (auto output = Cache::shipped().load(*shipped))
        return std::make_shared<const Result>(Result{std::move(*output), true});
    Output output = build(compiler, request);
    // A header that was edited meanwhile may be in the output; then it is not what the key says.
    if (headers.files.empty() || key_now(headers_of(source, options, compiler)) == key) cache.store(key, output);
    return std::make_shared<const Result>(Result{std::move(output), false});
  });
}

}  // namespace

Program compile(const Source& source, const Options& options) {
  const Nvrtc& compiler = nvrtc();
  check_request(source, options, compiler);
  const std::shared_ptr<const Result> result = build_or_load(source, options, compiler);

  CompilerLog log = read_log(result->output.log);
  Program program;
  program.arch = options.arch;
  program.ptx = result->output.ptx;
  program.cubin = result->output.cubin;
  program.resources = std::move(log.resources);
  program.lowered = result->output.lowered;
  program.lost_speed = std::move(log.lost_speed);
  program.log = std::move(log.messages);
  program.from_cache = result->from_cache;
  if (options.shipped) refuse_lost_speed(source, options.arch, program.lost_speed);
  return program;
}

Ahead compile_ahead(const Source& source, const Options& options, const std::filesystem::path& folder) {
  const Nvrtc& compiler = nvrtc();
  check_request(source, options, compiler);
  const Headers headers = headers_of(source, options, compiler);
  const auto key = shipped_key(source, options, headers, compiler);
  if (flags_from_environment())
    throw Error(
        ErrorCode::invalid_argument,
        "nothing is compiled ahead while NVRTC_APPEND_FLAGS is set: its flags would be in every kernel; unset it");
  if (!key)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} cannot be compiled ahead: it may read files of this machine", source.name));
  const Cache cache = Cache::at(folder);
  if (!cache.problem().empty())
    throw Error(ErrorCode::io, fmt::format("{} cannot be filled: {}", folder.string(), cache.problem()));
  const std::filesystem::path file = cache.file_of(*key);
  if (cache.load(*key)) return {file, false};
  Output output = build(compiler, {source, options, headers.embedded, flags_of(options, compiler)});
  refuse_lost_speed(source, options.arch, read_log(output.log).lost_speed);
  output.ptx.clear();  // three times the cubin, which is all that a chip takes
  if (!cache.store(*key, output)) throw Error(ErrorCode::io, fmt::format("{} could not be written", file.string()));
  return {file, true};
}

void keep_only(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& files) {
  Cache::at(folder).keep_only(files);
}

CacheInfo cache_info() { return Cache::open().info(); }
std::size_t clear_cache() { return Cache::open().clear(); }

CompilerInfo compiler_info() {
  CompilerInfo info;
  try {
    const Nvrtc& compiler = nvrtc();
    info.found = true;
    info.path = compiler.path.string();
    info.version = fmt::format("{}.{}", compiler.major, compiler.minor);
    for (const int number : compiler.architectures) {
      info.architectures.push_back({number / 10, number % 10, false});
      if (number >= 90) info.architectures.push_back({number / 10, number % 10, true});
    }
    if (compiler.major > 13 || compiler.minor > 0)
      info.note = fmt::format(
          "NVRTC {} is newer than 13.0, the release tested here: its PTX is newer than 9.0, and a driver or the "
          "virtual "
          "GPU may not know it. Pin nvidia-cuda-nvrtc==13.0.* where that happens.",
          info.version);
    if (compiler.include_folders.empty())
      info.note += fmt::format(
          "{}The toolkit's headers (cuda_fp16.h) were not found; kernels that include them do not "
          "compile. pip install 'nvidia-cuda-runtime==13.0.*' brings them.",
          info.note.empty() ? "" : " ");
  } catch (const Error& error) {
    info.problem = error.what();
  }
  return info;
}

}  // namespace wm::jit
