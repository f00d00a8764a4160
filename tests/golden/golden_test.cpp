// The harness itself: records come back as written, and differences are seen.
#include "golden/golden.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "warpmill/error.hpp"

namespace wm::golden {
namespace {

Results numbers(std::vector<float> values) { return results(DType::f32, values); }

std::string temporary(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

TEST(Golden, AFileComesBackAsWritten) {
  std::vector<std::uint16_t> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i * 7);
  const Case one{.name = "family/variant", .bound = {}, .run = {}, .keep = 10, .inputs = {}};
  write_file(temporary("a.bin"), {"chip", {make_record(one, results(DType::u16, values), false)}});
  const File file = read_file(temporary("a.bin"));
  EXPECT_EQ(file.device, "chip");
  ASSERT_EQ(file.records.size(), 1u);
  EXPECT_EQ(file.records[0].count, 1000u);
  EXPECT_EQ(file.records[0].stored.size(), 20u);
  EXPECT_EQ(compare(one, file.records[0], results(DType::u16, values)).mismatches, 0u);
}

TEST(Golden, ACutFileIsRefused) {
  const Case one{.name = "a/b", .bound = {}, .run = {}, .keep = 10, .inputs = {}};
  write_file(temporary("b.bin"), {"chip", {make_record(one, numbers({1, 2, 3}), false)}});
  std::filesystem::resize_file(temporary("b.bin"), std::filesystem::file_size(temporary("b.bin")) - 1);
  EXPECT_THROW(read_file(temporary("b.bin")), Error);
}

TEST(Golden, AnExactCaseSeesAChangeOutsideTheStoredElements) {
  const Case one{.name = "a/b", .bound = {}, .run = {}, .keep = 1, .inputs = {}};
  const Record record = make_record(one, numbers({1, 2, 3}), false);
  EXPECT_EQ(compare(one, record, numbers({1, 2, 3})).mismatches, 0u);
  EXPECT_EQ(compare(one, record, numbers({1, 2, 4})).mismatches, 1u);
  EXPECT_EQ(compare(one, record, numbers({5, 2, 3})).mismatches, 1u);
  EXPECT_EQ(compare(one, record, numbers({1, 2})).mismatches, 1u);
}

TEST(Golden, ABoundAllowsItsDistanceAndNoMore) {
  const Case one{.name = "a/b", .bound = {.absolute = 0.5, .relative = 0}, .run = {}, .keep = 8, .inputs = {}};
  const Record record = make_record(one, numbers({1, NAN, HUGE_VALF, 2}), false);
  EXPECT_EQ(compare(one, record, numbers({1.5f, -NAN, HUGE_VALF, 2})).mismatches, 0u);
  EXPECT_EQ(compare(one, record, numbers({1.6f, NAN, HUGE_VALF, 2})).mismatches, 1u);
  EXPECT_EQ(compare(one, record, numbers({1, 1, HUGE_VALF, 2})).mismatches, 1u);
  EXPECT_EQ(compare(one, record, numbers({1, NAN, 3e38f, 2})).mismatches, 1u);
  EXPECT_EQ(compare(one, record, numbers({1, NAN, HUGE_VALF, NAN})).mismatches, 1u);
  EXPECT_DOUBLE_EQ(compare(one, record, numbers({1.25f, NAN, HUGE_VALF, 2})).worst, 0.5);
}

}  // namespace
}  // namespace wm::golden
