// From a case to its result.
#include "run_case.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files.hpp"
#include "fill.hpp"
#include "npy.hpp"
#include "product.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

// Puts the place in the case file before what went wrong with it.
template <class Do>
auto at_place(const std::string& place, Do what) {
  try {
    return what();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", place, error.what()));
  }
}

// A kernel's memory may be small where a stride is 0 and still have more elements than this machine could compare.
// Asked for first, because a system that promises more memory than it has would only end the program.
void check_host_memory(const Layout& layout) {
  const std::size_t needed = layout.elements * size_of(layout.dtype);
  if (needed > physical_memory())
    throw Error(ErrorCode::out_of_memory,
                fmt::format("its elements take {} bytes, more than the {} of this machine", needed, physical_memory()));
}

// The C++ name of a mangled one, without its arguments: "scale<float>(float*)" is scale.
std::string base_name(const std::string& entry) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return entry;
  std::string name = demangled.get();
  name.resize(std::min(name.find('('), name.size()));
  if (const auto angle = name.find('<'); angle != name.npos) {
    name.resize(angle);
    name.erase(0, name.rfind(' ') + 1);  // a template's name is shown with its return type
  }
  return name;
}

// The expression that the compiler is asked to give a variable's name in the module for.
std::string address_of(const std::string& variable) { return "&" + variable; }

// The case's buffers on a device, with what they held before the run: memory of their own, or the module's variables.
class Buffers {
 public:
  using FindSymbol = std::function<Symbol(const std::string& name)>;
  Buffers(const Device& device, const std::vector<BufferSpec>& specs, const FindSymbol& symbol, bool poison,
          const Tell& tell)
      : specs_(specs), stream_(device) {
    for (const auto& spec : specs)
      at_place(spec.place, [&] {
        addresses_.push_back(spec.symbol.empty() ? memory(device, spec.layout) : variable(symbol(spec.symbol), spec));
        check_host_memory(spec.layout);
        if (!spec.filled) return initial_.push_back(elements(initial_.size()));
        initial_.push_back(fill_elements(spec.fill, spec.layout, tell));
        if (spec.layout.bytes == 0 || (!poison && std::holds_alternative<Poison>(spec.fill))) return;
        stream_.upload(addresses_.back(), to_memory(spec.layout, initial_.back()));
      });
  }
  std::uint64_t address(std::size_t index) const { return addresses_[index]; }
  const std::vector<std::vector<std::byte>>& initial() const { return initial_; }
  std::vector<std::byte> elements(std::size_t index) const {
    std::vector<std::byte> memory(specs_[index].layout.bytes);
    if (!memory.empty()) stream_.download(memory, addresses_[index]);
    stream_.synchronize();
    return from_memory(specs_[index].layout, memory);
  }

 private:
  const std::vector<BufferSpec>& specs_;
  const Stream stream_;
  std::vector<Buffer> own_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::vector<std::byte>> initial_;

  // A device refuses what is too large in words.
  std::uint64_t memory(const Device& device, const Layout& layout) {
    return own_.emplace_back(device, layout.bytes).address();
  }
  static std::uint64_t variable(const Symbol& symbol, const BufferSpec& spec) {
    if (symbol.bytes < spec.layout.bytes)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the variable \"{}\" has {} bytes, and {} are described here", spec.symbol, symbol.bytes,
                              spec.layout.bytes));
    return symbol.address;
  }
};

// A value as it lies in memory.
struct Bytes {
  std::vector<std::byte> bytes;
  std::size_t alignment = 1;
  ParameterKind kind = ParameterKind::unknown;
};

// The arguments as a launch takes them; owns the bytes they point to.
class Arguments {
 public:
  Arguments(const Device& device, const std::vector<ArgumentSpec>& specs, const Buffers& buffers)
      : device_(device), buffers_(buffers) {
    for (const auto& spec : specs) {
      const Bytes value = value_of(spec);
      auto chunks = std::make_unique<Chunk[]>(value.bytes.size() / sizeof(Chunk) + 1);
      std::copy(value.bytes.begin(), value.bytes.end(), chunks[0].bytes);
      list_.push_back({chunks.get(), value.bytes.size(), value.kind, nullptr});
      storage_.push_back(std::move(chunks));
    }
  }
  std::span<const Argument> list() const { return list_; }

 private:
  // A tensor map wants its alignment; everything else is content with it.
  struct alignas(64) Chunk {
    std::byte bytes[64];
  };
  const Device& device_;
  const Buffers& buffers_;
  std::vector<Buffer> memory_;  // what pointers point to
  std::vector<std::unique_ptr<Chunk[]>> storage_;
  std::vector<Argument> list_;

  Bytes value_of(const ArgumentSpec& spec) {
    return at_place(spec.place,
                    [&] { return std::visit([&](const auto& value) { return value_of(value); }, spec.value); });
  }
  static Bytes address_as_value(std::uint64_t address) {
    const auto bytes = std::as_bytes(std::span(&address, 1));
    return {{bytes.begin(), bytes.end()}, alignof(std::uint64_t), ParameterKind::pointer};
  }
  Bytes value_of(const BufferArgument& argument) {
    return address_as_value(buffers_.address(argument.buffer) + argument.offset);
  }
  Bytes value_of(const ScalarArgument& argument) { return {argument.bytes, argument.alignment, argument.kind}; }
  Bytes value_of(const TensorMapArgument& argument) {
    TensorMapSpec spec = argument.map;
    spec.address = buffers_.address(argument.buffer) + argument.offset;
    const TensorMap map = make_tensor_map(device_, spec);
    const auto bytes = bytes_of(map);
    return {{bytes.begin(), bytes.end()}, argument.alignment, ParameterKind::aggregate};
  }
  // Each member at the next multiple of its alignment, the whole a multiple of the largest.
  Bytes value_of(const StructArgument& argument) {
    Bytes all{{}, 1, ParameterKind::aggregate};
    const auto pad = [&](std::size_t unit) { all.bytes.resize((all.bytes.size() + unit - 1) / unit * unit); };
    for (const ArgumentSpec& member : argument.members) {
      const Bytes value = value_of(member);
      pad(value.alignment);
      all.bytes.insert(all.bytes.end(), value.bytes.begin(), value.bytes.end());
      all.alignment = std::max(all.alignment, value.alignment);
    }
    pad(all.alignment);
    return all;
  }
  Bytes value_of(const PointerArgument& argument) {
    const Bytes value = value_of(*argument.to);
    Buffer& memory = memory_.emplace_back(device_, value.bytes.size());
    if (!value.bytes.empty()) memory.upload(value.bytes);
    return address_as_value(memory.address());
  }
};

OutputResult check_output(const OutputSpec& spec, const std::vector<BufferSpec>& specs, const Buffers& buffers,
                          const RunRequest& request) {
  const BufferSpec& buffer = specs[spec.buffer];
  OutputResult result{buffer.name, spec.expected_name, spec.tolerance, std::nullopt, std::nullopt};
  const auto elements = buffers.elements(spec.buffer);
  if (spec.expected) {
    DType dtype = buffer.layout.dtype;
    std::vector<std::byte> expected;
    if (const auto* other = std::get_if<BufferContents>(&*spec.expected)) {
      dtype = specs[other->buffer].layout.dtype;
      expected = other->initial ? buffers.initial()[other->buffer] : buffers.elements(other->buffer);
    } else if (const auto* product = std::get_if<Product>(&*spec.expected)) {
      dtype = DType::f64;
      check_host_memory(make_layout(dtype, buffer.layout.shape));
      expected = product_elements(*product, specs, buffers.initial(), request.tell);
    } else {
      expected = fill_elements(std::get<Fill>(*spec.expected), buffer.layout, request.tell);
    }
    result.comparison = compare(buffer.layout, elements, dtype, expected, spec.tolerance, request.tell);
  }
  if (spec.write && request.write) {
    write_npy(*spec.write, buffer.layout.dtype, buffer.layout.shape, elements);
    result.written = spec.write;
  }
  return result;
}

// A .cu module compiled for the device, or a .ptx module as it is.
Module load_module(const Case& description, const Device& device, bool machine_code, RunResult& result) {
  if (description.module.extension() == ".ptx")
    return Module::load_ptx(device, read_text(description.module), description.module.filename().string());
  const bool is_virtual = device.info().kind == DeviceKind::virtual_gpu;
  const Architecture arch = description.arch.value_or(device.info().arch);
  if (!device.info().arch.runs(arch))
    throw Error(ErrorCode::unsupported, fmt::format("the case is for {}, and {} ({}) is {}", arch.name(),
                                                    device.info().id, device.info().name, device.info().arch.name()));
  const auto start = std::chrono::steady_clock::now();
  result.program = compile_case(description, arch, is_virtual);
  result.compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (is_virtual && machine_code) result.for_chip = compile_case(description, arch, /*line_table=*/false);
  return Module::load(device, *result.program);
}

}  // namespace

bool RunResult::holds() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputResult& output) { return !output.comparison || output.comparison->holds(); });
}

bool RunResult::compared() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputResult& output) { return !!output.comparison; });
}

const jit::Program* RunResult::machine_code() const {
  if (for_chip) return &*for_chip;
  return program && !program->cubin.empty() ? &*program : nullptr;
}

Device open_device(const Case& description, const std::string& wanted) {
  if (!wanted.empty() && wanted != "virtual") return Device::open(wanted);
  if (wanted.empty()) {
    Device best = Device::best();
    if (best.info().kind == DeviceKind::cuda) return best;
  }
  if (!description.arch) return Device::open("virtual");
  // The virtual chip that runs this architecture's code; where there is none, opening it by name says so.
  for (const DeviceInfo& info : Device::list())
    if (info.kind == DeviceKind::virtual_gpu && info.arch.runs(*description.arch)) return Device::open(info.id);
  return Device::open("virtual:" + description.arch->name());
}

jit::Program compile_case(const Case& description, const Architecture& arch, bool line_table) {
  jit::Options options{.arch = arch,
                       .defines = description.defines,
                       .include_folders = {std::filesystem::absolute(description.module).parent_path()},
                       .flags = description.options,
                       .line_table = line_table};
  for (const auto& folder : description.include_folders)
    options.include_folders.push_back(std::filesystem::absolute(folder));
  // An instance of a template exists only where it is named.
  if (description.entry.find('<') != std::string::npos) options.name_expressions.push_back(description.entry);
  for (const BufferSpec& buffer : description.buffers)
    if (!buffer.symbol.empty()) options.name_expressions.push_back(address_of(buffer.symbol));
  return jit::compile({description.module.filename().string(), read_text(description.module)}, options);
}

std::string resolve_entry(const std::vector<std::string>& entries, const std::string& name) {
  if (std::find(entries.begin(), entries.end(), name) != entries.end()) return name;
  std::vector<std::string> matches;
  for (const auto& entry : entries)
    if (base_name(entry) == name) matches.push_back(entry);
  if (matches.size() == 1) return matches.front();
  if (matches.empty())
    throw Error(ErrorCode::not_found,
                fmt::format("the module has no kernel \"{}\"; it has {}", name,
                            entries.empty() ? "none" : fmt::format("{}", fmt::join(entries, ", "))));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("\"{}\" may be any of {}; name one of them in full", name, fmt::join(matches, ", ")));
}

RunResult run_case(const Case& description, const RunRequest& request) {
  RunResult result;
  for (const auto& output : description.outputs)
    if (output.write && request.write) at_place(output.place, [&] { check_writable(*output.write); });
  const Device device = open_device(description, request.device);
  result.device = device.info();
  const bool is_virtual = device.info().kind == DeviceKind::virtual_gpu;
  if (is_virtual) vgpu::set_run_options(device, request.virtual_options);

  const Module module = load_module(description, device, request.machine_code, result);
  const bool instance = result.program && result.program->lowered.contains(description.entry);
  result.entry =
      instance ? result.program->lowered.at(description.entry) : resolve_entry(module.entries(), description.entry);
  const Kernel kernel = module.kernel(result.entry);
  // A .cu names its variables as C++ does.
  const auto symbol = [&](const std::string& name) {
    return module.symbol(result.program ? result.program->lowered.at(address_of(name)) : name);
  };
  const Buffers buffers(device, description.buffers, symbol, request.poison, request.tell);
  const Arguments arguments(device, description.arguments, buffers);
  for (std::size_t i = 0; is_virtual && i < description.buffers.size(); ++i) {
    const BufferSpec& buffer = description.buffers[i];
    if (buffer.layout.bytes == 0 || !buffer.symbol.empty()) continue;  // variables have their names
    vgpu::name_memory(device, buffers.address(i), buffer.name);
    // For the judge poison is memory that nobody has written.
    if (std::holds_alternative<Poison>(buffer.fill)) vgpu::mark_unwritten(device, buffers.address(i));
  }

  const Stream stream(device);
  const Event start(device), end(device);
  for (int i = 0; i < std::max(request.repeat, 1); ++i) {
    stream.record(start);
    launch(stream, kernel, description.launch, arguments.list());
    stream.record(end);
    stream.synchronize();
    result.milliseconds.push_back(end.since(start));
    if (i > 0) continue;
    if (is_virtual) result.virtual_report = vgpu::last_run(device);
    for (const auto& output : description.outputs)
      result.outputs.push_back(
          at_place(output.place, [&] { return check_output(output, description.buffers, buffers, request); }));
  }
  return result;
}

}  // namespace wm::cases
