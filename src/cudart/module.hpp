// Modules: code as the program gave it, and what is loaded of it on each device. Kernels are read when first needed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart/fat_binary.hpp"
#include "cudart/platform.hpp"
#include "cudart/ptx_parts.hpp"

namespace wm::cudart {

class Module;

// A kernel of a module: a cudaKernel_t, a CUkernel and a CUfunction. It is one for all devices.
class Kernel {
 public:
  struct Loaded {
    std::shared_ptr<vgpu::Program> program;
    const vgpu::ProgramKernel* kernel = nullptr;
  };
  Kernel(Module& module, std::string name) : module_(module), name_(std::move(name)) {}
  Module& module() const { return module_; }
  const std::string& name() const { return name_; }
  const Loaded& on(int device);  // reads and decodes it where that has not been done; fails, in words, where it cannot

  // What cudaFuncSetAttribute sets.
  std::atomic<int> dynamic_shared_limit = default_dynamic_shared;
  std::atomic<bool> dynamic_shared_set = false;
  void limit_dynamic_shared(int bytes) {
    dynamic_shared_limit = bytes;
    dynamic_shared_set = true;
  }
  std::atomic<int> carveout = -1;
  std::atomic<bool> nonportable_cluster = false;
  static constexpr int default_dynamic_shared = 48 * 1024;

 private:
  Module& module_;
  const std::string name_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Loaded>> loaded_;  // by device
  std::atomic<const Loaded*> first_ = nullptr;     // on device 0
  std::optional<cudaError_t> refused_;             // told already
};

struct Variable {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

class Module {
 public:
  // The image must live until the first use of the module, which is when it is read; or it is read at once.
  explicit Module(const void* image, std::size_t most = any_length) : image_(image), most_(most) {}
  ~Module();

  void read();  // fails, in words, where there is no PTX for the devices
  std::vector<std::string> kernel_names();
  Kernel* kernel(std::string_view name);            // null where there is none
  Kernel& declare_kernel(const std::string& name);  // which is looked for when it is needed
  std::optional<Variable> variable(std::string_view name, int device);
  // A variable in memory that the host sees too; its address is put to `host` when the module is loaded.
  void declare_managed(std::string name, std::size_t bytes, void** host);
  void initialise() { on(current_device()); }
  std::uint64_t meeting_place(int device) { return on(device).meeting_place; }  // of its cooperative launches

 private:
  friend class Kernel;
  struct OnDevice {
    std::shared_ptr<vgpu::Program> variables;  // and the kernels too, where the text is one piece
    std::uint64_t meeting_place = 0;
  };
  OnDevice& on(int device);
  void place_managed();
  Kernel::Loaded load(const std::string& kernel, int device);
  std::uint64_t address_of(std::string_view variable, int device);

  const void* image_;
  const std::size_t most_;  // bytes of it
  std::recursive_mutex mutex_;
  std::optional<PtxParts> parts_;
  std::string problem_;
  bool nonsense_ = false;  // no PTX at all
  std::map<int, OnDevice> devices_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
  struct Managed {
    std::size_t bytes = 0;
    void** host = nullptr;
    std::uint64_t address = 0;
  };
  std::map<std::string, Managed, std::less<>> managed_;
};

// Handles of loaded modules and of kernels, as the program holds them: those that exist.
Module& known_module(const void* handle);                               // fails with cudaErrorInvalidResourceHandle
Module* load_module(const void* image, std::size_t most = any_length);  // reads it at once
// The same, but nonsense is told when it is first asked for something.
Module* load_library(const void* image, std::size_t most = any_length);
Module* load_module_file(const char* path);
Module* load_library_file(const char* path);
std::string text_of_file(const char* path);  // fails with cudaErrorFileNotFound
void unload_module(const void* handle);
Kernel& known_kernel(const void* handle);  // fails with cudaErrorInvalidResourceHandle

}  // namespace wm::cudart
