// Graphs: operations with their dependencies, built by hand or captured from streams.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include <driver_types.h>

#include "cudart/operation.hpp"

namespace wm::cudart {

struct Event;
struct Graph;

struct Node {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Operation operation = Nothing{};
  std::vector<Node*> after;
  bool enabled = true;
  // What the program asked for, where it may ask to see it again.
  cudaKernelNodeParams kernel{};
  std::vector<void*> kernel_arguments;  // into the operation's parameters
  cudaMemcpy3DParms copy{};
  cudaMemsetParams fill{};
  cudaHostNodeParams host{};
  cudaMemAllocNodeParams allocation{};
  void* freed = nullptr;
  Event* event = nullptr;
  std::shared_ptr<Graph> child;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<const Node*, Node*> cloned;           // of a clone: its nodes by their originals
  mutable std::vector<const Node*> known_order;  // of the nodes, while they do not change

  Node& add(cudaGraphNodeType type, Operation operation, std::span<Node* const> after);
  void remove(Node& node);
  bool has(const Node* node) const;
  // Nodes after all they depend on; fails with cudaErrorInvalidValue where they depend on each other.
  const std::vector<const Node*>& order() const;
  void changed() { known_order.clear(); }

  struct Copied {
    std::shared_ptr<Graph> graph;
    std::map<const Node*, Node*> nodes;  // by their originals
  };
  Copied copy() const;
};

// A graph that can be launched.
struct GraphExec {
  Graph::Copied copied;
  unsigned long long flags = 0;
};

std::shared_ptr<Graph> create_graph();
std::shared_ptr<Graph> known_graph(const void* handle);  // fails with cudaErrorInvalidValue
void destroy_graph(const void* handle);
void keep_graph(std::shared_ptr<Graph> graph);  // its handle is the program's now
Node& known_node(const void* handle);           // fails with cudaErrorInvalidValue
Graph& graph_of(const Node& node);

GraphExec* instantiate(const Graph& graph, unsigned long long flags);
GraphExec& known_exec(const void* handle);
void destroy_exec(const void* handle);
Node& node_in(GraphExec& exec, const void* original);  // its copy

// cudaGraphExecUpdate: the parameters of another graph of the same shape.
cudaGraphExecUpdateResult update(GraphExec& exec, const Graph& graph);

}  // namespace wm::cudart
