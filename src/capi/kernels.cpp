// Programs, modules, kernels and launches for C.
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capi/boundary.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"

using namespace wm;
using namespace wm::capi;

struct wm_program {
  std::string name;
  jit::Program program;
  std::string lost_speed;  // a line each
};
struct wm_module {
  Module module;
};
struct wm_kernel {
  Kernel kernel;
};

namespace {

// A list of texts that ends with NULL.
template <class Take>
void each_text(const char* const* list, Take&& take) {
  for (; list && *list; ++list) take(std::string(*list));
}

Dim3 dim_of(const std::uint32_t (&sizes)[3]) { return {sizes[0], sizes[1], sizes[2]}; }

static_assert(static_cast<int>(ParameterKind::unknown) == WM_ANY &&
              static_cast<int>(ParameterKind::integer) == WM_INTEGER &&
              static_cast<int>(ParameterKind::floating) == WM_FLOATING &&
              static_cast<int>(ParameterKind::pointer) == WM_POINTER &&
              static_cast<int>(ParameterKind::aggregate) == WM_STRUCT);

}  // namespace

wm_status wm_compile(const wm_compile_request* request, wm_program** program) {
  return give(program, [&] {
    const wm_compile_request given = read(request, "request");
    jit::Options options{.arch = Architecture::parse(&at(given.arch, "arch"))};
    each_text(given.defines, [&](const std::string& define) {
      const std::size_t mark = define.find('=');
      options.defines[define.substr(0, mark)] = mark == define.npos ? "1" : define.substr(mark + 1);
    });
    each_text(given.includes, [&](const std::string& folder) { options.include_folders.emplace_back(folder); });
    each_text(given.names, [&](const std::string& name) { options.name_expressions.push_back(name); });
    options.line_table = given.line_table != 0;
    const std::string name = given.name ? given.name : "program.cu";
    wm_program made{name, jit::compile({name, &at(given.source, "source")}, options), {}};
    made.lost_speed = fmt::format("{}", fmt::join(made.program.lost_speed, "\n"));
    return made;
  });
}
void wm_program_free(wm_program* program) { delete program; }
const char* wm_program_ptx(const wm_program* program) { return program ? program->program.ptx.c_str() : nullptr; }
const void* wm_program_cubin(const wm_program* program, std::size_t* bytes) {
  const bool there = program && !program->program.cubin.empty();
  if (bytes) *bytes = there ? program->program.cubin.size() : 0;
  return there ? program->program.cubin.data() : nullptr;
}
const char* wm_program_log(const wm_program* program) { return program ? program->program.log.c_str() : nullptr; }
const char* wm_program_lost_speed(const wm_program* program) { return program ? program->lost_speed.c_str() : nullptr; }

wm_status wm_module_load(const wm_device* device, const wm_program* program, wm_module** module) {
  return give(module, [&] {
    const wm_program& own = at(program, "program");
    return Module::load(at(device, "device").device, own.program, own.name);
  });
}
wm_status wm_module_load_ptx(const wm_device* device, const char* ptx, const char* name, wm_module** module) {
  return give(module, [&] {
    return Module::load_ptx(at(device, "device").device, &at(ptx, "ptx"), name ? name : "module.ptx");
  });
}
wm_status wm_module_load_cubin(const wm_device* device, const void* cubin, std::size_t bytes, const char* name,
                               wm_module** module) {
  return give(module, [&] {
    const auto* data = static_cast<const std::byte*>(cubin);
    return Module::load_cubin(at(device, "device").device, {&at(data, "cubin"), bytes}, name ? name : "module.cubin");
  });
}
void wm_module_free(wm_module* module) { delete module; }

wm_status wm_module_kernel(const wm_module* module, const char* entry, wm_kernel** kernel) {
  return give(kernel, [&] { return at(module, "module").module.kernel(&at(entry, "entry")); });
}
void wm_kernel_free(wm_kernel* kernel) { delete kernel; }

wm_status wm_kernel_info_of(const wm_kernel* kernel, wm_kernel_info* info) {
  return guarded([&] {
    const Kernel& own = at(kernel, "kernel").kernel;
    write(info,
          {0, own.name().c_str(), own.registers(), own.max_threads(), own.static_shared_bytes(), own.local_bytes(),
           own.parameters().size()},
          "info");
  });
}

wm_status wm_kernel_parameter(const wm_kernel* kernel, std::size_t index, wm_parameter* parameter) {
  return guarded([&] {
    const std::span<const Parameter> parameters = at(kernel, "kernel").kernel.parameters();
    if (index >= parameters.size())
      throw Error(ErrorCode::invalid_argument, fmt::format("the kernel '{}' has {} parameters, and none of index {}",
                                                           kernel->kernel.name(), parameters.size(), index));
    const Parameter& own = parameters[index];
    write(parameter, {0, own.offset, own.bytes, static_cast<wm_kind>(own.kind)}, "parameter");
  });
}

wm_status wm_launch(const wm_stream* stream, const wm_kernel* kernel, const wm_launch_config* config,
                    const wm_argument* arguments, std::size_t count) {
  return guarded([&] {
    const wm_launch_config given = read(config, "config");
    LaunchConfig own{.grid = dim_of(given.grid),
                     .block = dim_of(given.block),
                     .shared_bytes = given.shared_bytes,
                     .programmatic_dependent = given.programmatic_dependent != 0};
    if (const Dim3 cluster = dim_of(given.cluster); !(cluster == Dim3{0, 0, 0})) own.cluster = cluster;
    if (count > 0) at(arguments, "arguments");
    std::vector<Argument> list;
    for (std::size_t i = 0; i < count; ++i) {
      const wm_argument& argument = arguments[i];
      if (argument.kind < WM_ANY || argument.kind > WM_STRUCT)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("argument {} has no kind of number {}", i + 1, int{argument.kind}));
      list.push_back({&at(static_cast<const std::byte*>(argument.data), "an argument's data"), argument.bytes,
                      static_cast<ParameterKind>(argument.kind), nullptr});
    }
    launch(at(stream, "stream").stream, at(kernel, "kernel").kernel, own, std::span<const Argument>(list));
  });
}
