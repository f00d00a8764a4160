// Bulk copies without a map, and bulk reductions.
#include "reductions.hpp"

namespace wm::golden {
namespace {

constexpr std::size_t words = 1024;  // as in bulk.cu

using Words = std::vector<std::uint32_t>;

Results finish(const Words& got, const Words& want) {
  require_equal(got, want);
  return results(DType::u32, got);
}

Results load(const Device& device, const KernelName& name, std::uint32_t skip, std::uint32_t bytes) {
  const Words source = random_bits<std::uint32_t>(words, 31);
  const Buffer out = poisoned<std::uint32_t>(device, words);
  run(device, name, {.block = {128}}, upload(device, source), skip, bytes, out);
  Words want(words, 0xa5a5a5a5);
  std::copy_n(source.begin() + skip, bytes / 4, want.begin() + skip);
  return finish(out.download<std::uint32_t>(), want);
}

Results load_multicast(const Device& device, const KernelName& name, std::uint32_t cluster, std::uint32_t bytes,
                       std::uint32_t blocks) {
  const Words source = random_bits<std::uint32_t>(words, 33);
  const Buffer out = poisoned<std::uint32_t>(device, words * cluster);
  run(device, name, {.grid = {cluster}, .block = {128}, .cluster = {cluster}}, upload(device, source), bytes, blocks,
      out);
  Words want(words * cluster, 0xa5a5a5a5);
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    if (blocks >> rank & 1) std::copy_n(source.begin(), bytes / 4, want.begin() + rank * words);
  return finish(out.download<std::uint32_t>(), want);
}

Results copy_to_block(const Device& device, const KernelName& name, std::uint32_t cluster, std::uint32_t bytes) {
  const Words source = random_bits<std::uint32_t>(words * cluster, 35);
  const Buffer out = poisoned<std::uint32_t>(device, words * cluster);
  run(device, name, {.grid = {cluster}, .block = {128}, .cluster = {cluster}}, upload(device, source), bytes, out);
  Words want(words * cluster, 0xa5a5a5a5);
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    std::copy_n(source.begin() + rank * words, bytes / 4, want.begin() + (rank + 1) % cluster * words);
  return finish(out.download<std::uint32_t>(), want);
}

Words as_words(const std::vector<std::byte>& bytes) {
  Words out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Half of the memory is combined; the rest must stay.
Results reduce(const Device& device, const KernelName& name, Reduction reduction, DType type, bool to_block) {
  const std::size_t size = size_of(type), count = words * 4 / size;
  const std::uint32_t bytes = words * 2;
  const auto source = reduction_operands(type, reduction, count, 37);
  auto want = reduction_operands(type, reduction, count, 38);
  Words got;
  if (to_block) {
    const Buffer out = poisoned<std::uint32_t>(device, words);
    run(device, name, {.grid = {2}, .block = {128}, .cluster = {2}}, upload(device, source), bytes,
        upload(device, want), out);
    got = out.download<std::uint32_t>();
  } else {
    const Buffer out = upload(device, want);
    run(device, name, {.block = {128}}, upload(device, source), bytes, out);
    got = out.download<std::uint32_t>();
  }
  for (std::size_t i = 0; i < bytes / size; ++i) apply(reduction, type, &want[i * size], &source[i * size]);
  return finish(got, as_words(want));
}

}  // namespace

void add_bulk(std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::function<Results(const Device&)> run) {
    cases.push_back({std::move(name), {}, std::move(run), 64, {}});
  };
  const KernelName loading = declare("bulk.cu", "load"), storing = declare("bulk.cu", "store"),
                   multicast = declare("bulk.cu", "load_multicast"), passing = declare("bulk.cu", "copy_to_block");
  for (const auto& [skip, bytes] : {std::pair{0u, 16u}, {4u, 48u}, {0u, 4096u}, {64u, 1040u}}) {
    add(fmt::format("bulk/load_{}_at_{}", bytes, skip), [=](const Device& d) { return load(d, loading, skip, bytes); });
    add(fmt::format("bulk/store_{}_at_{}", bytes, skip),
        [=](const Device& d) { return load(d, storing, skip, bytes); });
  }
  for (const std::uint32_t cluster : {2u, 4u}) {
    add(fmt::format("bulk/multicast_{}", cluster),
        [=](const Device& d) { return load_multicast(d, multicast, cluster, 2048, (1u << cluster) - 1); });
    add(fmt::format("bulk/multicast_{}_to_first", cluster),
        [=](const Device& d) { return load_multicast(d, multicast, cluster, 256, 1); });
    add(fmt::format("bulk/copy_to_block_{}", cluster),
        [=](const Device& d) { return copy_to_block(d, passing, cluster, 1024); });
  }
  for (const auto& [reduction, type] : global_reductions()) {
    const KernelName name =
        declare("bulk.cu", fmt::format("reduce<wm::Reduction::{}, wm::{}>", name_of(reduction), wm::name_of(type)));
    add(fmt::format("bulk_reduce/{}_{}", name_of(reduction), wm::name_of(type)),
        [=](const Device& d) { return reduce(d, name, reduction, type, false); });
  }
  for (const auto& [reduction, type] : block_reductions()) {
    const KernelName name = declare(
        "bulk.cu", fmt::format("reduce_to_block<wm::Reduction::{}, wm::{}>", name_of(reduction), wm::name_of(type)));
    add(fmt::format("bulk_reduce/block_{}_{}", name_of(reduction), wm::name_of(type)),
        [=](const Device& d) { return reduce(d, name, reduction, type, true); });
  }
}

}  // namespace wm::golden
