// Reading a case file: every field checked, every refusal with its line.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "case.hpp"
#include "document.hpp"
#include "files.hpp"
#include "product.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> integers(const Field& field, std::int64_t lowest, std::int64_t highest = largest_integer) {
  std::vector<std::int64_t> values;
  for (const Field& item : field.items()) values.push_back(item.integer(lowest, highest));
  return values;
}

Dim3 dim3(const Field& field) {
  const auto sizes = integers(field, 1, UINT32_MAX);
  if (sizes.empty() || sizes.size() > 3) field.refuse("one to three sizes are expected: [x, y, z]");
  Dim3 result;
  result.x = static_cast<std::uint32_t>(sizes[0]);
  if (sizes.size() > 1) result.y = static_cast<std::uint32_t>(sizes[1]);
  if (sizes.size() > 2) result.z = static_cast<std::uint32_t>(sizes[2]);
  return result;
}

// A name of the file as the value it stands for.
template <class Value>
Value named(const Field& field, Value (*from_name)(std::string_view)) {
  try {
    return from_name(field.string());
  } catch (const Error& error) {
    field.refuse(error.what());
  }
}
DType dtype(const Field& field) { return named(field, dtype_from_name); }

struct IntegerRange {
  std::int64_t lowest;
  std::uint64_t highest;
};
IntegerRange range_of(DType type) {
  const auto bits = static_cast<int>(8 * size_of(type));
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
  const std::uint64_t all = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  return is_signed ? IntegerRange{-static_cast<std::int64_t>(all / 2) - 1, all / 2} : IntegerRange{0, all};
}

// A number of the file as an element: integers must fit, floats are rounded.
std::array<std::byte, 8> element(const Field& field, DType type) {
  std::array<std::byte, 8> bytes{};
  if (is_floating(type)) {
    store_element(type, bytes.data(), field.number());
    return bytes;
  }
  const auto [lowest, highest] = range_of(type);
  const std::uint64_t value =
      lowest < 0 ? static_cast<std::uint64_t>(field.integer(lowest, static_cast<std::int64_t>(highest)))
                 : field.unsigned_integer(highest);
  std::memcpy(bytes.data(), &value, size_of(type));  // little-endian: the low bytes
  return bytes;
}
static_assert(std::endian::native == std::endian::little);

// Reads one case; knows the buffers read so far.
class Reader {
 public:
  explicit Reader(std::filesystem::path folder) { case_.folder = std::move(folder); }

  Case read(const Field& root) {
    root.only({"module", "entry", "arch", "defines", "grid", "block", "cluster", "shared", "programmatic_dependent",
               "buffers", "arguments", "outputs"});
    const Field module = root.at("module");
    if (const auto extension = path_of(module).extension(); extension != ".cu" && extension != ".ptx")
      module.refuse("a module is a .cu or a .ptx file");
    case_.module = existing(module);
    case_.entry = root.at("entry").string();
    if (const auto arch = root.find("arch")) case_.arch = named(*arch, Architecture::parse);
    if (const auto defines = root.find("defines"))
      for (const auto& [name, value] : defines->members()) case_.defines[name] = value.text();
    case_.launch.grid = dim3(root.at("grid"));
    case_.launch.block = dim3(root.at("block"));
    if (const auto cluster = root.find("cluster")) case_.launch.cluster = dim3(*cluster);
    if (const auto shared = root.find("shared"))
      case_.launch.shared_bytes = static_cast<std::uint32_t>(shared->unsigned_integer(UINT32_MAX));
    if (const auto early = root.find("programmatic_dependent")) case_.launch.programmatic_dependent = early->boolean();
    if (const auto buffers = root.find("buffers"))
      for (const auto& [name, buffer] : buffers->members()) read_buffer(buffer, name);
    if (const auto arguments = root.find("arguments"))
      for (const Field& item : arguments->items()) read_argument(item);
    if (const auto outputs = root.find("outputs"))
      for (const auto& [name, output] : outputs->members()) read_output(output, name);
    return std::move(case_);
  }

 private:
  Case case_;
  std::unordered_map<std::string, std::size_t> buffer_index_;  // by name
  std::map<std::filesystem::path, std::string> written_;       // outputs by the file they go to

  std::size_t buffer_named(const Field& field) const { return buffer_named(field, field.string()); }
  std::size_t buffer_named(const Field& field, const std::string& name) const {
    if (const auto found = buffer_index_.find(name); found != buffer_index_.end()) return found->second;
    constexpr std::size_t shown = 20;
    std::string names;
    for (std::size_t i = 0; i < std::min(case_.buffers.size(), shown); ++i)
      names += (i ? ", " : "") + case_.buffers[i].name;
    if (case_.buffers.size() > shown) names += fmt::format(" and {} more", case_.buffers.size() - shown);
    field.refuse(fmt::format("there is no buffer \"{}\"; there {}", name, names.empty() ? "are none" : "are " + names));
  }

  // --- fills and buffers ---

  Fill read_fill(const Field& field, DType type) const {
    if (field.kind() == JsonKind::string) {
      if (field.choice({"zeros", "poison"}) == 0) return Constant{};
      return Poison{};
    }
    field.only({"value", "iota", "uniform", "normal", "npy"});
    const std::string& kind = field.single_key();
    const Field what = field.at(kind);
    if (kind == "value") return Constant{element(what, type)};
    if (kind == "npy") return NpyFile{existing(what)};
    if (kind == "iota") return read_iota(what.only({"start", "step", "modulo"}), type);
    if (kind == "uniform") return read_uniform(what.only({"seed", "low", "high"}), type);
    what.only({"seed", "mean", "deviation"});
    Normal normal;
    normal.seed = seed(what);
    if (const auto mean = what.find("mean")) normal.mean = mean->number();
    if (const auto deviation = what.find("deviation")) normal.deviation = deviation->number();
    return normal;
  }

  static std::uint64_t seed(const Field& field) {
    const auto seed = field.find("seed");
    return seed ? seed->unsigned_integer() : 0;
  }

  static Iota read_iota(const Field& field, DType type) {
    Iota iota;
    const auto start = field.find("start"), step = field.find("step"), modulo = field.find("modulo");
    if (is_floating(type)) {
      if (start) iota.start = start->number();
      if (step) iota.step = step->number();
    } else {
      if (start) iota.whole_start = start->integer(-largest_integer, largest_integer);
      if (step) iota.whole_step = step->integer(-largest_integer, largest_integer);
    }
    if (modulo) iota.modulo = static_cast<std::uint64_t>(modulo->integer(1, largest_integer));
    return iota;
  }

  static Uniform read_uniform(const Field& field, DType type) {
    Uniform uniform;
    uniform.seed = seed(field);
    if (is_floating(type)) {
      if (const auto low = field.find("low")) uniform.low = low->number();
      if (const auto high = field.find("high")) uniform.high = high->number();
      if (!(uniform.low < uniform.high)) field.refuse("low must be below high");
      if (!std::isfinite(uniform.high - uniform.low)) field.refuse("low and high must be finite");
      return uniform;
    }
    const auto [lowest, highest] = range_of(type);
    const auto most = static_cast<std::int64_t>(std::min<std::uint64_t>(highest, largest_integer));
    uniform.whole_low = field.at("low").integer(lowest, most);
    uniform.whole_high = field.at("high").integer(lowest, most);
    if (uniform.whole_low > uniform.whole_high) field.refuse("low must not be above high");
    return uniform;
  }

  std::filesystem::path path_of(const Field& field) const {
    if (field.string().find('\0') != std::string::npos) field.refuse("a file's name has no zero character");
    return case_.folder / field.string();
  }
  std::filesystem::path existing(const Field& field) const {
    auto path = path_of(field);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
    field.refuse(error ? fmt::format("cannot look for {}: {}", path.string(), error.message())
                       : fmt::format("there is no file {}", path.string()));
  }

  void read_buffer(const Field& field, const std::string& name) {
    field.only({"dtype", "shape", "strides", "fill"});
    BufferSpec buffer;
    buffer.name = name;
    buffer.place = field.place();
    const DType type = dtype(field.at("dtype"));
    const Field shape = field.at("shape");
    const auto strides = field.find("strides");
    try {
      buffer.layout =
          make_layout(type, integers(shape, 0), strides ? integers(*strides, 0) : std::vector<std::int64_t>());
    } catch (const Error& error) {
      (strides ? *strides : shape).refuse(error.what());
    }
    const auto fill = field.find("fill");
    buffer.fill = fill ? read_fill(*fill, type) : Fill(Poison{});
    buffer_index_[name] = case_.buffers.size();
    case_.buffers.push_back(std::move(buffer));
  }

  // --- arguments ---

  void read_argument(const Field& field) {
    ArgumentSpec argument;
    argument.place = field.place();
    if (const auto buffer = field.find("buffer")) {
      field.only({"buffer", "offset"});
      BufferArgument value;
      value.buffer = buffer_named(*buffer);
      value.offset = offset(field, value.buffer);
      argument.value = value;
    } else if (const auto map = field.find("tensor_map")) {
      field.only({"tensor_map"});
      argument.value = read_tensor_map(*map);
    } else {
      argument.value = read_scalar(field);
    }
    case_.arguments.push_back(std::move(argument));
  }

  std::uint64_t offset(const Field& field, std::size_t buffer) const {
    const auto offset = field.find("offset");
    return offset ? offset->unsigned_integer(case_.buffers[buffer].layout.bytes) : 0;
  }

  static ScalarArgument read_scalar(const Field& field) {
    field.only({"buffer", "tensor_map", "bytes", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16",
                "f32", "f64"});
    const std::string& kind = field.single_key();
    const Field value = field.at(kind);
    ScalarArgument scalar;
    if (kind == "bytes") {
      scalar.bytes = hexadecimal(value);
      return scalar;
    }
    const DType type = dtype_from_name(kind);
    const auto bits = element(value, type);
    scalar.bytes.assign(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(size_of(type)));
    // A 16-bit float may be declared as bits or as a struct: only its size is checked.
    scalar.kind = !is_floating(type)   ? ParameterKind::integer
                  : size_of(type) >= 4 ? ParameterKind::floating
                                       : ParameterKind::unknown;
    return scalar;
  }

  static std::vector<std::byte> hexadecimal(const Field& field) {
    const std::string& digits = field.string();
    auto value = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      field.refuse(fmt::format("'{}' is no hexadecimal digit", c));
    };
    if (digits.size() % 2) field.refuse("an even number of hexadecimal digits is expected");
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(value(digits[i]) * 16 + value(digits[i + 1])));
    return bytes;
  }

  TensorMapArgument read_tensor_map(const Field& field) const {
    field.only({"buffer", "offset", "dtype", "dims", "strides", "box", "element_strides", "swizzle", "interleave",
                "l2_promotion", "fill", "im2col"});
    TensorMapArgument argument;
    TensorMapSpec& map = argument.map;
    const Field buffer = field.at("buffer");
    argument.buffer = buffer_named(buffer);
    argument.offset = offset(field, argument.buffer);
    const Layout& layout = case_.buffers[argument.buffer].layout;
    map.element = map_element(layout.dtype);
    read_name(field, "dtype", map_element_from_name, map.element);
    read_name(field, "swizzle", swizzle_from_name, map.swizzle);
    read_name(field, "interleave", interleave_from_name, map.interleave);
    read_name(field, "l2_promotion", l2_promotion_from_name, map.l2_promotion);
    read_name(field, "fill", out_of_bounds_from_name, map.fill);
    read_extent(field, layout, map);
    if (const auto im2col = field.find("im2col")) {
      if (const auto box = field.find("box")) box->refuse("an im2col map has no box");
      read_im2col(*im2col, map);
    } else {
      const Field box = field.at("box");
      map.box = integers(box, 0);
      if (map.box.size() != map.rank())
        box.refuse(fmt::format("the tensor has {} dimensions, the box {}", map.rank(), map.box.size()));
    }
    return argument;
  }

  // Dims, strides and element strides: the buffer's own, or what the field says instead.
  static void read_extent(const Field& field, const Layout& layout, TensorMapSpec& map) {
    const auto dims = field.find("dims"), strides = field.find("strides"), steps = field.find("element_strides");
    map.dims = dims ? integers(*dims, 0) : layout.shape;
    const std::size_t rank = map.dims.size();
    std::vector<std::int64_t> elements = layout.strides;
    if (strides) {
      elements = integers(*strides, 0);
      if (elements.size() + 1 == rank) elements.push_back(1);
    } else if (dims) {
      try {
        elements = make_layout(layout.dtype, map.dims).strides;
      } catch (const Error& error) {
        dims->refuse(error.what());
      }
    }
    const Field& origin = strides ? *strides : dims ? *dims : field;
    if (elements.size() != rank)
      origin.refuse("one stride a dimension is expected; the innermost, always 1, may be left out");
    if (rank > 0 && elements.back() != 1) origin.refuse("the innermost stride of a tensor map is always 1");
    const auto bits = static_cast<std::int64_t>(bits_of(map.element));
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      std::int64_t stride_bits = 0;
      if (__builtin_mul_overflow(elements[d], bits, &stride_bits)) origin.refuse("a stride is too large");
      if (stride_bits % 8) origin.refuse("a stride is not a whole number of bytes");
      map.strides.push_back(stride_bits / 8);
    }
    if (steps) map.element_strides = integers(*steps, 0);
    if (steps && map.element_strides.size() != rank) steps->refuse("one element stride a dimension is expected");
  }

  template <class Name>
  static void read_name(const Field& field, std::string_view name, Name (*from_name)(std::string_view), Name& result) {
    if (const auto value = field.find(name)) result = named(*value, from_name);
  }

  static void read_im2col(const Field& field, TensorMapSpec& map) {
    field.only({"lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column"});
    map.mode = MapMode::im2col;
    if (map.rank() < 3 || map.rank() > 5)
      field.refuse(fmt::format("an im2col map has 3 to 5 dimensions, this one {}", map.rank()));
    auto corner = [&](std::string_view name) {
      const Field value = field.at(name);
      auto offsets = integers(value, INT16_MIN, INT16_MAX);
      if (offsets.size() != map.rank() - 2)
        value.refuse(fmt::format("{} offsets are expected, one a spatial dimension", map.rank() - 2));
      return offsets;
    };
    map.lower_corner = corner("lower_corner");
    map.upper_corner = corner("upper_corner");
    map.channels_per_pixel = field.at("channels_per_pixel").integer(0, INT32_MAX);
    map.pixels_per_column = field.at("pixels_per_column").integer(0, INT32_MAX);
  }

  // --- outputs ---

  void read_written(const Field& field, const std::filesystem::path& file, const std::string& name) {
    if (!is_replaced(file)) return;
    const auto [other, first] = written_.try_emplace(written_file(file), name);
    if (!first) field.refuse(fmt::format("\"{}\" is written to this file already", other->second));
  }

  void read_output(const Field& field, const std::string& name) {
    field.only({"write", "equals", "tolerance", "nan_equal"});
    OutputSpec output;
    output.place = field.place();
    output.buffer = buffer_named(field, name);
    const Layout& layout = case_.buffers[output.buffer].layout;
    const auto write = field.find("write"), equals = field.find("equals"), tolerance = field.find("tolerance"),
               nan_equal = field.find("nan_equal");
    if (!write && !equals) field.refuse("an output is written (\"write\"), compared (\"equals\") or both");
    if (write) {
      if (!write->string().ends_with(".npy")) write->refuse("an output is written as a .npy file");
      output.write = path_of(*write);
      read_written(*write, *output.write, name);
    }
    if (equals) read_expected(*equals, layout, output);
    if (!equals && (tolerance || nan_equal))
      (tolerance ? *tolerance : *nan_equal).refuse("a tolerance needs something to compare with: \"equals\"");
    if (tolerance) read_tolerance(*tolerance, output.tolerance);
    if (nan_equal) output.tolerance.nan_equal = nan_equal->boolean();
    case_.outputs.push_back(std::move(output));
  }

  void read_expected(const Field& field, const Layout& layout, OutputSpec& output) const {
    if (field.kind() == JsonKind::string) {
      output.expected_name = field.string();
      if (field.string().ends_with(".npy"))
        output.expected = Fill(NpyFile{existing(field)});
      else
        output.expected = contents_of(field, layout, false);
    } else if (const auto initial = field.find("initial")) {
      field.only({"initial"});
      output.expected_name = fmt::format("{} before the run", initial->string());
      output.expected = contents_of(*initial, layout, true);
    } else if (const auto product = field.find("product")) {
      field.only({"product"});
      output.expected_name = "the product";
      output.expected = read_product(*product, layout);
    } else {
      output.expected_name = fmt::format("the fill \"{}\"", field.single_key());
      output.expected = read_fill(field, layout.dtype);
    }
  }

  BufferContents contents_of(const Field& field, const Layout& layout, bool initial) const {
    const std::size_t other = buffer_named(field);
    if (case_.buffers[other].layout.shape != layout.shape) field.refuse("the two buffers differ in shape");
    return BufferContents{other, initial};
  }

  Product read_product(const Field& field, const Layout& layout) const {
    field.only({"a", "b", "bias"});
    Product product{buffer_named(field.at("a")), buffer_named(field.at("b")), std::nullopt};
    if (const auto bias = field.find("bias")) product.bias = buffer_named(*bias);
    if (const std::string problem = problem_of(product, case_.buffers, layout); !problem.empty()) field.refuse(problem);
    return product;
  }

  static void read_tolerance(const Field& field, Tolerance& tolerance) {
    auto bound = [](const Field& value) {
      const double bound = value.number();
      if (!(bound >= 0) || std::isinf(bound)) value.refuse("a tolerance is a finite number, 0 or more");
      return bound;
    };
    if (field.kind() != JsonKind::object) {
      tolerance.absolute = bound(field);
      return;
    }
    field.only({"absolute", "relative"});
    if (const auto absolute = field.find("absolute")) tolerance.absolute = bound(*absolute);
    if (const auto relative = field.find("relative")) tolerance.relative = bound(*relative);
  }
};

}  // namespace

Case read_case(std::string_view text, const std::string& name, const std::filesystem::path& folder) {
  const Document document(text, name);
  Case result = Reader(folder).read(document.root());
  result.name = std::filesystem::path(name).stem().string();
  return result;
}

Case read_case(const std::filesystem::path& file) {
  return read_case(read_text(file), file.string(), file.parent_path());
}

}  // namespace wm::cases
