// Tensor copies that combine with what is in memory: each operation and element type, each rank.
#include "reductions.hpp"
#include "tensor_reference.hpp"

namespace wm::golden {
namespace {

struct Reducing {
  TensorMapSpec spec;
  Place place;
  Reduction reduction = Reduction::add;
  DType type = DType::u32;
};

Results reduce(const Device& device, const Reducing& r, const KernelName& name) {
  const std::size_t size = size_of(r.type),
                    elements = static_cast<std::size_t>(r.spec.strides.front() * r.spec.dims.front()) / size;
  const auto bytes = static_cast<std::uint32_t>(r.spec.box_bytes());
  auto want = reduction_operands(r.type, r.reduction, elements, 21);
  const auto tile = reduction_operands(r.type, r.reduction, bytes / size, 22);
  const Buffer memory = upload(device, want);
  TensorMapSpec spec = r.spec;
  spec.address = memory.address();
  run(device, name, {.block = {128}, .shared_bytes = 48 * 1024 + 16}, make_tensor_map(device, spec), r.place, bytes,
      upload(device, tile));
  for_each_element(r.spec, r.place, End::piece, [&](std::int64_t from, std::int64_t to) {
    if (to >= 0)
      apply(r.reduction, r.type, &want.at(static_cast<std::size_t>(to)), &tile.at(static_cast<std::size_t>(from)));
  });
  const auto got = memory.download<std::uint8_t>();
  std::vector<std::uint8_t> wanted(want.size());
  std::memcpy(wanted.data(), want.data(), want.size());
  require_equal(got, wanted);
  return {r.type, memory.download<std::byte>()};
}

}  // namespace

void add_tensor_reductions(std::vector<Case>& cases) {
  const auto add = [&](const std::string& variant, Reducing r) {
    r.spec.element = map_element(r.type);
    const auto size = static_cast<std::int64_t>(size_of(r.type));
    std::int64_t bytes = (r.spec.dims.back() * size + 15) / 16 * 16;
    for (std::size_t i = r.spec.dims.size() - 1; i > 0; --i) {
      r.spec.strides.insert(r.spec.strides.begin(), bytes);
      bytes *= r.spec.dims[i - 1];
    }
    const bool im2col = r.spec.mode == MapMode::im2col;
    const KernelName name = declare(
        "tensors.cu", fmt::format("reduce<{}, wm::Reduction::{}, {}>", r.spec.rank(), name_of(r.reduction), im2col));
    cases.push_back({fmt::format("tma_reduce/{}_{}_{}", variant, name_of(r.reduction), wm::name_of(r.type)),
                     {},
                     [=](const Device& d) { return reduce(d, r, name); },
                     64,
                     {}});
  };
  for (const auto& [reduction, type] : global_reductions()) {
    const auto inner = static_cast<std::int64_t>(64 / size_of(type));
    Reducing r;
    r.reduction = reduction;
    r.type = type;
    r.spec.swizzle = Swizzle::b64;
    r.spec.dims = {12, 24};
    r.spec.box = {8, inner};
    r.place.at = {static_cast<std::int32_t>(24 - inner / 2), 6};
    add("2d", r);
    // A dimension that ends within a piece of 16 bytes.
    r.spec.dims = {12, 25};
    if (reduction == Reduction::add) add("2d_piece", r);
  }
  const std::vector<std::int64_t> dims = {2, 3, 4, 5, 24}, box = {2, 2, 2, 2, 16};
  for (std::size_t rank = 2; rank <= 5; ++rank) {
    Reducing r;
    r.spec.dims.assign(dims.end() - static_cast<std::ptrdiff_t>(rank), dims.end());
    r.spec.box.assign(box.end() - static_cast<std::ptrdiff_t>(rank), box.end());
    r.place.at = {12, 4, 3, 2, 0};
    add(fmt::format("{}d", rank) + "_rank", r);
  }
  for (const Reduction reduction : {Reduction::add, Reduction::bit_xor}) {
    Reducing r;
    r.reduction = reduction;
    r.spec.mode = MapMode::im2col;
    r.spec.dims = {3, 7, 9, 16};
    r.spec.lower_corner = r.spec.upper_corner = {0, 0};
    r.spec.channels_per_pixel = 8;
    r.spec.pixels_per_column = 64;
    r.place.at = {0, 3, 2, 0};
    add("im2col", r);
  }
}

}  // namespace wm::golden
