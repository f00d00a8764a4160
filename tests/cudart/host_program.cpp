// A CUDA program that no nvcc has seen: it registers PTX in a fat binary that it puts together itself (host_image.hpp).
// What it does is its first argument.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_image.hpp"

namespace {

using namespace host_image;

void show(const char* what, cudaError_t status) { std::printf("%s: %s\n", what, cudaGetErrorName(status)); }

// What lets a waiting kernel go on, a moment after the program has begun to wait.
std::thread release_later(volatile int* flag) {
  return std::thread([flag] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    *flag = 1;
  });
}

cudaError_t launch_add(int* data, int count, cudaStream_t stream = nullptr) {
  void* arguments[] = {&data, &count};
  return cudaLaunchKernel(&add_one, dim3((count + 63) / 64), dim3(64), arguments, 0, stream);
}

int add() {
  const int count = 1000;
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = i;
  int* data = nullptr;
  show("malloc", cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(int)));
  show("upload", cudaMemcpy(data, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  show("launch", launch_add(data, count));
  show("count up", cudaLaunchKernel(&count_up, dim3(3), dim3(1), nullptr, 0, nullptr));
  show("download", cudaMemcpy(values.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost));
  int seen = 0;
  show("symbol", cudaMemcpyFromSymbol(&seen, &total, sizeof(seen), 0, cudaMemcpyDeviceToHost));
  show("free", cudaFree(data));
  show("free again", cudaFree(data));
  std::printf("%d %d %d\n", values[0], values[count - 1], seen);
  return 3;  // its own status
}

// Errors that appear where they are waited for, and stay.
int fault() {
  int* data = nullptr;
  show("malloc", cudaMalloc(reinterpret_cast<void**>(&data), 400));
  show("launch", launch_add(data, 200));
  show("after the launch", cudaGetLastError());
  cudaLaunchHostFunc(
      nullptr, [](void*) { std::puts("a host function after the fault"); }, nullptr);
  const auto callback = [](cudaStream_t, cudaError_t status, void*) { show("callback", status); };
  cudaStreamAddCallback(nullptr, callback, nullptr, 0);
  show("wait", cudaDeviceSynchronize());
  show("malloc", cudaMalloc(reinterpret_cast<void**>(&data), 400));
  return 0;
}

int misuse() {
  int* data = nullptr;
  show("malloc", cudaMalloc(reinterpret_cast<void**>(&data), 400));
  void* arguments[] = {&data, &data};
  show("no threads", cudaLaunchKernel(&nothing, dim3(1), dim3(0), nullptr, 0, nullptr));
  show("too many threads", cudaLaunchKernel(&nothing, dim3(1), dim3(2048), nullptr, 0, nullptr));
  show("too much shared memory", cudaLaunchKernel(&nothing, dim3(1), dim3(1), nullptr, 100000, nullptr));
  show("no kernel", cudaLaunchKernel(&unknown, dim3(1), dim3(1), arguments, 0, nullptr));
  show("beyond the end", cudaMemset(data, 0, 401));
  show("a stack pointer as device memory", cudaMemcpy(&data, data, 4, cudaMemcpyHostToDevice));
  show("too much", cudaMalloc(reinterpret_cast<void**>(&data), std::size_t{1} << 50));
  std::size_t pitch = 0;
  cudaPitchedPtr rows{};
  void* pitched = nullptr;
  show("rows beyond all numbers", cudaMallocPitch(&pitched, &pitch, 1024, std::size_t{1} << 54));
  show("slices beyond all numbers", cudaMalloc3D(&rows, {1024, std::size_t{1} << 30, std::size_t{1} << 24}));
  show("no such device", cudaSetDevice(7));
  show("last", cudaGetLastError());
  show("then", cudaGetLastError());
  show("not there", cudaDestroyTextureObject(0));
  cudaGetLastError();
  std::printf("nor there: %d\n", cuTexObjectDestroy(0));
  show("which is not the runtime's", cudaGetLastError());
  return 0;
}

// A kernel's limit of dynamic shared memory counts its own shared memory, which is four bytes of `race`, until it is
// set.
int shared_memory() {
  const auto launch = [](std::size_t bytes) {
    return cudaLaunchKernel(&race, dim3(1), dim3(1), nullptr, bytes, nullptr);
  };
  const int usual = 48 * 1024;
  cudaFuncAttributes attributes{};
  show("with its own", launch(usual - 4));
  show("beside its own", launch(usual));
  cudaFuncGetAttributes(&attributes, &race);
  std::printf("%d\n", attributes.maxDynamicSharedSizeBytes);
  show("set", cudaFuncSetAttribute(&race, cudaFuncAttributeMaxDynamicSharedMemorySize, usual));
  show("beside its own", launch(usual));
  cudaFuncGetAttributes(&attributes, &race);
  std::printf("%d\n", attributes.maxDynamicSharedSizeBytes);
  show("more", launch(usual + 4));
  show("wait", cudaDeviceSynchronize());
  return 0;
}

// A kernel with an instruction that there is not here.
int refused() {
  std::uint64_t image = 0;
  void* arguments[] = {&image};
  show("launch", cudaLaunchKernel(&picture, dim3(1), dim3(1), arguments, 0, nullptr));
  show("again", cudaLaunchKernel(&picture, dim3(1), dim3(1), arguments, 0, nullptr));
  show("another", cudaLaunchKernel(&nothing, dim3(1), dim3(1), nullptr, 0, nullptr));
  return 0;
}

// A context that is destroyed deep in the stack.
int destroyed_context() {
  CUcontext deep{}, top{}, popped{};
  CUdevice device = 0;
  cuInit(0);
  cuCtxCreate(&deep, nullptr, 0, 0);
  cuCtxCreate(&top, nullptr, 0, 0);
  std::printf("destroy: %d\n", cuCtxDestroy(deep));
  std::printf("top: %d\n", cuCtxGetDevice(&device));
  cuCtxPopCurrent(&popped);
  std::printf("destroyed: %d\n", cuCtxGetDevice(&device));
  std::printf("pop: %d\n", cuCtxPopCurrent(&popped));
  std::printf("%s\n", popped == deep ? "the same" : "another");
  return 0;
}

int throwing() {
  cudaLaunchHostFunc(
      nullptr, [](void*) { throw 1; }, nullptr);
  show("thrown", cudaDeviceSynchronize());
  return 0;
}

// PTX that says it is compressed, and is not.
int unreadable() {
  show("launch", cudaLaunchKernel(&nothing, dim3(1), dim3(1), nullptr, 0, nullptr));
  show("launch", cudaLaunchKernel(&nothing, dim3(1), dim3(1), nullptr, 0, nullptr));
  return 0;
}

// Memory of the host that another device's kernel uses when it is freed.
int free_shared() {
  volatile int *flag = nullptr, *data = nullptr;
  cudaHostAlloc(const_cast<void**>(reinterpret_cast<volatile void**>(&flag)), 4, 0);
  cudaMallocManaged(const_cast<void**>(reinterpret_cast<volatile void**>(&data)), 4, cudaMemAttachGlobal);
  cudaSetDevice(1);
  cudaStream_t stream{};
  cudaStreamCreate(&stream);
  void* arguments[] = {&flag};
  cudaLaunchKernel(&await, dim3(1), dim3(1), arguments, 0, stream);
  launch_add(const_cast<int*>(data), 1, stream);
  cudaSetDevice(0);
  std::thread releaser = release_later(flag);
  show("free", cudaFree(const_cast<int*>(data)));
  show("used", cudaStreamQuery(stream));
  releaser.join();
  show("wait", cudaStreamSynchronize(stream));
  return 0;
}

// A kernel that waits for the host, and one in another stream that does not wait for it.
int overlap() {
  volatile int* flag = nullptr;
  int* data = nullptr;
  cudaStream_t first{}, second{};
  cudaHostAlloc(const_cast<void**>(reinterpret_cast<volatile void**>(&flag)), 4, 0);
  cudaMalloc(reinterpret_cast<void**>(&data), 64 * 4);
  cudaMemset(data, 0, 64 * 4);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  void* arguments[] = {&flag};
  show("waits", cudaLaunchKernel(&await, dim3(1), dim3(1), arguments, 0, first));
  show("query", cudaStreamQuery(first));
  launch_add(data, 64, second);
  show("other stream", cudaStreamSynchronize(second));
  *flag = 1;
  show("stream", cudaStreamSynchronize(first));
  return 0;
}

// Work of a stream that is destroyed, and of one that waits for another and does nothing else.
int order() {
  volatile int* flag = nullptr;
  int *data = nullptr, seen = 0;
  cudaStream_t first{}, second{};
  cudaEvent_t event{};
  cudaHostAlloc(const_cast<void**>(reinterpret_cast<volatile void**>(&flag)), 4, 0);
  cudaMalloc(reinterpret_cast<void**>(&data), 4);
  cudaMemset(data, 0, 4);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaDeviceSynchronize();
  void* arguments[] = {&flag};
  cudaLaunchKernel(&await, dim3(1), dim3(1), arguments, 0, first);
  cudaEventRecord(event, first);
  show("wait", cudaStreamWaitEvent(second, event));
  show("query", cudaStreamQuery(second));
  std::thread releaser = release_later(flag);
  show("second", cudaStreamSynchronize(second));
  show("event", cudaEventQuery(event));
  releaser.join();
  *flag = 0;
  cudaLaunchKernel(&await, dim3(1), dim3(1), arguments, 0, first);
  launch_add(data, 1, first);
  show("destroy", cudaStreamDestroy(first));
  show("again", cudaStreamDestroy(first));
  show("launch", launch_add(data, 1, first));
  releaser = release_later(flag);
  show("device", cudaDeviceSynchronize());
  cudaMemcpyAsync(&seen, data, 4, cudaMemcpyDeviceToHost, second);
  cudaStreamSynchronize(second);
  std::printf("%d\n", seen);
  releaser.join();
  return 0;
}

int children() {
  const pid_t before = fork();  // before anything is used: the child has a device of its own
  if (before == 0) std::exit(add() == 3 && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1);
  int status = 0;
  waitpid(before, &status, 0);
  std::fflush(stdout);
  cudaFree(nullptr);
  const pid_t after = fork();
  if (after == 0) {
    show("in a child", cudaFree(nullptr));
    std::exit(0);
  }
  waitpid(after, &status, 0);
  return 0;
}

int threads() {
  std::vector<std::thread> all;
  std::vector<int> right(4);
  for (int t = 0; t < 4; ++t)
    all.emplace_back([t, &right] {
      int* data = nullptr;
      std::vector<int> values(256, t);
      cudaMalloc(reinterpret_cast<void**>(&data), 1024);
      cudaMemcpyAsync(data, values.data(), 1024, cudaMemcpyHostToDevice, cudaStreamPerThread);
      launch_add(data, 256, cudaStreamPerThread);
      cudaMemcpyAsync(values.data(), data, 1024, cudaMemcpyDeviceToHost, cudaStreamPerThread);
      cudaStreamSynchronize(cudaStreamPerThread);
      right[t] = values[0] == t + 1 && values[255] == t + 1;
    });
  for (std::thread& thread : all) thread.join();
  std::printf("%d%d%d%d\n", right[0], right[1], right[2], right[3]);
  return 0;
}

int tiny(long count) {
  for (long i = 0; i < count; ++i) cudaLaunchKernel(&nothing, dim3(1), dim3(32), nullptr, 0, nullptr);
  show("tiny", cudaDeviceSynchronize());
  return 0;
}

// A race, and then a kernel that never ends.
int forever() {
  int* flag = nullptr;
  cudaHostAlloc(reinterpret_cast<void**>(&flag), 4, 0);
  cudaLaunchKernel(&race, dim3(1), dim3(64), nullptr, 0, nullptr);
  void* arguments[] = {&flag};
  cudaLaunchKernel(&await, dim3(1), dim3(1), arguments, 0, nullptr);
  show("never", cudaDeviceSynchronize());
  return 0;
}

// A module of so many megabytes, loaded and one of its kernels launched.
int large(long megabytes) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (int number = 0; text.size() < static_cast<std::size_t>(megabytes) << 20; ++number) {
    text += ".visible .entry k" + std::to_string(number) + "(.param .u64 p)\n{\n.reg .b32 %r<9>;\n";
    for (int line = 0; line < 1000; ++line) text += "\tadd.s32 %r1, %r2, %r3; // a line\n";
    text += "\tret;\n}\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  cudaLibrary_t library{};
  cudaKernel_t kernel{};
  show("load", cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  show("find", cudaLibraryGetKernel(&kernel, library, "k3"));
  void* nowhere = nullptr;
  void* arguments[] = {&nowhere};
  show("launch", cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), arguments, 0, nullptr));
  show("wait", cudaDeviceSynchronize());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%ld MB of PTX loaded, and a kernel of it run: %.2f s\n", megabytes, seconds.count());
  return seconds.count() < 10 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "none") return 0;
  if (what == "unreadable") {
    binary.flags |= 0x2000;
    binary.compressed = 16;
    binary.plain = 100;
  }
  register_all();
  if (what == "unreadable") return unreadable();
  if (what == "context") return destroyed_context();
  if (what == "throw") return throwing();
  if (what == "free") return free_shared();
  if (what == "add") return add();
  if (what == "fault") return fault();
  if (what == "misuse") return misuse();
  if (what == "shared") return shared_memory();
  if (what == "refused") return refused();
  if (what == "overlap") return overlap();
  if (what == "order") return order();
  if (what == "fork") return children();
  if (what == "threads") return threads();
  if (what == "tiny") return tiny(std::atol(arguments[2]));
  if (what == "forever") return forever();
  if (what == "large") return large(std::atol(arguments[2]));
  if (what == "race" || what == "crash") {
    cudaLaunchKernel(&race, dim3(1), dim3(64), nullptr, 0, nullptr);
    cudaLaunchKernel(&nothing, dim3(1), dim3(64), nullptr, 0, nullptr);
    show("race", cudaDeviceSynchronize());
    std::fflush(stdout);
    if (what == "crash") std::abort();
    return 0;
  }
  std::fputs("what?\n", stderr);
  return 2;
}
