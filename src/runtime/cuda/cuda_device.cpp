// The driver behind the Backend interface: memory, streams, events, launches.
#include "runtime/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "tensor_map/driver.hpp"

namespace wm::runtime {
namespace cuda {
namespace {

DeviceInfo read_info(const Driver& driver, CUdevice device, int ordinal) {
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    if (const CUresult result = driver.device_attribute(&value, which, device); result != CUDA_SUCCESS)
      throw Error(ErrorCode::unsupported, fmt::format("reading attribute {} of cuda:{}: {}", static_cast<int>(which),
                                                      ordinal, driver.answer(result)));
    return value;
  };
  std::array<char, 256> name{};
  driver.device_name(name.data(), static_cast<int>(name.size()), device);
  std::size_t memory = 0;
  driver.device_memory(&memory, device);
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  return {
      .id = fmt::format("cuda:{}", ordinal),
      .name = name.data(),
      .kind = DeviceKind::cuda,
      .arch = {.major = major,
               .minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
               .specific = major >= 9},  // a chip runs what is compiled for exactly it
      .multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
      .memory_bytes = memory,
      .l2_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
      .shared_bytes_per_block =
          static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)),
      .shared_bytes_per_multiprocessor =
          static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)),
      .registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
      .threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
      .blocks_per_cluster = attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? 16 : 1,
  };
}

CUdevice device_of(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  if (const CUresult result = driver.device(&device, ordinal); result != CUDA_SUCCESS)
    throw Error(ErrorCode::not_found, fmt::format("opening cuda:{}: {}", ordinal, driver.answer(result)));
  return device;
}

CUstream as_stream(void* native) { return static_cast<CUstream>(native); }
CUevent as_event(void* native) { return static_cast<CUevent>(native); }

}  // namespace

CudaDevice::Current::Current(CudaDevice& device) : driver_(device.driver_) {
  CUcontext current = nullptr;
  if (driver_.current_context(&current) == CUDA_SUCCESS && current == device.context_) return;
  device.check(driver_.push_context(device.context_),
               [&] { return fmt::format("making the context of {} current", device.info_.id); });
  pushed_ = true;
}
CudaDevice::Current::~Current() {
  CUcontext ours = nullptr;
  if (pushed_) driver_.pop_context(&ours);
}

CudaDevice::CudaDevice(int ordinal)
    : driver_(Driver::get()), device_(device_of(driver_, ordinal)), info_(read_info(driver_, device_, ordinal)) {
  check(driver_.retain_context(&context_, device_), [&] { return fmt::format("opening {}", info_.id); });
}
CudaDevice::~CudaDevice() { driver_.release_context(device_); }

void CudaDevice::fail(CUresult result, const std::string& doing, ErrorCode otherwise) {
  std::string message = fmt::format("{}: {}", doing, driver_.answer(result));
  const ErrorCode code = code_of(result, otherwise);
  if (is_sticky(result)) {
    const std::lock_guard lock(failure_mutex_);
    if (first_failure_.empty()) {
      first_failure_ = message;
      message += fmt::format(
          "; a kernel given to {} before this call failed. CUDA runs kernels later than it takes them, so it may be "
          "any "
          "since the last synchronize(). Nothing more runs on this device in this process. To find the place, run the "
          "kernel on the virtual device, or the program under compute-sanitizer",
          info_.id);
    } else {
      message += fmt::format(
          "; a kernel failed on {} earlier in this process, and nothing runs there since. What was "
          "said then: {}",
          info_.id, first_failure_);
    }
  } else if (is_capture_refusal(result)) {
    message += "; a stream is being captured into a graph, where this call is not allowed";
  } else if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    message += "; the program has reset the device (cudaDeviceReset), and everything made on it is lost";
  }
  throw Error(code, message);
}

std::uint64_t CudaDevice::allocate(std::size_t bytes) {
  const Current current(*this);
  CUdeviceptr address = 0;
  check(driver_.allocate(&address, bytes), [&] {
    std::size_t free = 0, total = 0;
    driver_.memory_info(&free, &total);
    return fmt::format("allocating {} B on {} ({}; {} of {} B are free)", bytes, info_.id, info_.name, free, total);
  });
  return address;
}
void CudaDevice::free(std::uint64_t address) noexcept {
  quietly([&] { driver_.free(address); });
}

// Not blocking: work of other streams, the program's default stream among them, is no reason to wait.
void* CudaDevice::create_stream() {
  const Current current(*this);
  CUstream stream = nullptr;
  check(driver_.create_stream(&stream, CU_STREAM_NON_BLOCKING),
        [&] { return fmt::format("making a stream on {}", info_.id); });
  return stream;
}
void CudaDevice::destroy_stream(void* stream) noexcept {
  quietly([&] { driver_.destroy_stream(as_stream(stream)); });
}
void CudaDevice::check_stream(void* stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return;
  CUcontext context = nullptr;
  check(driver_.stream_context(as_stream(stream), &context),
        [&] { return fmt::format("wrapping stream {} for {}", stream, info_.id); });
  if (context != context_)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("wrapping stream {} for {}: it belongs to another device, or to a context that is not the "
                            "device's primary one",
                            stream, info_.id));
}
std::optional<std::uint64_t> CudaDevice::stream_number(void* stream) {
  const Current current(*this);
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver_.stream_capturing(as_stream(stream), &capturing),
        [&] { return fmt::format("asking whether a stream of {} is captured", info_.id); });
  if (capturing != CU_STREAM_CAPTURE_STATUS_NONE) return std::nullopt;  // to ask for the number would end the capture
  unsigned long long number = 0;
  check(driver_.stream_number(as_stream(stream), &number),
        [&] { return fmt::format("asking for the number of a stream of {}", info_.id); });
  return number;
}
void CudaDevice::synchronize_stream(void* stream) {
  const Current current(*this);
  check(driver_.synchronize_stream(as_stream(stream)),
        [&] { return fmt::format("waiting for a stream of {}", info_.id); });
}
void CudaDevice::synchronize() {
  const Current current(*this);
  check(driver_.synchronize_context(), [&] { return fmt::format("waiting for {}", info_.id); });
}

void* CudaDevice::create_event() {
  const Current current(*this);
  CUevent event = nullptr;
  check(driver_.create_event(&event, CU_EVENT_DEFAULT), [&] { return fmt::format("making an event on {}", info_.id); });
  return event;
}
void CudaDevice::destroy_event(void* event) noexcept {
  quietly([&] { driver_.destroy_event(as_event(event)); });
}
void CudaDevice::record_event(void* event, void* stream) {
  const Current current(*this);
  check(driver_.record_event(as_event(event), as_stream(stream)),
        [&] { return fmt::format("recording an event on {}", info_.id); });
}
void CudaDevice::wait_event(void* stream, void* event) {
  const Current current(*this);
  check(driver_.wait_event(as_stream(stream), as_event(event), CU_EVENT_WAIT_DEFAULT),
        [&] { return fmt::format("letting a stream of {} wait for an event", info_.id); });
}
void CudaDevice::synchronize_event(void* event) {
  const Current current(*this);
  check(driver_.synchronize_event(as_event(event)),
        [&] { return fmt::format("waiting for an event of {}", info_.id); });
}
double CudaDevice::milliseconds_between(void* start, void* end) {
  const Current current(*this);
  float milliseconds = 0;
  check(driver_.elapsed_time(&milliseconds, as_event(start), as_event(end)), [&] {
    return fmt::format("reading the time between two events of {} (both must be recorded, and done: synchronize())",
                       info_.id);
  });
  return milliseconds;
}

void CudaDevice::upload(void* stream, std::uint64_t destination, std::span<const std::byte> source) {
  const Current current(*this);
  const auto doing = [&] { return fmt::format("uploading {} B to {:#x} on {}", source.size(), destination, info_.id); };
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver_.stream_capturing(as_stream(stream), &capture), doing);
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE)  // asked before, because a refused wait would spoil the capture
    fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, doing(), ErrorCode::invalid_argument);
  check(driver_.upload(destination, source.data(), source.size(), as_stream(stream)), doing);
  // Pinned memory, and pageable memory on some machines, is read later than the call returns.
  check(driver_.synchronize_stream(as_stream(stream)), doing);
}
void CudaDevice::download(void* stream, std::span<std::byte> destination, std::uint64_t source) {
  const Current current(*this);
  check(driver_.download(destination.data(), source, destination.size(), as_stream(stream)),
        [&] { return fmt::format("downloading {} B from {:#x} on {}", destination.size(), source, info_.id); });
}
void CudaDevice::copy(void* stream, std::uint64_t destination, std::uint64_t source, std::size_t bytes) {
  const Current current(*this);
  check(driver_.copy(destination, source, bytes, as_stream(stream)),
        [&] { return fmt::format("copying {} B from {:#x} to {:#x} on {}", bytes, source, destination, info_.id); });
}
void CudaDevice::fill(void* stream, std::uint64_t destination, std::byte value, std::size_t bytes) {
  const Current current(*this);
  check(driver_.fill(destination, static_cast<unsigned char>(value), bytes, as_stream(stream)),
        [&] { return fmt::format("filling {} B at {:#x} on {}", bytes, destination, info_.id); });
}

std::shared_ptr<LoadedModule> CudaDevice::load(const Code& code) { return load_module(shared_from_this(), code); }

std::optional<Place> CudaDevice::place_in_capture(void* stream) const {
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t capture = 0;
  const CUgraphNode* ahead = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  if (!driver_.stream_capture ||
      driver_.stream_capture(as_stream(stream), &capturing, &capture, nullptr, &ahead, &edges, &count) !=
          CUDA_SUCCESS ||
      capturing != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return std::nullopt;
  return Place{capture, count == 1 ? reinterpret_cast<std::uint64_t>(ahead[0]) : 0};
}
CUfunction CudaDevice::kernel_behind(const Place& place) const {
  const auto node = reinterpret_cast<CUgraphNode>(place.node);
  CUgraphNodeType type{};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  const bool is_kernel = node && driver_.node_type(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_KERNEL &&
                         driver_.kernel_node_parameters(node, &parameters) == CUDA_SUCCESS;
  return is_kernel ? parameters.func : nullptr;
}

// Only a capture shows what is ahead: in a stream somebody else may have launched something since.
std::optional<KernelAhead> CudaDevice::kernel_ahead(void* stream) {
  const Current current(*this);
  const std::optional<Place> place = place_in_capture(stream);
  if (!place) return std::nullopt;
  const std::lock_guard lock(capture_mutex_);
  const auto found = std::ranges::find(told_, *place, &KernelAhead::place);
  return found == told_.end() ? std::nullopt : std::optional(*found);
}

void CudaDevice::launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config,
                        std::span<const Argument> arguments, const LaunchNotes& notes) {
  const Current current(*this);
  const auto function = static_cast<CUfunction>(kernel.native);
  // Kernels have few parameters; one with more than these pays an allocation.
  std::array<void*, 64> few;
  std::vector<void*> many;
  if (arguments.size() > few.size()) many.resize(arguments.size());
  void** values = many.empty() ? few.data() : many.data();
  for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = const_cast<void*>(arguments[i].data);

  std::array<CUlaunchAttribute, 2> attributes;
  unsigned int attribute_count = 0;
  if (config.cluster != Dim3{}) {
    CUlaunchAttribute& attribute = attributes[attribute_count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {config.cluster.x, config.cluster.y, config.cluster.z};
  }
  // A kernel may start before the one ahead of it has ended, if that one lets it. Where it does not, what prepares the
  // early start only costs (docs/gemm.md): while a stream is captured we can see what is ahead.
  const bool dependent = config.programmatic_dependent && info_.arch.major >= 9;
  const std::optional<Place> before = dependent ? place_in_capture(stream) : std::nullopt;
  std::unique_lock lock(capture_mutex_, std::defer_lock);
  if (before) lock.lock();
  const bool as_found = notes.place == Place{} || notes.place == before;
  if (dependent && as_found && (!before || early_kernels_.contains(kernel_behind(*before)))) {
    CUlaunchAttribute& attribute = attributes[attribute_count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  const CUlaunchConfig native{.gridDimX = config.grid.x,
                              .gridDimY = config.grid.y,
                              .gridDimZ = config.grid.z,
                              .blockDimX = config.block.x,
                              .blockDimY = config.block.y,
                              .blockDimZ = config.block.z,
                              .sharedMemBytes = config.shared_bytes,
                              .hStream = as_stream(stream),
                              .attrs = attributes.data(),
                              .numAttrs = attribute_count};
  check(
      driver_.launch(&native, function, values, nullptr),
      [&] { return fmt::format("launching '{}' on {} ({})", kernel.name, info_.id, describe(config)); },
      ErrorCode::launch);
  if (!before) return;
  early_kernels_.insert(function);
  // Somebody else may have captured something into the stream since: then the node is not ours.
  const std::optional<Place> after = notes.writes.empty() ? std::nullopt : place_in_capture(stream);
  if (!after || kernel_behind(*after) != function) return;
  told_.push_front({*after, {notes.writes.begin(), notes.writes.end()}});
  constexpr std::size_t most = 64;  // the next launch of a stream asks for its last one
  if (told_.size() > most) told_.pop_back();
}

TensorMap CudaDevice::encode(const TensorMapSpec& spec) {
  const Current current(*this);
  return tensor_map::encode_with_driver({driver_.encode_tiled, driver_.encode_im2col, driver_.encode_im2col_wide},
                                        spec);
}

}  // namespace cuda

std::vector<DeviceInfo> list_cuda_devices(std::string& problem) {
  std::vector<DeviceInfo> devices;
  try {
    const cuda::Driver& driver = cuda::Driver::get();
    int count = 0;
    driver.device_count(&count);
    for (int i = 0; i < count; ++i) devices.push_back(cuda::read_info(driver, cuda::device_of(driver, i), i));
    if (count == 0) problem = "the NVIDIA driver finds no GPU";
  } catch (const Error& error) {
    devices.clear();
    problem = error.what();
  }
  return devices;
}

std::shared_ptr<Backend> open_cuda_device(int ordinal) { return std::make_shared<cuda::CudaDevice>(ordinal); }

}  // namespace wm::runtime
