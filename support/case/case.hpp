// A case: one kernel, its launch, its buffers and arguments, and what must come out. docs/case-files.md is the format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warpmill/architecture.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/module.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::cases {

// What a buffer holds before the run, or must hold after it. Every fill is a function of the element's index and its
// seed alone, the same on every machine.
struct Poison {};  // floats: NaN (every bit set); integers: every byte 0xa5
struct Constant {
  std::array<std::byte, 8> element{};  // the value in the buffer's dtype
};
struct Iota {  // start + step * (index mod modulo); integers wrap
  double start = 0, step = 1;
  std::int64_t whole_start = 0, whole_step = 1;  // of an integer dtype, exact
  std::uint64_t modulo = 0;                      // 0: none
};
struct Uniform {  // floats in [low, high); integers in [low, high]
  std::uint64_t seed = 0;
  double low = 0, high = 1;
  std::int64_t whole_low = 0, whole_high = 0;
};
struct Normal {
  std::uint64_t seed = 0;
  double mean = 0, deviation = 1;
};
struct NpyFile {
  std::filesystem::path path;
};
using Fill = std::variant<Poison, Constant, Iota, Uniform, Normal, NpyFile>;

// The elements of a buffer in its memory: row-major, outermost dimension first.
struct Layout {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, one a dimension
  std::size_t elements = 0;
  std::size_t bytes = 0;  // from the first to one past the last element reached

  bool dense() const;
};
// Throws invalid_argument where sizes are negative or overflow. No strides: dense.
Layout make_layout(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {});

struct BufferSpec {
  std::string name;
  Layout layout;
  Fill fill;
  std::string symbol;  // the module's variable that it is; empty: memory of its own
  bool filled = true;  // a variable that is not keeps what the module gave it
  std::string place;   // "copy.json:12:9: buffers.x", to put before an error about it
};

struct BufferArgument {
  std::size_t buffer = 0;  // index into Case::buffers
  std::uint64_t offset = 0;
};
struct ScalarArgument {
  std::vector<std::byte> bytes;
  std::size_t alignment = 1;  // in a struct
  ParameterKind kind = ParameterKind::unknown;
};
struct TensorMapArgument {
  std::size_t buffer = 0;
  std::uint64_t offset = 0;
  TensorMapSpec map;            // all but its address
  std::size_t alignment = 128;  // in a struct, as CUDA 13 declares it
};
struct ArgumentSpec;
struct StructArgument {  // by value, laid out as C++ does
  std::vector<ArgumentSpec> members;
};
struct PointerArgument {  // the address of memory that holds it
  std::shared_ptr<const ArgumentSpec> to;
};
struct ArgumentSpec {
  std::variant<BufferArgument, ScalarArgument, TensorMapArgument, StructArgument, PointerArgument> value;
  std::string place;
};

struct Tolerance {  // |result - expected| <= absolute + relative * |expected|
  double absolute = 0, relative = 0;
  bool nan_equal = false;
};
struct BufferContents {  // of another buffer
  std::size_t buffer = 0;
  bool initial = false;  // as it was before the run, not after
};
struct Product {  // a times b transposed, plus the bias in every row; of buffers as they were before the run
  std::size_t a = 0, b = 0;
  std::optional<std::size_t> bias;
};
struct OutputSpec {
  std::size_t buffer = 0;
  std::optional<std::filesystem::path> write;
  std::optional<std::variant<BufferContents, Fill, Product>> expected;
  std::string expected_name;  // in reports: "x", "y.npy", "a fill"
  Tolerance tolerance;
  std::string place;
};

struct Case {
  std::string name;              // the file's, without folder and .json
  std::filesystem::path folder;  // relative paths start here; they have been resolved
  std::filesystem::path module;  // .cu, .ptx
  std::string entry;
  std::optional<Architecture> arch;
  std::map<std::string, std::string> defines;
  std::vector<std::filesystem::path> include_folders;  // besides the module's own
  std::vector<std::string> options;                    // of the compiler
  LaunchConfig launch;
  std::vector<BufferSpec> buffers;
  std::vector<ArgumentSpec> arguments;
  std::vector<OutputSpec> outputs;
};

// Throws Error; a wrong case file is an invalid_argument whose text starts "file:line:column: field".
Case read_case(const std::filesystem::path& file);
// The same from text; relative paths start at `folder`.
Case read_case(std::string_view text, const std::string& name, const std::filesystem::path& folder);

}  // namespace wm::cases
