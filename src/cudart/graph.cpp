// Graphs: nodes, their order, copies of them.
#include "cudart/graph.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "cudart/failure.hpp"

namespace wm::cudart {
namespace {

struct Known {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<Graph>> graphs;
  std::map<const void*, std::unique_ptr<GraphExec>> execs;
  std::unordered_map<const void*, Graph*> nodes;
};
Known& known() {
  static auto* const all = new Known;
  return *all;
}

}  // namespace

Node& Graph::add(cudaGraphNodeType type, Operation operation, std::span<Node* const> after) {
  for (const Node* node : after) require(has(node));
  auto node = std::make_unique<Node>();
  node->type = type;
  node->operation = std::move(operation);
  node->after.assign(after.begin(), after.end());
  changed();
  Node& added = *nodes.emplace_back(std::move(node));
  const std::lock_guard lock(known().mutex);
  known().nodes[&added] = this;
  return added;
}

void Graph::remove(Node& node) {
  {
    const std::lock_guard lock(known().mutex);
    known().nodes.erase(&node);
  }
  for (const auto& other : nodes) std::erase(other->after, &node);
  std::erase_if(nodes, [&](const auto& one) { return one.get() == &node; });
  changed();
}

bool Graph::has(const Node* node) const {
  return std::ranges::any_of(nodes, [&](const auto& one) { return one.get() == node; });
}

const std::vector<const Node*>& Graph::order() const {
  if (known_order.size() == nodes.size()) return known_order;
  known_order.clear();
  std::unordered_set<const Node*> placed;
  while (known_order.size() < nodes.size()) {
    const std::size_t before = known_order.size();
    for (const auto& node : nodes)
      if (!placed.contains(node.get()) &&
          std::ranges::all_of(node->after, [&](const Node* one) { return placed.contains(one); })) {
        placed.insert(node.get());
        known_order.push_back(node.get());
      }
    if (known_order.size() == before) fail(cudaErrorInvalidValue);
  }
  return known_order;
}

Graph::Copied Graph::copy() const {
  Copied copied{std::make_shared<Graph>(), {}};
  for (const Node* node : order()) {
    std::vector<Node*> after;
    for (const Node* one : node->after) after.push_back(copied.nodes.at(one));
    Node& twin = copied.graph->add(node->type, node->operation, after);
    twin.enabled = node->enabled;
    twin.kernel = node->kernel;
    twin.copy = node->copy;
    twin.fill = node->fill;
    twin.host = node->host;
    twin.allocation = node->allocation;
    twin.freed = node->freed;
    twin.event = node->event;
    twin.child = node->child;
    copied.nodes[node] = &twin;
  }
  return copied;
}

std::shared_ptr<Graph> create_graph() {
  auto graph = std::make_shared<Graph>();
  keep_graph(graph);
  return graph;
}

void keep_graph(std::shared_ptr<Graph> graph) {
  const std::lock_guard lock(known().mutex);
  const void* const handle = graph.get();
  known().graphs.emplace(handle, std::move(graph));
}

std::shared_ptr<Graph> known_graph(const void* handle) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().graphs.find(handle);
  require(found != known().graphs.end());
  return found->second;
}

void destroy_graph(const void* handle) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().graphs.find(handle);
  require(found != known().graphs.end());
  for (const auto& node : found->second->nodes) known().nodes.erase(node.get());
  known().graphs.erase(found);
}

Node& known_node(const void* handle) {
  const std::lock_guard lock(known().mutex);
  require(known().nodes.contains(handle));
  return *static_cast<Node*>(const_cast<void*>(handle));
}

Graph& graph_of(const Node& node) {
  const std::lock_guard lock(known().mutex);
  return *known().nodes.at(&node);
}

GraphExec* instantiate(const Graph& graph, unsigned long long flags) {
  auto exec = std::make_unique<GraphExec>(GraphExec{graph.copy(), flags});
  exec->copied.graph->order();
  GraphExec* const handle = exec.get();
  const std::lock_guard lock(known().mutex);
  known().execs.emplace(handle, std::move(exec));
  return handle;
}

GraphExec& known_exec(const void* handle) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().execs.find(handle);
  require(found != known().execs.end());
  return *found->second;
}

void destroy_exec(const void* handle) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().execs.find(handle);
  require(found != known().execs.end());
  for (const auto& node : found->second->copied.graph->nodes) known().nodes.erase(node.get());
  known().execs.erase(found);
}

Node& node_in(GraphExec& exec, const void* original) {
  const auto found = exec.copied.nodes.find(static_cast<const Node*>(original));
  require(found != exec.copied.nodes.end());
  // A launch before this may still hold the graph as it was.
  if (exec.copied.graph.use_count() > 1) {
    Graph::Copied fresh = exec.copied.graph->copy();
    for (auto& [node, twin] : exec.copied.nodes) twin = fresh.nodes.at(twin);
    exec.copied.graph = std::move(fresh.graph);
    return *exec.copied.nodes.at(static_cast<const Node*>(original));
  }
  return *found->second;
}

cudaGraphExecUpdateResult update(GraphExec& exec, const Graph& graph) {
  const auto& ours = exec.copied.graph->order();
  const auto& theirs = graph.order();
  if (ours.size() != theirs.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  std::map<const Node*, std::size_t> places;
  for (std::size_t i = 0; i < theirs.size(); ++i) places[theirs[i]] = i;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i]->type != theirs[i]->type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (ours[i]->after.size() != theirs[i]->after.size()) return cudaGraphExecUpdateErrorTopologyChanged;
    for (std::size_t j = 0; j < ours[i]->after.size(); ++j)
      if (ours[places.at(theirs[i]->after[j])] != ours[i]->after[j]) return cudaGraphExecUpdateErrorTopologyChanged;
  }
  // The launched nodes are known by the originals they were made of; those keep naming the same places.
  Graph::Copied fresh = graph.copy();
  std::map<const Node*, Node*> renamed;
  for (const auto& [original, twin] : exec.copied.nodes) {
    const auto place = static_cast<std::size_t>(std::ranges::find(ours, twin) - ours.begin());
    renamed[original] = fresh.nodes.at(theirs[place]);
  }
  exec.copied = {std::move(fresh.graph), std::move(renamed)};
  return cudaGraphExecUpdateSuccess;
}

}  // namespace wm::cudart
