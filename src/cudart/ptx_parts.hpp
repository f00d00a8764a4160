// A PTX text cut into its variables and functions without reading what they do, so that a kernel costs nothing until
// it is launched.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wm::cudart {

class PtxParts {
 public:
  explicit PtxParts(std::string text);
  PtxParts(const PtxParts&) = delete;  // parts are views of the text
  PtxParts& operator=(const PtxParts&) = delete;

  // A text with calls through pointers is one piece: a function's address must mean the same in every kernel.
  bool whole() const { return whole_; }
  // Whether it is made of directives and nothing else, as far as that can be seen without reading functions.
  bool valid() const { return valid_; }
  std::vector<std::string_view> kernels() const;
  bool has_kernel(std::string_view name) const;

  // Modules of their own, every line where it is in the whole text. A kernel comes with the functions that it calls,
  // and the variables that they use declared as others'.
  using Names = std::set<std::string, std::less<>>;
  std::string variables(const Names& elsewhere = {}) const;  // those declared as others'
  std::string all_but(const Names& elsewhere) const;         // everything, those declared as others'
  std::string only(const Names& names) const;                // these variables
  std::string kernel(std::string_view name) const;

  // Directive by directive, as they stand: for who puts texts together.
  struct Piece {
    enum class Linking { local, weak, visible };
    std::string_view name;  // empty: it defines nothing
    std::string_view text;
    bool declaration = false;  // of what is elsewhere
    Linking linking = Linking::local;
  };
  std::vector<Piece> pieces() const;

 private:
  enum class Kind { head, global, shared, function, kernel };
  struct Part {
    Kind kind = Kind::head;
    std::string_view name;
    std::size_t begin = 0, end = 0;
    std::size_t body = 0;      // of a function or initialiser: where it begins; else the end
    bool declaration = false;  // of what is elsewhere
  };
  void cut();
  std::string declared(const Part& variable) const;
  // The parts that are taken, variables of which `elsewhere` holds only declared.
  template <class Elsewhere>
  std::string compose(const std::vector<bool>& taken, const Elsewhere& elsewhere) const;

  std::string text_;
  std::vector<Part> parts_;
  std::unordered_multimap<std::string_view, std::size_t> index_;  // of variables and functions
  bool whole_ = false, valid_ = true;
};

}  // namespace wm::cudart
