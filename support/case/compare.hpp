// Results against expectations, element by element, within a tolerance.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "steps.hpp"

namespace wm::cases {

struct Mismatch {
  std::vector<std::int64_t> at;
  std::string result, expected;  // in words
};
struct Comparison {
  std::size_t elements = 0;
  std::size_t mismatches = 0;
  double largest_absolute = 0, largest_relative = 0;  // over elements where both are finite
  std::vector<Mismatch> first;                        // the first few
  bool holds() const { return mismatches == 0; }
};

// Dense elements of one shape; the dtypes may differ. Integers are compared exactly, 64 bits wide. A NaN equals
// nothing, with nan_equal another NaN.
Comparison compare(const Layout& layout, std::span<const std::byte> result, DType expected_dtype,
                   std::span<const std::byte> expected, const Tolerance& tolerance, const Tell& tell = {});

}  // namespace wm::cases
