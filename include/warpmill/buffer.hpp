// Device memory: Buffer owns it, View says what lies in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/device.hpp"
#include "warpmill/dtype.hpp"

namespace wm {

// Elements in device memory, row-major by default, outermost dimension first. Owns nothing, so it also describes
// memory of the caller's: View(device, pointer, DType::bf16, {m, k}). No shape at all is one element.
struct WARPMILL_API View {
  Device device;
  std::uint64_t address = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements

  // No strides: dense. Refused: negative sizes or strides, an address that is 0 or not a multiple of the element, and
  // what does not fit an address space. The strides may be 0 (broadcast) or overlap.
  View(Device device, std::uint64_t address, DType dtype, std::vector<std::int64_t> shape,
       std::vector<std::int64_t> strides = {});
  View(Device device, const void* pointer, DType dtype, std::vector<std::int64_t> shape,
       std::vector<std::int64_t> strides = {});
  std::int64_t elements() const;   // the product of the shape
  std::size_t span_bytes() const;  // from the first to one past the last element reached
  View transposed() const;         // the last two dimensions exchanged; the same elements
};

class WARPMILL_API Buffer {
 public:
  Buffer(const Device& device, std::size_t bytes);  // zero bytes are allowed and have address 0
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  // A buffer of these elements, uploaded.
  template <class T>
  static Buffer of(const Device& device, std::span<const T> elements) {
    Buffer buffer(device, elements.size_bytes());
    buffer.upload(std::as_bytes(elements));
    return buffer;
  }

  const Device& device() const { return device_; }
  std::uint64_t address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

  // A view of the whole or a part; refused where it would reach past the buffer.
  View view(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {},
            std::size_t byte_offset = 0) const;
  template <class T>
  View view(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) const {
    return view(dtype_of<T>, std::move(shape), std::move(strides));
  }

  // Blocking copies of a part that lies inside the buffer, after all work given to the device before, on any stream.
  void upload(std::span<const std::byte> source, std::size_t byte_offset = 0);
  void download(std::span<std::byte> destination, std::size_t byte_offset = 0) const;
  template <class T>
  std::vector<T> download() const {  // the whole
    std::vector<T> elements(count_of(sizeof(T)));
    download(std::as_writable_bytes(std::span(elements)));
    return elements;
  }

 private:
  std::size_t count_of(std::size_t element_bytes) const;  // throws where they do not fill the buffer
  Device device_;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace wm
