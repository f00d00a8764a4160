// The driver's interface: contexts, modules and libraries from PTX, launches, memory, entry points by name.
#include <cstdio>
#include <cstdlib>

#include <cuda.h>

const char* const ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 offset = 1000;
.visible .entry multiply(.param .u64 values, .param .u32 factor)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [factor];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  cvta.to.global.u64 %rd1, %rd1;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  ld.global.u32 %r4, [offset];
  mad.lo.u32 %r5, %r3, %r1, %r4;
  st.global.u32 [%rd3], %r5;
  ret;
}
)";

void good(CUresult code, int line = __builtin_LINE()) {
  if (code == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  std::printf("line %d: %s\n", line, name == nullptr ? "unknown" : name);
  std::exit(1);
}

void say(const char* what, CUresult code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  std::printf("%s: %s\n", what, name == nullptr ? "unknown" : name);
}

void say_values(const char* what, CUdeviceptr values) {
  unsigned host[4];
  good(cuCtxSynchronize());
  good(cuMemcpyDtoH(host, values, sizeof(host)));
  std::printf("%s: %u %u %u %u\n", what, host[0], host[1], host[2], host[3]);
}

void modules(CUdeviceptr values) {
  CUmodule module;
  CUfunction multiply, missing;
  good(cuModuleLoadData(&module, ptx));
  good(cuModuleGetFunction(&multiply, module, "multiply"));
  say("a function that is none", cuModuleGetFunction(&missing, module, "divide"));
  unsigned factor = 3;
  void* arguments[] = {&values, &factor};
  good(cuLaunchKernel(multiply, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  say_values("by addresses of arguments", values);

  // The same arguments as one block of bytes.
  struct Packed {
    CUdeviceptr values;
    unsigned factor;
  } packed = {values, 2};
  std::size_t size = sizeof(CUdeviceptr) + sizeof(unsigned);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  good(cuLaunchKernel(multiply, 1, 1, 1, 4, 1, 1, 0, nullptr, nullptr, extra));
  say_values("by a buffer", values);

  CUdeviceptr offset;
  std::size_t bytes;
  good(cuModuleGetGlobal(&offset, &bytes, module, "offset"));
  std::printf("offset: %zu bytes\n", bytes);
  good(cuMemsetD32(offset, 5, 1));
  good(cuMemsetD32(values, 10, 4));
  good(cuLaunchKernel(multiply, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  say_values("another offset", values);
  say("a variable that is none", cuModuleGetGlobal(&offset, &bytes, module, "nothing"));

  int shared = -1, version = -1;
  good(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, multiply));
  good(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, multiply));
  std::printf("static shared %d, PTX %d\n", shared, version);
  good(cuFuncSetAttribute(multiply, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  good(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, multiply));
  int blocks = 0;
  good(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, multiply, 128, 100000));
  std::printf("dynamic shared %d, blocks per multiprocessor %d\n", shared, blocks);
  say("too many threads", cuLaunchKernel(multiply, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr));
  say("too large a grid", cuLaunchKernel(multiply, 1, 70000, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  good(cuModuleUnload(module));

  char errors[2048] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* settings[] = {errors, reinterpret_cast<void*>(sizeof(errors))};
  say("no PTX", cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_90\nnonsense\n", 2, options, settings));
  std::printf("the log says something: %d\n", errors[0] != 0);
  say("a file that is none", cuModuleLoad(&module, "/nowhere/at_all.ptx"));
}

void libraries(CUdeviceptr values) {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  good(cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  good(cuLibraryGetKernel(&kernel, library, "multiply"));
  unsigned kernels = 0;
  good(cuLibraryGetKernelCount(&kernels, library));
  const char* name = nullptr;
  good(cuKernelGetName(&name, kernel));
  std::printf("kernels: %u, %s\n", kernels, name);
  std::size_t place = 9, size = 9;
  good(cuKernelGetParamInfo(kernel, 1, &place, &size));
  std::printf("second parameter: at %zu, %zu bytes\n", place, size);
  good(cuKernelGetFunction(&function, kernel));
  good(cuMemsetD32(values, 4, 4));
  unsigned factor = 6;
  void* arguments[] = {&values, &factor};
  good(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  say_values("a library's kernel", values);
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 2;
  config.blockDimY = config.blockDimZ = 1;
  good(cuLaunchKernelEx(&config, function, arguments, nullptr));
  say_values("its function", values);
  CUdeviceptr offset;
  std::size_t bytes;
  good(cuLibraryGetGlobal(&offset, &bytes, library, "offset"));
  unsigned value = 0;
  good(cuMemcpyDtoH(&value, offset, sizeof(value)));
  std::printf("its variable: %u\n", value);
  say("a kernel that is none", cuLibraryGetKernel(&kernel, library, "divide"));
  good(cuLibraryUnload(library));
}

void memory_and_streams(CUdeviceptr values) {
  CUstream stream;
  CUevent event;
  good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  good(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  unsigned* pinned;
  good(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 16, 0));
  for (unsigned i = 0; i != 4; ++i) pinned[i] = 11 * i;
  good(cuMemcpyHtoDAsync(values, pinned, 16, stream));
  good(cuMemsetD8Async(values + 4, 0, 4, stream));
  good(cuEventRecord(event, stream));
  good(cuStreamWaitEvent(nullptr, event, 0));
  good(cuStreamSynchronize(stream));
  say("event done", cuEventQuery(event));
  say("stream done", cuStreamQuery(stream));
  say_values("copied", values);
  CUdeviceptr base;
  std::size_t size;
  good(cuMemGetAddressRange(&base, &size, values + 8));
  std::printf("range: %d, %zu bytes\n", base == values, size);
  CUmemorytype type = {};
  good(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, values));
  std::printf("device memory: %d\n", type == CU_MEMORYTYPE_DEVICE);
  say("free of what is none", cuMemFree(values + 4));
  say("an address that is none",
      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)));
  good(cuMemFreeHost(pinned));
  good(cuEventDestroy(event));
  good(cuStreamDestroy(stream));
}

void entry_points() {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  good(cuGetProcAddress("cuMemGetInfo", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  std::size_t available = 0, total = 0;
  good(reinterpret_cast<decltype(&cuMemGetInfo)>(found)(&available, &total));
  std::printf("found: %d, memory is free: %d\n", status == CU_GET_PROC_ADDRESS_SUCCESS,
              available <= total && total > 0);
  say("a name that is none", cuGetProcAddress("cuNoSuchThing", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  std::printf("not found: %d %d\n", status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, found == nullptr);
  say("a version too old", cuGetProcAddress("cuLaunchKernelEx", &found, 10000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  std::printf("too old: %d\n", status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  // What each version of CUDA brought: 0 is there, 1 unknown, 2 came later.
  for (const char* name : {"cuInit", "cuMemAlloc", "cuLaunchKernel", "cuGraphAddKernelNode", "cuGraphAddNode",
                           "cuMemAllocAsync", "cuLaunchKernelEx", "cuTensorMapEncodeTiled", "cuKernelGetName"}) {
    std::printf("%s:", name);
    for (const int version : {3000, 3020, 10000, 11080, 12000, 13000}) {
      good(cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status));
      std::printf(" %d", static_cast<int>(status));
    }
    std::printf("\n");
  }
  const char* text = nullptr;
  good(cuGetErrorString(CUDA_ERROR_INVALID_HANDLE, &text));
  std::printf("text: %s\n", text);
  say("a code that is none", cuGetErrorString(static_cast<CUresult>(123456), &text));
}

int main() {
  int count = 0, major = 0, minor = 0, version = 0;
  say("before cuInit", cuDeviceGetCount(&count));
  good(cuInit(0));
  good(cuDeviceGetCount(&count));
  good(cuDriverGetVersion(&version));
  std::printf("devices: %d, version 13: %d\n", count > 0, version >= 13000);
  CUdevice device;
  good(cuDeviceGet(&device, 0));
  good(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  good(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  std::printf("sm_%d%d\n", major, minor);
  say("a device that is none", cuDeviceGet(&device, 99));
  CUdeviceptr values;
  say("without a context", cuMemAlloc(&values, 16));
  CUcontext context, current;
  good(cuDevicePrimaryCtxRetain(&context, 0));
  good(cuCtxGetCurrent(&current));
  std::printf("none is current: %d\n", current == nullptr);
  good(cuCtxSetCurrent(context));
  good(cuMemAlloc(&values, 16));
  good(cuMemsetD32(values, 1, 4));
  modules(values);
  libraries(values);
  memory_and_streams(values);
  entry_points();
  good(cuMemFree(values));

  CUcontext own;
  good(cuCtxCreate(&own, nullptr, 0, 0));
  good(cuCtxGetCurrent(&current));
  std::printf("a context of its own: %d\n", current == own && own != context);
  good(cuCtxPopCurrent(&current));
  good(cuCtxGetCurrent(&current));
  std::printf("the first again: %d\n", current == context);
  good(cuCtxDestroy(own));
  good(cuDevicePrimaryCtxRelease(0));
}
