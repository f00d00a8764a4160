// Capture of streams.
#include "cudart/capture.hpp"

#include <algorithm>
#include <list>
#include <mutex>

#include "cudart/failure.hpp"

namespace wm::cudart {
namespace {

struct Captures {
  std::mutex mutex;
  std::list<std::shared_ptr<Capture>> open;
  std::uint64_t last_id = 0;
};
Captures& captures() {
  static auto* const all = new Captures;
  return *all;
}
thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

void spoil(Capture& capture, cudaError_t status) {
  capture.invalid = true;
  fail(status);
}

struct NodeType {
  cudaGraphNodeType operator()(const Nothing&) const { return cudaGraphNodeTypeEmpty; }
  cudaGraphNodeType operator()(const KernelLaunch&) const { return cudaGraphNodeTypeKernel; }
  cudaGraphNodeType operator()(const Copy&) const { return cudaGraphNodeTypeMemcpy; }
  cudaGraphNodeType operator()(const Fill&) const { return cudaGraphNodeTypeMemset; }
  cudaGraphNodeType operator()(const HostCall&) const { return cudaGraphNodeTypeHost; }
  cudaGraphNodeType operator()(const StreamCallback&) const { return cudaGraphNodeTypeHost; }
  cudaGraphNodeType operator()(const RecordEvent&) const { return cudaGraphNodeTypeEventRecord; }
  cudaGraphNodeType operator()(const FreeMemory&) const { return cudaGraphNodeTypeMemFree; }
  cudaGraphNodeType operator()(const RunGraph&) const { return cudaGraphNodeTypeGraph; }
};

}  // namespace

CaptureInfo capture_info(const Stream& stream) {
  const auto& capture = stream.capture;
  if (!capture) return {};
  return {capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive, capture->id,
          capture->graph.get(), stream.frontier};
}

void begin_capture(Stream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> into,
                   std::span<Node* const> after) {
  if (stream.kind == Stream::Kind::legacy) fail(cudaErrorStreamCaptureUnsupported);
  if (stream.capture) fail(cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->into_given_graph = into != nullptr;
  capture->graph = into ? std::move(into) : std::make_shared<Graph>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  const std::lock_guard lock(captures().mutex);
  capture->id = ++captures().last_id;
  captures().open.push_back(capture);
  stream.frontier.assign(after.begin(), after.end());
  stream.capture = std::move(capture);
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  if (!stream.capture) fail(cudaErrorIllegalState);
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != &stream) spoil(*capture, cudaErrorStreamCaptureUnmatched);
  const bool wrong_thread =
      capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id();
  {
    const std::lock_guard lock(captures().mutex);
    captures().open.remove(capture);
  }
  // Everything that other streams did in the capture must have been joined.
  const std::vector<Node*> joined = std::move(stream.frontier);
  stream.capture.reset();
  stream.frontier.clear();
  const bool unjoined = Streams::get().leave_capture(*capture, joined);
  if (wrong_thread) fail(cudaErrorStreamCaptureWrongThread);
  if (capture->invalid) fail(cudaErrorStreamCaptureInvalidated);
  if (unjoined) fail(cudaErrorStreamCaptureUnjoined);
  if (!capture->into_given_graph) keep_graph(capture->graph);
  return capture->graph;
}

Node* capture_node(Stream& stream, cudaGraphNodeType type, Operation operation) {
  if (!stream.capture) return nullptr;
  if (stream.capture->invalid) fail(cudaErrorStreamCaptureInvalidated);
  Node& node = stream.capture->graph->add(type, std::move(operation), stream.frontier);
  stream.frontier = {&node};
  return &node;
}

bool capture_operation(Stream& stream, const Operation& operation) {
  if (!stream.capture) {
    if (stream.kind != Stream::Kind::legacy) return false;
    // The legacy stream would have to wait for a captured one.
    const std::lock_guard lock(captures().mutex);
    for (const auto& capture : captures().open)
      if (capture->origin->waits_for_legacy() && capture->origin->device == stream.device)
        spoil(*capture, cudaErrorStreamCaptureImplicit);
    return false;
  }
  return capture_node(stream, std::visit(NodeType{}, operation), operation) != nullptr;
}

bool capture_wait(Stream& stream, const Event& event) {
  const std::shared_ptr<Capture> from = event.capture.lock();
  if (!from) {
    if (stream.capture && Streams::get().last_record(event)) spoil(*stream.capture, cudaErrorStreamCaptureIsolation);
    return stream.capture != nullptr;
  }
  if (stream.capture && stream.capture != from) spoil(*stream.capture, cudaErrorStreamCaptureMerge);
  if (!stream.capture) {
    stream.capture = from;
    stream.frontier.clear();
  }
  for (Node* node : event.captured_after)
    if (std::ranges::find(stream.frontier, node) == stream.frontier.end()) stream.frontier.push_back(node);
  return true;
}

bool capture_record(Stream& stream, Event& event) {
  if (!stream.capture) return false;
  event.capture = stream.capture;
  event.captured_after = stream.frontier;
  return true;
}

void refuse_captured(const Event& event) {
  if (const std::shared_ptr<Capture> capture = event.capture.lock()) spoil(*capture, cudaErrorCapturedEvent);
}

void invalidate_capture(Stream& stream) {
  if (stream.capture) stream.capture->invalid = true;
}

void abandon_capture(const Stream& stream) {
  const std::lock_guard lock(captures().mutex);
  captures().open.remove_if([&](const auto& capture) { return capture->origin == &stream; });
}

void refuse_in_capture(Stream& stream) {
  if (stream.capture) spoil(*stream.capture, cudaErrorStreamCaptureUnsupported);
}

void refuse_unsafe_in_capture() {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed) return;
  const std::lock_guard lock(captures().mutex);
  for (const auto& capture : captures().open) {
    const bool ours = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (ours || (capture->mode == cudaStreamCaptureModeGlobal && mode_of_thread == cudaStreamCaptureModeGlobal))
      spoil(*capture, cudaErrorStreamCaptureUnsupported);
  }
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(mode_of_thread, mode); }

}  // namespace wm::cudart
