// Questions to the driver, one boundary each.
#include <fmt/format.h>

#include "tensor_map/agreement_study.hpp"

namespace wm::test {
namespace {

class Questions {
 public:
  explicit Questions(std::uint64_t address) : address_(address) {}

  // Plain legal maps to start from.
  TensorMapSpec tiled(std::size_t rank, MapElement element = MapElement::u8) const {
    TensorMapSpec spec{.element = element, .address = address_, .dims = std::vector<std::int64_t>(rank, 64)};
    std::int64_t length = 64 * static_cast<std::int64_t>(bits_of(element)) / 8;
    for (std::size_t i = 1; i < rank; ++i, length *= 64) spec.strides.insert(spec.strides.begin(), length);
    spec.box.assign(rank, 2);
    spec.box.back() = 16;
    return spec;
  }
  TensorMapSpec im2col(std::size_t rank, MapElement element = MapElement::u8) const {
    TensorMapSpec spec = tiled(rank, element);
    spec.mode = MapMode::im2col;
    spec.box.clear();
    spec.lower_corner.assign(rank - 2, 0);
    spec.upper_corner.assign(rank - 2, 0);
    spec.channels_per_pixel = 16;
    spec.pixels_per_column = 16;
    return spec;
  }

  template <class Change>
  void ask(std::string question, std::string value, TensorMapSpec spec, Change change) {
    change(spec);
    probes_.push_back({std::move(question), std::move(value), std::move(spec)});
  }
  // One question for each value.
  template <class Values, class Change>
  void ask_each(const std::string& question, const TensorMapSpec& spec, const Values& values, Change change) {
    for (const auto& value : values)
      ask(question, fmt::format("{}", value), spec, [&](TensorMapSpec& s) { change(s, value); });
  }
  std::vector<Probe> take() { return std::move(probes_); }

 private:
  std::uint64_t address_;
  std::vector<Probe> probes_;
};

using Values = std::vector<std::int64_t>;
constexpr std::int64_t two_32 = std::int64_t{1} << 32, two_40 = std::int64_t{1} << 40;

void ask_layout(Questions& q, std::uint64_t address) {
  q.ask("address 0", "0", q.tiled(2), [](TensorMapSpec& s) { s.address = 0; });
  q.ask_each("address offset", q.tiled(2), Values{1, 8, 16, 32},
             [&](TensorMapSpec& s, std::int64_t v) { s.address = address + static_cast<std::uint64_t>(v); });
  q.ask_each("address, power of two", q.tiled(2), Values{44, 47, 48, 49, 52, 56, 57, 63},
             [](TensorMapSpec& s, std::int64_t v) { s.address = std::uint64_t{1} << v; });
  q.ask("address 2^57 - 16", "", q.tiled(2), [](TensorMapSpec& s) { s.address = (std::uint64_t{1} << 57) - 16; });
  q.ask_each("inner dim", q.tiled(2), Values{0, 1, 17, two_32 - 1, two_32, two_32 + 1},
             [](TensorMapSpec& s, std::int64_t v) { s.dims[1] = v; });
  q.ask_each("outer dim", q.tiled(2), Values{0, 1, two_32 - 1, two_32, two_32 + 1},
             [](TensorMapSpec& s, std::int64_t v) { s.dims[0] = v; });
  q.ask_each("1D dim", q.tiled(1), Values{1, 17, two_32, two_32 + 1},
             [](TensorMapSpec& s, std::int64_t v) { s.dims[0] = v; });
  q.ask_each("row stride (row is 64 bytes)", q.tiled(2),
             Values{0, 8, 16, 48, 63, 64, 72, two_40 - 16, two_40, two_40 + 16},
             [](TensorMapSpec& s, std::int64_t v) { s.strides[0] = v; });
  q.ask_each("outer stride of 3D (plane is 4096 bytes)", q.tiled(3), Values{0, 16, 32, 48, 64, 4080, two_40 - 16},
             [](TensorMapSpec& s, std::int64_t v) { s.strides[0] = v; });
  q.ask("extent past 2^64", "2^32 rows of 2^40 - 16", q.tiled(2), [](TensorMapSpec& s) {
    s.dims[0] = two_32;
    s.strides[0] = two_40 - 16;
  });
  q.ask_each("stride below dim (documented assert), dim", q.tiled(2), Values{65, 4096, two_32},
             [](TensorMapSpec& s, std::int64_t v) {
               s.dims = {v, v};
               s.strides = {64};
             });
}

void ask_box(Questions& q) {
  q.ask_each("outer box", q.tiled(2), Values{0, 1, 65, 128, 255, 256, 257},
             [](TensorMapSpec& s, std::int64_t v) { s.box[0] = v; });
  q.ask_each("inner box of u8", q.tiled(2), Values{0, 1, 8, 15, 16, 17, 24, 32, 80, 240, 256, 272},
             [](TensorMapSpec& s, std::int64_t v) { s.box[1] = v; });
  q.ask_each("inner box of u64", q.tiled(2, MapElement::u64), Values{1, 2, 3, 64, 128, 256, 258},
             [](TensorMapSpec& s, std::int64_t v) { s.box[1] = v; });
  q.ask_each("box bytes: 3D f32 of 64 x 64 x n", q.tiled(3, MapElement::f32), Values{4, 8, 12, 16, 32, 64, 256},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box = {64, 64, v};
             });
  q.ask_each("box bytes: 5D u8 of n^4 x 16", q.tiled(5), Values{4, 8, 16, 64, 256},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box = {v, v, v, v, 16};
             });
  // Around 228 KiB = 233472, with and without element strides; interleaved, 16 elements are 16 pixels.
  for (const auto& [rows, columns] : {std::pair{56, 256},
                                      {225, 64},
                                      {254, 57},
                                      {227, 64},
                                      {102, 143},
                                      {57, 256},
                                      {105, 139},
                                      {229, 64},
                                      {115, 128},
                                      {58, 256}}) {
    const auto fill = [rows, columns](TensorMapSpec& s) { s.box = {rows, columns, 16}; };
    const std::string bytes = fmt::format("{}", rows * columns * 16);
    q.ask("box bytes", bytes, q.tiled(3), fill);
    for (const Interleave interleave : {Interleave::b16, Interleave::b32})
      q.ask(fmt::format("box bytes, interleave {}", name_of(interleave)), bytes, q.tiled(3), [&](TensorMapSpec& s) {
        fill(s);
        s.interleave = interleave;
      });
  }
  q.ask_each("box n x 256 x 16, outer element stride 2", q.tiled(3), Values{112, 113, 114, 115, 116, 117},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box = {v, 256, 16};
               s.element_strides = {2, 1, 1};
             });
  q.ask_each("box n x 64 x 64 x 256, outer element stride 8", q.tiled(4), Values{1, 7, 8},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box = {v, 64, 64, 256};
               s.element_strides = {8, 1, 1, 1};
             });
  q.ask_each("box 57 x 256 x n, inner element stride 2", q.tiled(3), Values{16, 32, 48},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box = {57, 256, v};
               s.element_strides = {1, 1, 2};
             });
  for (int i = 1; i <= 6; ++i)
    q.ask_each(fmt::format("inner bytes with swizzle {}", name_of(static_cast<Swizzle>(i))), q.tiled(2),
               Values{16, 32, 48, 64, 80, 112, 128, 144}, [i](TensorMapSpec& s, std::int64_t v) {
                 s.swizzle = static_cast<Swizzle>(i);
                 s.box[1] = v;
               });
  q.ask_each("inner element stride, no interleave", q.tiled(2), Values{0, 1, 2, 8, 9},
             [](TensorMapSpec& s, std::int64_t v) {
               s.element_strides = {1, v};
             });
  q.ask_each("inner element stride, interleave 16B", q.tiled(3), Values{0, 1, 2, 8, 9},
             [](TensorMapSpec& s, std::int64_t v) {
               s.interleave = Interleave::b16;
               s.element_strides = {1, 1, v};
             });
  q.ask_each("outer element stride, box 16", q.tiled(2), Values{0, 1, 2, 3, 8, 9},
             [](TensorMapSpec& s, std::int64_t v) {
               s.box[0] = 16;
               s.element_strides = {v, 1};
             });
  q.ask_each("outer element stride 8, box", q.tiled(2), Values{1, 7, 8, 256}, [](TensorMapSpec& s, std::int64_t v) {
    s.box[0] = v;
    s.element_strides = {8, 1};
  });
}

void ask_interleave(Questions& q, std::uint64_t address) {
  for (const Interleave interleave : {Interleave::b16, Interleave::b32}) {
    const Swizzle usual = interleave == Interleave::b32 ? Swizzle::b32 : Swizzle::none;
    const std::string name(name_of(interleave));
    const auto with = [&](TensorMapSpec spec) {
      spec.interleave = interleave;
      spec.swizzle = usual;
      return spec;
    };
    for (std::size_t rank = 1; rank <= 5; ++rank)
      q.ask("interleave " + name + ", rank", fmt::format("{}", rank), with(q.tiled(rank)), [](TensorMapSpec&) {});
    for (int i = 0; i <= 6; ++i)
      q.ask("interleave " + name + ", swizzle", std::string(name_of(static_cast<Swizzle>(i))), with(q.tiled(3)),
            [i](TensorMapSpec& s) { s.swizzle = static_cast<Swizzle>(i); });
    q.ask_each("interleave " + name + ", inner box of u8", with(q.tiled(3)),
               Values{1, 2, 4, 8, 15, 16, 17, 31, 32, 33, 48, 64, 128, 240, 256},
               [](TensorMapSpec& s, std::int64_t v) { s.box[2] = v; });
    q.ask_each("interleave " + name + ", inner box of bf16", with(q.tiled(3, MapElement::bf16)),
               Values{1, 4, 8, 12, 16, 24, 32, 64, 256}, [](TensorMapSpec& s, std::int64_t v) { s.box[2] = v; });
    q.ask_each("interleave " + name + ", inner dim", with(q.tiled(3)), Values{1, 8, 16, 17, 31, 32, 48},
               [](TensorMapSpec& s, std::int64_t v) { s.dims[2] = v; });
    q.ask_each("interleave " + name + ", address offset", with(q.tiled(3)), Values{8, 16, 32},
               [&](TensorMapSpec& s, std::int64_t v) { s.address = address + static_cast<std::uint64_t>(v); });
    q.ask_each("interleave " + name + ", stride of W", with(q.tiled(3)), Values{8, 16, 32, 48, 64, 80},
               [](TensorMapSpec& s, std::int64_t v) { s.strides[1] = v; });
    q.ask_each("interleave " + name + ", outer stride", with(q.tiled(3)), Values{0, 16, 32, 48, 4096, 4112},
               [](TensorMapSpec& s, std::int64_t v) { s.strides[0] = v; });
    q.ask_each("im2col, interleave " + name + ", channels", with(q.im2col(4)), Values{1, 8, 16, 24, 32, 64, 128, 256},
               [](TensorMapSpec& s, std::int64_t v) { s.channels_per_pixel = v; });
  }
}

void ask_types(Questions& q) {
  for (int i = 0; i <= 15; ++i) {
    const auto element = static_cast<MapElement>(i);
    const bool packed = bits_of(element) < 8;
    const auto suited = [&](TensorMapSpec spec) {
      if (!packed) return spec;
      spec.dims = {64, 128};
      spec.strides = {128};
      spec.box = {2, 128};
      return spec;
    };
    q.ask("element type", std::string(name_of(element)), suited(q.tiled(2, element)), [](TensorMapSpec&) {});
    q.ask("element type with fill nan", std::string(name_of(element)), suited(q.tiled(2, element)),
          [](TensorMapSpec& s) { s.fill = OutOfBounds::nan; });
  }
  for (int i = 0; i <= 3; ++i)
    q.ask("L2 promotion", std::string(name_of(static_cast<L2Promotion>(i))), q.tiled(2),
          [i](TensorMapSpec& s) { s.l2_promotion = static_cast<L2Promotion>(i); });
}

void ask_im2col(Questions& q) {
  q.ask_each("im2col pixels", q.im2col(4), Values{0, 1, 2, 256, 257, 1023, 1024, 1025, 65536},
             [](TensorMapSpec& s, std::int64_t v) { s.pixels_per_column = v; });
  q.ask_each("im2col channels of u8", q.im2col(4), Values{0, 1, 8, 15, 16, 17, 24, 32, 64, 80, 256, 257, 272},
             [](TensorMapSpec& s, std::int64_t v) { s.channels_per_pixel = v; });
  q.ask_each("im2col channels of f32", q.im2col(4, MapElement::f32), Values{1, 2, 3, 4, 8, 256, 260},
             [](TensorMapSpec& s, std::int64_t v) { s.channels_per_pixel = v; });
  for (int i = 1; i <= 6; ++i)
    q.ask_each(fmt::format("im2col channel bytes with swizzle {}", name_of(static_cast<Swizzle>(i))), q.im2col(4),
               Values{16, 32, 48, 64, 80, 128, 144}, [i](TensorMapSpec& s, std::int64_t v) {
                 s.swizzle = static_cast<Swizzle>(i);
                 s.channels_per_pixel = v;
               });
  for (std::size_t rank = 3; rank <= 5; ++rank) {
    const std::int64_t limit = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
    TensorMapSpec wide = q.im2col(rank);
    wide.dims.assign(rank, 70000);  // so that no corner empties the box
    wide.dims.back() = 64;
    std::int64_t length = 64;
    for (std::size_t i = rank - 1; i-- > 0; length = std::min(length * 70000 / 16 * 16, two_40 - 16))
      wide.strides[i] = length;
    for (std::size_t i = 0; i < rank - 2; ++i) {
      q.ask_each(fmt::format("im2col {}D lower_corner[{}]", rank, i), wide,
                 Values{-limit - 1, -limit, limit - 1, limit},
                 [i](TensorMapSpec& s, std::int64_t v) { s.lower_corner[i] = v; });
      q.ask_each(fmt::format("im2col {}D upper_corner[{}]", rank, i), wide,
                 Values{-limit - 1, -limit, limit - 1, limit},
                 [i](TensorMapSpec& s, std::int64_t v) { s.upper_corner[i] = v; });
    }
  }
  q.ask_each("im2col 4D box of 64 - n pixels along W, n", q.im2col(4), Values{62, 63, 64, 65},
             [](TensorMapSpec& s, std::int64_t v) { s.upper_corner[1] = -v; });
  q.ask_each("im2col 4D lower corner of W, 64 pixels", q.im2col(4), Values{62, 63, 64, 65},
             [](TensorMapSpec& s, std::int64_t v) { s.lower_corner[1] = v; });
  q.ask_each("im2col 4D lower corner of H, 64 pixels", q.im2col(4), Values{62, 63, 64, 65},
             [](TensorMapSpec& s, std::int64_t v) { s.lower_corner[0] = v; });
  q.ask_each("im2col inner element stride", q.im2col(4), Values{0, 2, 9}, [](TensorMapSpec& s, std::int64_t v) {
    s.element_strides = {1, 1, 1, v};
  });
  q.ask_each("im2col element stride of W", q.im2col(4), Values{0, 1, 8, 9}, [](TensorMapSpec& s, std::int64_t v) {
    s.element_strides = {1, 1, v, 1};
  });
  q.ask_each("im2col element stride of N", q.im2col(4), Values{0, 1, 8, 9}, [](TensorMapSpec& s, std::int64_t v) {
    s.element_strides = {v, 1, 1, 1};
  });
  q.ask_each("im2col row stride (pixel is 64 bytes)", q.im2col(4), Values{0, 16, 48, 64},
             [](TensorMapSpec& s, std::int64_t v) { s.strides[2] = v; });
  for (const std::int64_t upper : {0, 1})
    q.ask_each(fmt::format("im2col pixels along W, corners 0..{}", upper), q.im2col(4),
               Values{two_32 / 2 - 1, two_32 / 2, two_32 / 2 + 1, two_32 - 1, two_32},
               [upper](TensorMapSpec& s, std::int64_t v) {
                 s.dims[2] = v;
                 s.upper_corner[1] = upper;
               });
  for (const Interleave interleave : {Interleave::b16, Interleave::b32}) {
    TensorMapSpec slices = q.im2col(4);  // N, slices, H, W
    slices.interleave = interleave;
    slices.dims = {4, 8, 16, 32};
    q.ask_each(fmt::format("im2col interleave {}, 16 x 32 pixels, lower corner of H", name_of(interleave)), slices,
               Values{7, 8, 15, 16, 31, 32}, [](TensorMapSpec& s, std::int64_t v) { s.lower_corner[0] = v; });
    q.ask_each(fmt::format("im2col interleave {}, 16 x 32 pixels, lower corner of W", name_of(interleave)), slices,
               Values{7, 8, 15, 16, 31, 32}, [](TensorMapSpec& s, std::int64_t v) { s.lower_corner[1] = v; });
    q.ask_each(fmt::format("im2col interleave {}, tile bytes: 1024 pixels of n channels", name_of(interleave)), slices,
               Values{128, 224, 240, 256}, [](TensorMapSpec& s, std::int64_t v) {
                 s.pixels_per_column = 1024;
                 s.channels_per_pixel = v;
               });
  }
  q.ask_each("im2col tile bytes: 1024 pixels of n channels", q.im2col(4), Values{128, 224, 240, 256},
             [](TensorMapSpec& s, std::int64_t v) {
               s.pixels_per_column = 1024;
               s.channels_per_pixel = v;
             });
}

}  // namespace

std::vector<Probe> probes(std::uint64_t address) {
  Questions questions(address);
  ask_layout(questions, address);
  ask_box(questions);
  ask_interleave(questions, address);
  ask_types(questions);
  ask_im2col(questions);
  return questions.take();
}

}  // namespace wm::test
