// Clusters: places, barriers, remote arrivals, distributed shared memory.
#include "reductions.hpp"

namespace wm::golden {
namespace {

using Words = std::vector<std::uint32_t>;

Results finish(const Words& got, const Words& want) {
  require_equal(got, want);
  return results(DType::u32, got);
}

Results places(const Device& device, const KernelName& name, Dim3 grid, Dim3 cluster) {
  const std::uint32_t blocks = grid.x * grid.y, size = cluster.x * cluster.y;
  const Buffer out = poisoned<std::uint32_t>(device, blocks * 16);
  run(device, name, {.grid = grid, .block = {32}, .cluster = cluster}, out);
  Words want;
  for (std::uint32_t y = 0; y < grid.y; ++y)
    for (std::uint32_t x = 0; x < grid.x; ++x) {
      const std::uint32_t in_x = x % cluster.x, in_y = y % cluster.y, rank = in_x + cluster.x * in_y,
                          next = (rank + 1) % size;
      for (const std::uint32_t word :
           {rank, size, std::uint32_t{size > 1}, in_x, in_y, 0u, cluster.x, cluster.y, x / cluster.x, y / cluster.y,
            grid.x / cluster.x, grid.y / cluster.y, (next - rank) << 24, next, rank, rank})
        want.push_back(word);
    }
  return finish(out.download<std::uint32_t>(), want);
}

Results exchange(const Device& device, const KernelName& name, std::uint32_t cluster) {
  constexpr std::uint32_t rounds = 5;
  const std::uint32_t grid = cluster * 2;
  const Words in = random_bits<std::uint32_t>(grid * 128, 41);
  const Buffer out = poisoned<std::uint32_t>(device, grid * 128);
  run(device, name, {.grid = {grid}, .block = {128}, .cluster = {cluster}}, upload(device, in), out, rounds);
  Words words = in;
  // Thread t of the block `further` places on in the same cluster.
  const auto at = [&](std::uint32_t block, std::uint32_t further, std::uint32_t t) {
    return (block / cluster * cluster + (block + further) % cluster) * 128 + t;
  };
  for (std::uint32_t round = 0; round < rounds; ++round) {
    Words sum(words.size());
    for (std::uint32_t block = 0; block < grid; ++block)
      for (std::uint32_t t = 0; t < 128; ++t)
        sum[block * 128 + t] =
            words[at(block, cluster - 1, t)] * 5 + round + words[at(block, cluster - 1, 127 - t)] % 7;
    for (std::uint32_t block = 0; block < grid; ++block)
      for (std::uint32_t t = 0; t < 128; ++t) words[block * 128 + t] = sum[block * 128 + t] ^ sum[at(block, 1, t)];
  }
  return finish(out.download<std::uint32_t>(), words);
}

Results vectors_and_atomics(const Device& device, const KernelName& name, std::uint32_t cluster) {
  const Buffer out = poisoned<std::uint32_t>(device, cluster * 128 * 8);
  run(device, name, {.grid = {cluster}, .block = {128}, .cluster = {cluster}}, out);
  std::vector<Words> memory(cluster, Words(256, 0xa5a5a5a5));
  std::uint32_t sum = 0;
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    for (std::uint32_t t = 0; t < 128; ++t) {
      sum += rank * 128 + t;
      if (t >= 16) continue;
      const std::uint32_t base = rank * 1000 + t * 10;
      Words& next = memory[(rank + 1) % cluster];
      for (std::uint32_t i = 0; i < 4; ++i) next[t * 4 + i] = base + i;
      for (std::uint32_t i = 0; i < 2; ++i) next[128 + t * 2 + i] = base + 4 + i;
    }
  Words want;
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    for (std::uint32_t t = 0; t < 128; ++t) {
      const Words& next = memory[(rank + 1) % cluster];
      for (std::uint32_t i = 0; i < 4; ++i) want.push_back(next[t % 64 * 4 % 256 + i]);
      for (std::uint32_t i = 0; i < 2; ++i) want.push_back(next[128 + t % 64 * 2 + i]);
      want.push_back(sum);
      want.push_back(cluster);
    }
  return finish(out.download<std::uint32_t>(), want);
}

Results remote_arrivals(const Device& device, const KernelName& name, std::uint32_t cluster) {
  const Buffer out = poisoned<std::uint32_t>(device, 4 * 512);
  run(device, name, {.grid = {cluster}, .block = {32}, .cluster = {cluster}}, out);
  Words want(4 * 512, 0xa5a5a5a5);
  for (std::uint32_t phase = 0; phase < 3; ++phase)
    for (std::uint32_t i = 0; i < cluster * 32; ++i) want[phase * 512 + i] = (phase + 1) * 1000 + i;
  for (std::uint32_t t = 0; t < 32; ++t) want[3 * 512 + t] = 4;
  return finish(out.download<std::uint32_t>(), want);
}

Results asynchronous_stores(const Device& device, const KernelName& name, std::uint32_t cluster) {
  const Buffer out = poisoned<std::uint32_t>(device, cluster * 512);
  run(device, name, {.grid = {cluster}, .block = {32}, .cluster = {cluster}}, out);
  Words want(cluster * 512, 0xa5a5a5a5);
  for (std::uint32_t rank = 0; rank < cluster; ++rank)
    for (std::uint32_t t = 0; t < 32; ++t) {
      std::uint32_t* words = &want[(rank + 1) % cluster * 512];
      const std::uint32_t base = rank * 10000 + t * 100;
      words[t] = base;
      for (std::uint32_t i = 0; i < 2; ++i) words[64 + 2 * t + i] = base + 1 + i;
      for (std::uint32_t i = 0; i < 4; ++i) words[128 + 4 * t + i] = base + 3 + i;
    }
  return finish(out.download<std::uint32_t>(), want);
}

Results asynchronous_reduction(const Device& device, const KernelName& name, Reduction reduction, DType type) {
  auto want = reduction_operands(type, reduction, 32, 43);
  const auto values = reduction_operands(type, reduction, 32, 44);
  const Buffer out = poisoned<std::byte>(device, want.size());
  run(device, name, {.grid = {2}, .block = {32}, .cluster = {2}}, upload(device, want), upload(device, values), out);
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < 32; ++i) apply(reduction, type, &want[i * size], &values[i * size]);
  Words got(want.size() / 4), wanted(want.size() / 4);
  std::memcpy(got.data(), out.download<std::byte>().data(), want.size());
  std::memcpy(wanted.data(), want.data(), want.size());
  return finish(got, wanted);
}

}  // namespace

void add_clusters(std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::function<Results(const Device&)> run) {
    cases.push_back({std::move(name), {}, std::move(run), 64, {}});
  };
  const auto kernel = [](const char* name) { return declare("clusters.cu", name); };
  const KernelName placing = kernel("places"), exchanging = kernel("exchange"), vectors = kernel("vectors_and_atomics"),
                   arriving = kernel("remote_arrivals"), storing = kernel("asynchronous_stores");
  add("cluster/places_none", [=](const Device& d) { return places(d, placing, {3, 2}, {1, 1}); });
  add("cluster/places_2", [=](const Device& d) { return places(d, placing, {4, 2}, {2, 1}); });
  add("cluster/places_2x2", [=](const Device& d) { return places(d, placing, {4, 4}, {2, 2}); });
  for (const std::uint32_t size : {2u, 4u, 8u}) {
    add(fmt::format("cluster/exchange_{}", size), [=](const Device& d) { return exchange(d, exchanging, size); });
    add(fmt::format("cluster/vectors_and_atomics_{}", size),
        [=](const Device& d) { return vectors_and_atomics(d, vectors, size); });
    add(fmt::format("cluster/remote_arrivals_{}", size),
        [=](const Device& d) { return remote_arrivals(d, arriving, size); });
    add(fmt::format("cluster/store_async_{}", size),
        [=](const Device& d) { return asynchronous_stores(d, storing, size); });
  }
  for (const auto& [reduction, type] : block_reductions()) {
    const KernelName name = declare("clusters.cu", fmt::format("asynchronous_reduction<wm::Reduction::{}, wm::{}>",
                                                               name_of(reduction), wm::name_of(type)));
    add(fmt::format("cluster/red_async_{}_{}", name_of(reduction), wm::name_of(type)),
        [=](const Device& d) { return asynchronous_reduction(d, name, reduction, type); });
  }
}

}  // namespace wm::golden
