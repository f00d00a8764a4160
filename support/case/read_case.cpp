// Reading a case file: every field checked, every refusal with its line.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "files.hpp"
#include "product.hpp"
#include "read_arguments.hpp"
#include "values.hpp"

namespace wm::cases {
namespace {

Dim3 dim3(const Field& field) {
  const auto sizes = integers(field, 1, UINT32_MAX);
  if (sizes.empty() || sizes.size() > 3) field.refuse("one to three sizes are expected: [x, y, z]");
  Dim3 result;
  result.x = static_cast<std::uint32_t>(sizes[0]);
  if (sizes.size() > 1) result.y = static_cast<std::uint32_t>(sizes[1]);
  if (sizes.size() > 2) result.z = static_cast<std::uint32_t>(sizes[2]);
  return result;
}

// Reads one case; knows the buffers read so far.
class Reader {
 public:
  explicit Reader(std::filesystem::path folder) { case_.folder = std::move(folder); }

  Case read(const Field& root) {
    root.only({"module", "entry", "arch", "defines", "include", "options", "grid", "block", "cluster", "shared",
               "programmatic_dependent", "buffers", "arguments", "outputs"});
    const Field module = root.at("module");
    if (const auto extension = path_of(module).extension(); extension != ".cu" && extension != ".ptx")
      module.refuse("a module is a .cu or a .ptx file");
    case_.module = existing(module);
    case_.entry = root.at("entry").string();
    if (const auto arch = root.find("arch")) case_.arch = named(*arch, Architecture::parse);
    if (const auto defines = root.find("defines"))
      for (const auto& [name, value] : defines->members()) case_.defines[name] = value.text();
    read_compiler_fields(root);
    case_.launch.grid = dim3(root.at("grid"));
    case_.launch.block = dim3(root.at("block"));
    if (const auto cluster = root.find("cluster")) case_.launch.cluster = dim3(*cluster);
    if (const auto shared = root.find("shared"))
      case_.launch.shared_bytes = static_cast<std::uint32_t>(shared->unsigned_integer(UINT32_MAX));
    if (const auto early = root.find("programmatic_dependent")) case_.launch.programmatic_dependent = early->boolean();
    if (const auto buffers = root.find("buffers"))
      for (const auto& [name, buffer] : buffers->members()) read_buffer(buffer, name);
    if (const auto arguments = root.find("arguments"))
      for (const Field& item : arguments->items()) case_.arguments.push_back(read_argument(item, buffers_));
    if (const auto outputs = root.find("outputs"))
      for (const auto& [name, output] : outputs->members()) read_output(output, name);
    case_.buffers = buffers_.take();
    return std::move(case_);
  }

 private:
  Case case_;
  BufferList buffers_;
  std::map<std::filesystem::path, std::string> written_;  // outputs by the file they go to

  void read_compiler_fields(const Field& root) {
    const auto include = root.find("include"), options = root.find("options");
    if (case_.module.extension() == ".ptx")
      for (const auto& field : {include, options})
        if (field) field->refuse("a .ptx module is taken as it is: this is for the compiler of a .cu");
    if (include)
      for (const Field& folder : include->items()) {
        case_.include_folders.push_back(existing(folder));
        if (!std::filesystem::is_directory(case_.include_folders.back())) folder.refuse("a folder is expected here");
      }
    if (options)
      for (const Field& option : options->items()) case_.options.push_back(option.string());
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
    field.only({"dtype", "shape", "strides", "fill", "symbol"});
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
    if (const auto symbol = field.find("symbol")) {
      buffer.symbol = symbol->string();
      if (buffer.symbol.empty() || std::ranges::any_of(buffer.symbol, [](char c) { return c < ' '; }))
        symbol->refuse("the name of a variable is expected here");
    }
    const auto fill = field.find("fill");
    buffer.filled = buffer.symbol.empty() || fill;
    buffer.fill = fill ? read_fill(*fill, type) : Fill(Poison{});
    buffers_.add(std::move(buffer));
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
    output.buffer = buffers_.index(field, name);
    const Layout& layout = buffers_.layout(output.buffer);
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
    const std::size_t other = buffers_.index(field);
    if (buffers_.layout(other).shape != layout.shape) field.refuse("the two buffers differ in shape");
    return BufferContents{other, initial};
  }

  Product read_product(const Field& field, const Layout& layout) const {
    field.only({"a", "b", "bias"});
    Product product{buffers_.index(field.at("a")), buffers_.index(field.at("b")), std::nullopt};
    if (const auto bias = field.find("bias")) product.bias = buffers_.index(*bias);
    if (const std::string problem = problem_of(product, buffers_.all(), layout); !problem.empty())
      field.refuse(problem);
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
