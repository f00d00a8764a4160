// Tensor copies: loads, stores, multicast loads of 1 to 5 dimensions and im2col, in each swizzle and interleave, inside
// and outside the tensor.
#include <algorithm>

#include "lab.hpp"
#include "tensor_reference.hpp"

namespace wm::golden {
namespace {

constexpr std::uint32_t shared_bytes = 48 * 1024 + 16;  // as in tensors.cu
constexpr std::size_t guard = 64;                       // bytes looked at past the tile

struct Copy {
  TensorMapSpec spec;
  Place place;
  std::size_t tensor_bytes = 0;
};

// A dense tensor of `dims` (outermost first) of which boxes are taken; the innermost pitch is rounded up to 16 bytes.
Copy tiled(MapElement element, std::vector<std::int64_t> dims, std::vector<std::int64_t> box, Swizzle swizzle,
           std::vector<std::int32_t> at, std::vector<std::int64_t> element_strides = {}) {
  Copy copy;
  copy.spec.element = element;
  copy.spec.swizzle = swizzle;
  copy.spec.dims = dims;
  copy.spec.box = std::move(box);
  copy.spec.element_strides = std::move(element_strides);
  std::int64_t bytes = (dims.back() * static_cast<std::int64_t>(bits_of(element) / 8) + 15) / 16 * 16;
  for (std::size_t i = dims.size() - 1; i > 0; --i) {
    copy.spec.strides.insert(copy.spec.strides.begin(), bytes);
    bytes *= dims[i - 1];
  }
  copy.tensor_bytes = static_cast<std::size_t>(bytes);
  for (std::size_t i = 0; i < at.size(); ++i) copy.place.at[i] = at[i];
  return copy;
}

// N C/8 D H W C8: dims are (images, slices of channels, [[depth,] height,] width), of which the innermost counts
// pixels.
Copy interleaved(Interleave interleave, std::vector<std::int64_t> dims, std::vector<std::int64_t> box, Swizzle swizzle,
                 std::vector<std::int32_t> at) {
  Copy copy = tiled(MapElement::u16, dims, std::move(box), swizzle, std::move(at));
  copy.spec.interleave = interleave;
  copy.spec.strides.clear();
  std::int64_t bytes = dims.back() * (interleave == Interleave::b16 ? 16 : 32);
  for (std::size_t i = dims.size() - 1; i > 0; --i) {
    copy.spec.strides.insert(copy.spec.strides.begin(), bytes);
    bytes *= dims[i - 1];
  }
  copy.tensor_bytes = static_cast<std::size_t>(bytes);
  return copy;
}

Copy im2col(MapElement element, std::vector<std::int64_t> dims, std::vector<std::int64_t> lower,
            std::vector<std::int64_t> upper, std::int64_t channels, std::int64_t pixels, Swizzle swizzle,
            std::vector<std::int32_t> at, std::vector<std::uint16_t> offset,
            std::vector<std::int64_t> element_strides = {}) {
  Copy copy = tiled(element, std::move(dims), {}, swizzle, std::move(at), std::move(element_strides));
  copy.spec.mode = MapMode::im2col;
  copy.spec.lower_corner = std::move(lower);
  copy.spec.upper_corner = std::move(upper);
  copy.spec.channels_per_pixel = channels;
  copy.spec.pixels_per_column = pixels;
  for (std::size_t i = 0; i < offset.size(); ++i) copy.place.offset[i] = offset[i];
  return copy;
}

std::vector<std::uint8_t> tensor_of(const Copy& copy, std::uint64_t seed) {
  return random_bits<std::uint8_t>(copy.tensor_bytes, seed);
}

// The shared memory a load must leave: the tile and its guard.
std::vector<std::uint8_t> expected_tile(const Copy& copy, const std::vector<std::uint8_t>& tensor) {
  const std::size_t size = bits_of(copy.spec.element) / 8;
  std::vector<std::uint8_t> tile(extent_of(copy.spec) + guard, 0xa5);
  for_each_element(copy.spec, copy.place, End::element, [&](std::int64_t to, std::int64_t from) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint8_t nan = i % 2 ? 0x7f : 0xf7;  // 0x7ff7 in every 16 bits: a NaN in each type
      tile.at(static_cast<std::size_t>(to) + i) = from >= 0 ? tensor.at(static_cast<std::size_t>(from) + i)
                                                  : copy.spec.fill == OutOfBounds::nan ? nan
                                                                                       : std::uint8_t{0};
    }
  });
  return tile;
}

Results load(const Device& device, const Copy& copy, const KernelName& name) {
  const auto tensor = tensor_of(copy, 11);
  const Buffer memory = upload(device, tensor);
  TensorMapSpec spec = copy.spec;
  spec.address = memory.address();
  const auto bytes = static_cast<std::uint32_t>(spec.box_bytes());
  const std::uint32_t extent = extent_of(spec);
  const Buffer out = poisoned<std::uint8_t>(device, extent + guard);
  run(device, name, {.block = {128}, .shared_bytes = shared_bytes}, make_tensor_map(device, spec), copy.place, bytes,
      extent, out);
  const auto got = out.download<std::uint8_t>();
  require_equal(got, expected_tile(copy, tensor));
  return results(DType::u8, got);
}

Results load_multicast(const Device& device, const Copy& copy, const KernelName& name, std::uint32_t cluster,
                       std::uint32_t blocks, std::uint32_t sender) {
  const auto tensor = tensor_of(copy, 13);
  const Buffer memory = upload(device, tensor);
  TensorMapSpec spec = copy.spec;
  spec.address = memory.address();
  const auto bytes = static_cast<std::uint32_t>(spec.box_bytes());
  const Buffer out = poisoned<std::uint8_t>(device, cluster * (bytes + guard));
  run(device, name, {.grid = {cluster}, .block = {128}, .cluster = {cluster}, .shared_bytes = shared_bytes},
      make_tensor_map(device, spec), copy.place, bytes, blocks, sender, out);
  const auto got = out.download<std::uint8_t>();
  const auto tile = expected_tile(copy, tensor);
  std::vector<std::uint8_t> want;
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    for (const std::uint8_t byte : tile) want.push_back(blocks >> rank & 1 ? byte : 0xa5);
  require_equal(got, want);
  return results(DType::u8, got);
}

Results store(const Device& device, const Copy& copy, const KernelName& name) {
  const std::uint32_t bytes = extent_of(copy.spec);
  const auto tile = random_bits<std::uint8_t>(bytes, 17);
  const Buffer memory = poisoned<std::uint8_t>(device, copy.tensor_bytes);
  TensorMapSpec spec = copy.spec;
  spec.address = memory.address();
  run(device, name, {.block = {128}, .shared_bytes = shared_bytes}, make_tensor_map(device, spec), copy.place, bytes,
      upload(device, tile));
  const auto got = memory.download<std::uint8_t>();
  std::vector<std::uint8_t> want(copy.tensor_bytes, 0xa5);
  const std::size_t size = bits_of(spec.element) / 8;
  for_each_element(copy.spec, copy.place, End::piece, [&](std::int64_t from, std::int64_t to) {
    for (std::size_t i = 0; to >= 0 && i < size; ++i)
      want.at(static_cast<std::size_t>(to) + i) = tile.at(static_cast<std::size_t>(from) + i);
  });
  require_equal(got, want);
  return results(DType::u8, got);
}

class Adder {
 public:
  explicit Adder(std::vector<Case>& cases) : cases_(cases) {}

  void load_case(const std::string& variant, const Copy& copy) {
    const KernelName name = declare("tensors.cu", fmt::format("load<{}, {}>", copy.spec.rank(), is_im2col(copy)));
    push((is_im2col(copy) ? "tma_load_im2col/" : "tma_load/") + variant,
         [=](const Device& d) { return load(d, copy, name); });
  }
  void store_case(const std::string& variant, const Copy& copy) {
    const KernelName name = declare("tensors.cu", fmt::format("store<{}, {}>", copy.spec.rank(), is_im2col(copy)));
    push((is_im2col(copy) ? "tma_store_im2col/" : "tma_store/") + variant,
         [=](const Device& d) { return store(d, copy, name); });
  }
  // A box that is stored begins at no negative coordinate: the chip answers with an illegal instruction.
  void both(const std::string& variant, const Copy& copy) {
    load_case(variant, copy);
    const auto negative = [](std::int32_t at) { return at < 0; };
    if (std::none_of(copy.place.at.begin(), copy.place.at.end(), negative)) store_case(variant, copy);
  }
  void multicast_case(const std::string& variant, const Copy& copy, std::uint32_t cluster, std::uint32_t blocks,
                      std::uint32_t sender) {
    const KernelName name =
        declare("tensors.cu", fmt::format("load_multicast<{}, {}>", copy.spec.rank(), is_im2col(copy)));
    push("tma_multicast/" + variant,
         [=](const Device& d) { return load_multicast(d, copy, name, cluster, blocks, sender); });
  }

 private:
  static bool is_im2col(const Copy& copy) { return copy.spec.mode == MapMode::im2col; }
  void push(std::string name, std::function<Results(const Device&)> run) {
    cases_.push_back({std::move(name), {}, std::move(run), 64, {}});
  }
  std::vector<Case>& cases_;
};

std::string word(Swizzle swizzle) {
  return swizzle == Swizzle::none ? "plain" : fmt::format("swizzle{}", span_of(swizzle));
}

}  // namespace

void add_tensors(std::vector<Case>& cases) {
  Adder add(cases);
  const Swizzle swizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};

  // Each rank, swizzle and place: inside, across the upper ends, across the lower ends, wholly outside. The innermost
  // coordinate is a multiple of 16 bytes everywhere: the chip answers any other with an illegal instruction.
  for (const Swizzle swizzle : swizzles) {
    const std::int64_t inner =
        swizzle == Swizzle::none ? 48 : static_cast<std::int64_t>(span_of(swizzle)) / 2;  // of 2 bytes
    const auto at = [&](const char* where, std::vector<std::int64_t> dims, std::vector<std::int64_t> box,
                        std::vector<std::int32_t> place) {
      add.both(fmt::format("{}d_{}_{}", dims.size(), word(swizzle), where),
               tiled(MapElement::u16, dims, box, swizzle, place));
    };
    at("inside", {200}, {inner}, {40});
    at("above", {196}, {inner}, {192});
    at("below", {200}, {inner}, {-8});
    at("outside", {200}, {inner}, {1000});
    at("inside", {40, 100}, {16, inner}, {8, 3});
    at("above", {40, 100}, {16, inner}, {88, 31});
    at("below", {40, 100}, {16, inner}, {-8, -7});
    at("before", {40, 100}, {16, inner}, {8, -16});
    at("outside", {40, 100}, {16, inner}, {8, 40});
    at("inside", {6, 10, 100}, {3, 5, inner}, {8, 2, 1});
    at("above", {6, 10, 100}, {3, 5, inner}, {80, 7, 5});
    at("below", {6, 10, 100}, {3, 5, inner}, {-8, -2, -1});
    at("inside", {3, 4, 5, 100}, {2, 3, 2, inner}, {16, 1, 1, 0});
    at("above", {3, 4, 5, 100}, {2, 3, 2, inner}, {96, 4, 3, 2});
    at("below", {3, 4, 5, 100}, {2, 3, 2, inner}, {-8, -1, -1, -1});
    at("inside", {2, 3, 4, 5, 100}, {2, 2, 2, 2, inner}, {16, 1, 1, 1, 0});
    at("above", {2, 3, 4, 5, 100}, {2, 2, 2, 2, inner}, {72, 4, 3, 2, 1});
    at("below", {2, 3, 4, 5, 100}, {2, 2, 2, 2, inner}, {-8, -1, -1, -1, -1});
  }
  // A box narrower than the swizzle's span: its rows lie a span apart.
  add.both("2d_swizzle128_narrow", tiled(MapElement::u16, {40, 100}, {16, 16}, Swizzle::b128, {8, 3}));
  add.both("2d_swizzle64_narrow", tiled(MapElement::u16, {40, 100}, {16, 8}, Swizzle::b64, {8, 3}));
  add.both("3d_swizzle128_narrow", tiled(MapElement::u8, {6, 10, 100}, {3, 5, 48}, Swizzle::b128, {80, 7, 5}));
  // Each element type: the width matters, and which fill.
  for (const MapElement element :
       {MapElement::u8, MapElement::u16, MapElement::u32, MapElement::i32, MapElement::u64, MapElement::i64,
        MapElement::f16, MapElement::bf16, MapElement::f32, MapElement::f64}) {
    const auto piece = static_cast<std::int32_t>(128 / bits_of(element)), width = 4 * piece;
    const std::int32_t x = (50 - width / 2) / piece * piece;
    Copy copy = tiled(element, {20, 50}, {8, width}, Swizzle::b64, {x, 14});
    add.store_case(fmt::format("2d_{}", name_of(element)), copy);
    copy.place.at[1] = -2;
    add.load_case(fmt::format("2d_{}", name_of(element)), copy);
    if (!is_floating(element)) continue;
    copy.spec.fill = OutOfBounds::nan;
    add.load_case(fmt::format("2d_{}_nan", name_of(element)), copy);
  }
  // Element strides.
  add.load_case("2d_stride_2", tiled(MapElement::u16, {40, 100}, {16, 32}, Swizzle::none, {8, 3}, {2, 1}));
  add.load_case("2d_stride_3_above", tiled(MapElement::u16, {40, 100}, {16, 32}, Swizzle::b64, {88, 33}, {3, 1}));
  add.load_case("3d_strides", tiled(MapElement::u16, {12, 20, 100}, {5, 7, 32}, Swizzle::b64, {-8, -3, -2}, {2, 3, 1}));
  add.load_case("4d_strides",
                tiled(MapElement::u16, {6, 6, 9, 40}, {4, 3, 7, 16}, Swizzle::b32, {8, 1, 2, 1}, {3, 2, 4, 1}));
  add.load_case("5d_strides", tiled(MapElement::u32, {4, 5, 6, 7, 40}, {3, 2, 5, 4, 8}, Swizzle::b32, {4, 1, 2, 1, 0},
                                    {2, 1, 3, 2, 1}));
  // Interleaved channels: a copy moves one slice of each pixel.
  for (const auto& [interleave, swizzle, text] : {std::tuple{Interleave::b16, Swizzle::none, "16_plain"},
                                                  {Interleave::b16, Swizzle::b32, "16_swizzle32"},
                                                  {Interleave::b16, Swizzle::b64, "16_swizzle64"},
                                                  {Interleave::b16, Swizzle::b128, "16_swizzle128"},
                                                  {Interleave::b32, Swizzle::b32, "32"}}) {
    const auto at = [&](const char* where, std::vector<std::int64_t> dims, std::vector<std::int64_t> box,
                        std::vector<std::int32_t> place) {
      add.both(fmt::format("{}d_interleave{}_{}", dims.size(), text, where),
               interleaved(interleave, dims, box, swizzle, place));
    };
    at("inside", {2, 3, 19}, {1, 2, 8}, {5, 1, 1});
    at("inside", {2, 3, 5, 12}, {2, 1, 3, 8}, {1, 1, 2, 0});
    at("below", {2, 3, 5, 12}, {2, 1, 3, 8}, {-3, -1, 1, 0});
    at("above", {2, 3, 5, 12}, {2, 1, 3, 8}, {7, 3, 1, 1});
    at("outside", {2, 3, 5, 12}, {2, 1, 3, 8}, {0, 0, 3, 0});
    at("inside", {2, 3, 4, 5, 12}, {1, 2, 2, 3, 8}, {1, 1, 0, 2, 1});
  }

  // im2col: rank 3 to 5, filter taps, padding, strides; the walk crosses rows and images.
  for (const Swizzle swizzle : swizzles) {
    const std::int64_t channels = swizzle == Swizzle::none ? 24 : static_cast<std::int64_t>(span_of(swizzle)) / 2;
    const auto name = [&](const char* what) { return fmt::format("{}_{}", what, word(swizzle)); };
    add.load_case(name("3d"), im2col(MapElement::f16, {3, 20, 64}, {-1}, {-1}, channels, 40, swizzle, {0, 5, 0}, {2}));
    add.load_case(name("4d"), im2col(MapElement::f16, {3, 7, 9, 64}, {-1, -1}, {-1, -1}, channels, 64, swizzle,
                                     {0, -1, -1, 0}, {2, 1}));
    add.load_case(name("4d_middle"), im2col(MapElement::f16, {3, 7, 9, 64}, {-1, -1}, {-1, -1}, channels, 50, swizzle,
                                            {8, 3, 2, 1}, {0, 2}));
    add.load_case(name("4d_end"), im2col(MapElement::f16, {2, 5, 6, 64}, {-2, -2}, {-2, -2}, channels, 64, swizzle,
                                         {0, 1, 1, 1}, {4, 4}));
    add.load_case(name("4d_strides"), im2col(MapElement::f16, {2, 9, 11, 64}, {-1, -1}, {-1, -1}, channels, 32, swizzle,
                                             {0, -1, -1, 0}, {1, 1}, {1, 2, 2, 1}));
    add.load_case(name("5d"), im2col(MapElement::f16, {2, 4, 5, 6, 64}, {-1, -1, -1}, {-1, -1, -1}, channels, 64,
                                     swizzle, {0, 0, 1, -1, 0}, {1, 2, 0}));
    add.store_case(name("3d"), im2col(MapElement::f16, {3, 20, 64}, {0}, {0}, channels, 40, swizzle, {0, 5, 0}, {}));
    add.store_case(name("4d"),
                   im2col(MapElement::f16, {3, 7, 9, 64}, {0, 0}, {0, 0}, channels, 64, swizzle, {0, 3, 2, 0}, {}));
    add.store_case(name("5d"), im2col(MapElement::f16, {2, 4, 5, 6, 64}, {0, 0, 0}, {0, 0, 0}, channels, 64, swizzle,
                                      {0, 0, 1, 1, 0}, {}));
  }

  for (const auto& [cluster, blocks, sender] :
       {std::tuple{2u, 3u, 0u}, {2u, 2u, 0u}, {2u, 1u, 1u}, {4u, 15u, 3u}, {4u, 10u, 0u}, {4u, 7u, 2u}}) {
    const std::string text = fmt::format("cluster{}_to{:x}_from{}", cluster, blocks, sender);
    add.multicast_case("1d_" + text, tiled(MapElement::u16, {200}, {64}, Swizzle::none, {40}), cluster, blocks, sender);
    add.multicast_case("2d_" + text, tiled(MapElement::u16, {40, 100}, {16, 64}, Swizzle::b128, {88, 31}), cluster,
                       blocks, sender);
    add.multicast_case("3d_" + text, tiled(MapElement::u16, {6, 10, 100}, {3, 5, 32}, Swizzle::b64, {8, 2, 1}), cluster,
                       blocks, sender);
    add.multicast_case("4d_" + text, tiled(MapElement::u16, {3, 4, 5, 100}, {2, 3, 2, 16}, Swizzle::b32, {16, 1, 1, 0}),
                       cluster, blocks, sender);
    add.multicast_case("5d_" + text,
                       tiled(MapElement::u16, {2, 3, 4, 5, 100}, {2, 2, 2, 2, 16}, Swizzle::none, {-8, -1, -1, -1, -1}),
                       cluster, blocks, sender);
    add.multicast_case(
        "im2col_" + text,
        im2col(MapElement::f16, {3, 7, 9, 64}, {-1, -1}, {-1, -1}, 32, 50, Swizzle::b64, {8, 3, 2, 1}, {0, 2}), cluster,
        blocks, sender);
  }
}

}  // namespace wm::golden
