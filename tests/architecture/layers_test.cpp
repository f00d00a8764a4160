// The layers: which folder may include which. The table is the order of CONTRIBUTING.md, "Layers".
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pattern.hpp"

namespace wm {
namespace {

namespace fs = std::filesystem;

// The lowest first. A file includes files of its own folder, and of folders in the rows before; folders of one row do
// not know each other. A folder that has no line of its own belongs to the nearest one above it.
const std::vector<std::vector<std::string>> layers = {
    {"kernels/warpmill"},               // device code, and the types that host and device share
    {"include/warpmill"},               // what callers see
    {"src/common"},                     // what everybody needs
    {"src/tensor_map"},                 // the copy engine's descriptions
    {"src/vgpu/memory"},                // of the virtual GPU
    {"src/vgpu/ptx", "src/vgpu/copy"},  // its texts, its copy engine
    {"src/vgpu/machine"},               // its blocks and warps
    {"src/vgpu/isa/numeric"},           // its numbers
    {"src/vgpu/isa"},                   // its instructions
    {"src/vgpu/check"},                 // its judge
    {"src/vgpu"},                       // the virtual GPU as the runtime sees it
    {"src/runtime"},                    // devices, streams, launches
    {"src/jit", "src/trace"},           // compiled programs, timelines
    {"src/plan"},                       // which plan for which shape
    {"src/ops"},                        // gemm, attention
    {"src/capi", "src/cudart"},         // all of it for C; other people's programs
    {"support"},                        // case files, references
    {"bench/gemm"},                     // measurements
    {"bench/attention"},                // more of them
    {"cli", "bench"},                   // the programs
};

// Where quoted includes are looked for, as the targets have it.
constexpr std::array search = {"src", "include", "kernels", "support", "cli", "bench"};

struct Layer {
  std::size_t row = 0;
  std::string folder;
};

std::optional<Layer> layer_of(const std::string& file) {
  std::optional<Layer> nearest;
  for (std::size_t row = 0; row < layers.size(); ++row)
    for (const std::string& folder : layers[row])
      if (file.starts_with(folder + "/") && (!nearest || folder.size() > nearest->folder.size()))
        nearest = Layer{row, folder};
  return nearest;
}

struct Include {
  std::size_t line = 0;
  std::string name;
  bool quoted = true;
};

std::vector<Include> includes_of(std::istream& text) {
  static const test::Pattern pattern(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  std::vector<Include> found;
  std::string line;
  for (std::size_t number = 1; std::getline(text, line); ++number)
    if (const test::Match match = pattern.first(line); !match.empty())
      found.push_back({number, match[2], match[1] == "\""});
  return found;
}

// The file that a quoted include names, from the root; nothing where it is none of ours.
std::optional<std::string> resolved(const fs::path& root, const std::string& from, const std::string& name) {
  std::vector<fs::path> folders = {fs::path(from).parent_path()};
  folders.insert(folders.end(), search.begin(), search.end());
  for (const fs::path& folder : folders)
    if (fs::exists(root / folder / name)) return (folder / name).lexically_normal().generic_string();
  return std::nullopt;
}

// What is wrong with an include; empty where nothing is.
std::string violation(const fs::path& root, const std::string& from, const Include& include) {
  const auto place = [&](std::string_view what) { return fmt::format("{}:{}: {}", from, include.line, what); };
  const auto layer = layer_of(from);
  if (!layer) return place("this folder has no layer: give it one in tests/architecture/layers_test.cpp");
  if (!include.quoted) {
    const bool header = !from.ends_with(".cpp");
    const std::string& name = include.name;
    const bool dependency = name.starts_with("fmt/") || name == "nlohmann/json.hpp" || name.starts_with("CLI/");
    if (header && dependency) return place(fmt::format("<{}> is for .cpp files only", name));
    if (name.starts_with("CLI/") && from != "cli/main.cpp" && from != "cli/options.cpp")
      return place("CLI11 is for cli/main.cpp and cli/options.cpp only");
    return {};
  }
  const auto target = resolved(root, from, include.name);
  if (!target) return place(fmt::format("\"{}\" is in none of the folders that have layers", include.name));
  const auto other = layer_of(*target);
  if (!other) return place(fmt::format("\"{}\" lies in a folder without a layer", *target));
  if (other->folder == layer->folder || other->row < layer->row) return {};
  return place(fmt::format("{} may not include {} ({}): {}", layer->folder, other->folder, *target,
                           other->row == layer->row ? "folders of one layer do not know each other"
                                                    : "it lies above; move what both need down, or pass it in"));
}

std::vector<std::string> source_files(const fs::path& root) {
  std::vector<std::string> files;
  for (const char* top : {"kernels", "include", "src", "support", "cli", "bench"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string end = entry.path().extension();
      if (end == ".cpp" || end == ".hpp" || end == ".h" || end == ".cuh" || end == ".inc")
        files.push_back(fs::relative(entry.path(), root).generic_string());
    }
  return files;
}

const fs::path root = fs::path(WARPMILL_TEST_DATA).parent_path().parent_path();

TEST(Layers, NoFolderIncludesAgainstTheOrder) {
  const std::vector<std::string> files = source_files(root);
  ASSERT_GT(files.size(), 200u);
  std::string wrong;
  std::size_t seen = 0;
  for (const std::string& file : files) {
    std::ifstream text(root / file);
    for (const Include& include : includes_of(text)) {
      ++seen;
      if (const std::string what = violation(root, file, include); !what.empty()) wrong += what + "\n";
    }
  }
  EXPECT_EQ(wrong, "");
  EXPECT_GT(seen, 1000u);
}

TEST(Layers, EveryFolderOfTheTableIsThere) {
  for (const auto& row : layers)
    for (const std::string& folder : row) EXPECT_TRUE(fs::is_directory(root / folder)) << folder;
}

TEST(Layers, AViolationNamesFileLineAndRule) {
  std::istringstream text(
      "// words\n#include <vector>\n  # include \"vgpu/check/judge.hpp\"\n#include <fmt/format.h>\n");
  const auto includes = includes_of(text);
  ASSERT_EQ(includes.size(), 3u);
  EXPECT_EQ(violation(root, "src/vgpu/machine/grid.cpp", includes[0]), "");
  EXPECT_EQ(violation(root, "src/vgpu/machine/grid.cpp", includes[1]),
            "src/vgpu/machine/grid.cpp:3: src/vgpu/machine may not include src/vgpu/check (src/vgpu/check/judge.hpp): "
            "it lies above; move what both need down, or pass it in");
  EXPECT_EQ(violation(root, "src/vgpu/vgpu.cpp", includes[1]), "");
  EXPECT_EQ(violation(root, "src/vgpu/check/judge.hpp", includes[1]), "");
  EXPECT_EQ(violation(root, "src/vgpu/machine/grid.hpp", includes[2]),
            "src/vgpu/machine/grid.hpp:4: <fmt/format.h> is for .cpp files only");
  EXPECT_EQ(violation(root, "src/vgpu/machine/grid.cpp", includes[2]), "");
  EXPECT_EQ(violation(root, "src/vgpu/ptx/lexer.hpp", {7, "vgpu/copy/walk.hpp"}),
            "src/vgpu/ptx/lexer.hpp:7: src/vgpu/ptx may not include src/vgpu/copy (src/vgpu/copy/walk.hpp): folders of "
            "one layer do not know each other");
  EXPECT_EQ(violation(root, "src/new/file.cpp", includes[1]),
            "src/new/file.cpp:3: this folder has no layer: give it one in tests/architecture/layers_test.cpp");
}

}  // namespace
}  // namespace wm
