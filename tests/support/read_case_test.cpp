// Case files: what is read, and how each mistake is refused.
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "case/case.hpp"
#include "case/document.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

using namespace wm;
using namespace wm::cases;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

// The case of the documentation, with every kind of field.
constexpr std::string_view full_case = R"({
  "module": "copy.cu",                      // comments are allowed
  "entry": "copy", "arch": "sm_90a", "defines": {"TILE": 64, "SCALE": 2.0, "FAST": true, "TYPE": "float"},
  "grid": [4, 4, 1], "block": [128, 1, 1], "cluster": [2, 1, 1], "shared": 16384,
  "buffers": {
    "x": {"dtype": "bf16", "shape": [256, 256], "fill": {"normal": {"seed": 1}}},
    "y": {"dtype": "bf16", "shape": [256, 256], "strides": [264, 1], "fill": "poison"},
    "n": {"dtype": "u64", "shape": [], "fill": {"value": 18446744073709551615}}
  },
  "arguments": [
    {"tensor_map": {"buffer": "x", "box": [64, 64], "swizzle": "128B"}},
    {"buffer": "y", "offset": 128}, {"i32": -256}, {"f32": 0.5}, {"u64": 0}, {"bytes": "00fF"}, {"bf16": 1}, {"i8": -1}
  ],
  "outputs": {"y": {"write": "y.npy", "equals": "x", "tolerance": {"absolute": 0.5, "relative": 0.25}}}
})";

class CaseFile : public testing::Test {
 protected:
  CaseFile() { folder_.write("copy.cu", ""); }
  Case read(std::string_view text) { return read_case(text, "copy.json", folder_.path()); }
  std::string refused(std::string_view text) {
    return refusal([&] { read(text); });
  }
  // The full case with one part replaced.
  std::string changed(std::string_view part, std::string_view by) {
    std::string text(full_case);
    const auto at = text.find(part);
    EXPECT_NE(at, text.npos) << part;
    return text.replace(at, part.size(), by);
  }
  std::string refused_with(std::string_view part, std::string_view by) { return refused(changed(part, by)); }
  TemporaryFolder folder_;
};

template <class T>
T as(const ArgumentSpec& argument) {
  T value{};
  const auto& bytes = std::get<ScalarArgument>(argument.value).bytes;
  EXPECT_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(T)));
  return value;
}

}  // namespace

TEST_F(CaseFile, IsReadInFull) {
  const Case c = read(full_case);
  EXPECT_EQ(c.name, "copy");
  EXPECT_EQ(c.module, folder_ / "copy.cu");
  EXPECT_EQ(c.entry, "copy");
  EXPECT_EQ(c.arch->name(), "sm_90a");
  EXPECT_EQ(c.defines, (std::map<std::string, std::string>{
                           {"TILE", "64"}, {"SCALE", "2.0"}, {"FAST", "true"}, {"TYPE", "float"}}));
  EXPECT_EQ(c.launch.grid, (Dim3{4, 4, 1}));
  EXPECT_EQ(c.launch.cluster, (Dim3{2, 1, 1}));
  EXPECT_EQ(c.launch.shared_bytes, 16384u);

  ASSERT_EQ(c.buffers.size(), 3u);
  EXPECT_EQ(c.buffers[0].name, "x");
  EXPECT_EQ(c.buffers[0].layout.bytes, 256u * 256 * 2);
  EXPECT_EQ(std::get<Normal>(c.buffers[0].fill).seed, 1u);
  EXPECT_EQ(c.buffers[1].layout.bytes, (255u * 264 + 256) * 2);
  EXPECT_TRUE(std::holds_alternative<Poison>(c.buffers[1].fill));
  EXPECT_EQ(c.buffers[2].layout.elements, 1u);
  for (std::byte byte : std::get<Constant>(c.buffers[2].fill).element) EXPECT_EQ(byte, std::byte{0xff});

  ASSERT_EQ(c.arguments.size(), 8u);
  const TensorMapSpec& map = std::get<TensorMapArgument>(c.arguments[0].value).map;
  EXPECT_EQ(map.dims, (std::vector<std::int64_t>{256, 256}));
  EXPECT_EQ(map.strides, (std::vector<std::int64_t>{512}));  // bytes
  EXPECT_EQ(map.box, (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(map.swizzle, Swizzle::b128);
  EXPECT_EQ(map.element, MapElement::bf16);
  EXPECT_EQ(std::get<BufferArgument>(c.arguments[1].value).buffer, 1u);
  EXPECT_EQ(std::get<BufferArgument>(c.arguments[1].value).offset, 128u);
  EXPECT_EQ(as<std::int32_t>(c.arguments[2]), -256);
  EXPECT_EQ(as<float>(c.arguments[3]), 0.5f);
  EXPECT_EQ(as<std::uint64_t>(c.arguments[4]), 0u);
  EXPECT_EQ(as<std::uint16_t>(c.arguments[5]), 0xff00);  // the bytes 00 ff
  EXPECT_EQ(as<std::uint16_t>(c.arguments[6]), 0x3f80);
  EXPECT_EQ(as<std::int8_t>(c.arguments[7]), -1);

  ASSERT_EQ(c.outputs.size(), 1u);
  EXPECT_EQ(*c.outputs[0].write, folder_ / "y.npy");
  EXPECT_EQ(std::get<BufferContents>(*c.outputs[0].expected).buffer, 0u);
  EXPECT_EQ(c.outputs[0].tolerance.absolute, 0.5);
  EXPECT_EQ(c.outputs[0].tolerance.relative, 0.25);
}

TEST_F(CaseFile, StructsPointersSymbolsAndCompilerFieldsAreRead) {
  std::filesystem::create_directory(folder_ / "headers");
  std::string text = changed(R"("defines")", R"("include": ["headers"], "options": ["--use_fast_math"], "defines")");
  text.replace(text.find(R"({"i32": -256})"), 13,
               R"({"struct": [{"u8": 7}, {"pointer": {"tensor_map": {"buffer": "x", "box": [8, 8]}, "alignment": 64}},
                  {"bytes": "0102", "alignment": 4}]})");
  text.replace(text.find(R"("shape": [], "fill": {"value": 18446744073709551615})"), 52,
               R"("shape": [], "symbol": "ns::n")");
  const Case c = read(text);
  EXPECT_EQ(c.include_folders, std::vector{folder_ / "headers"});
  EXPECT_EQ(c.options, std::vector<std::string>{"--use_fast_math"});
  EXPECT_EQ(c.buffers[2].symbol, "ns::n");
  EXPECT_FALSE(c.buffers[2].filled);
  EXPECT_TRUE(c.buffers[1].filled && c.buffers[1].symbol.empty());
  const auto& members = std::get<StructArgument>(c.arguments[2].value).members;
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(as<std::uint8_t>(members[0]), 7);
  const ArgumentSpec& to = *std::get<PointerArgument>(members[1].value).to;
  EXPECT_EQ(std::get<TensorMapArgument>(to.value).alignment, 64u);
  EXPECT_EQ(std::get<ScalarArgument>(members[2].value).alignment, 4u);
  EXPECT_THAT(members[1].place, HasSubstr("arguments[2].struct[1]"));
}

TEST_F(CaseFile, MistakesAreRefusedWithLineColumnAndField) {
  EXPECT_EQ(refused_with(R"({"buffer": "y", "offset")", R"({"buffer": "z", "offset")"),
            R"(copy.json:12:16: arguments[1].buffer: there is no buffer "z"; there are x, y, n)");
  EXPECT_EQ(refused_with(R"("entry": "copy")", R"("entree": "copy")"),
            R"(copy.json:3:13: entree: there is no such field; is "entry" meant?)");
  EXPECT_EQ(refused_with(R"("entry": "copy",)", ""), R"(copy.json:1:1: "entry" is missing)");
  EXPECT_EQ(refused_with(R"("shared": 16384)", R"("shared": 1.5)"),
            "copy.json:4:76: shared: an integer is expected here, not 1.5");
  EXPECT_EQ(refused_with(R"("block": [128, 1, 1])", R"("block": [128, 0, 1])"),
            "copy.json:4:37: block[1]: 0 is outside 1 to 4294967295");
}

TEST_F(CaseFile, EachFieldRefusesWhatItIsNot) {
  const struct {
    std::string_view part, by, message;
  } mistakes[] = {
      {"copy.cu", "paste.cu", "module: there is no file"},
      {"copy.cu", "copy.c", "module: a module is a .cu or a .ptx file"},
      {"copy.cu", "copy.cu\\u0000.cu", "module: a file's name has no zero character"},
      {"sm_90a", "hopper", "arch: "},
      {"[4, 4, 1]", "[]", "grid: one to three sizes"},
      {"[4, 4, 1]", "[1, 1, 1, 1]", "grid: one to three sizes"},
      {"[4, 4, 1]", "4", "grid: an array is expected here, not 4"},
      {"\"bf16\", \"shape\"", "\"bfloat\", \"shape\"", "buffers.x.dtype: 'bfloat' is no element type; there are u8"},
      {"[256, 256], \"fill\"", "[256, -1], \"fill\"", "buffers.x.shape[1]: -1 is outside 0"},
      {"[256, 256], \"fill\"", "[4611686018427387904, 4], \"fill\"", "buffers.x.shape: the shape"},
      {"[264, 1]", "[264]", "buffers.y.strides: 2 dimensions and 1 strides"},
      {"[256, 256], \"strides\": [264, 1]", "[2305843009213693954], \"strides\": [0]",
       "the shape (2305843009213693954)"},
      {"\"poison\"", "\"poisson\"", "buffers.y.fill: \"poisson\" is none of zeros, poison"},
      {"\"normal\"", "\"nromal\"", "buffers.x.fill.nromal: there is no such field; is \"normal\" meant?"},
      {"{\"seed\": 1}", "{\"seed\": -1}", "buffers.x.fill.normal.seed: -1 is outside 0"},
      {"{\"seed\": 1}", "{\"sigma\": 1}", "buffers.x.fill.normal.sigma: there is no such field; there are seed, mean"},
      {"18446744073709551615", "-1", "buffers.n.fill.value: -1 is outside 0"},
      {"18446744073709551615", "1.5", "buffers.n.fill.value: an integer is expected here, not 1.5"},
      {"{\"value\": 18446744073709551615}", "{\"npy\": \"none.npy\"}", "buffers.n.fill.npy: there is no file"},
      {"{\"value\": 18446744073709551615}", "{}", "buffers.n.fill: exactly one field is expected here, not 0"},
      {"{\"value\": 18446744073709551615}", "{\"uniform\": {}}", "buffers.n.fill.uniform: \"low\" is missing"},
      {"\"box\": [64, 64]", "\"box\": [64]", "arguments[0].tensor_map.box: the tensor has 2 dimensions, the box 1"},
      {"\"box\": [64, 64],", "", "arguments[0].tensor_map: \"box\" is missing"},
      {"\"128B\"", "\"256B\"", "arguments[0].tensor_map.swizzle: "},
      {"\"offset\": 128", "\"offset\": 1000000", "arguments[1].offset: 1000000 is outside 0 to 135152"},
      {"{\"i32\": -256}", "{\"i32\": 2147483648}", "arguments[2].i32: 2147483648 is outside -2147483648 to 2147483647"},
      {"{\"i32\": -256}", "{\"int\": 1}", "arguments[2].int: there is no such field"},
      {"{\"i32\": -256}", "{\"i32\": 1, \"f32\": 1}", "arguments[2]: exactly one field is expected here, not 2"},
      {"{\"i32\": -256}", "7", "arguments[2]: an object is expected here, not 7"},
      {"{\"i32\": -256}", "{\"struct\": []}", "arguments[2].struct: a struct has at least one member"},
      {"{\"i32\": -256}", "{\"struct\": [{\"i32\": 1.5}]}", "arguments[2].struct[0].i32: an integer is expected here"},
      {"{\"i32\": -256}", "{\"pointer\": {\"buffer\": \"z\"}}", "arguments[2].pointer.buffer: there is no buffer"},
      {"{\"i32\": -256}", "{\"bytes\": \"00\", \"alignment\": 3}", "arguments[2].alignment: an alignment is a power"},
      {"\"defines\"", "\"include\": [\"nowhere\"], \"defines\"", "include[0]: there is no file"},
      {"\"defines\"", "\"include\": [\"copy.cu\"], \"defines\"", "include[0]: a folder is expected here"},
      {"\"shape\": [],", "\"shape\": [], \"symbol\": \"\",", "buffers.n.symbol: the name of a variable"},
      {"{\"f32\": 0.5}", "{\"f32\": \"half\"}", "arguments[3].f32: a number (or \"nan\""},
      {"00fF", "00f", "arguments[5].bytes: an even number"},
      {"00fF", "0g", "arguments[5].bytes: 'g' is no hexadecimal digit"},
      {"{\"i8\": -1}", "{\"i8\": 128}", "arguments[7].i8: 128 is outside -128 to 127"},
      {"\"outputs\": {\"y\"", "\"outputs\": {\"w\"", "outputs.w: there is no buffer \"w\""},
      {"\"equals\": \"x\"", "\"equals\": \"n\"", "outputs.y.equals: the two buffers differ in shape"},
      {"\"equals\": \"x\"", "\"equals\": \"x.npy\"", "outputs.y.equals: there is no file"},
      {"\"equals\": \"x\"", R"("equals": {"product": {"a": "x", "b": "w"}})",
       "outputs.y.equals.product.b: there is no buffer"},
      {"\"equals\": \"x\"", R"("equals": {"product": {"a": "x"}})", "outputs.y.equals.product: \"b\" is missing"},
      {"\"equals\": \"x\"", R"("equals": {"product": {"a": "x", "b": "n"}})",
       "outputs.y.equals.product: a is m x k and b is n x k; here a is 256 x 256"},
      {"\"equals\": \"x\"", R"("equals": {"product": {"a": "x", "b": "x", "bias": "x"}})",
       "the bias has one element for each of the 256 columns; here it is 256 x 256"},
      {"\"equals\": \"x\", ", "", "outputs.y.tolerance: a tolerance needs something to compare with"},
      {"\"write\": \"y.npy\"", "\"write\": \"y.txt\"", "outputs.y.write: an output is written as a .npy file"},
      {"\"absolute\": 0.5", "\"absolute\": -1", "outputs.y.tolerance.absolute: a tolerance is a finite number"},
  };
  for (const auto& [part, by, message] : mistakes) EXPECT_THAT(refused_with(part, by), HasSubstr(message)) << by;
}

TEST_F(CaseFile, TextThatIsNoJsonIsRefusedWithItsLine) {
  EXPECT_THAT(refused("{\n  \"module\": \"copy.cu\"\n  \"entry\": \"copy\"\n}"),
              StartsWith("copy.json:3:9: this is no JSON: "));
  EXPECT_THAT(refused(""), StartsWith("copy.json:1:1: this is no JSON: "));
  EXPECT_THAT(refused("[1, 2]"), StartsWith("copy.json:1:1: an object is expected here, not an array"));
  EXPECT_EQ(refused("{\"grid\": [1],\n\"grid\": [2]}"), "copy.json:2:1: \"grid\" is there twice");
  EXPECT_THAT(refused(std::string(100000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(refused("{\"grid\": 1e999}"), HasSubstr("copy.json:1:"));
}

TEST_F(CaseFile, AFileWhoseNameCannotExistIsRefusedLikeOneThatDoesNot) {
  const std::string name(300, 'a');  // longer than any file system takes
  EXPECT_THAT(refused_with("copy.cu", name + ".cu"),
              testing::AllOf(StartsWith("copy.json:2:13: module: cannot look for "), HasSubstr("File name too long")));
  EXPECT_THAT(refused_with("\"equals\": \"x\"", "\"equals\": \"" + name + ".npy\""),
              HasSubstr("outputs.y.equals: cannot look for "));
}

TEST_F(CaseFile, ARefusalShowsControlCharactersInsteadOfSendingThem) {
  EXPECT_THAT(refused_with(R"({"buffer": "y")", R"({"buffer": "\u001b[2Jy")"),
              HasSubstr(R"(there is no buffer "\x1b[2Jy")"));
  EXPECT_THAT(refused_with(R"("entry")", R"("\u0007")"), HasSubstr(R"(copy.json:3:13: \x07: there is no such field)"));
  EXPECT_THAT(refused("\x7f"), HasSubstr(R"(last read: '\x7f')"));
}

TEST_F(CaseFile, TwoOutputsDoNotGoToOneFile) {
  const auto both = [&](std::string_view first, std::string_view second) {
    return refused_with(R"("write": "y.npy", "equals": "x", "tolerance": {"absolute": 0.5, "relative": 0.25}})",
                        fmt::format(R"("write": "{}"}}, "x": {{"write": "{}"}})", first, second));
  };
  EXPECT_THAT(both("y.npy", "y.npy"), HasSubstr(R"(outputs.x.write: "y" is written to this file already)"));
  EXPECT_THAT(both("y.npy", "./y.npy"), HasSubstr("already"));
  std::filesystem::create_symlink("y.npy", folder_ / "link.npy");
  EXPECT_THAT(both("y.npy", "link.npy"), HasSubstr("already"));
  EXPECT_EQ(both("y.npy", "x.npy"), "(not refused)");
  std::filesystem::create_symlink("/dev/null", folder_ / "null.npy");
  EXPECT_EQ(both("null.npy", "null.npy"), "(not refused)");
}

TEST_F(CaseFile, ALargeFileTakesTimeInProportion) {
  constexpr int many = 100'000;             // about 2 s; with work for each pair of them it would be minutes
  const std::clock_t start = std::clock();  // processor time, which a busy machine does not change
  std::string buffers, arguments, defines, outputs;
  for (int i = 0; i < many; ++i) {
    buffers += fmt::format(",\n\"b{}\": {{\"dtype\": \"u8\", \"shape\": []}}", i);
    arguments += fmt::format(",{{\"buffer\": \"b{}\"}}", i);
    defines += fmt::format(",\"b{}\": 1", i);
    outputs += fmt::format(",\"b{}\": {{\"equals\": \"x\"}}", i);
  }
  const Case c = read(R"({"module": "copy.cu", "entry": "copy", "grid": [1], "block": [1],
    "buffers": {"x": {"dtype": "u8", "shape": []})" +
                      buffers + R"(}, "arguments": [{"buffer": "x"})" + arguments + R"(], "defines": {"D": 1)" +
                      defines + R"(}, "outputs": {"x": {"equals": "x"})" + outputs + "}}");
  EXPECT_EQ(c.buffers.size(), many + 1u);
  EXPECT_EQ(std::get<BufferArgument>(c.arguments.back().value).buffer, std::size_t(many));
  EXPECT_THAT(refused(R"({"module": "copy.cu", "entry": "copy", "grid": [1], "block": [1],
    "buffers": {"x": {"dtype": "u8", "shape": []})" +
                      buffers + R"(}, "arguments": [{"buffer": "y"}]})"),
              testing::EndsWith("b17, b18 and 99981 more"));
  EXPECT_LT(std::clock() - start, 30 * CLOCKS_PER_SEC);
}

TEST_F(CaseFile, EveryCutOfAFileIsRefusedAndNothingElse) {
  for (std::size_t length = 0; length + 1 < full_case.size(); ++length)
    EXPECT_THAT(refused(full_case.substr(0, length)), StartsWith("copy.json:")) << length;
}

TEST(Document, KnowsWhereEveryKindOfValueStands) {
  const Document document("{\"a\": [1, -2.5e3, \"q\\\"\\\\\", true,\n  false, null, {}, []]}", "d.json");
  const char* places[] = {"d.json:1:8: a[0]", "d.json:1:11: a[1]", "d.json:1:19: a[2]", "d.json:1:28: a[3]",
                          "d.json:2:3: a[4]", "d.json:2:10: a[5]", "d.json:2:16: a[6]", "d.json:2:20: a[7]"};
  const auto items = document.root().at("a").items();
  ASSERT_EQ(items.size(), std::size(places));
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].place(), places[i]);
  EXPECT_EQ(Document("17", "d.json").root().integer(0, 100), 17);
}
