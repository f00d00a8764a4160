// Copies and fills.
#include "cudart/copies.hpp"

#include <cstring>

#include "cudart/array.hpp"
#include "cudart/memory.hpp"
#include "cudart/platform.hpp"

namespace wm::cudart {
namespace {

constexpr std::size_t staged_bytes = 64 * 1024;  // of pageable memory: taken at once

std::size_t span_of(const Rows& rows, const Extent& extent) {
  return (extent.depth - 1) * rows.slice + (extent.height - 1) * rows.pitch + extent.width;
}

// Whether the device knows the memory; fails where only part of it is known.
bool on_device(const Rows& rows, const Extent& extent) {
  const auto [base, bytes] = Platform::get().machine.allocation(rows.address);
  if (bytes == 0) return false;
  const std::uint64_t offset = rows.address - base;
  require(span_of(rows, extent) <= bytes - offset);
  return true;
}

bool of_host(const Rows& rows) {
  const auto range = range_of(rows.address);
  return range ? range->kind != MemoryKind::device : Platform::get().machine.allocation(rows.address).second == 0;
}

bool pageable(const Rows& rows) { return Platform::get().machine.allocation(rows.address).second == 0; }

}  // namespace

void check_copy(const Copy& copy, cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
  if (copy.extent.empty()) return;
  require(copy.to.address != 0 && copy.from.address != 0);
  require(copy.extent.height == 1 || (copy.to.pitch >= copy.extent.width && copy.from.pitch >= copy.extent.width),
          cudaErrorInvalidPitchValue);
  const bool to_device = on_device(copy.to, copy.extent), from_device = on_device(copy.from, copy.extent);
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) require(to_device);
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) require(from_device);
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) require(of_host(copy.from));
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) require(of_host(copy.to));
}

void check_fill(const Fill& fill) {
  if (fill.extent.empty()) return;
  require(fill.to.address != 0);
  require(fill.extent.height == 1 || fill.to.pitch >= fill.extent.width, cudaErrorInvalidPitchValue);
  require(on_device(fill.to, fill.extent));
}

Copy flat_copy(void* to, const void* from, std::size_t bytes) {
  return {.to = {reinterpret_cast<std::uint64_t>(to)},
          .from = {reinterpret_cast<std::uint64_t>(from)},
          .extent = {bytes, 1, 1}};
}

Copy copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
             std::size_t height) {
  return {.to = {reinterpret_cast<std::uint64_t>(to), to_pitch, to_pitch * height},
          .from = {reinterpret_cast<std::uint64_t>(from), from_pitch, from_pitch * height},
          .extent = {width, height, 1}};
}

Copy copy_to_array(void* array, std::size_t x_bytes, std::size_t y, const void* from, std::size_t pitch,
                   std::size_t width, std::size_t height) {
  Copy copy = copy_2d(array, pitch, from, pitch, width, height);
  copy.to = known_array(array).at(x_bytes, y, 0, copy.extent);
  return copy;
}

Copy copy_from_array(void* to, std::size_t pitch, const void* array, std::size_t x_bytes, std::size_t y,
                     std::size_t width, std::size_t height) {
  Copy copy = copy_2d(to, pitch, array, pitch, width, height);
  copy.from = known_array(array).at(x_bytes, y, 0, copy.extent);
  return copy;
}

// Where an array takes part, widths and places along x count its elements.
Copy copy_3d(const cudaMemcpy3DParms& p) {
  Extent extent{p.extent.width, p.extent.height, p.extent.depth};
  if (const void* array = p.srcArray != nullptr ? p.srcArray : p.dstArray)
    extent.width *= known_array(array).element_bytes();
  const auto rows = [&](cudaArray_t array, const cudaPitchedPtr& pointer, const cudaPos& at) {
    if (array != nullptr) {
      const Array& known = known_array(array);
      return known.at(at.x * known.element_bytes(), at.y, at.z, extent);
    }
    const std::size_t slice = pointer.pitch * pointer.ysize;
    return Rows{reinterpret_cast<std::uint64_t>(pointer.ptr) + at.z * slice + at.y * pointer.pitch + at.x,
                pointer.pitch, slice};
  };
  return {.to = rows(p.dstArray, p.dstPtr, p.dstPos), .from = rows(p.srcArray, p.srcPtr, p.srcPos), .extent = extent};
}

void copy_async(Stream& stream, Copy copy, cudaMemcpyKind kind) {
  check_copy(copy, kind);
  if (copy.extent.empty()) return;
  Streams& streams = Streams::get();
  if (stream.capture) return streams.submit(stream, std::move(copy));
  const std::size_t from_span = span_of(copy.from, copy.extent);
  if (pageable(copy.from) && from_span <= staged_bytes) {
    const auto* source = reinterpret_cast<const std::byte*>(copy.from.address);
    copy.staged = std::make_shared<const std::vector<std::byte>>(source, source + from_span);
  }
  const bool wait = pageable(copy.to) || (pageable(copy.from) && !copy.staged);
  if (wait)
    streams.submit_and_wait(stream, std::move(copy));
  else
    streams.submit(stream, std::move(copy));
}

void copy_and_wait(Stream& stream, Copy copy, cudaMemcpyKind kind) {
  check_copy(copy, kind);
  if (!copy.extent.empty()) Streams::get().submit_and_wait(stream, std::move(copy));
}

void fill_async(Stream& stream, Fill fill) {
  check_fill(fill);
  if (!fill.extent.empty()) Streams::get().submit(stream, fill);
}

}  // namespace wm::cudart
