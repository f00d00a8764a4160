// Golden files: writing, reading, comparing.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "golden/golden.hpp"
#include "warpmill/error.hpp"

namespace wm::golden {

namespace {

constexpr std::string_view magic = "warpmill golden 1\n";

std::uint64_t hash_of(std::span<const std::byte> bytes) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

class Writer {
 public:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) data_.push_back(static_cast<char>(value >> 8 * i));
  }
  void text(std::string_view text) {
    number(text.size(), 4);
    data_ += text;
  }
  std::string data_;
};

class Reader {
 public:
  explicit Reader(std::string data) : data_(std::move(data)) {}
  std::uint64_t number(int bytes) {
    const std::string_view raw = take(static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(raw[static_cast<std::size_t>(i)])} << 8 * i;
    return value;
  }
  std::string_view text() { return take(number(4)); }
  std::string_view take(std::size_t bytes) {
    if (bytes > data_.size() - at_) throw Error(ErrorCode::io, "the golden file ends too early: record it again");
    at_ += bytes;
    return std::string_view(data_).substr(at_ - bytes, bytes);
  }

 private:
  std::string data_;
  std::size_t at_ = 0;
};

std::string hexadecimal(std::span<const std::byte> element) {
  std::string text = "0x";
  for (std::size_t i = element.size(); i-- > 0;) text += fmt::format("{:02x}", std::to_integer<int>(element[i]));
  return text;
}

}  // namespace

std::string encode(const File& file) {
  Writer out;
  out.data_ = magic;
  out.text(file.device);
  out.number(file.records.size(), 4);
  for (const Record& record : file.records) {
    out.text(record.name);
    out.text(name_of(record.type));
    out.number(record.count, 8);
    out.number(record.hash, 8);
    out.text({reinterpret_cast<const char*>(record.stored.data()), record.stored.size()});
  }
  return std::move(out.data_);
}

void write_file(const std::string& path, const File& file) {
  const std::string data = encode(file);
  std::ofstream stream(path, std::ios::binary);
  stream.write(data.data(), static_cast<std::streamsize>(data.size()));
  stream.close();
  if (!stream) throw Error(ErrorCode::io, fmt::format("cannot write {}", path));
}

File read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(ErrorCode::io, fmt::format("cannot read {}", path));
  return decode(std::string(std::istreambuf_iterator<char>(stream), {}), path);
}

File decode(std::string data, const std::string& path) {
  Reader in(std::move(data));
  if (in.take(magic.size()) != magic) throw Error(ErrorCode::io, fmt::format("{} is no golden file", path));
  File file{std::string(in.text()), {}};
  for (std::uint64_t left = in.number(4); left > 0; --left) {
    Record record;
    record.name = in.text();
    record.type = dtype_from_name(in.text());
    record.count = in.number(8);
    record.hash = in.number(8);
    const std::string_view stored = in.text();
    const auto* first = reinterpret_cast<const std::byte*>(stored.data());
    record.stored.assign(first, first + stored.size());
    if (stored.size() % size_of(record.type) != 0 || stored.size() / size_of(record.type) > record.count)
      throw Error(ErrorCode::io, fmt::format("{}: the record of {} is damaged: record it again", path, record.name));
    file.records.push_back(std::move(record));
  }
  return file;
}

Record make_record(const Case& one, const Results& results, bool all) {
  const std::size_t size = size_of(results.type), count = results.bytes.size() / size;
  const std::size_t stored = all ? count : std::min(one.keep, count);
  Record record{one.name, results.type, count, hash_of(results.bytes), {}};
  for (std::size_t i = 0; i < stored; ++i) {
    const auto element = std::span(results.bytes).subspan(i * count / stored * size, size);
    record.stored.insert(record.stored.end(), element.begin(), element.end());
  }
  return record;
}

Comparison compare(const Case& one, const Record& record, const Results& results) {
  const std::size_t size = size_of(record.type), stored = record.stored.size() / size;
  Comparison out;
  if (results.type != record.type || results.bytes.size() != record.count * size) {
    out.mismatches = 1;
    out.messages.push_back(fmt::format("{}: {} elements of {}, recorded {} of {}: the case changed, record it again",
                                       one.name, results.bytes.size() / size_of(results.type), name_of(results.type),
                                       record.count, name_of(record.type)));
    return out;
  }
  for (std::size_t i = 0; i < stored; ++i) {
    const std::size_t place = i * record.count / stored;
    const auto got = std::span(results.bytes).subspan(place * size, size);
    const auto want = std::span(record.stored).subspan(i * size, size);
    if (std::equal(got.begin(), got.end(), want.begin())) continue;
    const double x = load_element(record.type, got.data()), y = load_element(record.type, want.data());
    if (!one.bound.exact()) {
      const double bound = one.bound.absolute + one.bound.relative * std::abs(y);
      const double part = std::abs(x - y) / bound;
      if (std::isfinite(y) && std::isfinite(x)) out.worst = std::max(out.worst, part);
      if ((std::isnan(x) && std::isnan(y)) || (std::isfinite(y) && part <= 1)) continue;
    }
    if (++out.mismatches <= 4)
      out.messages.push_back(fmt::format("{} [{}]{}: got {} ({}), recorded {} ({})", one.name, place,
                                         one.inputs ? " of " + one.inputs(place) : "", hexadecimal(got), x,
                                         hexadecimal(want), y));
  }
  out.elements = one.bound.exact() ? record.count : stored;
  if (one.bound.exact() && out.mismatches == 0 && hash_of(results.bytes) != record.hash) {
    out.mismatches = 1;
    out.messages.push_back(
        fmt::format("{}: the {} stored elements agree, but of all {} some do not: record with --all to see which",
                    one.name, stored, record.count));
  }
  return out;
}

}  // namespace wm::golden
