// Graphs: captured from streams and built by hand, replayed, changed, cloned, updated.
#include <map>
#include <string>

#include "report.cuh"

constexpr int count = 8;

__global__ void add(float* values, float summand) { values[threadIdx.x] += summand; }
__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }
__global__ void sum_pair(const float* left, const float* right, float* out) {
  out[threadIdx.x] = left[threadIdx.x] + right[threadIdx.x];
}

void CUDART_CB count_up(void* counter) { ++*static_cast<int*>(counter); }

const char* type_name(cudaGraphNodeType type) {
  static const std::map<cudaGraphNodeType, const char*> names = {
      {cudaGraphNodeTypeKernel, "kernel"}, {cudaGraphNodeTypeMemcpy, "memcpy"}, {cudaGraphNodeTypeMemset, "memset"},
      {cudaGraphNodeTypeHost, "host"},     {cudaGraphNodeTypeGraph, "graph"},   {cudaGraphNodeTypeEmpty, "empty"}};
  const auto found = names.find(type);
  return found == names.end() ? "other" : found->second;
}

void describe(const char* what, cudaGraph_t graph) {
  std::size_t nodes = 0, roots = 0, edges = 0;
  good(cudaGraphGetNodes(graph, nullptr, &nodes));
  good(cudaGraphGetRootNodes(graph, nullptr, &roots));
  good(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  std::vector<cudaGraphNode_t> all(nodes);
  good(cudaGraphGetNodes(graph, all.data(), &nodes));
  std::map<std::string, int> types;
  for (const cudaGraphNode_t node : all) {
    cudaGraphNodeType type;
    good(cudaGraphNodeGetType(node, &type));
    ++types[type_name(type)];
  }
  std::printf("%s: %zu nodes, %zu roots, %zu edges:", what, nodes, roots, edges);
  for (const auto& [type, number] : types) std::printf(" %s %d", type.c_str(), number);
  std::printf("\n");
}

// Two branches on two streams, joined; a host function at the end.
void captured() {
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  good(cudaStreamCreate(&stream));
  good(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  good(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  good(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  float *left, *right, *out, *host;
  good(cudaMalloc(&left, count * sizeof(float)));
  good(cudaMalloc(&right, count * sizeof(float)));
  good(cudaMalloc(&out, count * sizeof(float)));
  good(cudaMallocHost(&host, count * sizeof(float)));
  for (int i = 0; i != count; ++i) host[i] = static_cast<float>(i);
  int calls = 0;

  good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  good(cudaMemcpyAsync(left, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
  good(cudaEventRecord(fork, stream));
  good(cudaStreamWaitEvent(side, fork, 0));
  good(cudaMemsetAsync(right, 0, count * sizeof(float), side));
  add<<<1, count, 0, side>>>(right, 100);
  scale<<<1, count, 0, stream>>>(left, 2);
  good(cudaEventRecord(join, side));
  good(cudaStreamWaitEvent(stream, join, 0));
  sum_pair<<<1, count, 0, stream>>>(left, right, out);
  good(cudaMemcpyAsync(host, out, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
  good(cudaLaunchHostFunc(stream, count_up, &calls));
  cudaStreamCaptureStatus status;
  good(cudaStreamIsCapturing(side, &status));
  std::printf("side captures: %d\n", status == cudaStreamCaptureStatusActive);
  std::size_t dependencies = 0;
  good(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, &dependencies));
  std::printf("capture waits for: %zu\n", dependencies);
  cudaGraph_t graph;
  good(cudaStreamEndCapture(stream, &graph));
  good(cudaStreamIsCapturing(stream, &status));
  std::printf("still captures: %d, host calls so far: %d\n", status != cudaStreamCaptureStatusNone, calls);
  describe("captured", graph);

  cudaGraphExec_t program;
  good(cudaGraphInstantiate(&program, graph, 0));
  good(cudaGraphUpload(program, stream));
  for (int replay = 0; replay != 3; ++replay) good(cudaGraphLaunch(program, stream));
  good(cudaStreamSynchronize(stream));
  say_all("after 3 replays", host, count);
  std::printf("host calls: %d\n", calls);

  // A second capture of the same shape with another factor is an update; one of another shape is refused.
  cudaGraph_t changed;
  good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  scale<<<1, count, 0, stream>>>(left, 3);
  good(cudaStreamEndCapture(stream, &changed));
  cudaGraphExecUpdateResultInfo result = {};
  say("update to another shape", cudaGraphExecUpdate(program, changed, &result));
  std::printf("update refused for its shape: %d\n", result.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  cudaGraphExec_t single;
  good(cudaGraphInstantiate(&single, changed, 0));
  good(cudaGraphDestroy(changed));
  good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  scale<<<1, count, 0, stream>>>(left, 0.5f);
  good(cudaStreamEndCapture(stream, &changed));
  say("update of a parameter", cudaGraphExecUpdate(single, changed, &result));
  good(cudaMemcpy(left, host, count * sizeof(float), cudaMemcpyHostToDevice));
  good(cudaGraphLaunch(single, stream));
  say_device("halved", left, count);

  good(cudaGraphExecDestroy(single));
  good(cudaGraphExecDestroy(program));
  good(cudaGraphDestroy(changed));
  good(cudaGraphDestroy(graph));
  good(cudaFreeHost(host));
  for (float* memory : {left, right, out}) good(cudaFree(memory));
  good(cudaEventDestroy(fork));
  good(cudaEventDestroy(join));
  good(cudaStreamDestroy(side));
  good(cudaStreamDestroy(stream));
}

// memset -> add -> copy -> host function, and an empty node; then the same graph as another's child.
void by_hand() {
  float* values;
  std::vector<float> host(count), other(count);
  good(cudaMalloc(&values, count * sizeof(float)));
  cudaGraph_t graph;
  good(cudaGraphCreate(&graph, 0));

  cudaGraphNode_t fill, kernel, copy, call, empty;
  cudaMemsetParams fill_params = {};
  fill_params.dst = values;
  fill_params.value = 0x3f800000;  // 1.0f
  fill_params.elementSize = 4;
  fill_params.width = count;
  fill_params.height = 1;
  good(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fill_params));

  float summand = 5;
  void* arguments[] = {&values, &summand};
  cudaKernelNodeParams kernel_params = {};
  kernel_params.func = reinterpret_cast<void*>(add);
  kernel_params.gridDim = dim3(1);
  kernel_params.blockDim = dim3(count);
  kernel_params.kernelParams = arguments;
  good(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_params));
  summand = 0;  // the node has taken its arguments

  good(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), values, count * sizeof(float),
                                cudaMemcpyDeviceToHost));
  int calls = 0;
  cudaHostNodeParams call_params = {count_up, &calls};
  good(cudaGraphAddHostNode(&call, graph, nullptr, 0, &call_params));
  good(cudaGraphAddDependencies(graph, &copy, &call, nullptr, 1));
  good(cudaGraphAddEmptyNode(&empty, graph, &call, 1));
  describe("by hand", graph);
  std::size_t before = 0;
  good(cudaGraphNodeGetDependencies(call, nullptr, nullptr, &before));
  std::printf("host node waits for: %zu\n", before);
  cudaKernelNodeParams got = {};
  good(cudaGraphKernelNodeGetParams(kernel, &got));
  std::printf("kernel node: %u threads, own function %d, summand %g\n", got.blockDim.x,
              got.func == reinterpret_cast<void*>(add), *static_cast<float*>(got.kernelParams[1]));

  cudaGraphExec_t program;
  good(cudaGraphInstantiate(&program, graph, 0));
  good(cudaGraphLaunch(program, nullptr));
  good(cudaDeviceSynchronize());
  say_all("1 + 5", host.data(), count);

  // In the program alone: another kernel, another destination, another number to fill with.
  summand = 7;
  kernel_params.func = reinterpret_cast<void*>(scale);
  good(cudaGraphExecKernelNodeSetParams(program, kernel, &kernel_params));
  good(cudaGraphExecMemcpyNodeSetParams1D(program, copy, other.data(), values, count * sizeof(float),
                                          cudaMemcpyDeviceToHost));
  fill_params.value = 0x40000000;  // 2.0f
  good(cudaGraphExecMemsetNodeSetParams(program, fill, &fill_params));
  good(cudaGraphLaunch(program, nullptr));
  good(cudaDeviceSynchronize());
  say_all("2 * 7", other.data(), count);
  std::printf("host calls: %d\n", calls);

  // A clone has its own nodes; destroying one of them leaves the original as it is.
  cudaGraph_t clone;
  good(cudaGraphClone(&clone, graph));
  cudaGraphNode_t cloned;
  good(cudaGraphNodeFindInClone(&cloned, empty, clone));
  good(cudaGraphDestroyNode(cloned));
  describe("clone", clone);
  describe("original", graph);

  cudaGraph_t parent;
  cudaGraphNode_t child, after;
  good(cudaGraphCreate(&parent, 0));
  good(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, clone));
  summand = 10;
  good(cudaGraphAddKernelNode(&after, parent, &child, 1, &kernel_params));
  describe("parent", parent);
  cudaGraphExec_t nested;
  good(cudaGraphInstantiate(&nested, parent, 0));
  good(cudaGraphLaunch(nested, nullptr));
  say_device("(1 + 5) * 10", values, count);
  std::printf("host calls: %d\n", calls);

  for (cudaGraphExec_t each : {program, nested}) good(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {parent, clone, graph}) good(cudaGraphDestroy(each));
  good(cudaFree(values));
}

int main() {
  captured();
  by_hand();
}
