// What real compilers wrote is read, and neither cut nor damaged text can crash the reader or make it hang.
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

const std::filesystem::path folder = std::filesystem::path(WARPMILL_TEST_DATA) / "samples";

std::string sample(const std::string& name) {
  std::ifstream file(folder / name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> all_samples() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ptx") texts.push_back(sample(entry.path().filename().string()));
  return texts;
}

// Either a module or a refusal; every index that a module holds is a valid one.
void read_anything(const std::string& text) {
  try {
    const Module module = read(text, "damaged.ptx");
    for (const Function& function : module.functions) {
      const std::size_t count = function.instructions.size();
      for (const BranchTable& table : function.branch_tables)
        for (const std::uint32_t target : table.targets) ASSERT_LT(target, count);
      for (const NameComment& name : function.names) ASSERT_LT(name.instruction, count);
      for (const Instruction& instruction : function.instructions) {
        ASSERT_LT(instruction.guard, std::int32_t(function.registers.size()));
        ASSERT_LT(instruction.place.file, module.files.size());
        ASSERT_LT(instruction.place.inlined_at, std::int32_t(module.inline_sites.size()));
        for (const Operand& operand : instruction.operands) {
          if (operand.kind == OperandKind::reg) {
            ASSERT_LT(operand.index, function.registers.size());
          }
          if (operand.kind == OperandKind::label) {
            ASSERT_LT(operand.index, count);
          }
          if (operand.kind == OperandKind::table) {
            ASSERT_LT(operand.index, function.branch_tables.size());
          }
        }
      }
    }
    for (const Variable& variable : module.variables) ASSERT_LE(variable.initial.size(), variable.bytes);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::compile);
    ASSERT_LT(std::string_view(error.what()).size(), 1000u);
  }
}

TEST(PtxSamples, FeaturesOfNvcc) {
  const Module module = read(sample("features.sm_80.ptx"), "features");
  EXPECT_EQ(module.target.name(), "sm_80");
  const Function& kernel = module.functions.back();
  EXPECT_TRUE(kernel.entry);
  EXPECT_EQ(kernel.max_threads, (std::vector<std::uint32_t>{128, 1, 1}));
  EXPECT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[0].bytes, 24u);
  ASSERT_EQ(kernel.branch_tables.size(), 1u);
  EXPECT_EQ(kernel.branch_tables[0].targets.size(), 8u);
  std::set<std::string> names;
  for (const Variable& variable : kernel.variables) EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
  for (const Variable& variable : module.variables)
    if (variable.name == "packed") {
      EXPECT_EQ(variable.relocations.size(), 8u);
    }
}

TEST(PtxSamples, LineTablesNameInlinedFunctions) {
  const Module module = read(sample("features.sm_90a.lineinfo.ptx"), "features");
  std::set<std::string> functions;
  for (const InlineSite& site : module.inline_sites) functions.insert(site.function);
  EXPECT_TRUE(functions.contains("_Z6chooseif"));
  EXPECT_TRUE(functions.contains("_Z4pickILi12EEffi"));
  for (const Function& function : module.functions)
    for (const Instruction& instruction : function.instructions) {
      EXPECT_NE(instruction.place.file, 0u);
      EXPECT_NE(module.files[instruction.place.file], "");
    }
}

TEST(PtxSamples, DebugBuildsAndClang) {
  EXPECT_GT(read(sample("features.sm_90a.debug.ptx"), "debug").functions.size(), 6u);
  const Module clang = read(sample("plain.sm_80.clang.ptx"), "clang");
  EXPECT_EQ(clang.version_major, 7);
  EXPECT_EQ(clang.functions.size(), 2u);
}

TEST(PtxSamples, HopperAssemblyKeepsItsScopesAndNames) {
  const Module module = read(sample("hopper.sm_90a.lineinfo.ptx"), "hopper");
  const Function& kernel = module.functions.at(0);
  EXPECT_EQ(kernel.required_cluster, (std::vector<std::uint32_t>{2, 1, 1}));
  ASSERT_EQ(kernel.names.size(), 1u);
  EXPECT_TRUE(kernel.names[0].text.starts_with("barrier full %r"));
  std::set<std::int32_t> predicates;
  for (const Instruction& instruction : kernel.instructions)
    if (instruction.opcode == "bra" && instruction.guard >= 0) predicates.insert(instruction.guard);
  EXPECT_GE(predicates.size(), 3u);  // two loops, each with a `p` and a `done` of its own
}

TEST(PtxRobustness, CutTextIsRefusedOrRead) {
  for (const std::string& text : all_samples())
    for (std::size_t part = 0; part <= 250; ++part) read_anything(text.substr(0, text.size() * part / 250));
  const std::string small = sample("hopper.sm_90a.lineinfo.ptx");
  for (std::size_t length = 0; length < small.size(); ++length) read_anything(small.substr(0, length));
}

TEST(PtxRobustness, DamagedTextIsRefusedOrRead) {
  const std::string pieces[] = {"{",
                                "}",
                                "[",
                                "]",
                                "(",
                                ")",
                                ";",
                                ",",
                                "<4000000000>",
                                "0f",
                                "%r",
                                ".align ",
                                "-",
                                "\"",
                                "_",
                                "|",
                                "@",
                                ":",
                                ".reg .b32 x<9>;",
                                "[18446744073709551615]",
                                "= {{{{",
                                "/*",
                                "\n",
                                "0xFF(",
                                "generic(",
                                ".v4",
                                ".loc 1 2 3",
                                std::string(1, '\0'),
                                "\xff",
                                "%r1",
                                "1 ? 2 :"};
  std::mt19937 random(20261115);
  for (const std::string& text : all_samples())
    for (int round = 0; round < 400; ++round) {
      std::string damaged = text;
      for (unsigned count = 1 + random() % 3; count > 0; --count) {
        const std::size_t at = random() % damaged.size();
        const std::size_t length = std::min<std::size_t>(1 + random() % 40, damaged.size() - at);
        switch (random() % 5) {
          case 0: damaged[at] = char(random()); break;
          case 1: damaged.erase(at, length); break;
          case 2: damaged.insert(at, damaged.substr(random() % damaged.size(), length)); break;
          case 3: damaged.insert(at, pieces[random() % std::size(pieces)]); break;
          case 4: damaged.replace(at, length, pieces[random() % std::size(pieces)]); break;
        }
      }
      read_anything(damaged);
    }
}

// Three megabytes each. The bound is loose, for slow machines and sanitizers: quadratic work would take minutes.
TEST(PtxRobustness, TimeGrowsWithTheTextAlone) {
  const auto repeated = [](std::string_view piece) {
    std::string text;
    while (text.size() < 3'000'000) text += piece;
    return text;
  };
  std::string labels, tables;
  for (int i = 0; labels.size() < 3'000'000; ++i) {
    const std::string name = "L" + std::to_string(i);
    labels += name + ": bra " + name + ";\n";
  }
  for (int i = 0; tables.size() < 3'000'000; ++i) tables += "a" + std::to_string(i) + ": .branchtargets end, end;\n";
  const std::string texts[] = {
      kernel_text(repeated("@%p1 fma.rn.f32 %f1, %f2, %f3, 0f3F800000;\n")),
      kernel_text(repeated("{ .reg .b32 %r<9>; .param .b32 a; st.param.b32 [a+0], %r1; }\n")),
      kernel_text(repeated("bra end; ") + "end: ret;"),
      kernel_text(std::string(30, '{') + repeated("bra end; mov.b32 %r1, 1;") + std::string(30, '}') + "end: ret;"),
      kernel_text(labels),
      kernel_text(tables + "end: ret;"),
      kernel_text(repeated("mov.b32 %r1, 1;") + "!"),
      module_text(".global .u8 x[] = {" + repeated("1,") + "1};"),
      module_text(".section .debug_info { " + repeated(".b8 1,2,3\n") + "}"),
      module_text(repeated("// wm.name nothing\n")),
      module_text(repeated("a")),
      module_text(repeated("1")),
  };
  for (const std::string& text : texts) {
    const std::clock_t begin = std::clock();  // processor time, which a busy machine does not change
    read_anything(text);
    EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC) << text.substr(0, 300);
  }
}

}  // namespace
}  // namespace wm::vgpu::ptx
