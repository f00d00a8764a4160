// wgmma on tiles whose shared-memory images come ready from the host; the including source names the element types.
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/wgmma.cuh"

using namespace wm;

// How the images lie: descriptors without their address, and what one K step adds to it.
struct Tiles {
  u64 a_layout, b_layout;
  u32 a_bytes, b_bytes, a_step, b_step;
  u32 accumulate;  // whether the first step adds to what D held before
};

__device__ SharedAddress fetch(const Quad<u32>* images, u32 bytes) {
  extern __shared__ __align__(1024) Quad<u32> memory[];
  for (u32 i = threadIdx.x; i < bytes / 16; i += blockDim.x) memory[i] = images[i];
  fence::proxy_async_shared();
  __syncthreads();
  return memory;
}

__device__ wgmma::Descriptor at(u64 layout, SharedAddress address) {
  return {u32(layout) | wgmma::descriptor(address, 0, 0, wgmma::Swizzle::none).low, u32(layout >> 32)};
}

template <class D, int count>
__device__ void finish(D (&d)[count], D* out) {
  wgmma::commit();
  wgmma::wait<0>(d);
  for (int i = 0; i < count; ++i) out[i * 128 + threadIdx.x] = d[i];
}

template <class A, class B, class D, int count, int steps, wgmma::Options options>
__global__ void __launch_bounds__(128) from_shared(const Quad<u32>* images, Tiles tiles, const D* start, D* out) {
  const SharedAddress a = fetch(images, tiles.a_bytes + tiles.b_bytes), b = a + tiles.a_bytes;
  D d[count];
  for (int i = 0; i < count; ++i) d[i] = start[i * 128 + threadIdx.x];
  wgmma::pin(d);
  wgmma::fence();
#pragma unroll
  for (int step = 0; step < steps; ++step)
    wgmma::multiply<A, B, options>(d, at(tiles.a_layout, a + step * tiles.a_step),
                                   at(tiles.b_layout, b + step * tiles.b_step), step > 0 || tiles.accumulate);
  finish(d, out);
}

template <class A, class B, class D, int count, int steps, wgmma::Options options>
__global__ void __launch_bounds__(128)
    from_registers(const Quad<u32>* images, const u32* fragments, Tiles tiles, const D* start, D* out) {
  const SharedAddress b = fetch(images, tiles.b_bytes);
  D d[count];
  for (int i = 0; i < count; ++i) d[i] = start[i * 128 + threadIdx.x];
  u32 a[steps][4];  // all steps' at once: registers in flight may not be written
#pragma unroll
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int i = 0; i < 4; ++i) a[step][i] = fragments[(step * 4 + i) * 128 + threadIdx.x];
  wgmma::pin(d);
  wgmma::fence();
#pragma unroll
  for (int step = 0; step < steps; ++step)
    wgmma::multiply<A, B, options>(d, a[step], at(tiles.b_layout, b + step * tiles.b_step),
                                   step > 0 || tiles.accumulate);
  finish(d, out);
}
