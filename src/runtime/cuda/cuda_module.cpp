// Code on a GPU: loading cubins and PTX, and what the driver knows of a kernel.
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include <elf.h>
#include <fmt/format.h>

#include "runtime/cuda/cuda_device.hpp"

namespace wm::runtime::cuda {
namespace {

// The driver takes a cubin without its size, and believes what its header says.
void check_cubin(const Code& code) {
  Elf64_Ehdr header{};
  bool whole = code.cubin.size() >= sizeof(header);
  if (whole) {
    std::memcpy(&header, code.cubin.data(), sizeof(header));
    const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
    const std::uint64_t segments = std::uint64_t{header.e_phnum} * header.e_phentsize;
    whole = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_shoff <= code.cubin.size() &&
            sections <= code.cubin.size() - header.e_shoff && header.e_phoff <= code.cubin.size() &&
            segments <= code.cubin.size() - header.e_phoff;
  }
  if (!whole)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' ({} B) is no whole cubin", code.name, code.cubin.size()));
}

class CudaModule final : public LoadedModule {
 public:
  CudaModule(std::shared_ptr<CudaDevice> device, const Code& code)
      : device_(std::move(device)), name_(code.name), summary_(code.summary) {
    const CudaDevice::Current current(*device_);
    if (code.cubin.empty() || (driver().own && !code.ptx.empty()))
      load_ptx(code);
    else
      load_cubin(code);
  }
  ~CudaModule() override {
    device_->quietly([&] { driver().unload_module(module_); });
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  const LoadedKernel* find(std::string_view entry) override {
    const std::lock_guard lock(mutex_);
    if (const auto known = kernels_.find(entry); known != kernels_.end()) return &known->second;
    const CudaDevice::Current current(*device_);
    const std::string name(entry);
    CUfunction function = nullptr;
    const CUresult result = driver().module_function(&function, module_, name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
    device_->check(result, [&] { return fmt::format("looking up kernel '{}' of '{}'", name, name_); });
    return &kernels_.emplace(name, describe(name, function)).first->second;
  }

  std::optional<Symbol> symbol(std::string_view name) override {
    const CudaDevice::Current current(*device_);
    const std::string variable(name);
    Symbol symbol;
    CUdeviceptr address = 0;
    const CUresult result = driver().module_variable(&address, &symbol.bytes, module_, variable.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return std::nullopt;
    device_->check(result, [&] { return fmt::format("looking up variable '{}' of '{}'", variable, name_); });
    symbol.address = address;
    return symbol;
  }

  std::vector<std::string> entries() const override {
    std::vector<std::string> names;
    if (!driver().module_functions || !driver().module_function_count || !driver().function_name) {
      for (const PtxEntry& entry : summary_.entries) names.push_back(entry.name);
      return names;
    }
    const CudaDevice::Current current(*device_);
    const auto doing = [&] { return fmt::format("listing the kernels of '{}'", name_); };
    unsigned int count = 0;
    device_->check(driver().module_function_count(&count, module_), doing);
    std::vector<CUfunction> functions(count);
    if (count > 0) device_->check(driver().module_functions(functions.data(), count, module_), doing);
    for (CUfunction function : functions) {
      const char* name = nullptr;
      device_->check(driver().function_name(&name, function), doing);
      names.emplace_back(name);
    }
    return names;
  }

 private:
  const Driver& driver() const { return device_->driver(); }

  void load_cubin(const Code& code) {
    check_cubin(code);
    device_->check(
        driver().load_module(&module_, code.cubin.data(), 0, nullptr, nullptr),
        [&] {
          const DeviceInfo& info = device_->info();
          return fmt::format(
              "loading cubin '{}' ({} B) on {}, an {} of {}: a cubin runs on the architecture it was "
              "compiled for alone",
              name_, code.cubin.size(), info.id, info.name, info.arch.name());
        },
        ErrorCode::unsupported);
  }

  void load_ptx(const Code& code) {
    const std::string text(code.ptx);  // the driver wants a zero at the end
    std::array<char, 8192> log{};
    std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    device_->check(
        driver().load_module(&module_, text.c_str(), options.size(), options.data(), values.data()),
        [&] {
          const DeviceInfo& info = device_->info();
          return fmt::format("translating PTX '{}' ({} B) for {}, an {} of {}{}{}", name_, text.size(), info.id,
                             info.name, info.arch.name(), log[0] ? "; the translator says:\n" : "", log.data());
        },
        ErrorCode::compile);
  }

  // Everything a launch needs is read and set here, so that a launch is one call of the driver.
  LoadedKernel describe(const std::string& name, CUfunction function) {
    const auto doing = [&] { return fmt::format("reading about kernel '{}' of '{}'", name, name_); };
    const auto attribute = [&](CUfunction_attribute which) {
      int value = 0;
      device_->check(driver().function_attribute(&value, which, function), doing);
      return value;
    };
    const auto allow = [&](CUfunction_attribute which, int value) {
      device_->check(driver().set_function_attribute(function, which, value), doing);
    };
    const DeviceInfo& info = device_->info();
    LoadedKernel kernel;
    kernel.name = name;
    kernel.native = function;
    kernel.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    kernel.static_shared_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    kernel.local_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    kernel.max_threads = static_cast<std::uint32_t>(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    if (const PtxEntry* entry = summary_.find(name)) kernel.required_block = entry->required_block;
    allow(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          static_cast<int>(info.shared_bytes_per_block - kernel.static_shared_bytes));
    if (info.blocks_per_cluster > 1) {
      allow(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      kernel.required_cluster = {static_cast<std::uint32_t>(attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)),
                                 static_cast<std::uint32_t>(attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)),
                                 static_cast<std::uint32_t>(attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH))};
    }
    kernel.parameters = parameters(name, function);
    return kernel;
  }

  // Sizes from the driver, kinds from the PTX.
  std::vector<Parameter> parameters(const std::string& name, CUfunction function) const {
    if (!driver().function_parameter) {
      if (const PtxEntry* entry = summary_.find(name)) return entry->parameters;
      throw Error(ErrorCode::unsupported, fmt::format("the parameters of kernel '{}' of '{}' are not known: a driver "
                                                      "before CUDA 12.4 does not tell them; load PTX, or update it",
                                                      name, name_));
    }
    std::vector<Parameter> parameters;
    Parameter parameter;
    while (driver().function_parameter(function, parameters.size(), &parameter.offset, &parameter.bytes) ==
           CUDA_SUCCESS)
      parameters.push_back(parameter);
    summary_.set_kinds(name, parameters);
    return parameters;
  }

  std::shared_ptr<CudaDevice> device_;
  std::string name_;
  PtxSummary summary_;
  CUmodule module_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, LoadedKernel, std::less<>> kernels_;  // nodes: their addresses are handed out
};

}  // namespace

std::shared_ptr<LoadedModule> load_module(std::shared_ptr<CudaDevice> device, const Code& code) {
  return std::make_shared<CudaModule>(std::move(device), code);
}

}  // namespace wm::runtime::cuda
