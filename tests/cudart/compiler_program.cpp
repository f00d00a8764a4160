// A program that compiles and links its kernels at run time, by libraries that it opens. What it does is its first
// argument.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>

namespace {

// What `fill` of a module writes, or the call that failed.
int fill(const void* image, const char* file = nullptr) {
  CUmodule module{};
  CUfunction function{};
  CUdeviceptr data{};
  unsigned word = 0;
  const CUresult loaded = file != nullptr ? cuModuleLoad(&module, file) : cuModuleLoadData(&module, image);
  if (loaded != CUDA_SUCCESS) std::printf("load: %d\n", loaded);
  if (loaded != CUDA_SUCCESS) return 1;
  const CUresult found = cuModuleGetFunction(&function, module, "fill");
  cuMemAlloc(&data, sizeof(word));
  void* arguments[] = {&data};
  const CUresult launched = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  const CUresult copied = cuMemcpyDtoH(&word, data, sizeof(word));
  std::printf("%d %d %d: %u\n", found, launched, copied, word);
  return 0;
}

template <class Function>
Function* function_of(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  if (found == nullptr) std::printf("%s is not there\n", name);
  return found;
}

// What NVRTC has for this source and option: machine code, or code for optimisation at link time.
std::string compiled(void* nvrtc, const char* option, const char* size_of, const char* bytes_of) {
  void* program = nullptr;
  const char* const source =
      "extern \"C\" __global__ void fill(unsigned* data) { *data = 40 + blockDim.x + gridDim.x; }";
  const char* options[] = {"-arch=sm_90a", option};
  function_of<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
      nvrtc, "nvrtcCreateProgram")(&program, source, "fill.cu", 0, nullptr, nullptr);
  const int status =
      function_of<int(void*, int, const char* const*)>(nvrtc, "nvrtcCompileProgram")(program, 2, options);
  std::size_t bytes = 0;
  function_of<int(void*, std::size_t*)>(nvrtc, size_of)(program, &bytes);
  std::string text(bytes, '\0');
  function_of<int(void*, char*)>(nvrtc, bytes_of)(program, text.data());
  if (status != 0) std::printf("compile: %d\n", status);
  return text;
}

// Two texts that belong together: each has a word and a function of its own by the same names, and needs the other.
constexpr std::string_view first = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "first.cu"
.extern .func (.param .b32 result) sum(.param .b32 x);
.global .align 4 .b32 own = 5;
.visible .global .align 4 .b32 common_word = 7;
.weak .func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  shl.b32 %r2, %r1, 1;
  st.param.b32 [result], %r2;
  ret;
}
.visible .entry fill(.param .u64 data)
{
  .reg .b32 %r<8>; .reg .b64 %rd<2>;
  .loc 1 3 0
  mov.u32 %r1, 1;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), sum, (x); ld.param.b32 %r2, [y]; }
  mov.u32 %r3, 10;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), twice, (x); ld.param.b32 %r4, [y]; }
  ld.global.u32 %r5, [own];
  add.u32 %r6, %r2, %r4;
  add.u32 %r6, %r6, %r5;
  ld.param.u64 %rd1, [data];
  st.global.u32 [%rd1], %r6;
  ret;
}
)";
constexpr std::string_view second = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "second.cu"
.extern .global .align 4 .b32 common_word;
.global .align 4 .b32 own = 100;
.weak .func (.param .b32 result) twice(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  mul.lo.u32 %r2, %r1, 1000;
  st.param.b32 [result], %r2;
  ret;
}
.visible .func (.param .b32 result) sum(.param .b32 x)
{
  .reg .b32 %r<5>;
  .loc 1 9 0
  ld.param.b32 %r1, [x];  // 5" wide
  ld.global.u32 %r2, [own];
  ld.global.u32 %r3, [common_word];
  add.u32 %r4, %r1, %r2;
  add.u32 %r4, %r4, %r3;
  st.param.b32 [result], %r4;
  ret;
}
)";

// By the driver's linker; of the same text twice too, whose names are there twice.
int link(std::vector<std::string_view> texts) {
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUlinkState state{};
  std::printf("create: %d\n", cuLinkCreate(2, options, values, &state));
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::printf("add: %d\n", cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(texts[i].data()), texts[i].size(),
                                           i == 0 ? "first" : "second", 0, nullptr, nullptr));
  void* image = nullptr;
  std::size_t bytes = 0;
  const CUresult complete = cuLinkComplete(state, &image, &bytes);
  std::printf("complete: %d %s\n", complete, log);
  if (complete == CUDA_SUCCESS) fill(image);
  const CUresult destroyed = cuLinkDestroy(state);
  std::printf("destroy: %d, again: %d\n", destroyed, cuLinkDestroy(state));
  return 0;
}

// By nvJitLink, as its header has it under this name of a version.
int jit_link(void* library, std::vector<std::string> texts, int kind, std::vector<const char*> options) {
  void* handle = nullptr;
  const auto create = function_of<int(void**, unsigned, const char**)>(library, "__nvJitLinkCreate_13_0");
  std::printf("create: %d\n", create(&handle, static_cast<unsigned>(options.size()), options.data()));
  const auto add =
      function_of<int(void*, int, const void*, std::size_t, const char*)>(library, "__nvJitLinkAddData_13_0");
  for (const std::string& text : texts) std::printf("add: %d\n", add(handle, kind, text.data(), text.size(), "a text"));
  std::printf("complete: %d\n", function_of<int(void*)>(library, "__nvJitLinkComplete_13_0")(handle));
  std::size_t bytes = 0;
  function_of<int(void*, std::size_t*)>(library, "__nvJitLinkGetErrorLogSize_13_0")(handle, &bytes);
  std::string log(bytes, '\0');
  function_of<int(void*, char*)>(library, "__nvJitLinkGetErrorLog_13_0")(handle, log.data());
  std::printf("%s", log.c_str());
  function_of<int(void*, std::size_t*)>(library, "__nvJitLinkGetLinkedCubinSize_13_0")(handle, &bytes);
  std::string image(bytes, '\0');
  function_of<int(void*, void*)>(library, "__nvJitLinkGetLinkedCubin_13_0")(handle, image.data());
  if (bytes > 1) fill(image.c_str());
  std::printf("destroy: %d\n", function_of<int(void**)>(library, "__nvJitLinkDestroy_13_0")(&handle));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  CUdevice device = 0;
  CUcontext context{};
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return 3;
  cuCtxSetCurrent(context);
  void* const library = count > 2 ? dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (what == "link") return link({first, second});
  if (what == "link_twice") return link({first, first});
  if (what == "load") return fill(nullptr, arguments[2]);
  if (library == nullptr) return std::printf("%s\n", count > 2 ? dlerror() : "which library?"), 3;
  if (what == "nvrtc") return fill(compiled(library, "-lineinfo", "nvrtcGetCUBINSize", "nvrtcGetCUBIN").c_str());
  if (what == "jit_link") return jit_link(library, {std::string(first), std::string(second)}, 2, {"-arch=sm_90a"});
  if (what == "jit_link_machine_code")
    return jit_link(library,
                    {"\x7f"
                     "ELF"},
                    1, {"-arch=sm_90a"});
  if (what == "optimised") {
    void* const linker = dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
    return jit_link(linker, {compiled(library, "-dlto", "nvrtcGetLTOIRSize", "nvrtcGetLTOIR")}, 3,
                    {"-arch=sm_90a", "-lto"});
  }
  if (what == "exported") {
    int devices = -1;
    const int status = function_of<int(int*)>(library, "_cudaGetDeviceCount")(&devices);
    std::printf("%d %d\n", status, devices);
    return 0;
  }
  std::fputs("what?\n", stderr);
  return 2;
}
