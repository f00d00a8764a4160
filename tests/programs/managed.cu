// Managed memory: host and device take turns, advice and prefetching, a list of pointers that both walk.
#include "report.cuh"

constexpr int count = 1000;

struct Item {
  int value;
  Item* next;
};

__global__ void square(int* values) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= values[i];
}

__global__ void walk(Item* item, int* sum) {
  for (; item != nullptr; item = item->next) {
    *sum += item->value;
    item->value = -item->value;
  }
}

void take_turns() {
  int* values;
  good(cudaMallocManaged(&values, count * sizeof(int)));
  for (int i = 0; i != count; ++i) values[i] = i;
  square<<<4, 256>>>(values);
  good(cudaDeviceSynchronize());
  std::printf("squares: %d %d %d\n", values[1], values[2], values[999]);
  for (int i = 0; i != count; ++i) values[i] = -2;
  square<<<4, 256>>>(values);
  square<<<4, 256>>>(values);
  good(cudaDeviceSynchronize());
  std::printf("twice: %d %d\n", values[0], values[999]);

  int copied[2];
  good(cudaMemcpy(copied, values + 3, sizeof(copied), cudaMemcpyDefault));
  std::printf("copied: %d %d\n", copied[0], copied[1]);
  good(cudaMemset(values, 0xff, count * sizeof(int)));
  good(cudaDeviceSynchronize());
  std::printf("set: %d %d\n", values[0], values[999]);

  cudaPointerAttributes attributes;
  good(cudaPointerGetAttributes(&attributes, values + 5));
  std::printf("managed: %d, device %d, one address: %d %d\n", attributes.type == cudaMemoryTypeManaged,
              attributes.device, attributes.devicePointer == values + 5, attributes.hostPointer == values + 5);
  good(cudaFree(values));
}

void advise() {
  int* values;
  good(cudaMallocManaged(&values, count * sizeof(int)));
  const cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
  const std::size_t bytes = count * sizeof(int);
  say("read mostly", cudaMemAdvise(values, bytes, cudaMemAdviseSetReadMostly, device));
  int answer = -1;
  good(cudaMemRangeGetAttribute(&answer, sizeof(answer), cudaMemRangeAttributeReadMostly, values, bytes));
  std::printf("is read mostly: %d\n", answer);
  say("no longer", cudaMemAdvise(values, bytes, cudaMemAdviseUnsetReadMostly, device));
  good(cudaMemRangeGetAttribute(&answer, sizeof(answer), cudaMemRangeAttributeReadMostly, values, bytes));
  std::printf("is read mostly: %d\n", answer);
  say("preferred location", cudaMemAdvise(values, bytes, cudaMemAdviseSetPreferredLocation, device));
  good(cudaMemRangeGetAttribute(&answer, sizeof(answer), cudaMemRangeAttributePreferredLocation, values, bytes));
  std::printf("preferred: %d\n", answer);
  say("accessed by", cudaMemAdvise(values, bytes, cudaMemAdviseSetAccessedBy, host));

  for (int i = 0; i != count; ++i) values[i] = 7;
  say("prefetch to the device", cudaMemPrefetchAsync(values, bytes, device, 0, nullptr));
  square<<<4, 256>>>(values);
  say("prefetch to the host", cudaMemPrefetchAsync(values, bytes, host, 0, nullptr));
  good(cudaDeviceSynchronize());
  std::printf("prefetched: %d\n", values[999]);
  good(cudaMemRangeGetAttribute(&answer, sizeof(answer), cudaMemRangeAttributeLastPrefetchLocation, values, bytes));
  std::printf("last prefetch to the host: %d\n", answer == cudaCpuDeviceId);
  good(cudaFree(values));
}

void list() {
  Item* items;
  int* sum;
  good(cudaMallocManaged(&items, 10 * sizeof(Item)));
  good(cudaMallocManaged(&sum, sizeof(int), cudaMemAttachHost));
  for (int i = 0; i != 10; ++i) items[i] = {i + 1, i + 1 < 10 ? &items[i + 1] : nullptr};
  *sum = 0;
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  good(cudaStreamAttachMemAsync(stream, sum, 0, cudaMemAttachSingle));
  good(cudaStreamSynchronize(stream));
  walk<<<1, 1, 0, stream>>>(items, sum);
  good(cudaStreamSynchronize(stream));
  std::printf("list: sum %d, last %d\n", *sum, items[9].value);
  good(cudaStreamDestroy(stream));
  good(cudaFree(sum));
  good(cudaFree(items));
}

int main() {
  take_turns();
  advise();
  list();
}
