// The bytes of a cache entry.
#include "jit/entry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace wm::jit {
namespace {

// The last byte is the version of the layout.
constexpr std::array<char, 8> magic{'w', 'm', '-', 'j', 'i', 't', '\n', 1};

struct Header {
  std::array<char, 8> magic;
  Digest key;
  std::uint64_t body_bytes;
  Digest body_digest;
};
static_assert(sizeof(Header) == 80, "it is written as it lies in memory");

class Writer {
 public:
  void number(std::uint64_t value) { append(&value, sizeof(value)); }
  void bytes(const void* data, std::size_t size) {
    number(size);
    append(data, size);
  }
  void text(const std::string& text) { bytes(text.data(), text.size()); }
  std::vector<std::byte> body;

 private:
  void append(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    body.insert(body.end(), begin, begin + size);
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> body) : rest_(body) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::span<const std::byte> bytes() { return take(number()); }
  std::string text() {
    const auto taken = bytes();
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) throw std::out_of_range("a field reaches past the end of the entry");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> encode(const Digest& key, const Output& output) {
  Writer writer;
  writer.text(output.ptx);
  writer.bytes(output.cubin.data(), output.cubin.size());
  writer.text(output.log);
  writer.number(output.lowered.size());
  for (const auto& [expression, name] : output.lowered) {
    writer.text(expression);
    writer.text(name);
  }
  const Header header{magic, key, writer.body.size(), sha256(writer.body)};
  std::vector<std::byte> bytes(sizeof(header) + writer.body.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::copy(writer.body.begin(), writer.body.end(), bytes.begin() + sizeof(header));
  return bytes;
}

std::optional<Output> decode(const Digest& key, std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto body = bytes.subspan(sizeof(header));
  if (header.magic != magic || header.key != key || header.body_bytes != body.size() ||
      header.body_digest != sha256(body))
    return std::nullopt;
  try {
    Reader reader(body);
    Output output;
    output.ptx = reader.text();
    const auto cubin = reader.bytes();
    output.cubin.assign(cubin.begin(), cubin.end());
    output.log = reader.text();
    for (std::uint64_t count = reader.number(); count > 0; --count) {
      std::string expression = reader.text();
      output.lowered[std::move(expression)] = reader.text();
    }
    if (reader.at_end()) return output;
  } catch (const std::out_of_range&) {
  }
  return std::nullopt;
}

}  // namespace wm::jit
