// A JSON document (comments allowed) whose values know where they stand, so that every error names a line and a field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wm::cases {

enum class JsonKind : std::uint8_t { null, boolean, integer, number, string, array, object };

struct Node {
  JsonKind kind = JsonKind::null;
  int line = 0, column = 0;  // from 1, of the first character
  bool boolean = false;
  bool negative = false;          // of an integer
  std::uint64_t integer = 0;      // two's complement where negative
  double number = 0;              // of an integer too
  std::string string;             // a string's characters, or a number as it was written
  std::vector<std::string> keys;  // of an object, in the file's order
  std::vector<Node> values;       // of an array or an object
};

class Document;

// A value of the document with the way to it: what the reader of a case works with. Cheap to copy; the document
// outlives it.
class Field {
 public:
  JsonKind kind() const { return node_->kind; }
  const std::string& path() const { return path_; }  // "arguments[1].buffer"
  std::string place() const;                         // "copy.json:12:9: arguments[1].buffer"
  [[noreturn]] void refuse(std::string_view why) const;

  // Objects. `only` refuses members of other names and suggests the nearest.
  const Field& only(std::initializer_list<std::string_view> names) const;
  std::optional<Field> find(std::string_view name) const;
  Field at(std::string_view name) const;                       // refused where it is missing
  std::vector<std::pair<std::string, Field>> members() const;  // in the file's order
  // An object with exactly one member, as {"normal": {...}}: its name.
  const std::string& single_key() const;

  // Arrays.
  std::vector<Field> items() const;

  // Scalars; anything else is refused in words.
  bool boolean() const;
  double number() const;                                                  // also "nan", "inf", "-inf"
  std::int64_t integer(std::int64_t lowest, std::int64_t highest) const;  // both inclusive
  std::uint64_t unsigned_integer(std::uint64_t highest = UINT64_MAX) const;
  const std::string& string() const;
  std::string text() const;  // any scalar as it would stand in C++: 64, 1.50, true, or a string's characters
  // One of `names`, by its index.
  std::size_t choice(std::initializer_list<std::string_view> names) const;

 private:
  friend class Document;
  Field member(std::size_t index) const;
  Field(const Document& document, const Node& node, std::string path)
      : document_(&document), node_(&node), path_(std::move(path)) {}
  const Document* document_;
  const Node* node_;
  std::string path_;
};

class Document {
 public:
  // Throws invalid_argument, "name:line:column: what", on text that is no JSON.
  Document(std::string_view text, std::string name);
  Field root() const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Node root_;
};

// The candidate nearest to `word` if it is near enough to be what was meant, else an empty text.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace wm::cases
