// tensormap.replace: a map made for one tensor becomes the map of another.
#include "lab.hpp"
#include "tensor_reference.hpp"

namespace wm::golden {
namespace {

constexpr std::size_t tile_bytes = 8192;  // as in maps.cu

struct Fields {  // as in maps.cu
  std::uint64_t address;
  std::uint64_t strides[2];
  std::uint32_t sizes[3], box[3], steps[3];
};

// What the kernels turn a map into.
TensorMapSpec final_spec(std::uint64_t address) {
  TensorMapSpec spec;
  spec.element = MapElement::u32;
  spec.swizzle = Swizzle::b64;
  spec.address = address;
  spec.dims = {5, 20, 40};
  spec.strides = {160 * 20, 160};
  spec.box = {3, 8, 16};
  spec.element_strides = {1, 2, 1};
  return spec;
}
constexpr std::size_t tensor_words = 5 * 20 * 40;
constexpr std::array<std::int32_t, 3> at = {32, -2, 3};

// A legal map of something else: other type, rank, sizes, swizzle.
TensorMapSpec other_spec(std::uint64_t address) {
  TensorMapSpec spec;
  spec.element = MapElement::bf16;
  spec.swizzle = Swizzle::b128;
  spec.address = address;
  spec.dims = {7, 3, 9, 64};
  spec.strides = {128 * 27, 128 * 9, 128};
  spec.box = {1, 2, 4, 64};
  return spec;
}

enum class Way { in_global, in_shared, address_only };

Results replace(const Device& device, const KernelName& name, Way way) {
  const auto tensor = random_bits<std::uint32_t>(tensor_words, 61);
  const Buffer memory = upload(device, tensor), elsewhere = poisoned<std::uint32_t>(device, 8192);
  const TensorMapSpec spec = final_spec(memory.address());
  const auto bytes = static_cast<std::uint32_t>(spec.box_bytes());
  const TensorMap start = make_tensor_map(
      device, way == Way::address_only ? final_spec(elsewhere.address()) : other_spec(elsewhere.address()));
  const Buffer map = Buffer::of(device, std::span<const unsigned char>(start.bytes));
  const Buffer out = poisoned<std::uint32_t>(device, tile_bytes / 4);
  const Fields fields{memory.address(), {160, 160 * 20}, {40, 20, 5}, {16, 8, 3}, {1, 2, 1}};
  const LaunchConfig config{.block = {128}, .shared_bytes = tile_bytes};
  if (way == Way::in_global)
    run(device, name, config, map, fields, at[0], at[1], at[2], bytes, out);
  else if (way == Way::in_shared)
    run(device, name, config, start, map, fields, at[0], at[1], at[2], bytes, out);
  else
    run(device, name, config, map, memory.address(), at[0], at[1], at[2], bytes, out);

  std::vector<std::uint32_t> want(tile_bytes / 4, 0xa5a5a5a5);
  Place place;
  std::copy(at.begin(), at.end(), place.at.begin());
  for_each_element(spec, place, End::element, [&](std::int64_t to, std::int64_t from) {
    want.at(static_cast<std::size_t>(to) / 4) = from >= 0 ? tensor.at(static_cast<std::size_t>(from) / 4) : 0;
  });
  const auto got = out.download<std::uint32_t>();
  require_equal(got, want);
  return results(DType::u32, got);
}

}  // namespace

void add_tensor_maps(std::vector<Case>& cases) {
  for (const auto& [way, text] :
       {std::pair{Way::in_global, "in_global"}, {Way::in_shared, "in_shared"}, {Way::address_only, "address_only"}}) {
    const KernelName name = declare("maps.cu", text);
    cases.push_back({fmt::format("tensor_map/{}", text),
                     {},
                     [name, way = way](const Device& d) { return replace(d, name, way); },
                     64,
                     {}});
  }
}

}  // namespace wm::golden
