// What the libraries hold and show: the shared one exports what the public headers declare and nothing else, and
// neither prints.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  char line[65536];
  while (pipe && std::fgets(line, sizeof line, pipe)) lines.emplace_back(line, std::string_view(line).find('\n'));
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

std::string without_comments(std::string text) {
  text = std::regex_replace(text, std::regex("//[^\n]*"), "");
  return std::regex_replace(text, std::regex("#[^\n]*"), "");
}

// The functions and classes that the public headers declare, by their full names. Bodies are skipped.
struct PublicNames {
  std::set<std::string> functions, classes;

  void read(const std::string& text) {
    static const std::regex space("namespace ([\\w:]+)\\s*$"),
        type("(?:class|struct) (?:WARPMILL_API )?(\\w+)[^;()]*$"), function("(~?\\w+)\\($");
    std::vector<std::string> scopes;  // an empty name: a body
    std::string before;               // since the last end of a declaration
    for (const char c : text) {
      before += c;
      const bool in_body = !scopes.empty() && scopes.back().empty();
      std::smatch found;
      if (c == '{') {
        const std::string head = before.substr(0, before.size() - 1);
        const bool is_class = std::regex_search(head, found, type) && head.find('(') == head.npos;
        if (!in_body && (is_class || std::regex_search(head, found, space))) {
          scopes.push_back((scopes.empty() ? "" : scopes.back() + "::") + found[1].str());
          if (is_class) classes.insert(scopes.back());
        } else {
          scopes.emplace_back();
        }
      } else if (c == '}') {
        scopes.pop_back();
      } else if (c == '(' && !in_body && !scopes.empty() && std::regex_search(before, found, function)) {
        functions.insert(scopes.back() + "::" + found[1].str());
      }
      if (c == '{' || c == '}' || c == ';') before.clear();
    }
  }
};

PublicNames public_names() {
  PublicNames names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WARPMILL_SOURCE "/include/warpmill")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    if (entry.is_regular_file()) names.read(without_comments(text.str()));
  }
  return names;
}

struct Symbol {
  char kind;
  std::string text;  // as nm shows it
  std::string name;  // without parameters, template arguments and tags: "wm::Buffer::download"
};
std::vector<Symbol> symbols(const std::string& options) {
  std::vector<Symbol> result;
  static const std::regex form("^[0-9a-f]+ (\\w) (.*)$"), tags("\\[abi:\\w+\\]");
  for (const std::string& line : lines_of(WARPMILL_NM " --defined-only -C " + options)) {
    std::smatch found;
    if (!std::regex_match(line, found, form)) continue;
    std::string name = std::regex_replace(found[2].str(), tags, "");
    name = std::regex_replace(name, std::regex("^(vtable|typeinfo|typeinfo name) for "), "");
    int depth = 0;
    std::string plain;  // up to the parameters, without what stands in <>
    for (const char c : name) {
      if (c == '(' && depth == 0) break;
      depth += c == '<';
      if (depth == 0) plain += c;
      depth -= c == '>';
    }
    plain.erase(0, plain.rfind(' ') + 1);  // a template's result type
    result.push_back({found[1].str()[0], found[2].str(), plain});
  }
  return result;
}

}  // namespace

TEST(SharedLibrary, ExportsOnlyWhatThePublicHeadersDeclare) {
  const PublicNames names = public_names();
  const auto exported = symbols("-D " WARPMILL_SHARED_LIBRARY);
  EXPECT_GT(exported.size(), 80u);
  for (const Symbol& symbol : exported) {
    const std::string scope = symbol.name.substr(0, symbol.name.rfind("::"));
    EXPECT_TRUE(names.functions.contains(symbol.name) || names.classes.contains(symbol.name) ||
                names.classes.contains(scope))  // members that the compiler makes
        << symbol.text;
  }
}

TEST(SharedLibrary, ExportsEverythingThatThePublicHeadersDeclare) {
  const PublicNames names = public_names();
  EXPECT_GT(names.functions.size(), 80u);
  for (const char* known : {"wm::gemm", "wm::Buffer::~Buffer", "wm::TensorMapSpec::describe", "wm::vgpu::last_run"})
    EXPECT_TRUE(names.functions.contains(known)) << known;
  std::set<std::string> exported;
  for (const Symbol& symbol : symbols("-D " WARPMILL_SHARED_LIBRARY)) exported.insert(symbol.text);
  for (const Symbol& symbol : symbols(WARPMILL_STATIC_LIBRARY)) {
    if (symbol.kind != 'T' || !names.functions.contains(symbol.name)) continue;
    EXPECT_TRUE(exported.contains(symbol.text)) << symbol.text << " needs WARPMILL_API";
  }
}

// Standard output belongs to the program, with two exceptions: what a kernel prints goes there, as on a GPU, and fmt
// has functions that nobody here calls.
TEST(Library, HasNoWayToPrint) {
  const std::set<std::string> allowed{"virtual_device.cpp.o", "fmt.cpp.o"};
  const std::regex printing("^[^:]*:([^:]+):.* U (stdout|stderr|puts|printf|perror|std::(cout|cerr|clog))\\b.*$");
  bool stdout_seen = false;
  for (const std::string& line : lines_of(WARPMILL_NM " -A -C -u " WARPMILL_STATIC_LIBRARY)) {
    std::smatch found;
    if (!std::regex_match(line, found, printing)) continue;
    stdout_seen = true;
    EXPECT_TRUE(allowed.contains(found[1].str())) << line;
  }
  EXPECT_TRUE(stdout_seen) << "nm shows no member that uses standard output: this test sees nothing";
}
