// What single threads, warps and blocks do.
#include "lab.hpp"

namespace wm::golden {
namespace {

using Words = std::vector<std::uint32_t>;

Results finish(const Words& got, const Words& want) {
  require_equal(got, want);
  return results(DType::u32, got);
}

Results copy(const Device& device, const KernelName& name, std::uint32_t bytes) {
  const auto in = random_bits<std::uint8_t>(2048, 51);
  Words valid(128);
  Random random(52);
  for (std::uint32_t& value : valid) value = static_cast<std::uint32_t>(random.integer(0, bytes));
  const Buffer out = poisoned<std::uint32_t>(device, 512);
  run(device, name, {.block = {128}}, upload(device, in), upload(device, valid), out);
  Words want(512, 0xa5a5a5a5);
  auto* want_bytes = reinterpret_cast<std::uint8_t*>(want.data());
  for (std::uint32_t t = 0; t < 128; ++t)
    for (std::uint32_t i = 0; i < bytes; ++i) want_bytes[t * bytes + i] = i < valid[t] ? in[t * bytes + i] : 0;
  return finish(out.download<std::uint32_t>(), want);
}

Results copy_variant(const Device& device, const KernelName& name, bool ignores) {
  const Words in = random_bits<std::uint32_t>(512, 53);
  const Buffer out = poisoned<std::uint32_t>(device, 512);
  run(device, name, {.block = {128}}, upload(device, in), out);
  Words want = in;
  for (std::uint32_t t = 65; ignores && t < 128; t += 2) std::fill_n(want.begin() + 4 * t, 4, 0u);
  return finish(out.download<std::uint32_t>(), want);
}

Results copied(const Device& device, const KernelName& name, std::size_t count) {
  const Words in = random_bits<std::uint32_t>(count, 54);
  const Buffer out = poisoned<std::uint32_t>(device, count);
  run(device, name, {.block = {128}}, upload(device, in), out);
  return finish(out.download<std::uint32_t>(), in);
}

Results mbarrier_states(const Device& device, const KernelName& name) {
  const Words want = {0, 1,  // fresh
                      3, 0, 2, 0, 1, 7, 1,
                      3,              // three arrivals; then parity 0 is over, and parity 1 is the running phase's
                      3, 0, 0, 3,     // bytes missing
                      0, 3, 0, 1,     // bytes early
                      3, 1, 2, 1, 1,  // a drop
                      2, 0, 1,        // another drop
                      6, 4, 3, 2, 0, 3, 4};
  const Buffer out = poisoned<std::uint32_t>(device, want.size());
  run(device, name, {}, out);
  return finish(out.download<std::uint32_t>(), want);
}

Results mbarrier_turns(const Device& device, const KernelName& name) {
  const Buffer out = poisoned<std::uint32_t>(device, 512);
  run(device, name, {.block = {128}}, out);
  Words want;
  std::uint32_t value = 1;
  for (std::uint32_t i = 0; i < 16; ++i) {
    value = value * 3 + i % 4;
    want.insert(want.end(), 32, value);
  }
  return finish(out.download<std::uint32_t>(), want);
}

Results named_barriers(const Device& device, const KernelName& name) {
  const Buffer out = poisoned<std::uint32_t>(device, 256 + 512);
  run(device, name, {.block = {128}}, out);
  Words want;
  for (std::uint32_t round = 0; round < 4; ++round)
    for (std::uint32_t t = 64; t < 128; ++t) want.push_back(round * 1000 + 127 - t);
  for (std::uint32_t t = 0; t < 128; ++t)
    for (const std::uint32_t word : {43u + (t < 64 ? 32000u : 0u), 1u, 0u, 1u}) want.push_back(word);
  return finish(out.download<std::uint32_t>(), want);
}

Results elections(const Device& device, const KernelName& name) {
  const Buffer out = poisoned<std::uint32_t>(device, 128 + 192);
  run(device, name, {.block = {32}}, out);
  Words want;
  for (std::uint32_t t = 0; t < 32; ++t) want.push_back(t == 0);
  want.insert(want.end(), 32, 0u);
  for (std::uint32_t t = 0; t < 32; ++t) want.push_back(t & 4 ? t == 4 : 7u);
  for (std::uint32_t t = 0; t < 32; ++t) want.push_back(t & 4 ? 4u : 7u);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t bit = 1u << t, below = bit - 1;
    for (const std::uint32_t word : {t, bit, below, below | bit, ~(below | bit), ~below}) want.push_back(word);
  }
  return finish(out.download<std::uint32_t>(), want);
}

Results register_budgets(const Device& device, const KernelName& name) {
  std::vector<float> in(256), want(160 * 256);
  Random random(55);
  for (float& value : in) value = static_cast<float>(random.integer(-8, 8));
  for (std::size_t i = 0; i < 160; ++i)
    for (std::size_t t = 0; t < 256; ++t)
      for (std::size_t k = 0; k < 8; ++k) want[i * 256 + t] += in[(t + 128 + i) % 256] * static_cast<float>(k + i % 3);
  const Buffer out = poisoned<float>(device, want.size());
  run(device, name, {.block = {384}}, upload(device, in), out);
  const auto got = out.download<float>();
  if (got != want) throw Error(ErrorCode::execution, "the sums differ from the reference");
  return results(DType::f32, got);
}

Results dependent_grids(const Device& device, const KernelName& first, const KernelName& second) {
  constexpr std::uint32_t count = 64 * 256, rounds = 20;
  const Buffer words = poisoned<std::uint32_t>(device, count), out = poisoned<std::uint32_t>(device, count);
  const Stream stream(device);
  const Kernel one = kernel(device, first), two = kernel(device, second);
  launch(stream, one, {.grid = {64}, .block = {256}}, words, rounds);
  launch(stream, two, {.grid = {64}, .block = {256}, .programmatic_dependent = true}, words, out, count);
  stream.synchronize();
  Words want(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t value = count - 1 - i;
    for (std::uint32_t r = 0; r < rounds; ++r) value = value * 1664525 + 1013904223;
    want[i] = value + 1;
  }
  return finish(out.download<std::uint32_t>(), want);
}

Results policies(const Device& device, const KernelName& name) {
  std::vector<std::uint64_t> want;
  for (const std::uint64_t constant : {0x16f, 0x12f, 0x14f, 0x10f}) want.insert(want.end(), 2, constant << 52);
  // Sixteenths less one, of 15.99 times the fraction: 1, 0.5, 0.25, 0.3, 1/16 and less.
  for (const std::uint64_t made : {0x127, 0x143, 0x164, 0x120, 0x120}) want.push_back(made << 52);
  const std::vector<float> fractions = {0.5f, 0.25f, 0.3f, 0.0625f, 0.01f};
  const Buffer out = poisoned<std::uint64_t>(device, want.size());
  run(device, name, {}, upload(device, fractions), out);
  const auto got = out.download<std::uint64_t>();
  require_equal(got, want);
  return results(DType::u64, got);
}

}  // namespace

void add_threads(std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::function<Results(const Device&)> run) {
    cases.push_back({std::move(name), {}, std::move(run), 64, {}});
  };
  for (const std::uint32_t bytes : {4u, 8u, 16u}) {
    const KernelName name = declare("cp_async.cu", fmt::format("copy<{}, false>", bytes));
    add(fmt::format("cp_async/{}_bytes", bytes), [=](const Device& d) { return copy(d, name, bytes); });
  }
  const KernelName past_l1 = declare("cp_async.cu", "copy<16, true>"), grouped = declare("cp_async.cu", "groups"),
                   increment = declare("cp_async.cu", "copy_to_barrier<true>"),
                   plain = declare("cp_async.cu", "copy_to_barrier<false>"),
                   states = declare("barriers.cu", "mbarrier_states"), turns = declare("barriers.cu", "mbarrier_turns"),
                   named = declare("barriers.cu", "named_barriers"), elect = declare("warps.cu", "elections"),
                   budgets = declare("warps.cu", "register_budgets"), first = declare("warps.cu", "first_grid"),
                   second = declare("warps.cu", "second_grid"), policy = declare("warps.cu", "policies");
  add("cp_async/past_l1", [=](const Device& d) { return copy(d, past_l1, 16); });
  for (const std::string variant : {"prefetch_64", "prefetch_128", "prefetch_256", "past_l1_prefetch_256", "ignore"}) {
    const KernelName name = declare("cp_async.cu", fmt::format("copy_variant<Variant::{}>", variant));
    add("cp_async/" + variant, [=](const Device& d) { return copy_variant(d, name, variant == "ignore"); });
  }
  add("cp_async/groups", [=](const Device& d) { return copied(d, grouped, 384); });
  add("cp_async/mbarrier_arrive", [=](const Device& d) { return copied(d, increment, 64); });
  add("cp_async/mbarrier_arrive_no_increment", [=](const Device& d) { return copied(d, plain, 64); });
  add("mbarrier/states", [=](const Device& d) { return mbarrier_states(d, states); });
  add("mbarrier/turns", [=](const Device& d) { return mbarrier_turns(d, turns); });
  add("barrier/named", [=](const Device& d) { return named_barriers(d, named); });
  add("warp/elections", [=](const Device& d) { return elections(d, elect); });
  add("registers/budgets", [=](const Device& d) { return register_budgets(d, budgets); });
  add("grid/dependents", [=](const Device& d) { return dependent_grids(d, first, second); });
  add("cache/policies", [=](const Device& d) { return policies(d, policy); });
}

}  // namespace wm::golden
