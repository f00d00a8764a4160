// The driver's graphs: its words brought into the runtime's, whose graphs these are.
#include "cudart/face.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

namespace {

// The runtime's answer as the driver's; the runtime's last error stays as it was.
template <class Call>
CUresult by_runtime(const Call& call) {
  return context_answer([&] {
    const cudaError_t before = last_error;
    const cudaError_t status = call();
    last_error = before;
    require(status == cudaSuccess, status);
  });
}

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <class Parameters>
cudaKernelNodeParams launch_of(const Parameters& p) {
  return {.func = p.func != nullptr ? reinterpret_cast<void*>(p.func) : reinterpret_cast<void*>(p.kern),
          .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .sharedMemBytes = p.sharedMemBytes,
          .kernelParams = p.kernelParams,
          .extra = p.extra};
}

cudaPitchedPtr end_of(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t pitch, std::size_t width,
                      std::size_t height) {
  if (type == CU_MEMORYTYPE_ARRAY)
    fail(cudaErrorNotSupported, "copies of arrays are not there on the virtual GPU: cudaErrorNotSupported");
  return {type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : at(device), pitch, width, height};
}
cudaMemcpy3DParms copy_of(const CUDA_MEMCPY3D& p) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = end_of(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, p.WidthInBytes, p.srcHeight);
  copy.dstPtr = end_of(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, p.WidthInBytes, p.dstHeight);
  copy.srcPos = {p.srcXInBytes, p.srcY, p.srcZ};
  copy.dstPos = {p.dstXInBytes, p.dstY, p.dstZ};
  copy.extent = {p.WidthInBytes, p.Height, p.Depth};
  const bool from_host = p.srcMemoryType == CU_MEMORYTYPE_HOST, to_host = p.dstMemoryType == CU_MEMORYTYPE_HOST;
  const bool unified = p.srcMemoryType == CU_MEMORYTYPE_UNIFIED || p.dstMemoryType == CU_MEMORYTYPE_UNIFIED;
  copy.kind = unified     ? cudaMemcpyDefault
              : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                          : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  return copy;
}
CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms& copy) {
  CUDA_MEMCPY3D p{};
  const auto type = [&](bool host) {
    return copy.kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  };
  p.srcMemoryType = type(copy.kind == cudaMemcpyHostToHost || copy.kind == cudaMemcpyHostToDevice);
  p.dstMemoryType = type(copy.kind == cudaMemcpyHostToHost || copy.kind == cudaMemcpyDeviceToHost);
  p.srcHost = copy.srcPtr.ptr;
  p.srcDevice = reinterpret_cast<CUdeviceptr>(copy.srcPtr.ptr);
  p.srcPitch = copy.srcPtr.pitch;
  p.srcHeight = copy.srcPtr.ysize;
  p.srcXInBytes = copy.srcPos.x;
  p.srcY = copy.srcPos.y;
  p.srcZ = copy.srcPos.z;
  p.dstHost = copy.dstPtr.ptr;
  p.dstDevice = reinterpret_cast<CUdeviceptr>(copy.dstPtr.ptr);
  p.dstPitch = copy.dstPtr.pitch;
  p.dstHeight = copy.dstPtr.ysize;
  p.dstXInBytes = copy.dstPos.x;
  p.dstY = copy.dstPos.y;
  p.dstZ = copy.dstPos.z;
  p.WidthInBytes = copy.extent.width;
  p.Height = copy.extent.height;
  p.Depth = copy.extent.depth;
  return p;
}

template <class Parameters>
cudaMemsetParams fill_of(const Parameters& p) {
  return {.dst = at(p.dst),
          .pitch = p.pitch,
          .value = p.value,
          .elementSize = p.elementSize,
          .width = p.width,
          .height = p.height};
}

cudaGraphNodeParams any_of(const CUgraphNodeParams& p) {
  cudaGraphNodeParams any{};
  any.type = static_cast<cudaGraphNodeType>(p.type);
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const cudaKernelNodeParams launch = launch_of(p.kernel);
      any.kernel.func = launch.func;
      any.kernel.gridDim = launch.gridDim;
      any.kernel.blockDim = launch.blockDim;
      any.kernel.sharedMemBytes = launch.sharedMemBytes;
      any.kernel.kernelParams = launch.kernelParams;
      any.kernel.extra = launch.extra;
      break;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: any.memcpy.copyParams = copy_of(p.memcpy.copyParams); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const cudaMemsetParams fill = fill_of(p.memset);
      any.memset.dst = fill.dst;
      any.memset.pitch = fill.pitch;
      any.memset.value = fill.value;
      any.memset.elementSize = fill.elementSize;
      any.memset.width = fill.width;
      any.memset.height = fill.height;
      break;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      any.host.fn = p.host.fn;
      any.host.userData = p.host.userData;
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH: any.graph.graph = p.graph.graph; break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: any.eventWait.event = p.eventWait.event; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: any.eventRecord.event = p.eventRecord.event; break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: any.alloc.bytesize = p.alloc.bytesize; break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: any.free.dptr = at(p.free.dptr); break;
    default: break;  // which the runtime names
  }
  return any;
}

}  // namespace

WARPMILL_FACE CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return by_runtime([&] { return cudaGraphCreate(graph, flags); });
}
WARPMILL_FACE CUresult cuGraphDestroy(CUgraph graph) {
  return by_runtime([&] { return cudaGraphDestroy(graph); });
}
WARPMILL_FACE CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return by_runtime([&] { return cudaGraphClone(clone, original); });
}
WARPMILL_FACE CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  return by_runtime([&] { return cudaGraphNodeFindInClone(node, original, clone); });
}
WARPMILL_FACE CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  return by_runtime([&] { return cudaGraphAddEmptyNode(node, graph, after, count); });
}
WARPMILL_FACE CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaKernelNodeParams launch = launch_of(*p);
    return cudaGraphAddKernelNode(node, graph, after, count, &launch);
  });
}
WARPMILL_FACE CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                            const CUDA_MEMCPY3D* p, CUcontext) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemcpy3DParms copy = copy_of(*p);
    return cudaGraphAddMemcpyNode(node, graph, after, count, &copy);
  });
}
WARPMILL_FACE CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                            const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemsetParams fill = fill_of(*p);
    return cudaGraphAddMemsetNode(node, graph, after, count, &fill);
  });
}
WARPMILL_FACE CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                          const CUDA_HOST_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaHostNodeParams host{p->fn, p->userData};
    return cudaGraphAddHostNode(node, graph, after, count, &host);
  });
}
WARPMILL_FACE CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                                size_t count, CUgraph child) {
  return by_runtime([&] { return cudaGraphAddChildGraphNode(node, graph, after, count, child); });
}
WARPMILL_FACE CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                                 size_t count, CUevent event) {
  return by_runtime([&] { return cudaGraphAddEventRecordNode(node, graph, after, count, event); });
}
WARPMILL_FACE CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                               CUevent event) {
  return by_runtime([&] { return cudaGraphAddEventWaitNode(node, graph, after, count, event); });
}
WARPMILL_FACE CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                              CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaMemAllocNodeParams memory{};
    memory.bytesize = p->bytesize;
    const cudaError_t status = cudaGraphAddMemAllocNode(node, graph, after, count, &memory);
    p->dptr = reinterpret_cast<CUdeviceptr>(memory.dptr);
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                             CUdeviceptr address) {
  return by_runtime([&] { return cudaGraphAddMemFreeNode(node, graph, after, count, at(address)); });
}
WARPMILL_FACE CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      const CUgraphEdgeData*, size_t count, CUgraphNodeParams* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaGraphNodeParams any = any_of(*p);
    const cudaError_t status = cudaGraphAddNode(node, graph, after, nullptr, count, &any);
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) p->alloc.dptr = reinterpret_cast<CUdeviceptr>(any.alloc.dptr);
    return status;
  });
}

WARPMILL_FACE CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaKernelNodeParams launch{};
    const cudaError_t status = cudaGraphKernelNodeGetParams(node, &launch);
    if (status != cudaSuccess) return status;
    *p = {};
    p->func = reinterpret_cast<CUfunction>(&kernel_of(launch.func));
    p->gridDimX = launch.gridDim.x;
    p->gridDimY = launch.gridDim.y;
    p->gridDimZ = launch.gridDim.z;
    p->blockDimX = launch.blockDim.x;
    p->blockDimY = launch.blockDim.y;
    p->blockDimZ = launch.blockDim.z;
    p->sharedMemBytes = launch.sharedMemBytes;
    p->kernelParams = launch.kernelParams;
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaMemcpy3DParms copy{};
    const cudaError_t status = cudaGraphMemcpyNodeGetParams(node, &copy);
    if (status == cudaSuccess) *p = copy_of(copy);
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaMemsetParams fill{};
    const cudaError_t status = cudaGraphMemsetNodeGetParams(node, &fill);
    if (status == cudaSuccess)
      *p = {reinterpret_cast<CUdeviceptr>(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaHostNodeParams host{};
    const cudaError_t status = cudaGraphHostNodeGetParams(node, &host);
    if (status == cudaSuccess) *p = {host.fn, host.userData};
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaMemAllocNodeParams memory{};
    const cudaError_t status = cudaGraphMemAllocNodeGetParams(node, &memory);
    if (status != cudaSuccess) return status;
    *p = {};
    p->bytesize = memory.bytesize;
    p->dptr = reinterpret_cast<CUdeviceptr>(memory.dptr);
    return status;
  });
}
WARPMILL_FACE CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return by_runtime([&] { return cudaGraphMemFreeNodeGetParams(node, address); });
}
WARPMILL_FACE CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
  return by_runtime([&] { return cudaGraphChildGraphNodeGetGraph(node, child); });
}
WARPMILL_FACE CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return by_runtime([&] { return cudaGraphEventRecordNodeGetEvent(node, event); });
}
WARPMILL_FACE CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return by_runtime([&] { return cudaGraphEventWaitNodeGetEvent(node, event); });
}
WARPMILL_FACE CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaKernelNodeParams launch = launch_of(*p);
    return cudaGraphKernelNodeSetParams(node, &launch);
  });
}
WARPMILL_FACE CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemcpy3DParms copy = copy_of(*p);
    return cudaGraphMemcpyNodeSetParams(node, &copy);
  });
}
WARPMILL_FACE CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemsetParams fill = fill_of(*p);
    return cudaGraphMemsetNodeSetParams(node, &fill);
  });
}
WARPMILL_FACE CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaHostNodeParams host{p->fn, p->userData};
    return cudaGraphHostNodeSetParams(node, &host);
  });
}
WARPMILL_FACE CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return by_runtime([&] { return cudaGraphEventRecordNodeSetEvent(node, event); });
}
WARPMILL_FACE CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return by_runtime([&] { return cudaGraphEventWaitNodeSetEvent(node, event); });
}
WARPMILL_FACE CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaGraphNodeParams any = any_of(*p);
    return cudaGraphNodeSetParams(node, &any);
  });
}
WARPMILL_FACE CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaKernelNodeParams launch = launch_of(*p);
    return cudaGraphExecKernelNodeSetParams(exec, node, &launch);
  });
}
WARPMILL_FACE CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* p,
                                                      CUcontext) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemcpy3DParms copy = copy_of(*p);
    return cudaGraphExecMemcpyNodeSetParams(exec, node, &copy);
  });
}
WARPMILL_FACE CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaMemsetParams fill = fill_of(*p);
    return cudaGraphExecMemsetNodeSetParams(exec, node, &fill);
  });
}
WARPMILL_FACE CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_HOST_NODE_PARAMS* p) {
  return by_runtime([&] {
    require(p != nullptr);
    const cudaHostNodeParams host{p->fn, p->userData};
    return cudaGraphExecHostNodeSetParams(exec, node, &host);
  });
}
WARPMILL_FACE CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return by_runtime([&] { return cudaGraphExecEventRecordNodeSetEvent(exec, node, event); });
}
WARPMILL_FACE CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return by_runtime([&] { return cudaGraphExecEventWaitNodeSetEvent(exec, node, event); });
}
WARPMILL_FACE CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return by_runtime([&] { return cudaGraphExecChildGraphNodeSetParams(exec, node, child); });
}
WARPMILL_FACE CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* p) {
  return by_runtime([&] {
    require(p != nullptr);
    cudaGraphNodeParams any = any_of(*p);
    return cudaGraphExecNodeSetParams(exec, node, &any);
  });
}
WARPMILL_FACE CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return by_runtime([&] { return cudaGraphNodeSetEnabled(exec, node, enabled); });
}
WARPMILL_FACE CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return by_runtime([&] { return cudaGraphNodeGetEnabled(exec, node, enabled); });
}
WARPMILL_FACE CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return by_runtime([&] { return cudaGraphNodeGetType(node, reinterpret_cast<cudaGraphNodeType*>(type)); });
}
WARPMILL_FACE CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return by_runtime([&] { return cudaGraphGetNodes(graph, nodes, count); });
}
WARPMILL_FACE CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return by_runtime([&] { return cudaGraphGetRootNodes(graph, nodes, count); });
}
WARPMILL_FACE CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                                       size_t* count) {
  return by_runtime(
      [&] { return cudaGraphGetEdges(graph, from, to, reinterpret_cast<cudaGraphEdgeData*>(edges), count); });
}
WARPMILL_FACE CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* list, CUgraphEdgeData*,
                                                  size_t* count) {
  return by_runtime([&] { return cudaGraphNodeGetDependencies(node, list, nullptr, count); });
}
WARPMILL_FACE CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* list, CUgraphEdgeData*,
                                                    size_t* count) {
  return by_runtime([&] { return cudaGraphNodeGetDependentNodes(node, list, nullptr, count); });
}
WARPMILL_FACE CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                              const CUgraphEdgeData*, size_t count) {
  return by_runtime([&] { return cudaGraphAddDependencies(graph, from, to, nullptr, count); });
}
WARPMILL_FACE CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                                 const CUgraphEdgeData*, size_t count) {
  return by_runtime([&] { return cudaGraphRemoveDependencies(graph, from, to, nullptr, count); });
}
WARPMILL_FACE CUresult cuGraphDestroyNode(CUgraphNode node) {
  return by_runtime([&] { return cudaGraphDestroyNode(node); });
}
WARPMILL_FACE CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return by_runtime([&] { return cudaGraphInstantiate(exec, graph, flags); });
}
WARPMILL_FACE CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return by_runtime([&] { return cudaGraphExecGetFlags(exec, reinterpret_cast<unsigned long long*>(flags)); });
}
WARPMILL_FACE CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return by_runtime([&] { return cudaGraphExecDestroy(exec); });
}
WARPMILL_FACE CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  return by_runtime([&] {
    cudaGraphExecUpdateResultInfo result{};
    const cudaError_t status = cudaGraphExecUpdate(exec, graph, &result);
    if (info != nullptr) *info = {static_cast<CUgraphExecUpdateResult>(result.result), nullptr, nullptr};
    return status;
  });
}
