// Capture: a stream's operations become nodes of a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "cudart/graph.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {

struct Capture {
  std::shared_ptr<Graph> graph;
  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  const Stream* origin = nullptr;
  bool invalid = false;
  bool into_given_graph = false;
};

// What a stream's capture looks like from outside.
struct CaptureInfo {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  std::uint64_t id = 0;
  Graph* graph = nullptr;
  std::span<Node* const> after{};  // what the next node comes behind
};
CaptureInfo capture_info(const Stream& stream);

void begin_capture(Stream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> into = nullptr,
                   std::span<Node* const> after = {});
std::shared_ptr<Graph> end_capture(Stream& stream);

// A captured stream's operation goes into the graph; false where the stream is not captured. `type` of the node
// follows from the operation.
bool capture_operation(Stream& stream, const Operation& operation);
Node* capture_node(Stream& stream, cudaGraphNodeType type, Operation operation);  // null: it is not captured
bool capture_wait(Stream& stream, const Event& event);
bool capture_record(Stream& stream, Event& event);

void refuse_captured(const Event& event);    // what waits for an event: fails, and the capture with it
void invalidate_capture(Stream& stream);     // a captured call has failed
void abandon_capture(const Stream& stream);  // the stream that began it is gone
void refuse_in_capture(Stream& stream);      // what waits: fails, and the capture with it
// What a capture anywhere forbids, as its mode says: allocations and the like.
void refuse_unsafe_in_capture();
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace wm::cudart
