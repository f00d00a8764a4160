// Device ids, and one device an id.
#include "warpmill/device.hpp"

#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/numbers.hpp"
#include "runtime/backend.hpp"
#include "warpmill/error.hpp"

namespace wm {
namespace {

constexpr std::string_view id_examples =
    "ids look like cuda:0, virtual, virtual:sm_80, virtual:sm_100a, virtual:sm_120a, virtual:sm_90a:sms=4";
constexpr int most_multiprocessors = 1024;

struct Id {
  DeviceKind kind = DeviceKind::virtual_gpu;
  int ordinal = 0;                                              // cuda
  Architecture arch{.major = 9, .minor = 0, .specific = true};  // virtual
  std::optional<int> multiprocessors;

  // One spelling for each device.
  std::string name() const {
    if (kind == DeviceKind::cuda) return fmt::format("cuda:{}", ordinal);
    return fmt::format("virtual:{}{}", arch.name(), multiprocessors ? fmt::format(":sms={}", *multiprocessors) : "");
  }
};

std::optional<int> number(std::string_view text) {
  const std::optional<int> value = number_from<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::size_t at; (at = text.find(mark)) != std::string_view::npos; text.remove_prefix(at + 1))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

[[noreturn]] void refuse_id(std::string_view id, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is no device id: {}; {}", id, why, id_examples));
}

Id parse_virtual(std::string_view text, std::span<const std::string_view> options) {
  Id id;
  if (!options.empty() && !options.front().starts_with("sms=")) {
    try {
      id.arch = Architecture::parse(options.front());
    } catch (const Error& error) {
      refuse_id(text, error.what());
    }
    options = options.subspan(1);
  }
  for (const std::string_view option : options) {
    if (!option.starts_with("sms=") || id.multiprocessors) refuse_id(text, fmt::format("'{}' is not expected", option));
    id.multiprocessors = number(option.substr(4));
    if (!id.multiprocessors || *id.multiprocessors < 1 || *id.multiprocessors > most_multiprocessors)
      refuse_id(text, fmt::format("sms is a number from 1 to {}", most_multiprocessors));
  }
  return id;
}

Id parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.front() == "virtual") return parse_virtual(text, std::span(parts).subspan(1));
  if (parts.front() != "cuda" || parts.size() > 2) refuse_id(text, "it starts with neither cuda: nor virtual");
  Id id{.kind = DeviceKind::cuda, .multiprocessors = {}};
  if (parts.size() == 2) {
    const std::optional<int> ordinal = number(parts[1]);
    if (!ordinal) refuse_id(text, "after cuda: comes the GPU's number");
    id.ordinal = *ordinal;
  }
  return id;
}

std::shared_ptr<runtime::Backend> open_backend(const Id& id) {
  if (id.kind == DeviceKind::virtual_gpu) return runtime::open_virtual_device(id.arch, id.multiprocessors);
  std::string problem;
  const std::size_t gpus = runtime::list_cuda_devices(problem).size();
  if (static_cast<std::size_t>(id.ordinal) < gpus) return runtime::open_cuda_device(id.ordinal);

  std::vector<std::string> there;
  for (const DeviceInfo& info : Device::list()) there.push_back(fmt::format("{} ({})", info.id, info.name));
  throw Error(ErrorCode::not_found,
              fmt::format("no such device: {}{}; there are {}; {}", id.name(),
                          gpus == 0 ? fmt::format(" ({})", problem) : "", fmt::join(there, ", "), id_examples));
}

}  // namespace

std::vector<DeviceInfo> Device::list() {
  std::string problem;
  std::vector<DeviceInfo> devices = runtime::list_cuda_devices(problem);
  for (DeviceInfo& info : runtime::list_virtual_devices()) devices.push_back(std::move(info));
  return devices;
}

Device Device::open(std::string_view text) {
  // Never destroyed: devices may be opened and dropped while the program's static objects go away.
  static auto& mutex = *new std::mutex;
  static auto& open_devices = *new std::map<std::string, std::weak_ptr<runtime::Backend>>;

  const Id id = parse(text);
  const std::lock_guard lock(mutex);
  std::weak_ptr<runtime::Backend>& slot = open_devices[id.name()];
  std::shared_ptr<runtime::Backend> backend = slot.lock();
  if (!backend) slot = backend = open_backend(id);
  return Device(std::move(backend));
}

Device Device::best() { return open(gpu_problem().empty() ? "cuda:0" : "virtual"); }

std::string Device::gpu_problem() {
  std::string problem;
  runtime::list_cuda_devices(problem);
  return problem;
}

const DeviceInfo& Device::info() const { return backend_->info(); }
void Device::synchronize() const { backend_->synchronize(); }

}  // namespace wm
