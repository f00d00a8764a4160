// A program of the driver's interface that no nvcc has seen: its PTX is text. What it does is its first argument.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace {

constexpr char ptx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 summand)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [summand];
  ld.global.u32 %r2, [%rd1];
  add.u32 %r3, %r2, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
}
.func (.param .b32 out) meet()
{
  .reg .b32 %r<4>;
  mov.u32 %r1, %envreg1;
  mov.u32 %r2, %envreg2;
  or.b32 %r3, %r1, %r2;
  st.param.b32 [out], %r3;
  ret;
}
.visible .entry where_blocks_meet(.param .u64 data)
{
  .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  mov.b64 %rd2, meet;
  prototype: .callprototype (.param .b32 _) _ ();
  {
    .param .b32 answer;
    call (answer), %rd2, (), prototype;
    ld.param.b32 %r1, [answer];
  }
  setp.ne.u32 %p1, %r1, 0;
  selp.u32 %r2, 1, 0, %p1;
  ld.param.u64 %rd1, [data];
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

// The innermost row of a tensor of four words, fetched through a map that is a parameter.
constexpr char fetch_ptx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry fetch(.param .align 64 .b8 map[128], .param .u64 row)
{
  .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  .shared .align 128 .b8 tile[16];
  .shared .align 8 .b64 full;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd1, %rd1;
  ld.param.u64 %rd2, [row];
  mbarrier.init.shared::cta.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
  mov.u32 %r1, 0;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd1, {%r1}], [full];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [full], 0;
  @!%p1 bra wait;
  ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [tile];
  st.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};
  ret;
}
)";

void show(const char* what, cudaError_t status) { std::printf("%s: %s\n", what, cudaGetErrorName(status)); }
void show(const char* what, CUresult result) {
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::printf("%s: %s\n", what, name);
}

CUmodule start(const char* text = ptx) {
  CUcontext context{};
  CUmodule module{};
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, text);
  return module;
}
CUfunction function(CUmodule module, const char* name) {
  CUfunction found{};
  cuModuleGetFunction(&found, module, name);
  return found;
}

// What is not there says so once, by its name.
int missing() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 64);
  cudaTextureObject_t texture{};
  cudaSurfaceObject_t surface{};
  cudaResourceDesc resource{};
  cudaTextureDesc view{};
  cudaIpcMemHandle_t memory{};
  cudaIpcEventHandle_t event{};
  cudaExternalMemory_t external{};
  cudaExternalMemoryHandleDesc outside{};
  show("texture", cudaCreateTextureObject(&texture, &resource, &view, nullptr));
  show("again", cudaCreateTextureObject(&texture, &resource, &view, nullptr));
  show("surface", cudaCreateSurfaceObject(&surface, &resource));
  show("memory of another process", cudaIpcGetMemHandle(&memory, pointer));
  show("event of another process", cudaIpcGetEventHandle(&event, nullptr));
  show("external memory", cudaImportExternalMemory(&external, &outside));
  show("last", cudaGetLastError());
  cuInit(0);
  CUdeviceptr address{};
  CUmemGenericAllocationHandle pages{};
  CUmemAllocationProp properties{};
  show("addresses", cuMemAddressReserve(&address, 1 << 21, 0, 0, 0));
  show("pages", cuMemCreate(&pages, 1 << 21, &properties, 0));
  return 0;
}

// Arrays larger than any number, or of nothing.
int arrays() {
  cudaArray_t array{};
  const cudaChannelFormatDesc wide{32, 32, 32, 32, cudaChannelFormatKindFloat}, none{},
      odd{2147483647, 2147483647, 1, 0};
  show("too wide", cudaMallocArray(&array, &wide, ~std::size_t{0} / 8, 1));
  show("too high", cudaMallocArray(&array, &wide, 16, ~std::size_t{0} / 512));
  show("too deep", cudaMalloc3DArray(&array, &wide, {16, 16, ~std::size_t{0} / 512}));
  show("of nothing", cudaMallocArray(&array, &none, 16, 1));
  show("of odd elements", cudaMallocArray(&array, &odd, 16, 1));
  show("usual", cudaMallocArray(&array, &wide, 16, 4));
  show("free", cudaFreeArray(array));
  return 0;
}

// Memory is not taken away while a kernel waits to use it.
int unregistered() {
  const CUfunction add = function(start(), "add");
  static unsigned value = 5;
  static std::atomic<bool> may_go = false;
  cuMemHostRegister(&value, sizeof(value), 0);
  CUdeviceptr address{};
  cuMemHostGetDevicePointer(&address, &value, 0);
  unsigned summand = 7;
  void* arguments[] = {&address, &summand};
  cuLaunchHostFunc(
      nullptr,
      [](void*) {
        while (!may_go) std::this_thread::yield();
      },
      nullptr);
  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  std::thread releaser([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    may_go = true;
  });
  show("unregister", cuMemHostUnregister(&value));
  std::printf("%u\n", value);
  show("wait", cuCtxSynchronize());
  releaser.join();
  return 0;
}

// One event, recorded by all threads, waited for by all streams.
int records() {
  start();
  constexpr int count = 4, rounds = 400;
  static std::atomic<int> done[count];
  cudaEvent_t event{};
  cudaEventCreate(&event);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < count; ++t)
    all.emplace_back([&, t] {
      cudaStream_t stream{};
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (int round = 0; round < rounds; ++round) {
        cudaLaunchHostFunc(
            stream, [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &done[t]);
        wrong += cudaEventRecord(event, stream) != cudaSuccess;
        wrong += cudaStreamWaitEvent(stream, event) != cudaSuccess;
        const cudaError_t now = cudaEventQuery(event);
        wrong += now != cudaSuccess && now != cudaErrorNotReady;
        wrong += cudaEventSynchronize(event) != cudaSuccess;
      }
      wrong += cudaStreamSynchronize(stream) != cudaSuccess || done[t] != rounds;
    });
  for (std::thread& thread : all) thread.join();
  std::printf("wrong: %d\n", wrong.load());
  return 0;
}

// A fill, a kernel, a copy and a call, and the same with another summand.
int graph() {
  const CUfunction add = function(start(), "add");
  CUdeviceptr data{};
  cuMemAlloc(&data, 4);
  CUgraph graph{};
  CUgraphNode fill{}, kernel{}, copy{}, call{};
  cuGraphCreate(&graph, 0);
  const CUDA_MEMSET_NODE_PARAMS with{data, 0, 10, 4, 1, 1};
  show("fill", cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &with, nullptr));
  unsigned summand = 3, result = 0;
  void* arguments[] = {&data, &summand};
  CUDA_KERNEL_NODE_PARAMS launch{};
  launch.func = add;
  launch.gridDimX = launch.gridDimY = launch.gridDimZ = launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
  launch.kernelParams = arguments;
  show("kernel", cuGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = data;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = &result;
  out.WidthInBytes = 4;
  out.Height = out.Depth = 1;
  show("copy", cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &out, nullptr));
  int calls = 0;
  const CUDA_HOST_NODE_PARAMS count{[](void* counter) { ++*static_cast<int*>(counter); }, &calls};
  show("call", cuGraphAddHostNode(&call, graph, &copy, 1, &count));
  show("a kernel as a fill", cuGraphMemsetNodeGetParams(kernel, const_cast<CUDA_MEMSET_NODE_PARAMS*>(&with)));
  CUgraphExec program{};
  show("instantiate", cuGraphInstantiate(&program, graph, 0));
  cuGraphLaunch(program, nullptr);
  cuCtxSynchronize();
  std::printf("%u\n", result);
  summand = 30;
  show("change", cuGraphExecKernelNodeSetParams(program, kernel, &launch));
  cuGraphLaunch(program, nullptr);
  show("wait", cuCtxSynchronize());
  CUDA_KERNEL_NODE_PARAMS got{};
  cuGraphKernelNodeGetParams(kernel, &got);
  std::printf("%u, %d calls, the graph's own %u of the same function %d\n", result, calls,
              *static_cast<unsigned*>(got.kernelParams[1]), got.func == add);
  show("last of the runtime's", cudaGetLastError());
  return 0;
}

// Where a captured stream stands, before its first node and after each.
int captured() {
  const CUfunction add = function(start(), "add");
  CUdeviceptr data{};
  cuMemAlloc(&data, 4);
  CUstream stream{};
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUcontext of_stream{}, current{};
  cuCtxGetCurrent(&current);
  show("context", cuStreamGetCtx(stream, &of_stream));
  std::printf("the current one: %d\n", of_stream == current);
  unsigned summand = 3;
  void* arguments[] = {&data, &summand};
  CUgraphNode last{};
  const auto where = [&](const char* what) {
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUgraph graph{};
    const CUgraphNode* after = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    show(what, cuStreamGetCaptureInfo(stream, &status, &id, &graph, &after, &edges, &count));
    CUgraphNodeType type{};
    if (count == 1) cuGraphNodeGetType(after[0], &type);
    std::printf("%d, capture %d, graph %d, %zu before%s\n", status, id != 0, graph != nullptr, count,
                count != 1                          ? ""
                : after[0] == last                  ? ", the same"
                : type == CU_GRAPH_NODE_TYPE_KERNEL ? ", a kernel"
                : type == CU_GRAPH_NODE_TYPE_MEMSET ? ", a fill"
                                                    : ", something else");
    if (count == 1) last = after[0];
  };
  where("outside");
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  where("begun");
  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  where("kernel");
  where("again");
  cuMemsetD32Async(data, 0, 1, stream);
  where("fill");
  CUgraph graph{};
  show("end", cuStreamEndCapture(stream, &graph));
  where("ended");
  return 0;
}

// Names as they were in older versions; a library of nonsense; who may meet.
int versions() {
  const CUmodule module = start();
  for (const int version : {3000, 3020, 12000, 13000}) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    for (const char* name : {"cuMemAlloc", "cuLaunchKernelEx", "cuNothing"}) {
      cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
      std::printf("%d%c", status, name[2] == 'N' ? '\n' : ' ');
    }
  }
  void *first = nullptr, *second = nullptr, *of_thread = nullptr;
  cuGetProcAddress("cuMemsetD8", &first, 3000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  cuGetProcAddress("cuMemsetD8", &second, 13000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  cuGetProcAddress("cuMemsetD8", &of_thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr);
  std::printf("%d functions\n", 1 + (second != first) + (of_thread != second && of_thread != first));
  CUlibrary library{};
  CUkernel kernel{};
  show("nonsense", cuLibraryLoadData(&library, ".version 8.0\nnonsense\n", nullptr, nullptr, 0, nullptr, nullptr, 0));
  show("its kernel", cuLibraryGetKernel(&kernel, library, "k"));
  const CUfunction meet = function(module, "where_blocks_meet");
  CUdeviceptr data{};
  cuMemAlloc(&data, 4);
  void* arguments[] = {&data};
  unsigned alone = 7, together = 7;
  cuLaunchKernel(meet, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  cuMemcpyDtoH(&alone, data, 4);
  cuLaunchCooperativeKernel(meet, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments);
  cuMemcpyDtoH(&together, data, 4);
  std::printf("a place to meet: %u alone, %u together\n", alone, together);
  return 0;
}

// A tensor map in the hardware's own form, of elements of this type, written without the driver.
int hardware_map(std::uint64_t type) {
  const CUfunction fetch = function(start(fetch_ptx), "fetch");
  CUdeviceptr from{}, to{};
  cuMemAlloc(&from, 16);
  cuMemAlloc(&to, 16);
  const unsigned row[] = {2, 3, 5, 7};
  unsigned fetched[4] = {};
  cuMemcpyHtoD(from, row, sizeof(row));
  CUtensorMap map{};
  map.opaque[0] = from;
  map.opaque[1] = 2 | type << 7;           // tiled
  map.opaque[4] = 3;                       // the tensor's size less one
  map.opaque[6] = std::uint64_t{3} << 56;  // the box's
  void* arguments[] = {&map, &to};
  cuLaunchKernel(fetch, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  show("fetch", cuCtxSynchronize());
  cuMemcpyDtoH(fetched, to, sizeof(fetched));
  std::printf("%u %u %u %u\n", fetched[0], fetched[1], fetched[2], fetched[3]);
  return 0;
}

// What allocators and schedulers of others ask: pools, pointers, how much fits.
int asked() {
  const CUfunction add = function(start(ptx), "add");
  CUmemoryPool pool{}, other{};
  CUdeviceptr data{}, extra{};
  show("pool", cuDeviceGetMemPool(&pool, 0));
  show("default", cuDeviceGetDefaultMemPool(&other, 0));
  std::printf("the same: %d\n", pool == other);
  CUmemPoolProps properties{};
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.maxSize = 1 << 20;
  show("create", cuMemPoolCreate(&other, &properties));
  show("allocate", cuMemAllocFromPoolAsync(&data, 1000, other, nullptr));
  show("too much", cuMemAllocFromPoolAsync(&extra, std::size_t{2} << 20, other, nullptr));
  cuuint64_t used = 0, threshold = 4096;
  show("threshold", cuMemPoolSetAttribute(other, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  show("used", cuMemPoolGetAttribute(other, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  std::printf("%d\n", used >= 1000);

  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  unsigned type = 7, managed = 7;
  int ordinal = 7;
  std::size_t size = 7;
  void* values[] = {&type, &ordinal, &size, &managed};
  show("attributes", cuPointerGetAttributes(4, attributes, values, data + 10));
  std::printf("%u %d %zu %u\n", type, ordinal, size, managed);
  show("of the host", cuPointerGetAttributes(4, attributes, values, reinterpret_cast<CUdeviceptr>(&size)));
  std::printf("%u %d %zu %u\n", type, ordinal, size, managed);
  show("one of the host", cuPointerGetAttribute(&type, attributes[0], reinterpret_cast<CUdeviceptr>(&size)));
  show("register everything", cuMemHostRegister(&size, ~std::size_t{0}, 0));
  show("free", cuMemFree(data));
  show("destroy", cuMemPoolDestroy(other));

  int blocks = 0, clusters = 0, largest = 0;
  CUlaunchAttribute pairs{};
  pairs.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  pairs.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 1024;
  config.attrs = &pairs;
  config.numAttrs = 1;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0);
  show("clusters", cuOccupancyMaxActiveClusters(&clusters, add, &config));
  show("largest", cuOccupancyMaxPotentialClusterSize(&largest, add, &config));
  show("left", cuOccupancyAvailableDynamicSMemPerBlock(&size, add, 2, 128));
  std::printf("%d %d %d %zu\n", blocks, clusters, largest, size);
  return 0;
}

// A library that brings a runtime and kernels of its own.
int plugin(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::printf("%s\n", dlerror());
  if (library == nullptr) return 1;
  const auto answer = reinterpret_cast<int (*)()>(dlsym(library, "answer"));
  std::printf("%d\n", answer());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "missing") return missing();
  if (what == "arrays") return arrays();
  if (what == "unregistered") return unregistered();
  if (what == "records") return records();
  if (what == "graph") return graph();
  if (what == "captured") return captured();
  if (what == "versions") return versions();
  if (what == "asked") return asked();
  if (what == "hardware_map") return hardware_map(std::strtoull(arguments[2], nullptr, 10));
  if (what == "plugin") return plugin(arguments[2]);
  std::fputs("what?\n", stderr);
  return 2;
}
