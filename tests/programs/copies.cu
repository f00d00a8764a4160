// Copies: linear, two- and three-dimensional, pitched, arrays, pinned and registered host memory, between devices.
#include "report.cuh"

__global__ void add_one(int* values, std::size_t pitch, int width) {
  int* const row = reinterpret_cast<int*>(reinterpret_cast<char*>(values) + blockIdx.x * pitch);
  if (static_cast<int>(threadIdx.x) < width) row[threadIdx.x] += 1;
}

void rows() {
  constexpr int width = 25, height = 6;
  std::vector<int> host(width * height), back(width * height, -1);
  for (int i = 0; i != width * height; ++i) host[i] = i;
  int* device;
  std::size_t pitch;
  good(cudaMallocPitch(&device, &pitch, width * sizeof(int), height));
  std::printf("pitch of 100 bytes: %zu\n", pitch);
  const std::size_t line = width * sizeof(int);
  good(cudaMemcpy2D(device, pitch, host.data(), line, line, height, cudaMemcpyHostToDevice));
  add_one<<<height, 32>>>(device, pitch, width);
  good(cudaMemcpy2D(back.data(), line, device, pitch, line, height, cudaMemcpyDeviceToHost));
  std::printf("rows: %d %d %d\n", back[0], back[width], back[width * height - 1]);
  // A window of 2 x 3 from the middle, asynchronously, and its place filled with bytes.
  int window[6] = {};
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  const char* const corner = reinterpret_cast<char*>(device) + 2 * pitch + 4 * sizeof(int);
  good(cudaMemcpy2DAsync(window, 3 * sizeof(int), corner, pitch, 3 * sizeof(int), 2, cudaMemcpyDefault, stream));
  good(cudaMemset2DAsync(const_cast<char*>(corner), pitch, 1, 3 * sizeof(int), 2, stream));
  good(cudaStreamSynchronize(stream));
  say_all("window", window, 6);
  good(cudaMemcpy2D(back.data(), line, device, pitch, line, height, cudaMemcpyDeviceToHost));
  say_all("row 3", back.data() + 3 * width + 2, 6);
  good(cudaStreamDestroy(stream));
  good(cudaFree(device));
}

void volumes() {
  constexpr int width = 6, height = 4, depth = 3;
  std::vector<int> host(width * height * depth), back(host.size(), -1);
  for (std::size_t i = 0; i != host.size(); ++i) host[i] = static_cast<int>(i);
  cudaPitchedPtr device;
  const cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
  good(cudaMalloc3D(&device, extent));
  std::printf("volume: pitch %zu, %zu x %zu\n", device.pitch, device.xsize, device.ysize);
  cudaMemcpy3DParms there = {};
  there.srcPtr = make_cudaPitchedPtr(host.data(), width * sizeof(int), width, height);
  there.dstPtr = device;
  there.extent = extent;
  there.kind = cudaMemcpyHostToDevice;
  good(cudaMemcpy3D(&there));
  // A box of 2 x 2 x 2 from (1, 1, 1) to (3, 2, 0) of the host's.
  cudaMemcpy3DParms box = {};
  box.srcPtr = device;
  box.srcPos = make_cudaPos(1 * sizeof(int), 1, 1);
  box.dstPtr = make_cudaPitchedPtr(back.data(), width * sizeof(int), width, height);
  box.dstPos = make_cudaPos(3 * sizeof(int), 2, 0);
  box.extent = make_cudaExtent(2 * sizeof(int), 2, 2);
  box.kind = cudaMemcpyDeviceToHost;
  good(cudaMemcpy3DAsync(&box, nullptr));
  good(cudaDeviceSynchronize());
  say_all("box, slice 0", back.data() + 2 * width, 2 * width);
  say_all("box, slice 1", back.data() + (height + 2) * width, 2 * width);
  good(cudaMemset3D(device, 0xff, make_cudaExtent(2 * sizeof(int), 3, 2)));
  cudaMemcpy3DParms all = {};
  all.srcPtr = device;
  all.dstPtr = make_cudaPitchedPtr(back.data(), width * sizeof(int), width, height);
  all.extent = extent;
  all.kind = cudaMemcpyDefault;
  good(cudaMemcpy3D(&all));
  int changed = 0;
  for (const int value : back) changed += value == -1;
  std::printf("set in the volume: %d, last %d\n", changed, back.back());
  good(cudaFree(device.ptr));
}

void arrays() {
  constexpr int width = 8, height = 4;
  std::vector<float> host(width * height), back(width * height);
  for (int i = 0; i != width * height; ++i) host[i] = 0.5f * static_cast<float>(i);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  std::printf("format: %d %d %d %d\n", format.x, format.y, format.z, format.w);
  cudaArray_t array;
  good(cudaMallocArray(&array, &format, width, height));
  const std::size_t line = width * sizeof(float);
  good(cudaMemcpy2DToArray(array, 0, 0, host.data(), line, line, height, cudaMemcpyHostToDevice));
  good(cudaMemcpy2DFromArray(back.data(), line, array, 0, 0, line, height, cudaMemcpyDeviceToHost));
  std::printf("array as it was: %d\n", host == back);
  float part[2];
  good(cudaMemcpy2DFromArray(part, sizeof(part), array, 3 * sizeof(float), 2, sizeof(part), 1, cudaMemcpyDeviceToHost));
  say_all("part of the array", part, 2);
  cudaChannelFormatDesc found;
  cudaExtent extent;
  unsigned flags = 1;
  good(cudaArrayGetInfo(&found, &extent, &flags, array));
  std::printf("array: %zu x %zu x %zu, %d bits, flags %u\n", extent.width, extent.height, extent.depth, found.x, flags);
  good(cudaFreeArray(array));
}

void host_memory() {
  constexpr int count = 64;
  int *pinned, *mapped, *device;
  good(cudaHostAlloc(&pinned, count * sizeof(int), cudaHostAllocDefault));
  good(cudaHostAlloc(&mapped, count * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  good(cudaMalloc(&device, count * sizeof(int)));
  for (int i = 0; i != count; ++i) pinned[i] = i, mapped[i] = 2 * i;
  int* seen;
  good(cudaHostGetDevicePointer(&seen, mapped, 0));
  std::printf("mapped at its own address: %d\n", seen == mapped);
  add_one<<<1, count>>>(seen, 0, count);
  good(cudaDeviceSynchronize());
  std::printf("mapped: %d %d\n", mapped[0], mapped[63]);
  unsigned flags = 0;
  good(cudaHostGetFlags(&flags, mapped));
  std::printf("flags: %u\n", flags);

  std::vector<int> plain(4096, 3);
  cudaPointerAttributes attributes;
  good(cudaPointerGetAttributes(&attributes, plain.data()));
  std::printf("plain: %d\n", attributes.type == cudaMemoryTypeUnregistered);
  good(cudaHostRegister(plain.data(), plain.size() * sizeof(int), cudaHostRegisterDefault));
  good(cudaPointerGetAttributes(&attributes, plain.data() + 1));
  std::printf("registered: %d\n", attributes.type == cudaMemoryTypeHost);
  good(cudaMemcpyAsync(device, plain.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  good(cudaMemcpyAsync(device + 1, pinned + 1, 2 * sizeof(int), cudaMemcpyHostToDevice));
  say_device("copied", device, 5);
  good(cudaHostUnregister(plain.data()));
  good(cudaPointerGetAttributes(&attributes, device + 2));
  std::printf("device: %d %d\n", attributes.type == cudaMemoryTypeDevice, attributes.device);

  int* second;
  good(cudaMalloc(&second, count * sizeof(int)));
  good(cudaMemcpy(second, device, count * sizeof(int), cudaMemcpyDeviceToDevice));
  say_device("device to device", second, 3);
  good(cudaMemcpyPeer(second + 1, 0, device + 2, 0, sizeof(int)));
  say_device("peer, same device", second, 3);
  int from[2] = {8, 9}, to[2] = {};
  good(cudaMemcpy(to, from, sizeof(to), cudaMemcpyHostToHost));
  say_all("host to host", to, 2);
  for (int* memory : {second, device}) good(cudaFree(memory));
  for (int* memory : {pinned, mapped}) good(cudaFreeHost(memory));
}

void devices() {
  int count = 0;
  good(cudaGetDeviceCount(&count));
  if (count == 1) std::printf("one device: no peer\n");
  for (int other = 1; other < count; ++other) {
    int reachable = 0, *here, *there, value = 6;
    good(cudaDeviceCanAccessPeer(&reachable, 0, other));
    good(cudaMalloc(&here, sizeof(int)));
    good(cudaMemcpy(here, &value, sizeof(int), cudaMemcpyHostToDevice));
    good(cudaSetDevice(other));
    good(cudaMalloc(&there, sizeof(int)));
    good(cudaMemcpyPeer(there, other, here, 0, sizeof(int)));
    value = 0;
    good(cudaMemcpy(&value, there, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("device %d: reachable %d, copied %d\n", other, reachable, value);
    good(cudaFree(there));
    good(cudaSetDevice(0));
    good(cudaFree(here));
  }
}

int main() {
  rows();
  volumes();
  arrays();
  host_memory();
  devices();
}
