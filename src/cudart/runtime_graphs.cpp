// The runtime's graphs: building, looking into, instantiating.
#include <algorithm>
#include <cstring>

#include "cudart/capture.hpp"
#include "cudart/copies.hpp"
#include "cudart/face.hpp"
#include "cudart/graph.hpp"
#include "cudart/graph_nodes.hpp"
#include "cudart/memory.hpp"
#include "cudart/registration.hpp"
#include "cudart/stream.hpp"

using namespace wm::cudart;

namespace {

std::span<Node* const> nodes_of(const cudaGraphNode_t* handles, std::size_t count) {
  return {reinterpret_cast<Node* const*>(handles), handles != nullptr ? count : 0};
}
cudaGraphNode_t handle_of(Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

// Gives out a list as these calls do: its length, or as much as there is room for.
template <class Handle>
void give_list(const std::vector<Handle>& list, Handle* out, std::size_t* count) {
  require(count != nullptr);
  if (out != nullptr) std::copy_n(list.begin(), std::min(*count, list.size()), out);
  if (out == nullptr || *count > list.size()) *count = list.size();
}

template <class Set>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                     cudaGraphNodeType type, const Set& set) {
  return answer([&] {
    require(node != nullptr);
    Node draft;
    draft.type = type;
    set(draft);  // fails before anything is added
    const auto target = known_graph(graph);
    Node& added = target->add(type, draft.operation, nodes_of(after, count));
    std::vector<Node*> dependencies = std::move(added.after);
    added = std::move(draft);
    added.after = std::move(dependencies);
    *node = handle_of(&added);
  });
}

Node& node_of_type(cudaGraphNode_t handle, cudaGraphNodeType type) {
  Node& node = known_node(handle);
  require(node.type == type);
  return node;
}

template <class Set>
cudaError_t change_node(cudaGraphNode_t handle, const Set& set) {
  return answer([&] { set(known_node(handle)); });
}
template <class Set>
cudaError_t change_in_exec(cudaGraphExec_t exec, cudaGraphNode_t handle, const Set& set) {
  return answer([&] { set(node_in(known_exec(exec), handle)); });
}

}  // namespace

WARPMILL_FACE cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return answer([&] {
    require(graph != nullptr && flags == 0);
    *graph = reinterpret_cast<cudaGraph_t>(create_graph().get());
  });
}
WARPMILL_FACE cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return answer([&] { destroy_graph(graph); });
}
WARPMILL_FACE cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return answer([&] {
    require(clone != nullptr);
    auto copied = known_graph(original)->copy();
    copied.graph->cloned = std::move(copied.nodes);
    *clone = reinterpret_cast<cudaGraph_t>(copied.graph.get());
    keep_graph(std::move(copied.graph));
  });
}

WARPMILL_FACE cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return answer([&] {
    const auto graph = known_graph(clone);
    const auto found = graph->cloned.find(reinterpret_cast<const Node*>(original));
    require(node != nullptr && found != graph->cloned.end());
    *node = handle_of(found->second);
  });
}

WARPMILL_FACE cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                size_t count) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeEmpty, [](Node&) {});
}
WARPMILL_FACE cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                 size_t count, const cudaKernelNodeParams* p) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeKernel, [&](Node& one) { set_kernel(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                 size_t count, const cudaMemcpy3DParms* p) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](Node& one) { set_copy(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* after, size_t count, void* to,
                                                   const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy,
                  [&](Node& one) { set_flat_copy(one, to, from, bytes, kind); });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                         const cudaGraphNode_t* after, size_t count, const void* symbol,
                                                         const void* from, size_t bytes, size_t offset,
                                                         cudaMemcpyKind kind) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](Node& one) {
    set_flat_copy(one, reinterpret_cast<void*>(variable_of(symbol).address + offset), from, bytes, kind);
  });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                           const cudaGraphNode_t* after, size_t count, void* to,
                                                           const void* symbol, size_t bytes, size_t offset,
                                                           cudaMemcpyKind kind) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](Node& one) {
    set_flat_copy(one, to, reinterpret_cast<void*>(variable_of(symbol).address + offset), bytes, kind);
  });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                 size_t count, const cudaMemsetParams* p) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemset, [&](Node& one) { set_fill(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                               size_t count, const cudaHostNodeParams* p) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeHost, [&](Node& one) { set_host(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                     const cudaGraphNode_t* after, size_t count, cudaGraph_t child) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeGraph,
                  [&](Node& one) { set_child(one, *known_graph(child)); });
}
WARPMILL_FACE cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* after, size_t count, cudaEvent_t event) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeEventRecord,
                  [&](Node& one) { set_event_record(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* after, size_t count, cudaEvent_t event) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeWaitEvent,
                  [&](Node& one) { set_event_wait(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* after, size_t count,
                                                   cudaMemAllocNodeParams* p) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemAlloc, [&](Node& one) {
    require(p != nullptr && p->bytesize > 0);
    p->dptr = reinterpret_cast<void*>(allocate_device(p->bytesize));
    one.allocation = *p;
  });
}
WARPMILL_FACE cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* after, size_t count, void* pointer) {
  return add_node(node, graph, after, count, cudaGraphNodeTypeMemFree, [&](Node& one) {
    require(range_of(reinterpret_cast<std::uint64_t>(pointer)).has_value());
    one.freed = pointer;
  });
}
WARPMILL_FACE cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                           const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* p) {
  if (p == nullptr) return answer([] { fail(cudaErrorInvalidValue); });
  return add_node(node, graph, after, count, p->type, [&](Node& one) { set_any(one, *p); });
}

WARPMILL_FACE cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
  return answer([&] {
    require(p != nullptr);
    *p = kernel_of_node(node_of_type(node, cudaGraphNodeTypeKernel));
  });
}
WARPMILL_FACE cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) {
  return answer([&] { *p = node_of_type(node, cudaGraphNodeTypeMemcpy).copy; });
}
WARPMILL_FACE cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* p) {
  return answer([&] { *p = node_of_type(node, cudaGraphNodeTypeMemset).fill; });
}
WARPMILL_FACE cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* p) {
  return answer([&] { *p = node_of_type(node, cudaGraphNodeTypeHost).host; });
}
WARPMILL_FACE cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
  return answer([&] { *p = node_of_type(node, cudaGraphNodeTypeMemAlloc).allocation; });
}
WARPMILL_FACE cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return answer([&] { *static_cast<void**>(pointer) = node_of_type(node, cudaGraphNodeTypeMemFree).freed; });
}
WARPMILL_FACE cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return answer(
      [&] { *event = reinterpret_cast<cudaEvent_t>(node_of_type(node, cudaGraphNodeTypeEventRecord).event); });
}
WARPMILL_FACE cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return answer([&] { *event = reinterpret_cast<cudaEvent_t>(node_of_type(node, cudaGraphNodeTypeWaitEvent).event); });
}
WARPMILL_FACE cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return change_node(node, [&](Node& one) { set_event_record(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return change_node(node, [&](Node& one) { set_event_wait(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                               cudaEvent_t event) {
  return change_in_exec(exec, node, [&](Node& one) { set_event_record(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                             cudaEvent_t event) {
  return change_in_exec(exec, node, [&](Node& one) { set_event_wait(one, known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* child) {
  return answer([&] {
    require(known_node(node).child != nullptr);
    *child = reinterpret_cast<cudaGraph_t>(known_node(node).child.get());
  });
}
WARPMILL_FACE cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  return change_node(node, [&](Node& one) { set_kernel(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return change_node(node, [&](Node& one) { set_copy(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                                         cudaMemcpyKind kind) {
  return change_node(node, [&](Node& one) { set_flat_copy(one, to, from, bytes, kind); });
}
WARPMILL_FACE cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  return change_node(node, [&](Node& one) { set_fill(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  return change_node(node, [&](Node& one) { set_host(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                           const cudaKernelNodeParams* p) {
  return change_in_exec(exec, node, [&](Node& one) { set_kernel(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                           const cudaMemcpy3DParms* p) {
  return change_in_exec(exec, node, [&](Node& one) { set_copy(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                             const void* from, size_t bytes, cudaMemcpyKind kind) {
  return change_in_exec(exec, node, [&](Node& one) { set_flat_copy(one, to, from, bytes, kind); });
}
WARPMILL_FACE cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                           const cudaMemsetParams* p) {
  return change_in_exec(exec, node, [&](Node& one) { set_fill(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                         const cudaHostNodeParams* p) {
  return change_in_exec(exec, node, [&](Node& one) { set_host(one, p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                               cudaGraph_t child) {
  return change_in_exec(exec, node, [&](Node& one) { set_child(one, *known_graph(child)); });
}
WARPMILL_FACE cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) {
  return change_node(node, [&](Node& one) { set_any(one, *p); });
}
WARPMILL_FACE cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaGraphNodeParams* p) {
  return change_in_exec(exec, node, [&](Node& one) { set_any(one, *p); });
}
WARPMILL_FACE cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  return change_in_exec(exec, node, [&](Node& one) { one.enabled = enabled != 0; });
}
WARPMILL_FACE cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  return change_in_exec(exec, node, [&](Node& one) { *enabled = one.enabled; });
}

WARPMILL_FACE cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return answer([&] { *type = known_node(node).type; });
}
WARPMILL_FACE cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return answer([&] {
    std::vector<cudaGraphNode_t> all;
    for (const auto& node : known_graph(graph)->nodes) all.push_back(handle_of(node.get()));
    give_list(all, nodes, count);
  });
}
WARPMILL_FACE cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return answer([&] {
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : known_graph(graph)->nodes)
      if (node->after.empty()) roots.push_back(handle_of(node.get()));
    give_list(roots, nodes, count);
  });
}
WARPMILL_FACE cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                            cudaGraphEdgeData* edges, size_t* count) {
  return answer([&] {
    require(count != nullptr);
    std::vector<cudaGraphNode_t> sources, targets;
    for (const auto& node : known_graph(graph)->nodes)
      for (Node* before : node->after) {
        sources.push_back(handle_of(before));
        targets.push_back(handle_of(node.get()));
      }
    std::size_t room = *count;
    if (edges != nullptr) std::memset(edges, 0, std::min(room, sources.size()) * sizeof(*edges));
    give_list(sources, from, count);
    give_list(targets, to, &room);
  });
}
WARPMILL_FACE cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* list, cudaGraphEdgeData*,
                                                       size_t* count) {
  return answer([&] {
    std::vector<cudaGraphNode_t> all;
    for (Node* before : known_node(node).after) all.push_back(handle_of(before));
    give_list(all, list, count);
  });
}
WARPMILL_FACE cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* list,
                                                         cudaGraphEdgeData*, size_t* count) {
  return answer([&] {
    Node& node = known_node(handle);
    std::vector<cudaGraphNode_t> all;
    for (const auto& other : graph_of(node).nodes)
      if (std::ranges::find(other->after, &node) != other->after.end()) all.push_back(handle_of(other.get()));
    give_list(all, list, count);
  });
}
WARPMILL_FACE cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  return answer([&] {
    const auto target = known_graph(graph);
    for (std::size_t i = 0; i < count; ++i) {
      require(from[i] != to[i]);
      known_node(to[i]).after.push_back(&known_node(from[i]));
    }
    target->changed();
  });
}
WARPMILL_FACE cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                                      size_t count) {
  return answer([&] {
    const auto target = known_graph(graph);
    for (std::size_t i = 0; i < count; ++i) std::erase(known_node(to[i]).after, &known_node(from[i]));
    target->changed();
  });
}
WARPMILL_FACE cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return answer([&] {
    Node& node = known_node(handle);
    graph_of(node).remove(node);
  });
}

WARPMILL_FACE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return answer([&] {
    require(exec != nullptr);
    *exec = reinterpret_cast<cudaGraphExec_t>(instantiate(*known_graph(graph), flags));
  });
}
WARPMILL_FACE cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                        unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
WARPMILL_FACE cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                         cudaGraphInstantiateParams* p) {
  const cudaError_t status = cudaGraphInstantiate(exec, graph, p != nullptr ? p->flags : 0);
  if (p != nullptr) p->result_out = status == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return status;
}
WARPMILL_FACE cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return answer([&] { *flags = known_exec(exec).flags; });
}
WARPMILL_FACE cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return answer([&] { destroy_exec(exec); });
}
WARPMILL_FACE cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphExecUpdateResultInfo* info) {
  return answer([&] {
    const cudaGraphExecUpdateResult result = update(known_exec(exec), *known_graph(graph));
    if (info != nullptr) *info = {.result = result, .errorNode = nullptr, .errorFromNode = nullptr};
    require(result == cudaGraphExecUpdateSuccess, cudaErrorGraphExecUpdateFailure);
  });
}
