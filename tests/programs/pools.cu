// Stream-ordered memory: the default pool, a pool of one's own, its attributes and limits.
#include "report.cuh"

constexpr int count = 1 << 16;

__global__ void fill(int* values, int first) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = first + static_cast<int>(i);
}

unsigned long long attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
  unsigned long long value = 0;  // those that are an int fill its low half
  good(cudaMemPoolGetAttribute(pool, which, &value));
  return value;
}

void default_pool(cudaStream_t stream) {
  cudaMemPool_t pool, current;
  good(cudaDeviceGetDefaultMemPool(&pool, 0));
  good(cudaDeviceGetMemPool(&current, 0));
  std::printf("the default is current: %d\n", pool == current);
  std::printf("release threshold: %llu\n", attribute(pool, cudaMemPoolAttrReleaseThreshold));
  std::printf("reuse: %llu %llu %llu\n", attribute(pool, cudaMemPoolReuseFollowEventDependencies),
              attribute(pool, cudaMemPoolReuseAllowOpportunistic),
              attribute(pool, cudaMemPoolReuseAllowInternalDependencies));
  unsigned long long threshold = ~0ull;
  good(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  std::printf("threshold set: %d\n", attribute(pool, cudaMemPoolAttrReleaseThreshold) == threshold);

  int* values;
  good(cudaMallocAsync(&values, count * sizeof(int), stream));
  fill<<<count / 256, 256, 0, stream>>>(values, 3);
  std::vector<int> host(count);
  good(cudaMemcpyAsync(host.data(), values, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
  std::printf("used: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaFreeAsync(values, stream));
  good(cudaStreamSynchronize(stream));
  std::printf("first %d last %d\n", host.front(), host.back());
  std::printf("used after the free: %llu, reserved: %d\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent),
              attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= count * sizeof(int));
  good(cudaMemPoolTrimTo(pool, 0));
  std::printf("reserved after the trim: %llu\n", attribute(pool, cudaMemPoolAttrReservedMemCurrent));
  std::printf("highest use: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemHigh));
  unsigned long long zero = 0;
  good(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  std::printf("highest use, reset: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemHigh));

  // Memory of one stream, freed on another that waits for it; and by cudaFree.
  cudaStream_t other;
  cudaEvent_t done;
  good(cudaStreamCreate(&other));
  good(cudaEventCreate(&done));
  int* second;
  good(cudaMallocAsync(&values, count * sizeof(int), stream));
  good(cudaMallocAsync(&second, 100, stream));
  fill<<<count / 256, 256, 0, stream>>>(values, 9);
  good(cudaEventRecord(done, stream));
  good(cudaStreamWaitEvent(other, done, 0));
  good(cudaMemcpyAsync(host.data(), values, count * sizeof(int), cudaMemcpyDeviceToHost, other));
  good(cudaFreeAsync(values, other));
  good(cudaStreamSynchronize(other));
  std::printf("on another stream: %d\n", host.back());
  say("cudaFree of stream-ordered memory", cudaFree(second));
  good(cudaDeviceSynchronize());
  std::printf("used in the end: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaMemPoolTrimTo(pool, 0));
  std::printf("used after the trim: %llu, reserved: %d\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent),
              attribute(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
  good(cudaMallocAsync(&second, 100, stream));
  std::printf("used again: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaFreeAsync(second, stream));
  good(cudaStreamSynchronize(stream));
  std::printf("used at last: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaEventDestroy(done));
  good(cudaStreamDestroy(other));
}

void own_pool(cudaStream_t stream) {
  cudaMemPoolProps wanted = {};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.handleTypes = cudaMemHandleTypeNone;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = 0;
  wanted.maxSize = 64 << 20;
  cudaMemPool_t pool;
  good(cudaMemPoolCreate(&pool, &wanted));
  cudaMemAccessFlags access;
  good(cudaMemPoolGetAccess(&access, pool, &wanted.location));
  std::printf("own device may read and write: %d\n", access == cudaMemAccessFlagsProtReadWrite);

  int *values, *too_much = nullptr;
  good(cudaMallocFromPoolAsync(&values, count * sizeof(int), pool, stream));
  fill<<<count / 256, 256, 0, stream>>>(values, -1);
  say_device("own pool", values, 3);
  say("more than the pool may hold", cudaMallocFromPoolAsync(&too_much, 1 << 30, pool, stream));
  say("last error", cudaGetLastError());

  cudaMemPool_t current;
  good(cudaDeviceSetMemPool(0, pool));
  good(cudaDeviceGetMemPool(&current, 0));
  std::printf("own pool is current: %d\n", current == pool);
  int* more;
  good(cudaMallocAsync(&more, count * sizeof(int), stream));
  std::printf("used by two: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaMemsetAsync(more, 1, count * sizeof(int), stream));
  say_device("set", more, 2);
  good(cudaFreeAsync(more, stream));
  good(cudaFreeAsync(values, stream));
  good(cudaStreamSynchronize(stream));
  std::printf("used by none: %llu\n", attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  good(cudaMemPoolDestroy(pool));
  cudaMemPool_t fallback;
  good(cudaDeviceGetDefaultMemPool(&fallback, 0));
  good(cudaDeviceGetMemPool(&current, 0));
  std::printf("the default is current again: %d\n", current == fallback);
}

int main() {
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  default_pool(stream);
  own_pool(stream);
  good(cudaStreamDestroy(stream));
}
