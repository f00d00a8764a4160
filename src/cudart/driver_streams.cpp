// The driver's streams, events and launches.
#include "cudart/capture.hpp"
#include "cudart/default_stream.hpp"
#include "cudart/face.hpp"
#include "cudart/launch.hpp"
#include "cudart/memory.hpp"

using namespace wm::cudart;

namespace {
void launch(LaunchRequest request, CUstream handle) {
  const auto stream = stream_of(handle);
  request.device = stream->device;
  Streams::get().submit(*stream, prepare(request));
}
}  // namespace

WARPMILL_FACE CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                      CUstream stream, void** arguments, void** extra) {
  return context_answer([&] {
    launch({.kernel = &known_kernel(function),
            .grid = {grid_x, grid_y, grid_z},
            .block = {block_x, block_y, block_z},
            .shared_bytes = shared_bytes,
            .arguments = arguments,
            .extra = extra},
           stream);
  });
}
WARPMILL_FACE CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                                 unsigned shared_bytes, CUstream stream, void** arguments) {
  return context_answer([&] {
    launch({.kernel = &known_kernel(function),
            .grid = {grid_x, grid_y, grid_z},
            .block = {block_x, block_y, block_z},
            .shared_bytes = shared_bytes,
            .cooperative = true,
            .arguments = arguments},
           stream);
  });
}
WARPMILL_FACE CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                                        void** extra) {
  return context_answer([&] {
    require(config != nullptr);
    LaunchRequest request{.kernel = &known_kernel(function),
                          .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                          .shared_bytes = config->sharedMemBytes,
                          .arguments = arguments,
                          .extra = extra};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = config->attrs[i];
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        request.cluster =
            wm::Dim3{attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) request.cooperative = attribute.value.cooperative != 0;
    }
    launch(request, config->hStream);
  });
}
WARPMILL_FACE CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return context_answer([&] {
    require(function != nullptr);
    Streams::get().submit(*stream_of(stream), HostCall{[=] { function(data); }});
  });
}
WARPMILL_FACE CUresult cuStreamSynchronize(CUstream stream) {
  return context_answer([&] { Streams::get().wait(*stream_of(stream)); });
}
WARPMILL_FACE CUresult cuStreamQuery(CUstream stream) {
  return context_answer([&] { require(Streams::get().idle(*stream_of(stream)), cudaErrorNotReady); });
}
WARPMILL_FACE CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return context_answer([&] { Streams::get().wait_for(*stream_of(stream), known_event(event)); });
}
WARPMILL_FACE CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return context_answer([&] { *flags = stream_of(stream)->flags; });
}
WARPMILL_FACE CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return context_answer([&] { *priority = stream_of(stream)->priority; });
}
WARPMILL_FACE CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return context_answer([&] { *id = stream_of(stream)->id; });
}
WARPMILL_FACE CUresult cuEventRecord(CUevent event, CUstream stream) {
  return context_answer([&] { Streams::get().record(*stream_of(stream), known_event(event)); });
}
WARPMILL_FACE CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return context_answer([&] { begin_capture(*stream_of(stream), static_cast<cudaStreamCaptureMode>(mode)); });
}
WARPMILL_FACE CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return context_answer([&] {
    require(graph != nullptr);
    *graph = nullptr;
    *graph = reinterpret_cast<CUgraph>(end_capture(*stream_of(stream)).get());
  });
}
WARPMILL_FACE CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return context_answer([&] { *status = static_cast<CUstreamCaptureStatus>(capture_info(*stream_of(stream)).status); });
}
WARPMILL_FACE CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                              CUgraph* graph, const CUgraphNode** after, const CUgraphEdgeData** edges,
                                              size_t* count) {
  return context_answer([&] {
    require(status != nullptr);
    const CaptureInfo info = capture_info(*stream_of(stream));
    *status = static_cast<CUstreamCaptureStatus>(info.status);
    if (info.graph == nullptr) return;
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(info.graph);
    if (after != nullptr) *after = reinterpret_cast<const CUgraphNode*>(info.after.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = info.after.size();
  });
}
WARPMILL_FACE CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return driver_answer([&] {
    require(context != nullptr);
    *context = handle_of(&primary_context(stream_of(stream)->device));
  });
}
WARPMILL_FACE CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return context_answer([&] { Streams::get().submit(*stream_of(stream), RunGraph{known_exec(exec).copied.graph}); });
}
WARPMILL_FACE CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return context_answer([&] {
    stream_of(stream);
    known_exec(exec);
  });
}
WARPMILL_FACE CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                    CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
  const CUresult result = cuGraphInstantiate(exec, graph, p != nullptr ? p->flags : 0);
  if (p != nullptr) {
    p->hErrNode_out = nullptr;
    p->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  }
  return result;
}
WARPMILL_FACE CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return context_answer([&] {
    require(address != nullptr && bytes > 0);
    stream_of(stream);
    *address = allocate_device(bytes, current_pool(current_device()));
  });
}
WARPMILL_FACE CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return context_answer([&] {
    require(address != nullptr && bytes > 0);
    stream_of(stream);
    *address = allocate_device(bytes, &known_pool(pool));
  });
}
WARPMILL_FACE CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return context_answer([&] {
    const auto range = range_of(address);
    require(range && range->address == address && range->kind == MemoryKind::device);
    const auto target = stream_of(stream);
    give_up_device(address);
    Streams::get().submit(*target, FreeMemory{address});
  });
}
