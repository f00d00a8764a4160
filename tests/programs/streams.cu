// Streams and events: priorities, flags, queries while work waits, order between streams, elapsed time.
#include <atomic>
#include <thread>

#include "report.cuh"

__global__ void add(int* value, int summand) { *value = *value * 10 + summand; }

std::atomic<bool> may_go;
void CUDART_CB wait_for_permission(void*) {
  while (!may_go) std::this_thread::yield();
}

// A kernel is loaded when first launched, which may wait for all work of the device. Who launches behind work that
// waits for him has loaded it before.
void load_kernel() {
  cudaFuncAttributes attributes;
  good(cudaFuncGetAttributes(&attributes, add));
  int* value;
  good(cudaMalloc(&value, sizeof(int)));
  add<<<1, 1>>>(value, 0);
  good(cudaDeviceSynchronize());
  good(cudaFree(value));
}

void priorities() {
  int least = 0, greatest = 0;
  good(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  std::printf("priorities: %d to %d\n", least, greatest);
  for (const int wanted : {least, greatest, greatest - 100, least + 100}) {
    cudaStream_t stream;
    int got = 1000;
    unsigned flags = 1000;
    good(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, wanted));
    good(cudaStreamGetPriority(stream, &got));
    good(cudaStreamGetFlags(stream, &flags));
    std::printf("wanted %d got %d flags %u\n", wanted, got, flags);
    good(cudaStreamDestroy(stream));
  }
}

// A host function holds the stream back: what follows is not ready until it is let go.
void queries() {
  cudaStream_t stream;
  cudaEvent_t event;
  int* value;
  good(cudaMalloc(&value, sizeof(int)));
  good(cudaMemset(value, 0, sizeof(int)));
  good(cudaDeviceSynchronize());
  good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  good(cudaEventCreate(&event));
  say("an empty stream", cudaStreamQuery(stream));
  say("an event not recorded", cudaEventQuery(event));
  may_go = false;
  good(cudaLaunchHostFunc(stream, wait_for_permission, nullptr));
  add<<<1, 1, 0, stream>>>(value, 4);
  good(cudaEventRecord(event, stream));
  say("held back", cudaStreamQuery(stream));
  say("its event", cudaEventQuery(event));
  say("not ready is no error", cudaGetLastError());
  float time = -1;
  say("elapsed, too early", cudaEventElapsedTime(&time, event, event));
  cudaGetLastError();
  may_go = true;
  say("event", cudaEventSynchronize(event));
  say("now", cudaEventQuery(event));
  say("stream", cudaStreamSynchronize(stream));
  say("now", cudaStreamQuery(stream));
  say_device("value", value, 1);
  good(cudaEventDestroy(event));
  good(cudaStreamDestroy(stream));
  good(cudaFree(value));
}

// Work on one stream waits for an event of another that is still held back; recording it again changes nothing.
void order() {
  cudaStream_t first, second;
  cudaEvent_t event;
  int* value;
  good(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  good(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  good(cudaMalloc(&value, sizeof(int)));
  good(cudaMemset(value, 0, sizeof(int)));
  good(cudaDeviceSynchronize());
  may_go = false;
  good(cudaLaunchHostFunc(first, wait_for_permission, nullptr));
  add<<<1, 1, 0, first>>>(value, 1);
  good(cudaEventRecord(event, first));
  good(cudaStreamWaitEvent(second, event, 0));
  add<<<1, 1, 0, second>>>(value, 2);
  good(cudaEventRecord(event, second));
  good(cudaStreamWaitEvent(first, event, 0));
  add<<<1, 1, 0, first>>>(value, 3);
  may_go = true;
  say_device("order", value, 1);

  // The legacy stream waits for blocking streams and they for it.
  cudaStream_t blocking;
  good(cudaStreamCreate(&blocking));
  for (int i = 4; i != 7; ++i) add<<<1, 1, 0, i == 5 ? nullptr : blocking>>>(value, i);
  say_device("with the legacy stream", value, 1);
  for (cudaStream_t stream : {first, second, blocking}) good(cudaStreamDestroy(stream));
  good(cudaEventDestroy(event));
  good(cudaFree(value));
}

void times() {
  cudaEvent_t start, end, untimed;
  good(cudaEventCreate(&start));
  good(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  good(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  int* value;
  good(cudaMalloc(&value, sizeof(int)));
  good(cudaEventRecord(start));
  for (int i = 0; i != 10; ++i) add<<<1, 1>>>(value, i);
  good(cudaEventRecordWithFlags(end, nullptr, cudaEventRecordDefault));
  good(cudaEventRecord(untimed));
  good(cudaEventSynchronize(end));
  float time = -1;
  good(cudaEventElapsedTime(&time, start, end));
  std::printf("elapsed, not negative: %d, under 10 s: %d\n", time >= 0, time < 10000);
  good(cudaDeviceSynchronize());
  say("without timing", cudaEventElapsedTime(&time, start, untimed));
  cudaGetLastError();
  // An event may be destroyed while work waits for it, a stream while it has work.
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  good(cudaMemsetAsync(value, 0, sizeof(int), stream));
  add<<<1, 1, 0, stream>>>(value, 9);
  good(cudaEventRecord(end, stream));
  good(cudaStreamWaitEvent(nullptr, end, 0));
  good(cudaEventDestroy(end));
  good(cudaStreamDestroy(stream));
  say_device("destroyed early", value, 1);
  for (cudaEvent_t event : {start, untimed}) good(cudaEventDestroy(event));
  good(cudaFree(value));
}

int main() {
  load_kernel();
  priorities();
  queries();
  order();
  times();
}
