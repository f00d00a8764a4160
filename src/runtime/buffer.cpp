// Buffers and views: sizes are checked here, once, without overflow.
#include "warpmill/buffer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/backend.hpp"
#include "warpmill/error.hpp"

namespace wm {
namespace {

// More bytes than any device has, and few enough that sums of two of them do not overflow.
constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 2;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

std::string describe(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  const std::string text = fmt::format("view of {} with shape ({})", name_of(dtype), fmt::join(shape, ", "));
  return strides.empty() ? text : fmt::format("{} and strides ({})", text, fmt::join(strides, ", "));
}

// a * b + c for numbers that are not negative; nothing where the result is more than most_bytes.
bool multiply_add(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result) && !__builtin_add_overflow(result, c, &result) && result <= most_bytes;
}

std::vector<std::int64_t> dense_strides(DType dtype, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  if (std::ranges::find(shape, 0) != shape.end()) return strides;  // no elements: no distance between them
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (!multiply_add(stride, shape[i], 0, stride))
      refuse(fmt::format("{} has more elements than 64 bits can address", describe(dtype, shape, {})));
  }
  return strides;
}

std::uint64_t as_address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// The part [offset, offset + bytes) of a buffer.
void check_part(const Buffer& buffer, std::string_view doing, std::size_t offset, std::size_t bytes) {
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) return;
  refuse(
      fmt::format("{} {} B at byte {} of a buffer of {} B reaches past its end", doing, bytes, offset, buffer.bytes()));
}

}  // namespace

View::View(Device device, std::uint64_t address, DType dtype, std::vector<std::int64_t> shape,
           std::vector<std::int64_t> strides)
    : device(std::move(device)), address(address), dtype(dtype), shape(std::move(shape)), strides(std::move(strides)) {
  const auto words = [this] { return describe(this->dtype, this->shape, this->strides); };
  for (const std::int64_t size : this->shape)
    if (size < 0) refuse(fmt::format("{}: a size is negative", words()));
  if (this->strides.empty()) this->strides = dense_strides(dtype, this->shape);
  if (this->strides.size() != this->shape.size())
    refuse(fmt::format("{}: {} strides for {} dimensions", words(), this->strides.size(), this->shape.size()));
  for (const std::int64_t stride : this->strides)
    if (stride < 0) refuse(fmt::format("{}: a stride is negative; a view starts at its lowest address", words()));
  if (elements() == 0) return;
  const std::size_t span = span_bytes();
  if (address == 0) refuse(fmt::format("{}: its address is 0", words()));
  if (address % size_of(dtype) != 0)
    refuse(
        fmt::format("{}: its address {:#x} is not a multiple of the element's {} B", words(), address, size_of(dtype)));
  if (span > std::numeric_limits<std::uint64_t>::max() - address)
    refuse(
        fmt::format("{}: {} B from address {:#x} on reach past the end of the address space", words(), span, address));
}

View::View(Device device, const void* pointer, DType dtype, std::vector<std::int64_t> shape,
           std::vector<std::int64_t> strides)
    : View(std::move(device), as_address(pointer), dtype, std::move(shape), std::move(strides)) {}

std::int64_t View::elements() const {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (!multiply_add(count, size, 0, count))
      refuse(fmt::format("{} has more elements than 64 bits can address", describe(dtype, shape, strides)));
  return count;
}

std::size_t View::span_bytes() const {
  if (elements() == 0) return 0;
  std::int64_t last = 0;  // the element reached farthest
  bool fits = true;
  for (std::size_t i = 0; i < shape.size(); ++i) fits = fits && multiply_add(shape[i] - 1, strides[i], last, last);
  std::int64_t bytes = 0;
  if (!fits || !multiply_add(last + 1, static_cast<std::int64_t>(size_of(dtype)), 0, bytes))
    refuse(fmt::format("{} spans more bytes than 64 bits can address", describe(dtype, shape, strides)));
  return static_cast<std::size_t>(bytes);
}

View View::transposed() const {
  if (shape.size() < 2)
    refuse(fmt::format("{}: only a view of two or more dimensions can be transposed", describe(dtype, shape, strides)));
  View view = *this;
  std::swap(view.shape.end()[-1], view.shape.end()[-2]);
  std::swap(view.strides.end()[-1], view.strides.end()[-2]);
  return view;
}

Buffer::Buffer(const Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes > 0) address_ = device.backend().allocate(bytes);
}
Buffer::~Buffer() {
  if (address_ != 0) device_.backend().free(address_);
}
// The device stays with both: a buffer that was moved from is an empty one.
Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

View Buffer::view(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                  std::size_t byte_offset) const {
  check_part(*this, "a view of", byte_offset, 0);
  View view(device_, address_ + byte_offset, dtype, std::move(shape), std::move(strides));
  check_part(*this, fmt::format("a {} of", describe(dtype, view.shape, view.strides)), byte_offset, view.span_bytes());
  return view;
}

void Buffer::upload(std::span<const std::byte> source, std::size_t byte_offset) {
  check_part(*this, "an upload of", byte_offset, source.size());
  if (source.empty()) return;
  device_.synchronize();
  device_.backend().upload(nullptr, address_ + byte_offset, source);
}

void Buffer::download(std::span<std::byte> destination, std::size_t byte_offset) const {
  check_part(*this, "a download of", byte_offset, destination.size());
  if (destination.empty()) return;
  device_.synchronize();
  device_.backend().download(nullptr, destination, address_ + byte_offset);
  device_.backend().synchronize_stream(nullptr);
}

std::size_t Buffer::count_of(std::size_t element_bytes) const {
  if (bytes_ % element_bytes != 0)
    refuse(fmt::format("a buffer of {} B is no whole number of elements of {} B", bytes_, element_bytes));
  return bytes_ / element_bytes;
}

}  // namespace wm
