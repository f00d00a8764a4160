// Host threads with streams of their own, the default stream of each thread, order of host functions and events.
// Built with --default-stream per-thread.
#include <mutex>
#include <string>
#include <thread>

#include "report.cuh"

constexpr int count = 256;

__global__ void step(int* values, int summand) { values[threadIdx.x] = values[threadIdx.x] * 3 + summand; }

void several() {
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  for (int number = 0; number != 4; ++number)
    threads.emplace_back([number, &results] {
      good(cudaSetDevice(0));
      cudaStream_t stream;
      int* values;
      good(cudaStreamCreate(&stream));
      good(cudaMalloc(&values, count * sizeof(int)));
      good(cudaMemsetAsync(values, 0, count * sizeof(int), stream));
      for (int i = 0; i != 10; ++i) step<<<1, count, 0, stream>>>(values, number);
      good(cudaMemcpyAsync(&results[number], values + number, sizeof(int), cudaMemcpyDeviceToHost, stream));
      good(cudaStreamSynchronize(stream));
      good(cudaFree(values));
      good(cudaStreamDestroy(stream));
    });
  for (std::thread& thread : threads) thread.join();
  say_all("four threads", results.data(), results.size());
}

// Every thread uses its own default stream; none waits for another's.
void default_streams() {
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  int* values;
  good(cudaMalloc(&values, 4 * count * sizeof(int)));
  good(cudaMemset(values, 0, 4 * count * sizeof(int)));
  good(cudaDeviceSynchronize());
  for (int number = 0; number != 4; ++number)
    threads.emplace_back([number, &results, own = values + number * count] {
      for (int i = 0; i != 5; ++i) step<<<1, count>>>(own, number + 1);
      step<<<1, count, 0, cudaStreamPerThread>>>(own, 0);
      good(cudaMemcpyAsync(&results[number], own, sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
      good(cudaStreamSynchronize(nullptr));
    });
  for (std::thread& thread : threads) thread.join();
  say_all("default streams", results.data(), results.size());
  step<<<1, count, 0, cudaStreamLegacy>>>(values, 1);
  good(cudaStreamSynchronize(cudaStreamLegacy));
  say_device("legacy stream", values, 1);
  good(cudaFree(values));
}

std::mutex turn;
std::string order;

void CUDART_CB note(void* letter) {
  const std::lock_guard hold(turn);
  order += *static_cast<const char*>(letter);
}

void CUDART_CB note_with_status(cudaStream_t, cudaError_t status, void* letter) {
  note(letter);
  const std::lock_guard hold(turn);
  order += status == cudaSuccess ? '+' : '-';
}

void host_functions() {
  cudaStream_t first, second;
  cudaEvent_t done;
  int *values, host[3] = {};
  good(cudaStreamCreate(&first));
  good(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  good(cudaEventCreate(&done));
  good(cudaMalloc(&values, count * sizeof(int)));
  char letters[] = "abcdef";
  good(cudaMemsetAsync(values, 0, count * sizeof(int), first));
  good(cudaLaunchHostFunc(first, note, letters + 0));
  step<<<1, count, 0, first>>>(values, 1);
  good(cudaStreamAddCallback(first, note_with_status, letters + 1, 0));
  good(cudaMemcpyAsync(host, values, sizeof(int), cudaMemcpyDeviceToHost, first));
  good(cudaLaunchHostFunc(first, note, letters + 2));
  good(cudaEventRecord(done, first));
  good(cudaStreamWaitEvent(second, done, 0));
  good(cudaLaunchHostFunc(second, note, letters + 3));
  step<<<1, count, 0, second>>>(values, 2);
  good(cudaMemcpyAsync(host + 1, values, sizeof(int), cudaMemcpyDeviceToHost, second));
  good(cudaLaunchHostFunc(second, note, letters + 4));
  good(cudaEventRecord(done, second));
  good(cudaStreamWaitEvent(first, done, 0));
  step<<<1, count, 0, first>>>(values, 3);
  good(cudaMemcpyAsync(host + 2, values, sizeof(int), cudaMemcpyDeviceToHost, first));
  good(cudaLaunchHostFunc(first, note, letters + 5));
  good(cudaStreamSynchronize(first));
  std::printf("order: %s\n", order.c_str());
  say_all("values", host, 3);
  good(cudaFree(values));
  good(cudaEventDestroy(done));
  good(cudaStreamDestroy(first));
  good(cudaStreamDestroy(second));
}

// An error stays with the thread that made it; an event of one thread is another's to wait for.
void between() {
  cudaError_t elsewhere = cudaSuccess, own = cudaSuccess;
  std::thread([&] {
    cudaSetDevice(-1);
    own = cudaGetLastError();
  }).join();
  elsewhere = cudaGetLastError();
  say("in the thread", own);
  say("elsewhere", elsewhere);
  cudaEvent_t event;
  int *values, host = 0;
  good(cudaEventCreate(&event));
  good(cudaMalloc(&values, count * sizeof(int)));
  good(cudaMemset(values, 0, count * sizeof(int)));
  good(cudaDeviceSynchronize());
  std::thread([&] {
    for (int i = 0; i != 3; ++i) step<<<1, count>>>(values, 4);
    good(cudaEventRecord(event, cudaStreamPerThread));
  }).join();
  good(cudaStreamWaitEvent(cudaStreamPerThread, event, 0));
  good(cudaMemcpyAsync(&host, values, sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
  good(cudaStreamSynchronize(cudaStreamPerThread));
  std::printf("another thread's kernels: %d\n", host);
  good(cudaFree(values));
  good(cudaEventDestroy(event));
}

int main() {
  several();
  default_streams();
  host_functions();
  between();
}
