// The driver's graphs: nodes of every kind built by hand, changed, cloned, nested, replayed.
#include <cstdio>
#include <cstdlib>

#include <cuda.h>

const char* const ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry multiply_add(.param .u64 values, .param .u32 factor, .param .u32 summand)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [factor];
  ld.param.u32 %r4, [summand];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  cvta.to.global.u64 %rd1, %rd1;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  mad.lo.u32 %r5, %r3, %r1, %r4;
  st.global.u32 [%rd3], %r5;
  ret;
}
)";
constexpr int count = 4;

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

void say_values(const char* what, const unsigned* values) {
  std::printf("%s: %u %u %u %u\n", what, values[0], values[1], values[2], values[3]);
}

void describe(const char* what, CUgraph graph) {
  std::size_t nodes = 0, roots = 0, edges = 0;
  good(cuGraphGetNodes(graph, nullptr, &nodes));
  good(cuGraphGetRootNodes(graph, nullptr, &roots));
  good(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  std::printf("%s: %zu nodes, %zu roots, %zu edges\n", what, nodes, roots, edges);
}

void count_up(void* counter) { ++*static_cast<int*>(counter); }

// The fill, the kernel, the copy to the host and what is called after it.
struct Built {
  CUgraph graph;
  CUgraphNode fill, kernel, copy, call;
};

CUDA_MEMSET_NODE_PARAMS fill_of(CUdeviceptr values, unsigned value) {
  CUDA_MEMSET_NODE_PARAMS p = {};
  p.dst = values;
  p.value = value;
  p.elementSize = 4;
  p.width = count;
  p.height = 1;
  return p;
}

CUDA_KERNEL_NODE_PARAMS launch_of(CUfunction function, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS p = {};
  p.func = function;
  p.gridDimX = p.gridDimY = p.gridDimZ = 1;
  p.blockDimX = count;
  p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = arguments;
  return p;
}

CUDA_MEMCPY3D copy_of(unsigned* host, CUdeviceptr values) {
  CUDA_MEMCPY3D p = {};
  p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = values;
  p.srcPitch = p.dstPitch = count * sizeof(unsigned);
  p.srcHeight = p.dstHeight = 1;
  p.dstMemoryType = CU_MEMORYTYPE_HOST;
  p.dstHost = host;
  p.WidthInBytes = count * sizeof(unsigned);
  p.Height = p.Depth = 1;
  return p;
}

Built build(CUcontext context, CUfunction function, CUdeviceptr values, unsigned* host, int* calls) {
  Built built;
  good(cuGraphCreate(&built.graph, 0));
  const CUDA_MEMSET_NODE_PARAMS fill = fill_of(values, 3);
  good(cuGraphAddMemsetNode(&built.fill, built.graph, nullptr, 0, &fill, context));
  unsigned factor = 5, summand = 1;
  void* arguments[] = {&values, &factor, &summand};
  const CUDA_KERNEL_NODE_PARAMS launch = launch_of(function, arguments);
  good(cuGraphAddKernelNode(&built.kernel, built.graph, &built.fill, 1, &launch));
  factor = summand = 0;  // the node has taken its arguments
  const CUDA_MEMCPY3D copy = copy_of(host, values);
  good(cuGraphAddMemcpyNode(&built.copy, built.graph, &built.kernel, 1, &copy, context));
  const CUDA_HOST_NODE_PARAMS call = {count_up, calls};
  good(cuGraphAddHostNode(&built.call, built.graph, nullptr, 0, &call));
  good(cuGraphAddDependencies(built.graph, &built.copy, &built.call, nullptr, 1));
  return built;
}

void looked_into(const Built& built, CUfunction function) {
  describe("built", built.graph);
  CUgraphNodeType type;
  for (const CUgraphNode node : {built.fill, built.kernel, built.copy, built.call}) {
    good(cuGraphNodeGetType(node, &type));
    std::printf("type %d\n", static_cast<int>(type));
  }
  std::size_t before = 9, after = 9;
  good(cuGraphNodeGetDependencies(built.call, nullptr, nullptr, &before));
  good(cuGraphNodeGetDependentNodes(built.call, nullptr, nullptr, &after));
  std::printf("the call: %zu before, %zu after\n", before, after);
  CUDA_KERNEL_NODE_PARAMS launch = {};
  good(cuGraphKernelNodeGetParams(built.kernel, &launch));
  std::printf("kernel: own function %d, %u threads, factor %u\n", launch.func == function, launch.blockDimX,
              *static_cast<unsigned*>(launch.kernelParams[1]));
  CUDA_MEMSET_NODE_PARAMS fill = {};
  good(cuGraphMemsetNodeGetParams(built.fill, &fill));
  std::printf("fill: %u in %u bytes, %zu of them\n", fill.value, fill.elementSize, fill.width);
  CUDA_MEMCPY3D copy = {};
  good(cuGraphMemcpyNodeGetParams(built.copy, &copy));
  std::printf("copy: %zu bytes, to the host %d\n", copy.WidthInBytes, copy.dstMemoryType == CU_MEMORYTYPE_HOST);
  say("the kernel as a fill", cuGraphMemsetNodeGetParams(built.kernel, &fill));
}

void changed(const Built& built, CUcontext context, CUfunction function, CUdeviceptr values, unsigned* other) {
  CUgraphExec program;
  good(cuGraphInstantiate(&program, built.graph, 0));
  good(cuGraphUpload(program, nullptr));
  good(cuGraphLaunch(program, nullptr));
  unsigned factor = 100, summand = 7;
  void* arguments[] = {&values, &factor, &summand};
  const CUDA_KERNEL_NODE_PARAMS launch = launch_of(function, arguments);
  good(cuGraphExecKernelNodeSetParams(program, built.kernel, &launch));
  const CUDA_MEMSET_NODE_PARAMS fill = fill_of(values, 2);
  good(cuGraphExecMemsetNodeSetParams(program, built.fill, &fill, context));
  const CUDA_MEMCPY3D copy = copy_of(other, values);
  good(cuGraphExecMemcpyNodeSetParams(program, built.copy, &copy, context));
  good(cuGraphLaunch(program, nullptr));
  good(cuCtxSynchronize());
  say_values("2 * 100 + 7", other);
  good(cuGraphNodeSetEnabled(program, built.kernel, 0));
  unsigned enabled = 9;
  good(cuGraphNodeGetEnabled(program, built.kernel, &enabled));
  good(cuGraphLaunch(program, nullptr));
  good(cuCtxSynchronize());
  std::printf("enabled: %u\n", enabled);
  say_values("without the kernel", other);
  // In the graph itself, and then in the program by an update.
  factor = 10;
  good(cuGraphKernelNodeSetParams(built.kernel, &launch));
  CUgraphExecUpdateResultInfo result = {};
  say("update", cuGraphExecUpdate(program, built.graph, &result));
  std::printf("result: %d\n", static_cast<int>(result.result));
  good(cuGraphExecDestroy(program));
}

// A graph in a graph, with an event after it, an empty node, and a node of the general kind.
void nested(const Built& built, CUfunction function, CUdeviceptr values, unsigned* host) {
  CUgraph clone, parent;
  good(cuGraphClone(&clone, built.graph));
  CUgraphNode cloned, child, record, wait, empty, last;
  good(cuGraphNodeFindInClone(&cloned, built.call, clone));
  good(cuGraphDestroyNode(cloned));
  describe("clone", clone);
  CUevent event;
  good(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  good(cuGraphCreate(&parent, 0));
  good(cuGraphAddChildGraphNode(&child, parent, nullptr, 0, clone));
  good(cuGraphAddEventRecordNode(&record, parent, &child, 1, event));
  good(cuGraphAddEventWaitNode(&wait, parent, &record, 1, event));
  good(cuGraphAddEmptyNode(&empty, parent, &wait, 1));
  unsigned factor = 2, summand = 0;
  void* arguments[] = {&values, &factor, &summand};
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.func = function;
  any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
  any.kernel.blockDimX = 2;
  any.kernel.blockDimY = any.kernel.blockDimZ = 1;
  any.kernel.kernelParams = arguments;
  good(cuGraphAddNode(&last, parent, &empty, nullptr, 1, &any));
  describe("parent", parent);
  CUevent got = nullptr;
  good(cuGraphEventRecordNodeGetEvent(record, &got));
  std::printf("its event: %d\n", got == event);
  CUgraphExec program;
  CUDA_GRAPH_INSTANTIATE_PARAMS how = {};
  good(cuGraphInstantiateWithParams(&program, parent, &how));
  std::printf("instantiated: %d\n", static_cast<int>(how.result_out));
  good(cuGraphLaunch(program, nullptr));
  good(cuCtxSynchronize());
  say("event", cuEventQuery(event));
  good(cuMemcpyDtoH(host, values, count * sizeof(unsigned)));
  say_values("the first two twice", host);
  good(cuGraphExecDestroy(program));
  good(cuGraphDestroy(parent));
  good(cuGraphDestroy(clone));
  good(cuEventDestroy(event));
}

// Memory that the graph allocates and frees.
void with_memory(CUcontext context, unsigned* host) {
  CUgraph graph;
  CUgraphNode allocate, fill, copy, release;
  good(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS memory = {};
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = count * sizeof(unsigned);
  good(cuGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &memory));
  const CUDA_MEMSET_NODE_PARAMS with = fill_of(memory.dptr, 77);
  good(cuGraphAddMemsetNode(&fill, graph, &allocate, 1, &with, context));
  const CUDA_MEMCPY3D out = copy_of(host, memory.dptr);
  good(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &out, context));
  good(cuGraphAddMemFreeNode(&release, graph, &copy, 1, memory.dptr));
  CUdeviceptr freed = 0;
  good(cuGraphMemFreeNodeGetParams(release, &freed));
  std::printf("frees what it allocated: %d\n", freed == memory.dptr);
  CUgraphExec program;
  good(cuGraphInstantiate(&program, graph, 0));
  for (int replay = 0; replay != 2; ++replay) good(cuGraphLaunch(program, nullptr));
  good(cuCtxSynchronize());
  say_values("own memory", host);
  good(cuGraphExecDestroy(program));
  good(cuGraphDestroy(graph));
}

void misused(CUfunction function, CUdeviceptr values) {
  CUgraph graph;
  CUgraphNode node, first, second;
  good(cuGraphCreate(&graph, 0));
  void* arguments[] = {&values, &values, &values};
  CUDA_KERNEL_NODE_PARAMS launch = launch_of(function, arguments);
  launch.blockDimX = 2048;
  say("too many threads", cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
  launch = launch_of(nullptr, arguments);
  say("no function", cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
  say("no graph", cuGraphAddEmptyNode(&node, nullptr, nullptr, 0));
  good(cuGraphAddEmptyNode(&first, graph, nullptr, 0));
  good(cuGraphAddEmptyNode(&second, graph, &first, 1));
  say("after itself", cuGraphAddDependencies(graph, &first, &first, nullptr, 1));
  say("in a circle", cuGraphAddDependencies(graph, &second, &first, nullptr, 1));
  CUgraphExec program;
  say("instantiate", cuGraphInstantiate(&program, graph, 0));
  good(cuGraphDestroy(graph));
}

int main() {
  good(cuInit(0));
  CUcontext context;
  good(cuDevicePrimaryCtxRetain(&context, 0));
  good(cuCtxSetCurrent(context));
  CUmodule module;
  CUfunction function;
  good(cuModuleLoadData(&module, ptx));
  good(cuModuleGetFunction(&function, module, "multiply_add"));
  CUdeviceptr values;
  good(cuMemAlloc(&values, count * sizeof(unsigned)));
  unsigned host[count] = {}, other[count] = {};
  int calls = 0;
  const Built built = build(context, function, values, host, &calls);
  looked_into(built, function);
  changed(built, context, function, values, other);
  say_values("3 * 5 + 1", host);
  nested(built, function, values, host);
  with_memory(context, host);
  std::printf("calls: %d\n", calls);
  misused(function, values);
  good(cuGraphDestroy(built.graph));
  good(cuMemFree(values));
  good(cuModuleUnload(module));
  good(cuDevicePrimaryCtxRelease(0));
}
