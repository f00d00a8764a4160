// Graph nodes from the runtime's parameters.
#include "cudart/graph_nodes.hpp"

#include "cudart/copies.hpp"
#include "cudart/failure.hpp"
#include "cudart/launch.hpp"
#include "cudart/memory.hpp"
#include "cudart/registration.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {

void set_kernel(Node& node, const cudaKernelNodeParams* p) {
  require(p != nullptr && node.type == cudaGraphNodeTypeKernel);
  Kernel* kernel = nullptr;
  try {
    kernel = &kernel_of(p->func);
  } catch (const Failure&) {
    fail(cudaErrorInvalidDeviceFunction);  // so says a chip's runtime, here and not for launches
  }
  node.operation = prepare({.kernel = kernel,
                            .grid = {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                            .block = {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                            .shared_bytes = p->sharedMemBytes,
                            .device = current_device(),
                            .arguments = p->kernelParams,
                            .extra = p->extra});
  node.kernel = *p;
}

void set_copy(Node& node, const cudaMemcpy3DParms* p) {
  require(p != nullptr && node.type == cudaGraphNodeTypeMemcpy);
  Copy copy = copy_3d(*p);
  check_copy(copy, p->kind);
  node.operation = std::move(copy);
  node.copy = *p;
}

void set_flat_copy(Node& node, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.dstPtr = {to, bytes, bytes, 1};
  p.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  p.extent = {bytes, 1, 1};
  p.kind = kind;
  set_copy(node, &p);
}

void set_fill(Node& node, const cudaMemsetParams* p) {
  require(p != nullptr && node.type == cudaGraphNodeTypeMemset);
  require(p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4);
  const Fill fill{.to = {reinterpret_cast<std::uint64_t>(p->dst), p->pitch, p->pitch * p->height},
                  .extent = {p->width * p->elementSize, p->height, 1},
                  .value = p->value,
                  .unit = p->elementSize};
  check_fill(fill);
  node.operation = fill;
  node.fill = *p;
}

void set_host(Node& node, const cudaHostNodeParams* p) {
  require(p != nullptr && p->fn != nullptr && node.type == cudaGraphNodeTypeHost);
  node.operation = HostCall{[function = p->fn, data = p->userData] { function(data); }};
  node.host = *p;
}

void set_child(Node& node, const Graph& child) {
  require(node.type == cudaGraphNodeTypeGraph);
  node.child = child.copy().graph;
  node.operation = RunGraph{node.child};
}

void set_event_record(Node& node, Event& event) {
  require(node.type == cudaGraphNodeTypeEventRecord);
  node.event = &event;
  node.operation = HostCall{[&event] { Streams::get().record_now(event); }};
}

void set_event_wait(Node& node, Event& event) {
  require(node.type == cudaGraphNodeTypeWaitEvent);
  node.event = &event;
  node.operation = HostCall{[&event] { Streams::get().wait(event); }};
}

void set_any(Node& node, cudaGraphNodeParams& p) {
  require(p.type == node.type);
  switch (p.type) {
    case cudaGraphNodeTypeEmpty: return;
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel{.func = p.kernel.func,
                                        .gridDim = p.kernel.gridDim,
                                        .blockDim = p.kernel.blockDim,
                                        .sharedMemBytes = p.kernel.sharedMemBytes,
                                        .kernelParams = p.kernel.kernelParams,
                                        .extra = p.kernel.extra};
      return set_kernel(node, &kernel);
    }
    case cudaGraphNodeTypeMemcpy: return set_copy(node, &p.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams fill{.dst = p.memset.dst,
                                  .pitch = p.memset.pitch,
                                  .value = p.memset.value,
                                  .elementSize = p.memset.elementSize,
                                  .width = p.memset.width,
                                  .height = p.memset.height};
      return set_fill(node, &fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host{.fn = p.host.fn, .userData = p.host.userData};
      return set_host(node, &host);
    }
    case cudaGraphNodeTypeGraph: return set_child(node, *known_graph(p.graph.graph));
    case cudaGraphNodeTypeEventRecord: return set_event_record(node, known_event(p.eventRecord.event));
    case cudaGraphNodeTypeWaitEvent: return set_event_wait(node, known_event(p.eventWait.event));
    case cudaGraphNodeTypeMemAlloc:
      p.alloc.dptr = reinterpret_cast<void*>(allocate_device(p.alloc.bytesize));
      node.allocation.dptr = p.alloc.dptr;
      node.allocation.bytesize = p.alloc.bytesize;
      return;
    case cudaGraphNodeTypeMemFree: node.freed = p.free.dptr; return;
    default: fail(cudaErrorNotSupported, "a graph node of this type is not there on the virtual GPU");
  }
}

cudaKernelNodeParams kernel_of_node(Node& node) {
  auto& launch = std::get<KernelLaunch>(node.operation);
  const auto sizes = [](const Dim3& d) { return dim3(d.x, d.y, d.z); };
  node.kernel_arguments.clear();
  for (const Parameter& parameter : launch.kernel->on(launch.device).kernel->parameters)
    node.kernel_arguments.push_back(launch.parameters.data() + parameter.offset);
  cudaKernelNodeParams p{};
  p.func = node.kernel.func != nullptr ? node.kernel.func : launch.kernel;
  p.gridDim = sizes(launch.shape.grid);
  p.blockDim = sizes(launch.shape.block);
  p.sharedMemBytes = launch.shape.shared_bytes;
  p.kernelParams = node.kernel_arguments.data();
  return p;
}

}  // namespace wm::cudart
