// .npy files: read as numpy writes them, written as numpy reads them.
#include "case/npy.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "case/files.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

using namespace wm;
using namespace wm::cases;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A file as numpy lays it out.
std::string npy(int version, std::string header, std::string_view data) {
  header += '\n';
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + std::string(data);
}

class Npy : public testing::Test {
 protected:
  NpyArray read(const std::string& contents) { return read_npy(folder_.write("a.npy", contents)); }
  std::string refused(const std::string& contents) {
    return refusal([&] { read(contents); });
  }
  TemporaryFolder folder_;
};

}  // namespace

TEST_F(Npy, ReadsEveryVersionOfTheFormat) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   ";
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  for (int version : {1, 2, 3}) {
    const NpyArray array = read(npy(version, header, data));
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
    EXPECT_THAT(values_of<float>(convert(array, DType::f32)), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(Npy, ReadsScalarsAndEmptyArrays) {
  EXPECT_TRUE(
      read(npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }", bytes_of<int>({7}))).shape.empty());
  EXPECT_TRUE(read(npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (0,), }", "")).data.empty());
}

TEST_F(Npy, FloatsAreRoundedToTheDtype) {
  const auto array =
      read(npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes_of<double>({1.00390625, 300.7})));
  EXPECT_THAT(values_of<std::uint16_t>(convert(array, DType::bf16)), ElementsAre(0x3f80, 0x4396));
  EXPECT_THAT(values_of<std::int32_t>(convert(array, DType::i32)), ElementsAre(1, 301));
}

TEST_F(Npy, UnsignedIntegersOfTheSameWidthAreRawBits) {
  const auto array = read(
      npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", bytes_of<std::uint16_t>({0x3f80, 0xffff})));
  for (DType dtype : {DType::bf16, DType::f16, DType::i16, DType::u16})
    EXPECT_THAT(values_of<std::uint16_t>(convert(array, dtype)), ElementsAre(0x3f80, 0xffff));
  EXPECT_THAT(values_of<float>(convert(array, DType::f32)), ElementsAre(0x3f80, 0xffff));  // another width: by value
}

TEST_F(Npy, OtherIntegersAreTakenByValueAndMustFit) {
  const auto array =
      read(npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", bytes_of<std::int64_t>({-3, 127})));
  EXPECT_THAT(values_of<std::int8_t>(convert(array, DType::i8)), ElementsAre(-3, 127));
  EXPECT_THAT(values_of<float>(convert(array, DType::f32)), ElementsAre(-3, 127));
  EXPECT_EQ(refusal([&] { convert(array, DType::u32); }), "element 0 is -3, which does not fit u32");
  const auto large =
      read(npy(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", bytes_of<std::uint64_t>({128})));
  EXPECT_EQ(refusal([&] { convert(large, DType::i8); }), "element 0 is 128, which does not fit i8");
}

TEST_F(Npy, WhatCannotBeReadIsRefusedInWords) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_THAT(refused("PK"), HasSubstr("this is no .npy file"));
  EXPECT_THAT(refused("\x93NUMPY\x01"), HasSubstr("its header is damaged"));
  EXPECT_THAT(refused(npy(9, good, "")), HasSubstr("version 9"));
  EXPECT_THAT(refused(npy(1, good, bytes_of<float>({1}))),
              HasSubstr("its shape (2) needs 8 bytes of elements, it has 4"));
  EXPECT_THAT(refused(npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", bytes_of<float>({1, 2}))),
              HasSubstr("Fortran order; save it with numpy.ascontiguousarray"));
  EXPECT_THAT(refused(npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", bytes_of<float>({1}))),
              HasSubstr("big-endian"));
  EXPECT_THAT(refused(npy(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("its dtype is '<c8'"));
  EXPECT_THAT(refused(npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("structured dtype"));
  EXPECT_THAT(refused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", "")),
              HasSubstr("too large"));
  EXPECT_THAT(refused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "")), HasSubstr("damaged"));
  EXPECT_THAT(refused(npy(1, "{'descr': '<f4', 'fortran_order': False}", "")), HasSubstr("damaged"));
  EXPECT_THAT(refused(npy(1, "{'\x1b[2J': 1}", "")), HasSubstr("unknown entry '\\x1b[2J'"));
  EXPECT_THAT(refusal([&] { read_npy(folder_ / "none.npy"); }), HasSubstr("No such file"));
  // Every cut of a good file.
  const std::string whole = npy(1, good, bytes_of<float>({1, 2}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refused(whole.substr(0, length)), "(not refused)") << length;
}

TEST_F(Npy, WhatIsWrittenIsReadBackBitForBit) {
  for (int i = 0; i <= static_cast<int>(DType::e5m2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::tf32) continue;  // a float32 file, rounded to tf32 when read
    for (const auto& shape : {std::vector<std::int64_t>{}, {3}, {2, 5}, {0, 4}}) {
      const Layout layout = make_layout(dtype, shape);
      std::vector<std::byte> elements(layout.bytes);
      for (std::size_t b = 0; b < elements.size(); ++b) elements[b] = static_cast<std::byte>(b * 37 + 1);
      write_npy(folder_ / "w.npy", dtype, shape, elements);
      const NpyArray array = read_npy(folder_ / "w.npy");
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(convert(array, dtype), elements) << name_of(dtype);
    }
  }
}

// The bytes numpy.save gives for numpy.arange(3, dtype=numpy.uint16).
TEST_F(Npy, IsWrittenAsNumpyWritesIt) {
  const std::uint16_t values[] = {0, 1, 2};
  write_npy(folder_ / "w.npy", DType::u16, {3}, std::as_bytes(std::span(values)));
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
  expected.resize(127, ' ');
  expected += '\n';
  expected += std::string("\0\0\1\0\2\0", 6);
  EXPECT_EQ(read_text(folder_ / "w.npy"), expected);
}
