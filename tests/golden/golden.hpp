// Golden vectors: what the chip answered, kept in a file, and the virtual GPU held against it.
//
// A program registers cases and hands them to run_golden, which gives it this command line:
//     golden_x --record FILE [--device cuda:0] [--all]    run on the chip, write FILE (--all: every element, for study)
//     golden_x --compare FILE [--device virtual]          run again, compare, print counts per family; status 1 on
//     mismatch golden_x --list                                      and with each of them: --filter TEXT, only names
//     with TEXT in them
// On a GPU cases run in child processes with a time limit for each case: one that hangs, crashes or breaks the device
// costs nothing but itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "warpmill/device.hpp"
#include "warpmill/dtype.hpp"

namespace wm::golden {

// What one case wrote: elements of one type, compared as bits where the bound is zero and as numbers otherwise.
struct Results {
  DType type = DType::u32;
  std::vector<std::byte> bytes;
};
template <class T>
requires std::is_trivially_copyable_v<T> Results results(DType type, const std::vector<T>& elements) {
  Results out{type, std::vector<std::byte>(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(out.bytes.data(), elements.data(), out.bytes.size());
  return out;
}

// |got - recorded| <= absolute + relative * |recorded|. Infinities must be equal, and NaN must meet NaN. All zero:
// every bit the same.
struct Bound {
  double absolute = 0, relative = 0;
  bool exact() const { return absolute == 0 && relative == 0; }
};

struct Case {
  std::string name;  // "family/variant"; unique
  Bound bound;
  std::function<Results(const Device&)> run;       // deterministic: the same inputs every time
  std::size_t keep = 64;                           // elements stored, evenly spread; all where there are no more
  std::function<std::string(std::size_t)> inputs;  // words for the inputs of element i, for mismatches; may be empty
};

// A file's record of one case. Exact cases are compared by the hash of all elements, others by the stored ones.
struct Record {
  std::string name;
  DType type = DType::u32;
  std::uint64_t count = 0, hash = 0;
  std::vector<std::byte> stored;  // element i of n stored ones is element i * count / n
};
struct File {
  std::string device;  // where it was recorded
  std::vector<Record> records;
};
void write_file(const std::string& path, const File& file);
File read_file(const std::string& path);  // throws io on a damaged file
std::string encode(const File& file);
File decode(std::string data, const std::string& source);  // source: where it came from, for messages

Record make_record(const Case& one, const Results& results, bool all);

struct Comparison {
  std::uint64_t elements = 0;    // compared one by one or by hash
  std::uint64_t mismatches = 0;  // among the stored ones; at least 1 where the hash alone differs
  double worst = 0;              // the greatest distance from the record over its bound, where there is a bound
  std::vector<std::string> messages;
};
Comparison compare(const Case& one, const Record& record, const Results& results);

// The program's main. `time_limit` is in seconds, for a case and what it has to compile first.
int run_golden(int argc, char** argv, std::span<const Case> cases, int time_limit = 30);

}  // namespace wm::golden
