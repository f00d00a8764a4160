// The driver's copies and fills.
#include "cudart/copies.hpp"
#include "cudart/default_stream.hpp"
#include "cudart/face.hpp"

using namespace wm::cudart;

namespace {

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return context_answer([&] { copy_and_wait(*stream_of(nullptr), flat_copy(to, from, bytes), kind); });
}
CUresult copy_later(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  return context_answer([&] { copy_async(*stream_of(stream), flat_copy(to, from, bytes), kind); });
}

Rows rows_of(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t pitch, std::size_t height,
             std::size_t x, std::size_t y, std::size_t z) {
  if (type == CU_MEMORYTYPE_ARRAY)
    fail(cudaErrorNotSupported, "copies of arrays are not there on the virtual GPU: cudaErrorNotSupported");
  const std::uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
  return {base + z * pitch * height + y * pitch + x, pitch, pitch * height};
}

Copy copy_of(const CUDA_MEMCPY2D& p) {
  const auto pitch = [&](std::size_t asked) { return asked != 0 ? asked : p.WidthInBytes; };
  return {
      .to = rows_of(p.dstMemoryType, p.dstHost, p.dstDevice, pitch(p.dstPitch), p.Height, p.dstXInBytes, p.dstY, 0),
      .from = rows_of(p.srcMemoryType, p.srcHost, p.srcDevice, pitch(p.srcPitch), p.Height, p.srcXInBytes, p.srcY, 0),
      .extent = {p.WidthInBytes, p.Height, 1}};
}
Copy copy_of(const CUDA_MEMCPY3D& p) {
  return {
      .to = rows_of(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ),
      .from = rows_of(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ),
      .extent = {p.WidthInBytes, p.Height, p.Depth}};
}

CUresult fill(CUdeviceptr address, std::size_t pitch, std::uint32_t value, std::uint32_t unit, std::size_t width,
              std::size_t height, CUstream stream) {
  return context_answer([&] {
    require(address % unit == 0);
    fill_async(
        *stream_of(stream),
        {.to = {address, pitch, pitch * height}, .extent = {width * unit, height, 1}, .value = value, .unit = unit});
  });
}

}  // namespace

WARPMILL_FACE CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now(at(to), at(from), bytes, cudaMemcpyDefault);
}
WARPMILL_FACE CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_later(at(to), at(from), bytes, cudaMemcpyDefault, stream);
}
WARPMILL_FACE CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_now(at(to), from, bytes, cudaMemcpyHostToDevice);
}
WARPMILL_FACE CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy_now(to, at(from), bytes, cudaMemcpyDeviceToHost);
}
WARPMILL_FACE CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now(at(to), at(from), bytes, cudaMemcpyDeviceToDevice);
}
WARPMILL_FACE CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_later(at(to), from, bytes, cudaMemcpyHostToDevice, stream);
}
WARPMILL_FACE CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_later(to, at(from), bytes, cudaMemcpyDeviceToHost, stream);
}
WARPMILL_FACE CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_later(at(to), at(from), bytes, cudaMemcpyDeviceToDevice, stream);
}
WARPMILL_FACE CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return copy_now(at(to), at(from), bytes, cudaMemcpyDefault);
}
WARPMILL_FACE CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                                         CUstream stream) {
  return copy_later(at(to), at(from), bytes, cudaMemcpyDefault, stream);
}
WARPMILL_FACE CUresult cuMemcpy2D(const CUDA_MEMCPY2D* p) {
  return context_answer([&] { copy_and_wait(*stream_of(nullptr), copy_of(*p), cudaMemcpyDefault); });
}
WARPMILL_FACE CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* p) {
  return context_answer([&] { copy_and_wait(*stream_of(nullptr), copy_of(*p), cudaMemcpyDefault); });
}
WARPMILL_FACE CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* p, CUstream stream) {
  return context_answer([&] { copy_async(*stream_of(stream), copy_of(*p), cudaMemcpyDefault); });
}
WARPMILL_FACE CUresult cuMemcpy3D(const CUDA_MEMCPY3D* p) {
  return context_answer([&] { copy_and_wait(*stream_of(nullptr), copy_of(*p), cudaMemcpyDefault); });
}
WARPMILL_FACE CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* p, CUstream stream) {
  return context_answer([&] { copy_async(*stream_of(stream), copy_of(*p), cudaMemcpyDefault); });
}

WARPMILL_FACE CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill(to, 0, value, 1, count, 1, nullptr);
}
WARPMILL_FACE CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return fill(to, 0, value, 2, count, 1, nullptr);
}
WARPMILL_FACE CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill(to, 0, value, 4, count, 1, nullptr);
}
WARPMILL_FACE CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, 0, value, 1, count, 1, stream);
}
WARPMILL_FACE CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill(to, 0, value, 2, count, 1, stream);
}
WARPMILL_FACE CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, 0, value, 4, count, 1, stream);
}
WARPMILL_FACE CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill(to, pitch, value, 1, width, height, nullptr);
}
WARPMILL_FACE CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill(to, pitch, value, 2, width, height, nullptr);
}
WARPMILL_FACE CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill(to, pitch, value, 4, width, height, nullptr);
}
