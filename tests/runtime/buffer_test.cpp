// Views and buffers: shapes, strides, and what is refused.
#include "warpmill/buffer.hpp"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "runtime/kernels.hpp"

using namespace wm;

namespace {
const Device& device() {
  static const Device device = Device::open("virtual");
  return device;
}
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
}  // namespace

TEST(View, TransposedNamesTheSameElements) {
  const View view = View(device(), 0x1000, DType::f32, {2, 4, 3}).transposed();
  EXPECT_EQ(view.shape, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(view.strides, (std::vector<std::int64_t>{12, 1, 3}));
  EXPECT_EQ(view.span_bytes(), 96u);
  EXPECT_THROW(View(device(), 0x1000, DType::f32, {4}).transposed(), Error);
}

TEST(View, IsDenseAndRowMajorByDefault) {
  const View view(device(), 0x1000, DType::bf16, {4, 3, 5});
  EXPECT_EQ(view.strides, (std::vector<std::int64_t>{15, 5, 1}));
  EXPECT_EQ(view.elements(), 60);
  EXPECT_EQ(view.span_bytes(), 120u);
  const View one(device(), 0x1000, DType::f64, {});
  EXPECT_EQ(one.elements(), 1);
  EXPECT_EQ(one.span_bytes(), 8u);
}

TEST(View, SpansWhatItsStridesReach) {
  EXPECT_EQ(View(device(), 0x1000, DType::f32, {4, 3}, {100, 1}).span_bytes(), (3 * 100 + 3) * 4u);
  EXPECT_EQ(View(device(), 0x1000, DType::f32, {1000, 3}, {0, 1}).span_bytes(), 12u);  // broadcast
  EXPECT_EQ(View(device(), 0x1000, DType::u8, {2, 2}, {1, 2}).span_bytes(), 4u);       // transposed
}

TEST(View, TakesMemoryOfTheCallers) {
  float value = 0;
  EXPECT_EQ(View(device(), &value, DType::f32, {1}).address, reinterpret_cast<std::uintptr_t>(&value));
}

TEST(View, OfNoElementsNeedsNoMemory) {
  const View view(device(), std::uint64_t{0}, DType::f32, {huge, 0, huge});
  EXPECT_EQ(view.elements(), 0);
  EXPECT_EQ(view.span_bytes(), 0u);
}

TEST(View, RefusesWhatIsNoView) {
  const auto make = [](std::uint64_t address, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
    View(device(), address, DType::f32, std::move(shape), std::move(strides));
  };
  EXPECT_REFUSED(make(0x1000, {4, -1}), invalid_argument, "shape (4, -1): a size is negative");
  EXPECT_REFUSED(make(0x1000, {4, 4}, {-4, 1}), invalid_argument, "strides (-4, 1): a stride is negative");
  EXPECT_REFUSED(make(0x1000, {4, 4}, {4}), invalid_argument, "1 strides for 2 dimensions");
  EXPECT_REFUSED(make(0, {4}), invalid_argument, "its address is 0");
  EXPECT_REFUSED(make(0x1002, {4}), invalid_argument, "0x1002 is not a multiple of the element's 4 B");
  EXPECT_REFUSED(make(0x1000, {huge, huge}), invalid_argument, "more elements than 64 bits");
  EXPECT_REFUSED(make(0x1000, {huge / 4}), invalid_argument, "more bytes than 64 bits");
  EXPECT_REFUSED(make(0x1000, {3, 3}, {huge, huge}), invalid_argument, "more bytes than 64 bits");
  EXPECT_REFUSED(make(~std::uint64_t{0} - 7, {1000}), invalid_argument, "past the end of the address space");
}

TEST(Buffer, BringsBackWhatWasUploaded) {
  std::vector<std::int32_t> values(1000);
  std::iota(values.begin(), values.end(), -500);
  Buffer buffer = Buffer::of<std::int32_t>(device(), values);
  EXPECT_EQ(buffer.download<std::int32_t>(), values);

  const std::int32_t nine = 9;
  buffer.upload(std::as_bytes(std::span(&nine, 1)), 4);
  std::int32_t back[2];
  buffer.download(std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back[0], -500);
  EXPECT_EQ(back[1], 9);
}

TEST(Buffer, OfNothingIsFine) {
  Buffer buffer(device(), 0);
  EXPECT_EQ(buffer.address(), 0u);
  buffer.upload({});
  EXPECT_TRUE(buffer.download<float>().empty());
  EXPECT_EQ(buffer.view<float>({0, 7}).elements(), 0);
  EXPECT_REFUSED(buffer.view<float>({1}), invalid_argument, "address is 0");
}

TEST(Buffer, HandsItsMemoryOnWhenMoved) {
  Buffer first(device(), 64);
  const std::uint64_t address = first.address();
  Buffer second = std::move(first);
  EXPECT_EQ(second.address(), address);
  Buffer third(device(), 8);
  third = std::move(second);
  EXPECT_EQ(third.address(), address);
  EXPECT_EQ(third.bytes(), 64u);
}

TEST(Buffer, RefusesToReachPastItsEnd) {
  Buffer buffer(device(), 64);
  std::vector<std::byte> bytes(65);
  EXPECT_REFUSED(buffer.upload(bytes), invalid_argument, "an upload of 65 B at byte 0 of a buffer of 64 B");
  EXPECT_REFUSED(buffer.upload(std::span(bytes).first(1), 64), invalid_argument, "past its end");
  EXPECT_REFUSED(buffer.download(std::span(bytes).first(2), ~std::size_t{0}), invalid_argument, "a download of 2 B");
  EXPECT_NO_THROW(buffer.upload(std::span(bytes).first(64)));

  EXPECT_EQ(buffer.view(DType::f32, {2, 4}, {}, 32).address, buffer.address() + 32);
  EXPECT_REFUSED(buffer.view(DType::f32, {2, 4}, {}, 36), invalid_argument, "32 B at byte 36 of a buffer of 64 B");
  EXPECT_REFUSED(buffer.view(DType::f32, {2, 2}, {15, 1}), invalid_argument, "68 B");
  EXPECT_REFUSED(buffer.view(DType::f32, {1}, {}, 65), invalid_argument, "past its end");
  EXPECT_REFUSED(buffer.view(DType::f32, {1}, {}, 2), invalid_argument, "not a multiple");
}

TEST(Buffer, HoldsWholeElementsOnly) {
  const Buffer buffer(device(), 7);
  EXPECT_REFUSED(buffer.download<std::uint32_t>(), invalid_argument, "7 B is no whole number of elements of 4 B");
}

TEST(Buffer, SaysHowMuchWasAskedWhereThereIsNotEnough) {
  EXPECT_REFUSED(Buffer(device(), std::size_t{1} << 60), out_of_memory, "1152921504606846976");
}
