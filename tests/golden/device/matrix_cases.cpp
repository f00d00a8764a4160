// ldmatrix and stmatrix, rows at scattered addresses.
#include <numeric>

#include "lab.hpp"

namespace wm::golden {
namespace {

constexpr std::size_t bytes = 4096;  // as in matrices.cu

// 32 different multiples of 16 below `bytes`.
std::vector<std::uint32_t> scattered_rows(std::uint64_t seed) {
  std::vector<std::uint32_t> all(bytes / 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i * 16);
  Random random(seed);
  for (std::size_t i = 0; i < 32; ++i) std::swap(all[i], all[i + random.bits() % (all.size() - i)]);
  all.resize(32);
  return all;
}

// The byte offset of the element that lane `lane` holds as half `half` of word `matrix`.
std::size_t place(const std::vector<std::uint32_t>& rows, std::size_t matrix, std::size_t lane, std::size_t half,
                  bool transposed) {
  const std::size_t outer = lane / 4, inner = lane % 4 * 2 + half;
  return rows[matrix * 8 + (transposed ? inner : outer)] + 2 * (transposed ? outer : inner);
}

std::uint16_t half_at(const std::vector<std::byte>& memory, std::size_t offset) {
  std::uint16_t value;
  std::memcpy(&value, &memory[offset], 2);
  return value;
}

Results load(const Device& device, const KernelName& name, std::size_t count, bool transposed) {
  const auto rows = scattered_rows(count);
  const auto image = random_bits<std::byte>(bytes, 7);
  const Buffer out = poisoned<std::uint32_t>(device, count * 32);
  run(device, name, {.block = {32}}, upload(device, image), upload(device, rows), out);
  const auto got = out.download<std::uint32_t>();
  std::vector<std::uint32_t> want(count * 32);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t lane = 0; lane < 32; ++lane)
      want[i * 32 + lane] = half_at(image, place(rows, i, lane, 0, transposed)) |
                            std::uint32_t{half_at(image, place(rows, i, lane, 1, transposed))} << 16;
  require_equal(got, want);
  return results(DType::u32, got);
}

Results store(const Device& device, const KernelName& name, std::size_t count, bool transposed) {
  const auto rows = scattered_rows(count + 10);
  const auto fragments = random_bits<std::uint32_t>(count * 32, 9);
  const Buffer out = poisoned<std::uint32_t>(device, bytes / 4);
  run(device, name, {.block = {32}}, upload(device, fragments), upload(device, rows), out);
  const auto got = out.download<std::uint32_t>();
  std::vector<std::uint32_t> want(bytes / 4, 0xa5a5a5a5);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t half = 0; half < 2; ++half) {
        const auto value = static_cast<std::uint16_t>(fragments[i * 32 + lane] >> 16 * half);
        std::memcpy(reinterpret_cast<std::byte*>(want.data()) + place(rows, i, lane, half, transposed), &value, 2);
      }
  require_equal(got, want);
  return results(DType::u32, got);
}

}  // namespace

void add_matrices(std::vector<Case>& cases) {
  for (const std::size_t count : {1, 2, 4})
    for (const bool transposed : {false, true}) {
      const std::string variant = fmt::format("x{}{}", count, transposed ? "_transposed" : "");
      const KernelName loading = declare("matrices.cu", fmt::format("load<{}, {}>", count, transposed));
      const KernelName storing = declare("matrices.cu", fmt::format("store<{}, {}>", count, transposed));
      cases.push_back(
          {"ldmatrix/" + variant, {}, [=](const Device& d) { return load(d, loading, count, transposed); }, 64, {}});
      cases.push_back(
          {"stmatrix/" + variant, {}, [=](const Device& d) { return store(d, storing, count, transposed); }, 64, {}});
    }
}

}  // namespace wm::golden
