// Each rule of tensor maps: what it refuses, in its own words, and what it lets pass.
#include "tensor_map/rules.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

using namespace wm;
using tensor_map::Standing;

namespace {

const Architecture hopper{9, 0, true}, blackwell{10, 0, true}, ampere{8, 0, false};

// Legal maps to start from.
TensorMapSpec matrix() {
  return {.element = MapElement::bf16, .address = 0x10000, .dims = {100, 3008}, .strides = {6016}, .box = {64, 64}};
}
TensorMapSpec images() {  // N D H W C
  return {.mode = MapMode::im2col,
          .element = MapElement::f16,
          .address = 0x10000,
          .dims = {2, 9, 10, 11, 64},
          .strides = {9 * 10 * 11 * 128, 10 * 11 * 128, 11 * 128, 128},
          .lower_corner = {-1, -1, -1},
          .upper_corner = {-1, -1, -1},
          .channels_per_pixel = 64,
          .pixels_per_column = 128};
}
TensorMapSpec wide_images(MapMode mode = MapMode::im2col_w) {
  TensorMapSpec spec = images();
  spec.mode = mode;
  spec.lower_corner = {-1};
  spec.upper_corner = {-1};
  spec.swizzle = Swizzle::b128;
  return spec;
}
TensorMapSpec packed(MapElement element) {
  return {.element = element, .address = 0x10000, .dims = {100, 256}, .strides = {256}, .box = {64, 128}};
}

struct Refusal {
  std::string rule;
  TensorMapSpec start;
  std::function<void(TensorMapSpec&)> change;
  std::string text;
  Architecture arch = hopper;
};

// The whole text of a refusal for every rule, some with two faces. docs/tensor-maps.md shows the same texts.
const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all{
      {"architecture", matrix(), [](auto&) {},
       "tensor map refused: sm_80 has no tensor copy engine\n"
       "  rule: tensor maps need sm_90 or later\n"
       "  fix: copy with cp.async or plain loads on this device",
       ampere},
      {"rank", matrix(), [](auto& s) { s.dims.assign(6, 8); },
       "tensor map refused: the tensor has 6 dimensions\n"
       "  rule: a tiled map has 1 to 5 dimensions, an im2col map 3 to 5\n"
       "  fix: merge dimensions that lie behind each other in memory, or index the outermost ones by one map each"},
      {"rank", images(), [](auto& s) { s.dims.assign(2, 8); },
       "tensor map refused: the tensor has 2 dimensions\n"
       "  rule: a tiled map has 1 to 5 dimensions, an im2col map 3 to 5\n"
       "  fix: add dimensions of 1 element outside"},
      {"lengths", matrix(), [](auto& s) { s.box = {64}; },
       "tensor map refused: box has 1 values for a tensor of 2 dimensions\n"
       "  rule: a tensor of n dimensions has n - 1 strides, n box sizes and element strides, and n - 2 offsets to a "
       "corner (along W alone one)\n"
       "  fix: give 2 values for box, outermost dimension first"},
      {"blackwell-element", packed(MapElement::u4x16_align8), [](auto&) {},
       "tensor map refused: element type 16u4_align8b on sm_90a\n"
       "  rule: the packed 4- and 6-bit element types need sm_100 or later\n"
       "  fix: move the packed bytes as u8 and unpack them in the kernel"},
      {"blackwell-swizzle", matrix(), [](auto& s) { s.swizzle = Swizzle::b128_atom32; },
       "tensor map refused: swizzle 128B_atom_32B on sm_90a\n"
       "  rule: 128-byte swizzles of 32- and 64-byte atoms need sm_100 or later\n"
       "  fix: use swizzle 128B"},
      {"interleave-rank", matrix(), [](auto& s) { s.interleave = Interleave::b16; },
       "tensor map refused: interleave 16B with 2 dimensions\n"
       "  rule: an interleaved map has at least 3 dimensions\n"
       "  fix: add dimensions of 1 element, or use interleave none"},
      {"address-alignment", matrix(), [](auto& s) { s.address += 4; },
       "tensor map refused: address = 0x10004 is not a multiple of 16\n"
       "  rule: the address is a multiple of 16 bytes (32 with 32-byte interleave and for the packed types aligned to "
       "16)\n"
       "  fix: move the tensor: coordinates cannot make up for it, the innermost goes in steps of 16 bytes"},
      {"address-range", matrix(), [](auto& s) { s.address |= std::uint64_t{1} << 57; },
       "tensor map refused: address = 0x200000000010000 has more than 57 bits\n"
       "  rule: the address is less than 2^57\n"
       "  fix: give the address of device memory, without tags in its upper bits"},
      {"dim-range", matrix(), [](auto& s) { s.dims[0] = 0; },
       "tensor map refused: dims[0] = 0 is not in 1..4294967296\n"
       "  rule: each dimension has 1 to 2^32 elements\n"
       "  fix: skip the copy of an empty tensor; split a tensor that is larger"},
      {"packed-dim", packed(MapElement::u6x16_align16), [](auto& s) { s.dims[1] = 200; },
       "tensor map refused: dims[1] = 200 is not a multiple of 128\n"
       "  rule: the inner dimension of a packed type is a multiple of 128 elements (of 2 for 16u4_align8b)\n"
       "  fix: pad the inner dimension to 256 elements",
       blackwell},
      {"stride-range", matrix(), [](auto& s) { s.strides[0] = std::int64_t{1} << 40; },
       "tensor map refused: stride[0] = 1099511627776 is not in 0..1099511627775\n"
       "  rule: global strides are less than 2^40 bytes, and not negative\n"
       "  fix: turn the dimension around, or give each of its indices a map of its own"},
      {"stride-multiple", matrix(),
       [](auto& s) {
         s.dims[1] = 3002;
         s.strides[0] = 6004;
       },
       "tensor map refused: stride[0] = 6004 bytes is not a multiple of 16\n"
       "  rule: global strides are multiples of 16 bytes (32 with 32-byte interleave and for the packed types aligned "
       "to 16)\n"
       "  fix: pad the inner dimension from 3002 to 3008 elements of bf16, or copy into a buffer with padded rows"},
      {"stride-multiple", images(), [](auto& s) { s.strides[0] += 8; },
       "tensor map refused: stride[0] = 126728 bytes is not a multiple of 16\n"
       "  rule: global strides are multiples of 16 bytes (32 with 32-byte interleave and for the packed types aligned "
       "to 16)\n"
       "  fix: allocate the tensor so that the stride is 126736 bytes"},
      {"box-range", matrix(), [](auto& s) { s.box[0] = 257; },
       "tensor map refused: box[0] = 257 is not in 1..256\n"
       "  rule: a box has 1 to 256 elements along each dimension\n"
       "  fix: copy in several boxes"},
      {"channel-range", images(), [](auto& s) { s.channels_per_pixel = 512; },
       "tensor map refused: channels_per_pixel = 512 is not in 1..256\n"
       "  rule: an im2col map takes 1 to 256 channels of a pixel\n"
       "  fix: copy the channels in several parts"},
      {"pixel-range", images(), [](auto& s) { s.pixels_per_column = 1025; },
       "tensor map refused: pixels_per_column = 1025 is not in 1..1024\n"
       "  rule: an im2col map takes 1 to 1024 pixels to a column\n"
       "  fix: copy the column in several parts"},
      {"packed-box", packed(MapElement::u4x16_align16), [](auto& s) { s.box[1] = 64; },
       "tensor map refused: box[1] = 64 elements of 16u4_align16b\n"
       "  rule: a copy of packed types aligned to 16 bytes takes 128 elements of the inner dimension\n"
       "  fix: copy 128 elements of the inner dimension at a time",
       blackwell},
      {"box-inner-multiple", matrix(), [](auto& s) { s.box[1] = 20; },
       "tensor map refused: box[1] = 20 elements of bf16 are 40 bytes, not a multiple of 16\n"
       "  rule: the inner dimension of the box (the channels of a pixel) is a multiple of 16 bytes\n"
       "  fix: make it 24 elements: what lies past the tensor's end is filled"},
      {"swizzle-span", matrix(),
       [](auto& s) {
         s.box[1] = 128;
         s.swizzle = Swizzle::b128;
       },
       "tensor map refused: box[1] = 128 elements of bf16 are 256 bytes, more than swizzle 128B spans\n"
       "  rule: without interleave, the inner dimension of the box (the channels of a pixel) is no longer than the "
       "swizzle's span\n"
       "  fix: copy 64 elements at a time, side by side in shared memory"},
      {"element-stride-range", matrix(),
       [](auto& s) {
         s.element_strides = {9, 1};
       },
       "tensor map refused: element_strides[0] = 9 is not in 1..8\n"
       "  rule: element strides are 1 to 8\n"
       "  fix: fold a larger step into the tensor's stride: dims / step elements, stride * step bytes"},
      {"box-bytes", matrix(),
       [](auto& s) {
         s.box = {256, 256};
         s.element = MapElement::f32;
       },
       "tensor map refused: a box of 262144 bytes is more than 233472\n"
       "  rule: a box has at most 233472 bytes, the shared memory of a multiprocessor\n"
       "  fix: copy in several boxes"},
      {"box-bytes", images(),
       [](auto& s) {
         s.channels_per_pixel = 128;
         s.pixels_per_column = 1024;
       },
       "tensor map refused: a box of 262144 bytes is more than 233472\n"
       "  rule: a box has at most 233472 bytes, the shared memory of a multiprocessor\n"
       "  fix: copy in several boxes"},
      {"packed-interleave", packed(MapElement::u6x16_align16),
       [](auto& s) {
         s.interleave = Interleave::b16;
         s.dims = {2, 100, 256};
         s.strides = {25600, 256};
         s.box = {1, 64, 128};
       },
       "tensor map refused: element type 16u6_align16b with interleave 16B\n"
       "  rule: 16u6_align16b has no interleave\n"
       "  fix: use interleave none",
       blackwell},
      {"packed-swizzle", packed(MapElement::u4x16_align16), [](auto& s) { s.swizzle = Swizzle::b128_atom64; },
       "tensor map refused: element type 16u4_align16b with swizzle 128B_atom_64B\n"
       "  rule: the packed types aligned to 16 bytes have swizzle none, 128B or 128B_atom_32B (16u6 also "
       "128B_atom_64B)\n"
       "  fix: use swizzle 128B",
       blackwell},
      {"blackwell-mode", wide_images(), [](auto&) {},
       "tensor map refused: an im2col::w map on sm_90a\n"
       "  rule: im2col::w and im2col::w::128 need sm_100 or later\n"
       "  fix: use an im2col map"},
      {"wide-layout", wide_images(MapMode::im2col_w128), [](auto& s) { s.swizzle = Swizzle::none; },
       "tensor map refused: an im2col::w::128 map with swizzle none\n"
       "  rule: im2col::w and im2col::w::128 have no interleave and swizzle 64B, 128B or 128B_atom_32B\n"
       "  fix: use swizzle 64B or 128B",
       blackwell},
      {"wide-layout", wide_images(), [](auto& s) { s.interleave = Interleave::b16; },
       "tensor map refused: an im2col::w map with interleave 16B\n"
       "  rule: im2col::w and im2col::w::128 have no interleave and swizzle 64B, 128B or 128B_atom_32B\n"
       "  fix: use interleave none",
       blackwell},
      {"fill-float", matrix(),
       [](auto& s) {
         s.element = MapElement::u16;
         s.fill = OutOfBounds::nan;
       },
       "tensor map refused: out-of-bounds fill nan with element type u16\n"
       "  rule: out-of-bounds elements are NaN only in floating types\n"
       "  fix: fill with zeros, or use a floating element type of the same size"},
      {"corner-range", images(), [](auto& s) { s.lower_corner[2] = -17; },
       "tensor map refused: lower_corner[2] = -17 is not in -16..15\n"
       "  rule: offsets of im2col corners are in -32768..32767 with 3 dimensions, -128..127 with 4, -16..15 with 5 "
       "(along W alone as with 3)\n"
       "  fix: move the rest of the offset into the copies' coordinates"},
      {"corner-area", images(), [](auto& s) { s.upper_corner[0] = -10; },
       "tensor map refused: pixels -1..-2 of dimension 1 (lower_corner[0] = -1, upper_corner[0] = -10, 9 elements) are "
       "none\n"
       "  rule: the bounding box between the im2col corners contains a pixel\n"
       "  fix: raise the upper corner: it counts from the last pixel, so -(filter size - 1) + padding is usual"},
      {"corner-area", images(), [](auto& s) { s.dims[1] = std::int64_t{1} << 32; },
       "tensor map refused: 4294967295 pixels of dimension 1 up to the upper corner are taken for -1\n"
       "  rule: the bounding box between the im2col corners contains a pixel\n"
       "  fix: split the tensor: pixels are counted in 32 bits, with a sign"},
      {"corner-area", wide_images(), [](auto& s) { s.upper_corner[0] = -12; },
       "tensor map refused: pixels -1..-2 of dimension 3 (lower_corner[0] = -1, upper_corner[0] = -12, 11 elements) "
       "are "
       "none\n"
       "  rule: the bounding box between the im2col corners contains a pixel\n"
       "  fix: raise the upper corner: it counts from the last pixel, so -(filter size - 1) + padding is usual",
       blackwell},
  };
  return all;
}

std::string documentation() {
  std::ifstream file(WARPMILL_TEST_DATA "/../../docs/tensor-maps.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(TensorMapRules, LegalMapsPass) {
  EXPECT_NO_THROW(check(matrix(), hopper));
  EXPECT_NO_THROW(check(images(), hopper));
  for (const auto element : {MapElement::u4x16_align8, MapElement::u4x16_align16, MapElement::u6x16_align16})
    EXPECT_NO_THROW(check(packed(element), blackwell)) << name_of(element);
  EXPECT_NO_THROW(check(wide_images(), blackwell));
  TensorMapSpec fixed = wide_images(MapMode::im2col_w128);
  fixed.pixels_per_column = 0;  // it takes 128
  fixed.lower_corner = {-32768};
  EXPECT_NO_THROW(check(fixed, blackwell));
  EXPECT_EQ(fixed.box_bytes(), 128u * 128);
}

TEST(TensorMapRules, EachRefusesWithItsText) {
  for (const Refusal& refusal : refusals()) {
    TensorMapSpec spec = refusal.start;
    refusal.change(spec);
    try {
      check(spec, refusal.arch);
      ADD_FAILURE() << refusal.rule << " let it pass";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), refusal.text);
      EXPECT_EQ(error.code(), tensor_map::rule(refusal.rule).code);
    }
    EXPECT_NE(spec.describe(refusal.arch).find(refusal.text), std::string::npos) << "describe() shows the refusal";
  }
}

TEST(TensorMapRules, EveryEnforcedRuleHasARefusalHere) {
  std::set<std::string> shown;
  for (const Refusal& refusal : refusals()) shown.insert(refusal.rule);
  for (const auto& rule : tensor_map::rules())
    EXPECT_EQ(shown.contains(std::string(rule.id)), rule.standing == Standing::enforced) << rule.id;
}

TEST(TensorMapRules, DocumentationShowsEveryRuleAndRefusal) {
  const std::string page = documentation();
  ASSERT_FALSE(page.empty());
  for (const auto& rule : tensor_map::rules()) {
    EXPECT_NE(page.find("### `" + std::string(rule.id) + "`"), std::string::npos) << rule.id;
    EXPECT_NE(page.find(rule.text), std::string::npos) << rule.text;
  }
  std::set<std::string> seen;
  for (const Refusal& refusal : refusals())  // the first face of each rule
    if (seen.insert(refusal.rule).second) {
      EXPECT_NE(page.find(refusal.text), std::string::npos) << refusal.text;
    }
}

TEST(TensorMapRules, BoundariesAreWhereTheRulesSay) {
  const auto accepts = [](TensorMapSpec spec, const std::function<void(TensorMapSpec&)>& change) {
    change(spec);
    return !tensor_map::first_refusal(spec, hopper);
  };
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.dims[0] = std::int64_t{1} << 32; }));
  EXPECT_FALSE(accepts(matrix(), [](auto& s) { s.dims[0] = (std::int64_t{1} << 32) + 1; }));
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.strides[0] = (std::int64_t{1} << 40) - 16; }));
  EXPECT_FALSE(accepts(matrix(), [](auto& s) { s.strides[0] = -16; }));
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.box[0] = 256; }));
  EXPECT_FALSE(accepts(matrix(), [](auto& s) { s.box[0] = 0; }));
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.element_strides = {8, 1}; }));
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.swizzle = Swizzle::b128; }));
  EXPECT_FALSE(accepts(matrix(), [](auto& s) { s.swizzle = Swizzle::b64; }));
  EXPECT_TRUE(accepts(images(), [](auto& s) { s.lower_corner = {-16, -16, -16}; }));
  EXPECT_TRUE(accepts(images(), [](auto& s) { s.upper_corner = {15, 15, 15}; }));
  EXPECT_FALSE(accepts(images(), [](auto& s) { s.upper_corner = {15, 15, 16}; }));
  EXPECT_TRUE(accepts(images(), [](auto& s) { s.pixels_per_column = 1024; }));
  EXPECT_TRUE(accepts(images(), [](auto& s) { s.fill = OutOfBounds::nan; }));
  EXPECT_TRUE(accepts(matrix(), [](auto& s) { s.address = (std::uint64_t{1} << 57) - 16; }));
}

TEST(TensorMapRules, BoxBytesAreCountedAsTheDriverCounts) {
  TensorMapSpec spec{.element = MapElement::u8, .address = 0x10000, .dims = {64, 64, 64}, .strides = {4096, 64}};
  const auto accepts = [&](std::vector<std::int64_t> box, std::vector<std::int64_t> steps = {}) {
    spec.box = std::move(box);
    spec.element_strides = std::move(steps);
    return !tensor_map::first_refusal(spec, hopper);
  };
  for (const Interleave interleave : {Interleave::none, Interleave::b16, Interleave::b32}) {
    spec.interleave = interleave;
    EXPECT_TRUE(accepts({57, 256, 16}));  // 228 KiB
    EXPECT_FALSE(accepts({58, 256, 16}));
    EXPECT_TRUE(accepts({115, 256, 16}, {2, 1, 1})) << "57 and a half are 57";
    EXPECT_FALSE(accepts({116, 256, 16}, {2, 1, 1}));
    EXPECT_TRUE(accepts({7, 256, 256}, {8, 1, 1})) << "less than a step is nothing";
    EXPECT_TRUE(accepts({57, 256, 32}, {1, 1, 2})) << "the inner stride counts";
  }
}

// Interleaved, the dimensions are N, slices, (D, H,) W: the corners are of the last ones.
TEST(TensorMapRules, InterleavedMapsTakeAnySwizzleButWholeChunks) {
  TensorMapSpec spec = images();
  spec.interleave = Interleave::b32;
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    spec.swizzle = static_cast<Swizzle>(swizzle);
    EXPECT_FALSE(tensor_map::first_refusal(spec, hopper)) << swizzle;
    EXPECT_EQ(spec.describe().find("note: interleave 32B with swizzle") == std::string::npos, swizzle == 1);
  }
  spec.channels_per_pixel = 12;
  EXPECT_EQ(tensor_map::first_refusal(spec, hopper)->rule->id, "box-inner-multiple");
  spec.channels_per_pixel = 8;
  spec.lower_corner = {8, 0, 0};  // of pixels 0..8: the dimension has 10, the slices would be 9
  EXPECT_FALSE(tensor_map::first_refusal(spec, hopper));
  spec.lower_corner = {9, 0, 0};
  EXPECT_EQ(tensor_map::first_refusal(spec, hopper)->rule->id, "corner-area");
}

TEST(TensorMapRules, PixelsUpToTheUpperCornerAreCountedIn32Bits) {
  TensorMapSpec spec = images();
  spec.lower_corner = spec.upper_corner = {0, 0, 0};
  spec.dims[1] = (std::int64_t{1} << 31) - 1;
  EXPECT_FALSE(tensor_map::first_refusal(spec, hopper));
  spec.upper_corner[0] = 1;
  EXPECT_EQ(tensor_map::first_refusal(spec, hopper)->rule->id, "corner-area");
}

TEST(TensorMapRules, ExtremeValuesAreRefusedWithoutOverflow) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value : {least, least + 1, most - 1, most})
    for (const TensorMapSpec& start : {matrix(), images()}) {
      const auto refused = [&](const std::function<void(TensorMapSpec&)>& change) {
        TensorMapSpec spec = start;
        change(spec);
        EXPECT_TRUE(tensor_map::first_refusal(spec, hopper)) << spec.describe();
      };
      refused([&](auto& s) { s.dims.back() = value; });
      refused([&](auto& s) { s.dims.front() = value; });
      refused([&](auto& s) { s.strides.back() = value; });
      refused([&](auto& s) { s.element_strides.assign(s.rank(), value); });
      if (start.mode == MapMode::tiled) {
        refused([&](auto& s) { s.box.back() = value; });
      } else {
        refused([&](auto& s) { s.lower_corner.back() = value; });
        refused([&](auto& s) { s.upper_corner.back() = value; });
        refused([&](auto& s) { s.channels_per_pixel = value; });
        refused([&](auto& s) { s.pixels_per_column = value; });
      }
    }
}

TEST(TensorMapDescribe, TellsAMapInWords) {
  TensorMapSpec spec = matrix();
  spec.swizzle = Swizzle::b128;
  EXPECT_EQ(spec.describe(),
            "tiled tensor map of bf16 elements at 0x10000\n"
            "  tensor      100 x 3008 elements, outermost dimension first\n"
            "  strides     6016 bytes\n"
            "  box         64 x 64 elements, 8192 bytes of shared memory\n"
            "  swizzle     128B: 16-byte chunks trade places within 128 bytes; base the tile at a multiple of 1024 "
            "bytes\n"
            "  L2          no promotion\n"
            "  outside     filled with zeros\n");
  EXPECT_NE(images().describe().find("128 pixels of 64 channels, 16384 bytes"), std::string::npos);
}

TEST(TensorMapDescribe, NotesWhatTheDriverDoesNotCheck) {
  TensorMapSpec overlapping = matrix();
  overlapping.strides = {64};
  EXPECT_NO_THROW(check(overlapping, hopper));
  EXPECT_NE(
      overlapping.describe().find("note: stride[0] = 64 bytes is less than the 6016 bytes of what it steps over\n"
                                  "    rule: a stride is at least as long as the dimensions inside it (the driver "
                                  "does not check it)\n"),
      std::string::npos)
      << overlapping.describe();
  TensorMapSpec single = matrix();  // what is never stepped over cannot overlap
  single.dims = {1, single.dims[0], single.dims[1]};
  single.box = {1, single.box[0], single.box[1]};
  single.strides = {16, single.strides[0]};
  EXPECT_NO_THROW(check(single, hopper));
  EXPECT_EQ(single.describe().find("note:"), std::string::npos) << single.describe();
  single.dims = {3, 1, single.dims[2]};
  single.strides = {6016, 16};
  EXPECT_EQ(single.describe().find("note:"), std::string::npos) << single.describe();
  TensorMapSpec large = matrix();
  large.box = {227, 256};
  large.element = MapElement::f32;
  large.strides = {12032};
  EXPECT_EQ(large.describe().find("note:"), std::string::npos);
  large.box = {228, 256};
  EXPECT_NE(large.describe().find("note: one copy fills 233472 bytes of shared memory"), std::string::npos);
}

TEST(TensorMapDescribe, WorksOnAnything) {
  EXPECT_NE(TensorMapSpec{}.describe().find("tensor map refused"), std::string::npos);
  TensorMapSpec spec = images();
  spec.lower_corner.clear();
  EXPECT_NE(spec.describe().find("tensor map refused"), std::string::npos);
}
