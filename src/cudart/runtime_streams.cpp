// The runtime's streams, events and launches.
#include "cudart/capture.hpp"
#include "cudart/default_stream.hpp"
#include "cudart/face.hpp"
#include "cudart/launch.hpp"
#include "cudart/memory.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

namespace {

constexpr int last_launch_attribute = cudaLaunchAttributePreferredSharedMemoryCarveout;

wm::Dim3 sizes(const dim3& d) { return {d.x, d.y, d.z}; }

void launch(LaunchRequest request, cudaStream_t handle) {
  const auto stream = stream_of(handle);
  require(handle == nullptr || stream->device == current_device(), cudaErrorInvalidResourceHandle);
  request.device = stream->device;
  try {
    Streams::get().submit(*stream, prepare(request));
  } catch (...) {
    invalidate_capture(*stream);
    throw;
  }
}

void launch(const void* function, const dim3& grid, const dim3& block, void** arguments, std::size_t shared_bytes,
            cudaStream_t stream, bool cooperative) {
  launch({.kernel = &kernel_of(function),
          .grid = sizes(grid),
          .block = sizes(block),
          .shared_bytes = shared_bytes,
          .cooperative = cooperative,
          .arguments = arguments},
         stream);
}

}  // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  #define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif
WARPMILL_FACE cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                             size_t shared_bytes, cudaStream_t stream) {
  return answer([&] { launch(kernel, grid, block, arguments, shared_bytes, stream, false); });
}
WARPMILL_FACE cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                           size_t shared_bytes, cudaStream_t stream) {
  return answer([&] { launch(function, grid, block, arguments, shared_bytes, stream, false); });
}
WARPMILL_FACE cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                      size_t shared_bytes, cudaStream_t stream) {
  return answer([&] { launch(function, grid, block, arguments, shared_bytes, stream, true); });
}
WARPMILL_FACE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                              void** arguments) {
  return answer([&] {
    require(config != nullptr);
    LaunchRequest request{.kernel = &kernel_of(function),
                          .grid = sizes(config->gridDim),
                          .block = sizes(config->blockDim),
                          .shared_bytes = config->dynamicSmemBytes,
                          .arguments = arguments};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      require(attribute.id >= 0 && attribute.id <= last_launch_attribute);
      if (attribute.id == cudaLaunchAttributeClusterDimension)
        request.cluster = wm::Dim3{attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
      if (attribute.id == cudaLaunchAttributeCooperative) request.cooperative = attribute.val.cooperative != 0;
    }
    launch(request, config->stream);
  });
}
WARPMILL_FACE cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return answer([&] {
    require(function != nullptr);
    Streams::get().submit(*stream_of(stream), HostCall{[=] { function(data); }});
  });
}
WARPMILL_FACE cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                                unsigned flags) {
  return answer([&] {
    require(function != nullptr && flags == 0);
    Streams::get().submit(*stream_of(stream),
                          StreamCallback{[=](cudaError_t status) { function(stream, status, data); }});
  });
}

WARPMILL_FACE cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return answer([&] { Streams::get().wait(*stream_of(stream)); });
}
WARPMILL_FACE cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return answer([&] { require(Streams::get().idle(*stream_of(stream)), cudaErrorNotReady); });
}
WARPMILL_FACE cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return answer([&] { *flags = stream_of(stream)->flags; });
}
WARPMILL_FACE cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return answer([&] { *priority = stream_of(stream)->priority; });
}
WARPMILL_FACE cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return answer([&] { *device = stream_of(stream)->device; });
}
WARPMILL_FACE cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return answer([&] { *id = stream_of(stream)->id; });
}
WARPMILL_FACE cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return answer([&] { Streams::get().wait_for(*stream_of(stream), known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned) {
  return answer([&] {
    stream_of(stream);
    const auto range = range_of(reinterpret_cast<std::uint64_t>(pointer));
    require(range && range->kind == MemoryKind::managed);
  });
}
// Hints: priorities and windows of the cache, which the virtual GPU does not have.
WARPMILL_FACE cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID,
                                                 const cudaStreamAttrValue* value) {
  return answer([&] {
    stream_of(stream);
    require(value != nullptr);
  });
}
WARPMILL_FACE cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return answer([&] {
    stream_of(to);
    stream_of(from);
  });
}

WARPMILL_FACE cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return answer([&] { Streams::get().record(*stream_of(stream), known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return answer([&] { Streams::get().record(*stream_of(stream), known_event(event)); });
}

WARPMILL_FACE cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return answer([&] { begin_capture(*stream_of(stream), mode); });
}
WARPMILL_FACE cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                        const cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                                        size_t count, cudaStreamCaptureMode mode) {
  return answer([&] {
    begin_capture(*stream_of(stream), mode, known_graph(graph),
                  {reinterpret_cast<Node* const*>(after), after != nullptr ? count : 0});
  });
}
WARPMILL_FACE cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return answer([&] {
    if (graph != nullptr) *graph = nullptr;
    auto captured = end_capture(*stream_of(stream));
    if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(captured.get());
  });
}
WARPMILL_FACE cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return answer([&] { *status = capture_info(*stream_of(stream)).status; });
}
WARPMILL_FACE cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                                   unsigned long long* id, cudaGraph_t* graph,
                                                   const cudaGraphNode_t** after, const cudaGraphEdgeData** edges,
                                                   size_t* count) {
  return answer([&] {
    const CaptureInfo info = capture_info(*stream_of(handle));
    if (status != nullptr) *status = info.status;
    if (info.graph == nullptr) return;
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(info.graph);
    if (after != nullptr) *after = reinterpret_cast<const cudaGraphNode_t*>(info.after.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = info.after.size();
  });
}
WARPMILL_FACE cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* after,
                                                              const cudaGraphEdgeData*, size_t count, unsigned flags) {
  return answer([&] {
    const auto stream = stream_of(handle);
    require(stream->capture != nullptr, cudaErrorIllegalState);
    if (flags & cudaStreamSetCaptureDependencies) stream->frontier.clear();
    for (size_t i = 0; i < count; ++i) stream->frontier.push_back(&known_node(after[i]));
  });
}
WARPMILL_FACE cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return answer([&] { Streams::get().submit(*stream_of(stream), RunGraph{known_exec(exec).copied.graph}); });
}
WARPMILL_FACE cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return answer([&] {
    stream_of(stream);
    known_exec(exec);
  });
}

namespace {
void allocate_in(cudaStream_t handle, Pool* pool, void** pointer, std::size_t bytes) {
  require(pointer != nullptr);
  const auto stream = stream_of(handle);
  *pointer = bytes > 0 ? reinterpret_cast<void*>(allocate_device(bytes, pool)) : nullptr;
  if (Node* node = capture_node(*stream, cudaGraphNodeTypeMemAlloc, Nothing{})) {
    node->allocation.dptr = *pointer;
    node->allocation.bytesize = bytes;
  }
}
}  // namespace

WARPMILL_FACE cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return answer([&] { allocate_in(stream, current_pool(current_device()), pointer, bytes); });
}
WARPMILL_FACE cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
  return answer([&] { allocate_in(stream, &known_pool(pool), pointer, bytes); });
}
WARPMILL_FACE cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return answer([&] {
    if (pointer == nullptr) return;
    const auto stream = stream_of(handle);
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    const auto range = range_of(address);
    require(range && range->address == address && range->kind == MemoryKind::device);
    // A graph gives its memory back when it is gone: it may be launched again.
    if (Node* node = capture_node(*stream, cudaGraphNodeTypeMemFree, Nothing{})) {
      node->freed = pointer;
    } else {
      give_up_device(address);
      Streams::get().submit(*stream, FreeMemory{address});
    }
  });
}
WARPMILL_FACE cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned,
                                               cudaStream_t stream) {
  return answer([&] {
    stream_of(stream);
    const bool device = location.type == cudaMemLocationTypeDevice;
    if (device) require_device(location.id);
    change_hints(reinterpret_cast<std::uint64_t>(pointer), bytes,
                 [&](MemoryRange& range) { range.prefetched_to = device ? location.id : cudaCpuDeviceId; });
  });
}
