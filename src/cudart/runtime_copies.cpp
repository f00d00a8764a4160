// The runtime's copies and fills.
#include "cudart/copies.hpp"
#include "cudart/default_stream.hpp"
#include "cudart/face.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

namespace {

// A place in a variable, which is the device's end of the copy.
void* inside(const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind, cudaMemcpyKind not_this) {
  require(kind != not_this && kind != cudaMemcpyHostToHost, cudaErrorInvalidMemcpyDirection);
  const Variable variable = variable_of(symbol);
  require(offset <= variable.bytes && bytes <= variable.bytes - offset);
  return reinterpret_cast<void*>(variable.address + offset);
}

Fill fill_of(const cudaPitchedPtr& pointer, int value, const cudaExtent& extent) {
  return {.to = {reinterpret_cast<std::uint64_t>(pointer.ptr), pointer.pitch, pointer.pitch * pointer.ysize},
          .extent = {extent.width, extent.height, extent.depth},
          .value = static_cast<unsigned char>(value)};
}
cudaPitchedPtr pitched(void* pointer, std::size_t pitch, std::size_t height) { return {pointer, pitch, pitch, height}; }

}  // namespace

WARPMILL_FACE cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return answer([&] { copy_and_wait(*stream_of(nullptr), flat_copy(to, from, bytes), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                          cudaStream_t stream) {
  return answer([&] { copy_async(*stream_of(stream), flat_copy(to, from, bytes), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind) {
  return answer(
      [&] { copy_and_wait(*stream_of(nullptr), copy_2d(to, to_pitch, from, from_pitch, width, height), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return answer([&] { copy_async(*stream_of(stream), copy_2d(to, to_pitch, from, from_pitch, width, height), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return answer([&] {
    require(p != nullptr);
    copy_and_wait(*stream_of(nullptr), copy_3d(*p), p->kind);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return answer([&] {
    require(p != nullptr);
    copy_async(*stream_of(stream), copy_3d(*p), p->kind);
  });
}

WARPMILL_FACE cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                                              size_t width, size_t height, cudaMemcpyKind kind) {
  return answer(
      [&] { copy_and_wait(*stream_of(nullptr), copy_to_array(array, x, y, from, pitch, width, height), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void* from,
                                                   size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  return answer([&] { copy_async(*stream_of(stream), copy_to_array(array, x, y, from, pitch, width, height), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                                size_t width, size_t height, cudaMemcpyKind kind) {
  return answer(
      [&] { copy_and_wait(*stream_of(nullptr), copy_from_array(to, pitch, array, x, y, width, height), kind); });
}
WARPMILL_FACE cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t array, size_t x,
                                                     size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
  return answer([&] { copy_async(*stream_of(stream), copy_from_array(to, pitch, array, x, y, width, height), kind); });
}

namespace {
Copy peer_copy(const cudaMemcpy3DPeerParms& p) {
  require_device(p.srcDevice);
  require_device(p.dstDevice);
  return copy_3d({.srcArray = p.srcArray,
                  .srcPos = p.srcPos,
                  .srcPtr = p.srcPtr,
                  .dstArray = p.dstArray,
                  .dstPos = p.dstPos,
                  .dstPtr = p.dstPtr,
                  .extent = p.extent,
                  .kind = cudaMemcpyDefault});
}
}  // namespace

WARPMILL_FACE cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  return answer([&] {
    require(p != nullptr);
    copy_and_wait(*stream_of(nullptr), peer_copy(*p), cudaMemcpyDefault);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return answer([&] {
    require(p != nullptr);
    copy_async(*stream_of(stream), peer_copy(*p), cudaMemcpyDefault);
  });
}

WARPMILL_FACE cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return answer([&] {
    copy_and_wait(*stream_of(nullptr),
                  flat_copy(inside(symbol, bytes, offset, kind, cudaMemcpyDeviceToHost), from, bytes), kind);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                               cudaMemcpyKind kind) {
  return answer([&] {
    copy_and_wait(*stream_of(nullptr),
                  flat_copy(to, inside(symbol, bytes, offset, kind, cudaMemcpyHostToDevice), bytes), kind);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                                  cudaMemcpyKind kind, cudaStream_t stream) {
  return answer([&] {
    copy_async(*stream_of(stream), flat_copy(inside(symbol, bytes, offset, kind, cudaMemcpyDeviceToHost), from, bytes),
               kind);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return answer([&] {
    copy_async(*stream_of(stream), flat_copy(to, inside(symbol, bytes, offset, kind, cudaMemcpyHostToDevice), bytes),
               kind);
  });
}

WARPMILL_FACE cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return answer([&] { fill_async(*stream_of(nullptr), fill_of(pitched(to, bytes, 1), value, {bytes, 1, 1})); });
}
WARPMILL_FACE cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return answer([&] { fill_async(*stream_of(stream), fill_of(pitched(to, bytes, 1), value, {bytes, 1, 1})); });
}
WARPMILL_FACE cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return answer([&] {
    fill_async(*stream_of(nullptr), fill_of(pitched(to, pitch, height), value, {width, height, 1}));
  });
}
WARPMILL_FACE cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                            cudaStream_t stream) {
  return answer([&] {
    fill_async(*stream_of(stream), fill_of(pitched(to, pitch, height), value, {width, height, 1}));
  });
}
WARPMILL_FACE cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return answer([&] { fill_async(*stream_of(nullptr), fill_of(to, value, extent)); });
}
WARPMILL_FACE cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return answer([&] { fill_async(*stream_of(stream), fill_of(to, value, extent)); });
}
