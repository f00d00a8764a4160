// What graph nodes are told to do, in the runtime's words.
#pragma once

#include <cuda_runtime_api.h>

#include "cudart/graph.hpp"

namespace wm::cudart {

struct Event;

// Each checks what it is given before it changes the node.
void set_kernel(Node& node, const cudaKernelNodeParams* parameters);
void set_copy(Node& node, const cudaMemcpy3DParms* parameters);
void set_flat_copy(Node& node, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
void set_fill(Node& node, const cudaMemsetParams* parameters);
void set_host(Node& node, const cudaHostNodeParams* parameters);
void set_child(Node& node, const Graph& child);
void set_event_record(Node& node, Event& event);
void set_event_wait(Node& node, Event& event);
void set_any(Node& node, cudaGraphNodeParams& parameters);

// With pointers to the arguments that the node keeps.
cudaKernelNodeParams kernel_of_node(Node& node);

}  // namespace wm::cudart
