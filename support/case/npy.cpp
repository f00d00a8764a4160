// The .npy format: magic, version, a header that is a Python dictionary in text, then the elements.
#include "npy.hpp"

#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files.hpp"
#include "printable.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

[[noreturn]] void refuse(std::string_view file, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, printable(fmt::format("{}: {}", file, why)));
}

// Reads the one dictionary numpy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  void read() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') refuse(file_, "the array has named fields (a structured dtype); only plain arrays are read");
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran = word() == "True";
      } else if (key == "shape") {
        shape = tuple();
      } else {
        refuse(file_, fmt::format("unknown entry '{}' in its header", key));
      }
      accept(',');
    }
  }
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;

 private:
  std::string_view rest_, file_;

  [[noreturn]] void broken() const { refuse(file_, "its header is damaged"); }
  char peek() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    if (rest_.empty()) broken();
    return rest_.front();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string take(std::size_t length) {
    std::string taken(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return taken;
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') broken();
    rest_.remove_prefix(1);
    const auto end = rest_.find(quote);
    if (end == rest_.npos) broken();
    std::string text = take(end);
    rest_.remove_prefix(1);
    return text;
  }
  std::string word() {
    peek();
    std::size_t length = 0;
    while (length < rest_.size() && std::isalpha(static_cast<unsigned char>(rest_[length]))) ++length;
    return take(length);
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t size = 0;
      const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (status != std::errc() || size < 0) broken();
      rest_.remove_prefix(end - rest_.data());
      if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // numpy on Python 2
      sizes.push_back(size);
      if (peek() != ')') expect(',');
    }
    return sizes;
  }
};

// '<f4' -> kind and width.
void read_descr(const std::string& descr, std::string_view file, NpyArray& array) {
  static constexpr std::string_view known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  if (descr.size() == 3)
    for (const auto name : known)
      if (descr.substr(1) == name) {
        if (descr[0] == '>' && name[1] != '1')
          refuse(file, "its elements are big-endian; save it with array.astype(array.dtype.newbyteorder('<'))");
        array.kind = name[0] == 'b' ? 'u' : name[0];
        array.width = static_cast<std::size_t>(name[1] - '0');
        return;
      }
  refuse(file, fmt::format("its dtype is '{}'; there are {} (little-endian)", descr, fmt::join(known, ", ")));
}

bool is_signed(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

DType dtype_of_array(const NpyArray& array) {
  switch (array.kind) {
    case 'f': return array.width == 2 ? DType::f16 : array.width == 4 ? DType::f32 : DType::f64;
    case 'i':
      return array.width == 1 ? DType::i8 : array.width == 2 ? DType::i16 : array.width == 4 ? DType::i32 : DType::i64;
    default:
      return array.width == 1 ? DType::u8 : array.width == 2 ? DType::u16 : array.width == 4 ? DType::u32 : DType::u64;
  }
}

// An integer element as the bits of an integer dtype, by value.
std::uint64_t integer_element(const NpyArray& array, std::size_t index, DType dtype) {
  std::uint64_t value = 0;
  std::memcpy(&value, array.data.data() + index * array.width, array.width);
  const int unused = static_cast<int>(64 - 8 * array.width);
  bool negative = false;
  if (array.kind == 'i') {
    const std::int64_t extended = static_cast<std::int64_t>(value << unused) >> unused;
    negative = extended < 0;
    value = static_cast<std::uint64_t>(extended);
  }
  const std::uint64_t highest = UINT64_MAX >> (64 - 8 * size_of(dtype) + (is_signed(dtype) ? 1 : 0));
  const bool fits = negative ? is_signed(dtype) && ~value <= highest : value <= highest;
  if (!fits)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("element {} is {}, which does not fit {}", index,
                            negative ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value),
                            name_of(dtype)));
  return value;
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::e4m3:
    case DType::e5m2: return "|u1";
    case DType::i8: return "|i1";
    case DType::u16:
    case DType::bf16: return "<u2";
    case DType::i16: return "<i2";
    case DType::u32: return "<u4";
    case DType::i32: return "<i4";
    case DType::u64: return "<u8";
    case DType::i64: return "<i8";
    case DType::f16: return "<f2";
    case DType::f32:
    case DType::tf32: return "<f4";
    case DType::f64: return "<f8";
  }
  throw Error(ErrorCode::internal, "descr_of: unknown dtype");
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& file) { return parse_npy(read_bytes(file), file.string()); }

NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic)) refuse(file, "this is no .npy file (it does not start with \\x93NUMPY)");
  if (text.size() < 10) refuse(file, "its header is damaged");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) refuse(file, fmt::format("version {} of the .npy format is not known here", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  if (text.size() < 8 + length_bytes) refuse(file, "its header is damaged");
  std::memcpy(&length, text.data() + 8, length_bytes);
  const std::size_t start = 8 + length_bytes + length;
  if (text.size() < start) refuse(file, "its header is damaged");

  HeaderReader header(text.substr(8 + length_bytes, length), file);
  header.read();
  if (!header.descr || !header.fortran || !header.shape) refuse(file, "its header is damaged");
  NpyArray array;
  read_descr(*header.descr, file, array);
  array.shape = *header.shape;
  if (*header.fortran && array.shape.size() > 1)
    refuse(file, "it is in Fortran order; save it with numpy.ascontiguousarray(array)");

  std::size_t needed = 0;
  try {
    needed = make_layout(dtype_of_array(array), array.shape).bytes;
  } catch (const Error& error) {
    refuse(file, error.what());
  }
  if (bytes.size() - start != needed)
    refuse(file, fmt::format("its shape ({}) needs {} bytes of elements, it has {}", fmt::join(array.shape, ", "),
                             needed, bytes.size() - start));
  array.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end());
  return array;
}

std::vector<std::byte> convert(const NpyArray& array, DType dtype) {
  const DType source = dtype_of_array(array);
  const bool raw = array.kind == 'u' && array.width == size_of(dtype);
  if (raw || source == dtype) return array.data;
  const std::size_t width = size_of(dtype), elements = array.data.size() / array.width;
  std::vector<std::byte> result(elements * width);
  for (std::size_t i = 0; i < elements; ++i) {
    std::byte* element = result.data() + i * width;
    if (array.kind != 'f' && !is_floating(dtype)) {
      const std::uint64_t value = integer_element(array, i, dtype);
      std::memcpy(element, &value, width);
    } else {
      store_element(dtype, element, load_element(source, array.data.data() + i * array.width));
    }
  }
  return result;
}

void write_npy(const std::filesystem::path& file, DType dtype, const std::vector<std::int64_t>& shape,
               std::span<const std::byte> elements) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr_of(dtype),
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The elements start at a multiple of 64 bytes; the header ends with a newline.
  constexpr std::size_t before = magic.size() + 4;
  header.append(64 - (before + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string start(magic);
  start += '\x01';
  start += '\x00';
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(start)), elements};
  write_file(file, parts);
}

}  // namespace wm::cases
