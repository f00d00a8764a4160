// nvcc's registration of fat binaries, functions and variables.
#include "cudart/registration.hpp"

#include <shared_mutex>
#include <unordered_map>

#include "cudart/face.hpp"
#include "cudart/memory.hpp"

namespace wm::cudart {
namespace {

struct Shadow {  // a variable of the host that stands for one of the device
  Module* module = nullptr;
  std::string name;
};
struct Registered {
  std::shared_mutex mutex;
  std::unordered_map<const void*, Kernel*> functions;
  std::unordered_map<const void*, Shadow> variables;
};
Registered& registered() {
  static auto* const all = new Registered;
  return *all;
}

Module& module_of(void** handle) { return *reinterpret_cast<Module*>(handle); }

}  // namespace

Kernel& kernel_of(const void* function) {
  {
    const std::shared_lock lock(registered().mutex);
    const auto found = registered().functions.find(function);
    if (found != registered().functions.end()) return *found->second;
  }
  require(function != nullptr, cudaErrorInvalidDeviceFunction);
  return known_kernel(function);
}

Variable variable_of(const void* symbol) {
  // A managed variable is known to the host by its one address.
  const auto address = reinterpret_cast<std::uint64_t>(symbol);
  if (const auto range = range_of(address); range && range->kind == MemoryKind::managed)
    return {address, range->bytes - (address - range->address)};
  Shadow shadow;
  {
    const std::shared_lock lock(registered().mutex);
    const auto found = registered().variables.find(symbol);
    require(found != registered().variables.end(), cudaErrorInvalidSymbol);
    shadow = found->second;
  }
  const auto variable = shadow.module->variable(shadow.name, current_device());
  require(variable.has_value(), cudaErrorInvalidSymbol);
  return *variable;
}

}  // namespace wm::cudart

using namespace wm::cudart;

// A registered image is never given up: the program's last destructors may launch.
WARPMILL_FACE void** __cudaRegisterFatBinary(void* image) { return reinterpret_cast<void**>(new Module(image)); }
WARPMILL_FACE void __cudaRegisterFatBinaryEnd(void**) {}

WARPMILL_FACE void __cudaUnregisterFatBinary(void** handle) {
  Registered& all = registered();
  const std::unique_lock lock(all.mutex);
  std::erase_if(all.functions, [&](const auto& entry) { return &entry.second->module() == &module_of(handle); });
  std::erase_if(all.variables, [&](const auto& entry) { return entry.second.module == &module_of(handle); });
}

WARPMILL_FACE void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*,
                                          dim3*, dim3*, int*) {
  Kernel& kernel = module_of(handle).declare_kernel(name);
  const std::unique_lock lock(registered().mutex);
  registered().functions[host] = &kernel;
}

WARPMILL_FACE void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t, int, int) {
  const std::unique_lock lock(registered().mutex);
  registered().variables[host] = {&module_of(handle), name};
}

WARPMILL_FACE void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, std::size_t bytes,
                                            int, int) {
  module_of(handle).declare_managed(name, bytes, host);
  const std::unique_lock lock(registered().mutex);
  registered().variables[host] = {&module_of(handle), name};
}

WARPMILL_FACE void __cudaRegisterHostVar(void**, const char*, char*, std::size_t) {}

WARPMILL_FACE char __cudaInitModule(void** handle) {
  return answer([&] { module_of(handle).initialise(); }) == cudaSuccess;
}

WARPMILL_FACE cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return answer([&] { *kernel = reinterpret_cast<cudaKernel_t>(&kernel_of(function)); });
}

namespace {
// <<<>>> hands its configuration to the function it calls.
struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
};
thread_local std::vector<Configuration> configurations;
}  // namespace

WARPMILL_FACE unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, void* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

WARPMILL_FACE cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<void**>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}
