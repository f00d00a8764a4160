// `warpmill doctor`, `devices` and `cache`: what is there, and how to get what is not.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "ops/common_kernels.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/device.hpp"
#include "warpmill/jit.hpp"
#include "words.hpp"

namespace wm::cli {
namespace {

using nlohmann::json;

json as_json(const DeviceInfo& info) {
  return {{"id", info.id},
          {"name", info.name},
          {"kind", info.kind == DeviceKind::cuda ? "cuda" : "virtual"},
          {"arch", info.arch.name()},
          {"multiprocessors", info.multiprocessors},
          {"memory_bytes", info.memory_bytes},
          {"l2_bytes", info.l2_bytes},
          {"shared_bytes_per_block", info.shared_bytes_per_block}};
}
json devices_as_json(const std::vector<DeviceInfo>& devices) {
  json list = json::array();
  for (const auto& info : devices) list.push_back(as_json(info));
  return list;
}
json as_json(const jit::CacheInfo& info) {
  json object = {{"folder", info.folder.string()}, {"entries", info.entries}, {"bytes", info.bytes}};
  if (!info.problem.empty()) object["problem"] = info.problem;
  return object;
}

std::string in_words(const DeviceInfo& info) {
  return fmt::format("{:<16} {}, {}, {} multiprocessors, {}", info.id, info.name, info.arch.name(),
                     info.multiprocessors, bytes_in_words(info.memory_bytes));
}
std::string in_words(const jit::CacheInfo& info) {
  std::string text = fmt::format("{}: {} programs, {}", info.folder.string(), info.entries, bytes_in_words(info.bytes));
  if (!info.problem.empty()) text += fmt::format("\nnot in use: {}", info.problem);
  return text;
}

// "label     text", further lines of the text under the first.
void paragraph(std::string_view label, std::string_view text) {
  for (bool first = true; first || !text.empty(); first = false) {
    const auto end = std::min(text.find('\n'), text.size());
    say(fmt::format("{:<12} {}\n", first ? label : "", text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

int doctor(bool as_json_text) {
  const auto devices = Device::list();
  const std::string gpu_problem = Device::gpu_problem();
  const auto compiler = jit::compiler_info();
  const auto cache = jit::cache_info();
  if (as_json_text) {
    json architectures = json::array();
    for (const auto& arch : compiler.architectures) architectures.push_back(arch.name());
    const json object = {{"version", WARPMILL_VERSION},
                         {"devices", devices_as_json(devices)},
                         {"gpu_problem", gpu_problem},
                         {"nvrtc",
                          {{"found", compiler.found},
                           {"path", compiler.path},
                           {"version", compiler.version},
                           {"problem", compiler.problem},
                           {"note", compiler.note},
                           {"architectures", architectures}}},
                         {"kernel_headers", jit::embedded_headers().size()},
                         {"cache", as_json(cache)}};
    say_json(object);
    return compiler.found ? success : could_not_run;
  }

  paragraph("warpmill", WARPMILL_VERSION);
  for (const auto& info : devices)
    if (info.kind == DeviceKind::cuda) paragraph("GPU", in_words(info));
  if (!gpu_problem.empty()) paragraph("GPU", fmt::format("none: {}\nKernels run on the virtual GPU.", gpu_problem));
  for (const auto& info : devices)
    if (info.kind == DeviceKind::virtual_gpu) paragraph("virtual GPU", in_words(info));
  paragraph("NVRTC", compiler.found ? fmt::format("{}, {}", compiler.version, compiler.path)
                                    : fmt::format("MISSING: {}", compiler.problem));
  if (!compiler.note.empty()) paragraph("", compiler.note);
  paragraph("headers", fmt::format("{} kernel headers, inside the library", jit::embedded_headers().size()));
  paragraph("cache", in_words(cache));
  say(fmt::format("\n{}\n", compiler.found ? "Everything needed is there."
                                           : "CUDA C++ cannot be compiled until NVRTC is there; PTX runs without it."));
  return compiler.found ? success : could_not_run;
}

int devices(bool as_json_text) {
  const auto devices = Device::list();
  if (as_json_text)
    say_json(devices_as_json(devices));
  else
    for (const auto& info : devices) say(fmt::format("{}\n", in_words(info)));
  return success;
}

int cache(bool clear, bool as_json_text) {
  const std::size_t removed = clear ? jit::clear_cache() : 0;
  const auto info = jit::cache_info();
  if (as_json_text) {
    json object = as_json(info);
    if (clear) object["removed"] = removed;
    say_json(object);
    return success;
  }
  if (clear) say(fmt::format("{} programs removed\n", removed));
  say(fmt::format("{}\n", in_words(info)));
  return success;
}

int compile_ahead(const std::string& folder) {
  if (const auto compiler = jit::compiler_info(); !compiler.found) {
    say(fmt::format("no kernels are compiled ahead: {}\n", compiler.problem));
    return success;
  }
  Progress progress;
  const std::size_t compiled = ops::compile_common_kernels(
      folder, [&](std::size_t done, std::size_t total) { progress.tell("kernels compiled", done, total); });
  say(fmt::format("{} kernels in {}, {} of them compiled now\n", ops::common_kernels().size(), folder, compiled));
  return success;
}

}  // namespace wm::cli
