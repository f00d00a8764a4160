// Random maps with one or two fields changed to values near a boundary, and the study of how they are judged.
#include "tensor_map/agreement_study.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor_map/random_maps.hpp"
#include "tensor_map/rules.hpp"

namespace wm::test {
namespace {

using List = std::vector<std::int64_t>;

template <class T>
T pick(Random& random, std::initializer_list<T> values) {
  return values.begin()[between(random, 0, static_cast<std::int64_t>(values.size()) - 1)];
}
std::int64_t& any_of(Random& random, List& list) {
  return list[static_cast<std::size_t>(between(random, 0, static_cast<std::int64_t>(list.size()) - 1))];
}

// Changes one field to a value near a boundary; often the map stays legal.
void mutate(Random& random, TensorMapSpec& spec) {
  constexpr std::int64_t dim_end = std::int64_t{1} << 32, stride_end = std::int64_t{1} << 40;
  const bool im2col = spec.mode == MapMode::im2col;
  switch (between(random, 0, im2col ? 13 : 10)) {
    case 0: spec.address += pick<std::uint64_t>(random, {1, 4, 8, 16, 24, 32, 64, std::uint64_t{1} << 57}); break;
    case 1:
      any_of(random, spec.dims) = pick<std::int64_t>(random, {0, 1, 2, 127, dim_end - 1, dim_end, dim_end + 1});
      break;
    case 2:
      if (spec.strides.empty()) break;
      any_of(random, spec.strides) = pick<std::int64_t>(
          random, {0, 8, 16, 24, 32, 48, stride_end - 32, stride_end - 16, stride_end, stride_end + 16});
      break;
    case 3:
      if (!spec.strides.empty()) any_of(random, spec.strides) += pick<std::int64_t>(random, {-16, -8, 1, 2, 8, 16, 24});
      break;
    case 4:
      if (im2col)
        spec.channels_per_pixel = pick<std::int64_t>(random, {0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 257, 512});
      else
        any_of(random, spec.box) = pick<std::int64_t>(random, {0, 1, 2, 255, 256, 257, 512});
      break;
    case 5:
      if (im2col)
        spec.channels_per_pixel += pick<std::int64_t>(random, {-1, 1, 2, 4, 8, 16});
      else
        spec.box.back() += pick<std::int64_t>(random, {-1, 1, 2, 4, 8, 16});
      break;
    case 6:
      spec.element_strides.resize(spec.rank(), 1);
      any_of(random, spec.element_strides) = pick<std::int64_t>(random, {0, 1, 2, 7, 8, 9, 16});
      break;
    case 7: spec.interleave = pick(random, {Interleave::none, Interleave::b16, Interleave::b32}); break;
    case 8: spec.swizzle = static_cast<Swizzle>(between(random, 0, 6)); break;
    case 9: spec.element = static_cast<MapElement>(between(random, 0, 15)); break;
    case 10: spec.fill = OutOfBounds::nan; break;
    case 11: spec.pixels_per_column = pick<std::int64_t>(random, {0, 1, 2, 1023, 1024, 1025, 2048}); break;
    default: {
      List& corner = chance(random, 50) ? spec.lower_corner : spec.upper_corner;
      any_of(random, corner) =
          pick<std::int64_t>(random, {-32769, -32768, -129, -128, -17, -16, -1, 0, 1, 15, 16, 127, 128, 32767, 32768});
    }
  }
}

// What a map that is in no way special has in its fields.
std::vector<std::string> remarkable(const TensorMapSpec& spec) {
  std::vector<std::string> fields{spec.mode == MapMode::tiled ? "tiled" : "im2col"};
  const auto add = [&](bool remarkable, std::string_view name) {
    if (remarkable) fields.emplace_back(name);
  };
  const auto all = [](const List& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [value](std::int64_t v) { return v == value; });
  };
  add(spec.element != MapElement::u8 && spec.element != MapElement::u32,
      fmt::format("element {}", name_of(spec.element)));
  add(spec.interleave != Interleave::none, fmt::format("interleave {}", name_of(spec.interleave)));
  add(spec.swizzle != Swizzle::none, fmt::format("swizzle {}", name_of(spec.swizzle)));
  add(spec.l2_promotion != L2Promotion::none, "L2 promotion");
  add(spec.fill != OutOfBounds::zeros, "fill");
  add(!spec.element_strides.empty(), "element strides");
  add(!all(spec.dims, 64), "dims");
  add(spec.address % 1024 != 0, "address");
  add(!all(spec.lower_corner, 0) || !all(spec.upper_corner, 0), "corners");
  if (spec.mode == MapMode::im2col) {
    add(spec.channels_per_pixel != 16, "channels");
    add(spec.pixels_per_column != 16, "pixels");
  } else {
    add(!spec.box.empty() && spec.box.back() != 16, "inner box");
    add(std::any_of(spec.box.begin(), spec.box.end() - 1, [](std::int64_t b) { return b != 1; }), "outer box");
  }
  std::int64_t length = 64 * static_cast<std::int64_t>(bits_of(spec.element)) / 8;
  bool dense = true;
  for (std::size_t i = spec.strides.size(); i-- > 0; length *= 64) dense = dense && spec.strides[i] == length;
  add(!dense, "strides");
  return fields;
}

int broken_rules(const TensorMapSpec& spec, const Architecture& arch) {
  int count = 0;
  for (const auto& rule : tensor_map::rules())
    if (rule.standing == tensor_map::Standing::enforced && rule.check(spec, arch)) ++count;
  return count;
}

void record(Study& study, const TensorMapSpec& shrunk, const std::string& rule) {
  const std::string fields = fmt::format("{}", fmt::join(remarkable(shrunk), ", "));
  auto found = std::find_if(study.disagreements.begin(), study.disagreements.end(),
                            [&](const Disagreement& d) { return d.rule == rule && d.fields == fields; });
  if (found == study.disagreements.end()) found = study.disagreements.insert(found, Disagreement{rule, fields, 0, {}});
  ++found->count;
  if (found->examples.size() < 4 &&
      std::find(found->examples.begin(), found->examples.end(), shrunk) == found->examples.end())
    found->examples.push_back(shrunk);
}

}  // namespace

std::string one_line(const TensorMapSpec& spec) {
  std::string text =
      fmt::format("{} {} at 0x{:x} dims {} strides {}", spec.mode == MapMode::tiled ? "tiled" : "im2col",
                  name_of(spec.element), spec.address, fmt::join(spec.dims, "x"), fmt::join(spec.strides, ","));
  if (spec.mode == MapMode::tiled)
    text += fmt::format(" box {}", fmt::join(spec.box, "x"));
  else
    text += fmt::format(" corners {}..{} channels {} pixels {}", fmt::join(spec.lower_corner, ","),
                        fmt::join(spec.upper_corner, ","), spec.channels_per_pixel, spec.pixels_per_column);
  if (!spec.element_strides.empty()) text += fmt::format(" element strides {}", fmt::join(spec.element_strides, ","));
  text += fmt::format(" interleave {} swizzle {}", name_of(spec.interleave), name_of(spec.swizzle));
  if (spec.l2_promotion != L2Promotion::none) text += fmt::format(" L2 {}", name_of(spec.l2_promotion));
  if (spec.fill != OutOfBounds::zeros) text += " fill nan";
  return text;
}

TensorMapSpec shrink(TensorMapSpec spec, const std::function<bool(const TensorMapSpec&)>& keep) {
  bool changed = true;
  const auto attempt = [&](const auto& change) {
    TensorMapSpec candidate = spec;
    change(candidate);
    if (candidate != spec && keep(candidate)) {
      spec = std::move(candidate);
      changed = true;
    }
  };
  const auto dense = [](TensorMapSpec& s) {
    std::int64_t length = s.dims.back() * static_cast<std::int64_t>(bits_of(s.element)) / 8;
    for (std::size_t i = s.strides.size(); i-- > 0; length = times(length, s.dims[i])) s.strides[i] = length;
  };
  for (int round = 0; changed && round < 20; ++round) {
    changed = false;
    if (spec.rank() > (spec.mode == MapMode::im2col ? 3u : 1u))
      attempt([](TensorMapSpec& s) {  // without the outermost dimension
        s.dims.erase(s.dims.begin());
        s.strides.erase(s.strides.begin());
        if (!s.element_strides.empty()) s.element_strides.erase(s.element_strides.begin());
        if (!s.box.empty()) s.box.erase(s.box.begin());
        if (!s.lower_corner.empty()) {
          s.lower_corner.erase(s.lower_corner.begin());
          s.upper_corner.erase(s.upper_corner.begin());
        }
      });
    attempt([](TensorMapSpec& s) { s.l2_promotion = L2Promotion::none; });
    attempt([](TensorMapSpec& s) { s.fill = OutOfBounds::zeros; });
    attempt([](TensorMapSpec& s) { s.element_strides.clear(); });
    attempt([](TensorMapSpec& s) { s.interleave = Interleave::none; });
    attempt([](TensorMapSpec& s) { s.swizzle = Swizzle::none; });
    attempt([](TensorMapSpec& s) {
      s.interleave = Interleave::none;
      s.swizzle = Swizzle::none;
    });
    attempt([](TensorMapSpec& s) { s.address &= ~std::uint64_t{1023}; });
    attempt([&](TensorMapSpec& s) {
      s.dims.assign(s.rank(), 64);
      dense(s);
    });
    attempt([](TensorMapSpec& s) { s.element = MapElement::u8; });
    attempt([](TensorMapSpec& s) { s.element = MapElement::u32; });
    attempt([&](TensorMapSpec& s) {
      s.element = MapElement::u8;
      dense(s);
    });
    attempt(dense);
    for (std::size_t i = 0; i < spec.rank(); ++i) {
      attempt([i](TensorMapSpec& s) { s.dims[i] = 64; });
      if (i < spec.box.size()) attempt([i](TensorMapSpec& s) { s.box[i] = i + 1 == s.box.size() ? 16 : 1; });
      if (i < spec.element_strides.size()) attempt([i](TensorMapSpec& s) { s.element_strides[i] = 1; });
      if (i < spec.lower_corner.size()) attempt([i](TensorMapSpec& s) { s.lower_corner[i] = 0; });
      if (i < spec.upper_corner.size()) attempt([i](TensorMapSpec& s) { s.upper_corner[i] = 0; });
    }
    if (spec.mode == MapMode::im2col) {
      attempt([](TensorMapSpec& s) { s.channels_per_pixel = 16; });
      attempt([](TensorMapSpec& s) { s.pixels_per_column = 16; });
    }
  }
  return spec;
}

Study study(const Oracle& driver, const Architecture& arch, int maps, std::uint64_t seed, std::uint64_t address) {
  Study result;
  Random random(seed);
  std::map<std::string, int> shrunk_of;  // shrinking asks many questions: enough of each kind is enough
  for (int i = 0; i < maps; ++i) {
    const MapMode mode = chance(random, 60) ? MapMode::tiled : MapMode::im2col;
    TensorMapSpec spec = random_map(random, mode, Size::any);
    spec.address = address;
    const std::int64_t mutations = pick<std::int64_t>(random, {0, 0, 0, 1, 1, 1, 1, 1, 1, 2});
    for (std::int64_t m = 0; m < mutations; ++m) mutate(random, spec);

    const auto refusal = tensor_map::first_refusal(spec, arch);
    const bool accepted = driver(spec);
    ++result.maps;
    ++(mode == MapMode::tiled ? result.tiled : result.im2col);
    if (refusal) {
      RuleCount& count = result.rules[std::string(refusal->rule->id)];
      if (accepted) {
        ++count.driver_accepts;
      } else {
        ++count.both_refuse;
        if (broken_rules(spec, arch) == 1) ++count.alone;
      }
    }
    if (!refusal == accepted) {
      ++(accepted ? result.both_accept : result.both_refuse);
      continue;
    }
    ++(accepted ? result.we_refuse : result.driver_refuses);
    const std::string rule = refusal ? std::string(refusal->rule->id) : std::string();
    if (++shrunk_of[rule] > 400) continue;
    record(result,
           shrink(spec,
                  [&](const TensorMapSpec& s) {
                    const auto ours = tensor_map::first_refusal(s, arch);
                    if (refusal) return ours && ours->rule == refusal->rule && driver(s);
                    return !ours && !driver(s);
                  }),
           rule);
  }
  std::sort(result.disagreements.begin(), result.disagreements.end(),
            [](const Disagreement& a, const Disagreement& b) { return a.count > b.count; });
  return result;
}

}  // namespace wm::test
