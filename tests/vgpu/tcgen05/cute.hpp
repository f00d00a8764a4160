// What CuTe's own layouts say of tcgen05, as scripts/cute-vectors.cpp printed it: the second reference beside the
// sheet.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "vgpu/tcgen05/sheet.hpp"

namespace wm::vgpu::testing::cute {

using std::uint32_t;
using std::uint64_t;

// Cells in the order of an index, whose digits each add a step.
struct Walk {
  struct Digit {
    uint32_t extent, lane, column;
  };
  std::vector<Digit> digits;

  uint32_t count() const {
    uint32_t all = 1;
    for (const Digit& digit : digits) all *= digit.extent;
    return all;
  }
  sheet::Cell at(uint32_t index) const {
    sheet::Cell cell{0, 0};
    for (const Digit& digit : digits) {
      cell.lane += index % digit.extent * digit.lane;
      cell.column += index % digit.extent * digit.column;
      index /= digit.extent;
    }
    return cell;
  }
};

// A matrix in shared memory: bytes of each bit of a row's and of a column's number.
struct Operand {
  uint64_t descriptor = 0;
  std::vector<uint32_t> rows, columns;

  uint32_t byte(uint32_t row, uint32_t column) const {
    uint32_t at = 0;
    for (std::size_t bit = 0; bit < rows.size(); ++bit) at ^= row >> bit & 1 ? rows[bit] : 0;
    for (std::size_t bit = 0; bit < columns.size(); ++bit) at ^= column >> bit & 1 ? columns[bit] : 0;
    return at;
  }
};

class Vectors {
 public:
  explicit Vectors(const std::string& file) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) read(line);
    if (products_.empty()) throw std::runtime_error("there are no vectors in " + file);
  }
  // "ld 16x64b 4 plain": of threads, registers and halves of one. "cp SHAPE": of rows, words and copies. "d BLOCKS M
  // N", "a BLOCKS M TYPE": of rows and columns. "scales a|b BLOCKS M GROUP COUNT": of rows, copies and scales of a row.
  // "fragment a|b|a-scales|b-scales K", of mma.sync: of threads and a thread's values; rows for lanes, k for columns.
  // "matrix ld|st SHAPE COUNT": of threads and the bytes of their registers; the lane with the row's address, its byte.
  const std::vector<Walk>& walks(const std::string& name) const { return walks_.at(name); }
  bool has_walks(const std::string& name) const { return walks_.contains(name); }
  // "TYPE k|mn SWIZZLE"
  const Operand& operand(const std::string& name) const { return operands_.at(name); }
  // "KIND A B D M N k|mn k|mn", and its descriptor.
  const std::map<std::string, uint32_t>& products() const { return products_; }
  // "KIND GROUP A B SCALE M N k|mn k|mn", and its descriptor.
  const std::map<std::string, uint32_t>& scaled() const { return scaled_; }

 private:
  void read(const std::string& line) {
    const std::size_t bar = line.find(" | ");
    if (line.starts_with("product ") || line.starts_with("scaled ")) {
      const std::size_t first = line.find(' ') + 1, last = line.rfind(' ');
      auto& all = line.starts_with("product ") ? products_ : scaled_;
      all[line.substr(first, last - first)] = static_cast<uint32_t>(std::stoul(line.substr(last), nullptr, 16));
    } else if (line.starts_with("operand ")) {
      const std::size_t last = line.rfind(' ', bar - 1), second = line.find(" | ", bar + 3);
      Operand operand{std::stoull(line.substr(last, bar - last), nullptr, 16), {}, {}};
      std::istringstream rows(line.substr(bar + 3, second - bar - 3)), columns(line.substr(second + 3));
      for (uint32_t byte; rows >> byte;) operand.rows.push_back(byte);
      for (uint32_t byte; columns >> byte;) operand.columns.push_back(byte);
      operands_[line.substr(8, last - 8)] = operand;
    } else {
      std::vector<Walk> all(1);
      std::istringstream words(line.substr(bar + 3));
      for (std::string word; words >> word;) {
        Walk::Digit digit{};
        char colon, comma;
        if (word == "|")
          all.emplace_back();
        else if (std::istringstream(word) >> digit.extent >> colon >> digit.lane >> comma >> digit.column)
          all.back().digits.push_back(digit);
      }
      walks_[line.substr(0, bar)] = all;
    }
  }
  std::map<std::string, std::vector<Walk>> walks_;
  std::map<std::string, Operand> operands_;
  std::map<std::string, uint32_t> products_, scaled_;
};

inline const Vectors& vectors() {
  static const Vectors all(WARPMILL_TEST_DATA "/cute.txt");
  return all;
}

}  // namespace wm::vgpu::testing::cute
