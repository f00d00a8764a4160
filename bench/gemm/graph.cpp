// CUDA graphs through the driver.
#include "gemm/graph.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

template <class F>
F resolve(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const function = driver ? dlsym(driver, name) : nullptr;
  if (!function) throw Error(ErrorCode::not_found, fmt::format("the CUDA driver has no function {}", name));
  return reinterpret_cast<F>(function);
}

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw Error(ErrorCode::execution, fmt::format("{}: CUDA answered {}", what, int(result)));
}

}  // namespace

Graph::Graph(const Stream& stream, const std::function<void()>& work) {
  static const auto begin = resolve<CUresult (*)(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
  static const auto end = resolve<CUresult (*)(CUstream, CUgraph*)>("cuStreamEndCapture");
  static const auto instantiate =
      resolve<CUresult (*)(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
  static const auto destroy = resolve<CUresult (*)(CUgraph)>("cuGraphDestroy");
  static const auto context_of = resolve<CUresult (*)(CUstream, CUcontext*)>("cuStreamGetCtx");
  static const auto make_current = resolve<CUresult (*)(CUcontext)>("cuCtxSetCurrent");
  const auto native = static_cast<CUstream>(stream.native());
  CUcontext context = nullptr;  // the driver wants it current to instantiate a graph
  check(context_of(native, &context), "finding a stream's context");
  check(make_current(context), "making a stream's context current");
  check(begin(native, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin of a graph capture");
  CUgraph graph = nullptr;
  try {
    work();
  } catch (...) {
    end(native, &graph);
    if (graph) destroy(graph);
    throw;
  }
  check(end(native, &graph), "end of a graph capture");
  CUgraphExec executable = nullptr;
  const CUresult result = instantiate(&executable, graph, 0);
  destroy(graph);
  check(result, "instantiating a graph");
  executable_ = executable;
}

Graph::~Graph() {
  static const auto destroy = resolve<CUresult (*)(CUgraphExec)>("cuGraphExecDestroy");
  if (executable_) destroy(static_cast<CUgraphExec>(executable_));
}

void Graph::replay(const Stream& stream) const {
  static const auto launch = resolve<CUresult (*)(CUgraphExec, CUstream)>("cuGraphLaunch");
  check(launch(static_cast<CUgraphExec>(executable_), static_cast<CUstream>(stream.native())), "replaying a graph");
}

}  // namespace wm::bench
