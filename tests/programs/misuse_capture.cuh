// Misuses of capture and of graphs.
#pragma once

#include <thread>

#include "misuse.cuh"
#include "misuse_handles.cuh"

__global__ void captured_kernel() {}

inline cudaStream_t capturing_stream(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  cudaStream_t stream;
  good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  good(cudaStreamBeginCapture(stream, mode));
  return stream;
}

// Ends the capture, says how, and gives back the code of what was wrong before.
inline cudaError_t end_after(cudaStream_t stream, cudaError_t code) {
  cudaGraph_t graph = nullptr;
  say("end of capture", cudaStreamEndCapture(stream, &graph));
  std::printf("graph: %d\n", graph != nullptr);
  return code;
}

inline std::vector<Misuse> capture_misuses() {
  return {
      {"capture_of_the_legacy_stream", [] { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal); }},
      {"capture_begun_twice",
       [] {
         cudaStream_t stream = capturing_stream();
         return end_after(stream, cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
       }},
      {"capture_ended_without_beginning",
       [] {
         cudaGraph_t graph;
         return cudaStreamEndCapture(new_stream(), &graph);
       }},
      {"capture_synchronised",
       [] {
         cudaStream_t stream = capturing_stream();
         captured_kernel<<<1, 1, 0, stream>>>();
         return end_after(stream, cudaStreamSynchronize(stream));
       }},
      {"capture_device_synchronised",
       [] {
         cudaStream_t stream = capturing_stream();
         return end_after(stream, cudaDeviceSynchronize());
       }},
      {"capture_queried",
       [] {
         cudaStream_t stream = capturing_stream();
         return end_after(stream, cudaStreamQuery(stream));
       }},
      {"capture_allocates",
       [] {
         cudaStream_t stream = capturing_stream();
         void* memory;
         return end_after(stream, cudaMalloc(&memory, 64));
       }},
      {"capture_relaxed_allocates",
       [] {
         cudaStream_t stream = capturing_stream(cudaStreamCaptureModeRelaxed);
         void* memory;
         return end_after(stream, cudaMalloc(&memory, 64));
       }},
      {"capture_copies_synchronously",
       [] {
         char *memory = device_memory<char>(64), host[64];
         cudaStream_t stream = capturing_stream();
         return end_after(stream, cudaMemcpy(host, memory, 64, cudaMemcpyDeviceToHost));
       }},
      {"capture_uses_the_legacy_stream",
       [] {
         cudaStream_t stream;
         good(cudaStreamCreate(&stream));
         good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
         cudaLaunchConfig_t config = shape(1, 1);
         return end_after(stream, cudaLaunchKernelEx(&config, captured_kernel));
       }},
      {"capture_not_joined",
       [] {
         cudaStream_t stream = capturing_stream(), side = new_stream();
         cudaEvent_t fork = new_event();
         good(cudaEventRecord(fork, stream));
         good(cudaStreamWaitEvent(side, fork, 0));
         captured_kernel<<<1, 1, 0, side>>>();
         return end_after(stream, cudaGetLastError());
       }},
      {"capture_event_queried",
       [] {
         cudaStream_t stream = capturing_stream();
         cudaEvent_t event = new_event();
         good(cudaEventRecord(event, stream));
         return end_after(stream, cudaEventQuery(event));
       }},
      {"capture_event_of_the_past",
       [] {
         cudaEvent_t event = new_event();
         good(cudaEventRecord(event, new_stream()));
         cudaStream_t stream = capturing_stream();
         return end_after(stream, cudaStreamWaitEvent(stream, event, 0));
       }},
      {"capture_ended_on_the_side",
       [] {
         cudaStream_t stream = capturing_stream(), side = new_stream();
         cudaEvent_t fork = new_event();
         good(cudaEventRecord(fork, stream));
         good(cudaStreamWaitEvent(side, fork, 0));
         cudaGraph_t graph;
         return end_after(stream, cudaStreamEndCapture(side, &graph));
       }},
      {"capture_ended_by_another_thread",
       [] {
         cudaStream_t stream = capturing_stream();
         cudaError_t code = cudaSuccess;
         std::thread([&] {
           cudaGraph_t graph;
           code = cudaStreamEndCapture(stream, &graph);
         }).join();
         return end_after(stream, code);
       }},
      {"capture_with_a_bad_launch",
       [] {
         cudaStream_t stream = capturing_stream();
         cudaLaunchConfig_t config = shape(1, 5000);
         config.stream = stream;
         return end_after(stream, cudaLaunchKernelEx(&config, captured_kernel));
       }},
      {"capture_stream_destroyed", [] { return cudaStreamDestroy(capturing_stream()); }},
      {"graph_launched_null", [] { return cudaGraphLaunch(nullptr, nullptr); }},
      {"graph_in_a_circle",
       [] {
         cudaGraph_t graph;
         cudaGraphNode_t first, second;
         good(cudaGraphCreate(&graph, 0));
         good(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
         good(cudaGraphAddEmptyNode(&second, graph, &first, 1));
         say("circle", cudaGraphAddDependencies(graph, &second, &first, nullptr, 1));
         cudaGraphExec_t program;
         return cudaGraphInstantiate(&program, graph, 0);
       }},
      {"graph_node_depends_on_itself",
       [] {
         cudaGraph_t graph;
         cudaGraphNode_t node;
         good(cudaGraphCreate(&graph, 0));
         good(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
         return cudaGraphAddDependencies(graph, &node, &node, nullptr, 1);
       }},
      {"graph_kernel_node_of_no_function",
       [] {
         cudaGraph_t graph;
         cudaGraphNode_t node;
         cudaKernelNodeParams params = {};
         params.gridDim = params.blockDim = dim3(1);
         good(cudaGraphCreate(&graph, 0));
         return cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
       }},
      {"graph_kernel_node_too_large",
       [] {
         cudaGraph_t graph;
         cudaGraphNode_t node;
         cudaKernelNodeParams params = {};
         params.func = reinterpret_cast<void*>(captured_kernel);
         params.gridDim = dim3(1);
         params.blockDim = dim3(5000);
         good(cudaGraphCreate(&graph, 0));
         return cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
       }},
  };
}
