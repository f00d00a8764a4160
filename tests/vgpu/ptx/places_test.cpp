// Source places: .file, .loc, inlining, and name comments.
#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

TEST(PtxPlaces, LocGivesFileAndLine) {
  const Module module = read_module(
      ".entry k() {\n.reg .b32 a;\nmov.b32 a, 0;\n.loc 7 12 3\nmov.b32 a, 1;\nmov.b32 a, 2;\n}\n"
      ".entry l() {\nret;\n}\n.file 7 \"kernels/k.cu\", 123, 456\n.file 4000000000 \"a\\\\b\"");
  const Function& kernel = module.functions[0];
  EXPECT_EQ(kernel.instructions[0].place.file, 0u);
  EXPECT_EQ(module.files.at(0), "");
  EXPECT_EQ(module.files.at(kernel.instructions[1].place.file), "kernels/k.cu");
  EXPECT_EQ(kernel.instructions[1].place.line, 12u);
  EXPECT_EQ(kernel.instructions[1].place.ptx_line, 8u);
  EXPECT_EQ(kernel.instructions[2].place.line, 12u);
  EXPECT_EQ(module.functions[1].instructions[0].place.file, 0u);  // says nothing about the next function
  EXPECT_EQ(module.files.size(), 3u);
  EXPECT_EQ(module.files.at(2), "a\\b");
}

TEST(PtxPlaces, InlinedFunctionsFormAChain) {
  const Module module = read_module(
      ".entry k() {\n.reg .b32 a;\n.loc 1 19 3\n.loc 2 489 9, function_name $name0, inlined_at 1 19 3\n"
      ".loc 3 87 13, function_name $name0+6, inlined_at 2 489 9\nmov.b32 a, 1;\n"
      ".loc 3 88 13, function_name $name0+6, inlined_at 2 489 9\nmov.b32 a, 2;\n"
      ".loc 1 20 1\nmov.b32 a, 3;\n}\n.file 1 \"a.cu\"\n.file 2 \"b.h\"\n.file 3 \"c.h\"\n"
      ".section .debug_info\n{\n.b32 12\n.b64 $name0+4\n.b32 .debug_abbrev\n}\n"
      ".section .debug_str\n{\n$name0:\n.b8 111,117,116,101,114\n.b8 0,105,110\n.b8 110,101,114,0\n}\n");
  const auto& instructions = module.functions[0].instructions;
  ASSERT_EQ(module.inline_sites.size(), 2u);  // the same call twice is one site
  const Place inner = instructions[0].place;
  EXPECT_EQ(module.files[inner.file], "c.h");
  const InlineSite& call = module.inline_sites.at(std::size_t(inner.inlined_at));
  EXPECT_EQ(call.function, "inner");
  EXPECT_EQ(module.files[call.at.file], "b.h");
  EXPECT_EQ(call.at.line, 489u);
  const InlineSite& outer = module.inline_sites.at(std::size_t(call.at.inlined_at));
  EXPECT_EQ(outer.function, "outer");
  EXPECT_EQ(outer.at.line, 19u);
  EXPECT_EQ(outer.at.inlined_at, -1);
  EXPECT_EQ(instructions[1].place.inlined_at, inner.inlined_at);
  EXPECT_EQ(instructions[2].place.inlined_at, -1);
}

TEST(PtxPlaces, MissingNamesAreEmptyAndSelfInliningEnds) {
  std::string locations;
  for (int i = 0; i < 1000; ++i) locations += ".loc 1 5 3, function_name $nowhere, inlined_at 1 5 3\n";
  const Module module = read_module(".entry k() {\n" + locations + "ret;\n}");
  int depth = 0;
  for (std::int32_t site = module.functions[0].instructions[0].place.inlined_at; site >= 0; ++depth) {
    EXPECT_EQ(module.inline_sites.at(std::size_t(site)).function, "");
    site = module.inline_sites.at(std::size_t(site)).at.inlined_at;
  }
  EXPECT_LE(depth, 64);
}

TEST(PtxPlaces, LongNamesOfManySitesStayInProportion) {
  std::string text = ".entry k() {\n";
  for (int i = 0; i < 2000; ++i)
    text += ".loc 1 " + std::to_string(i) + " 1, function_name $name, inlined_at 2 " + std::to_string(i) + " 1\n";
  text += "ret;\n}\n.section .debug_str {\n$name:\n.b8 65";
  for (int i = 0; i < 100000; ++i) text += ",65";
  const Module module = read_module(text + ",0\n}");
  std::size_t total = 0;
  for (const InlineSite& site : module.inline_sites) total += site.function.size();
  EXPECT_EQ(module.inline_sites.size(), 2000u);
  EXPECT_LE(total, 16 * text.size() + 4096);
}

TEST(PtxPlaces, WrongDirectivesAreRefused) {
  EXPECT_NE(module_refusal(".file one \"x\"").find("expected the number of a .file, found 'one'"), std::string::npos);
  EXPECT_NE(module_refusal(".file 1 x").find("expected a path in quotes, found 'x'"), std::string::npos);
  EXPECT_NE(kernel_refusal(".loc 1 2\nret;").find("expected a column number, found 'ret'"), std::string::npos);
  EXPECT_NE(kernel_refusal(".loc 1 2 3, inlined 1 2 3").find("expected 'function_name' or 'inlined_at'"),
            std::string::npos);
  EXPECT_NE(module_refusal(".section .debug_info {").find("expected '}' to close a section"), std::string::npos);
  EXPECT_NE(module_refusal(".section .debug_str { .b8 x }").find("expected a byte, found 'x'"), std::string::npos);
}

TEST(PtxNames, CommentsNameTheNextInstruction) {
  const Function kernel = read_kernel(
      "// wm.name barrier full %r1\n// begin inline asm\nmov.b32 %r1, 1; // wm.name role load\n// wm.named no\n/* "
      "wm.name neither */\nmov.b32 %r2, 2;\n//wm.name last \nret;");
  ASSERT_EQ(kernel.names.size(), 3u);
  EXPECT_EQ(kernel.names[0].instruction, 0u);
  EXPECT_EQ(kernel.names[0].text, "barrier full %r1");
  EXPECT_EQ(kernel.names[1].instruction, 1u);
  EXPECT_EQ(kernel.names[1].text, "role load");
  EXPECT_EQ(kernel.names[2].instruction, 2u);
  EXPECT_EQ(kernel.names[2].text, "last");
}

}  // namespace
}  // namespace wm::vgpu::ptx
