// Copies of plain bytes (cp.async, cp.async.bulk, st.async) between global memory and the shared memory of two blocks,
// in every mode: at any place, any length, up to the last byte of each memory and past it. Each ends as a memcpy would,
// or with an error of the kernel.
#include <array>

#include <fmt/format.h>

#include "tensor_map/random_maps.hpp"
#include "tensor_map/virtual_form.hpp"
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::test {
namespace {

using vgpu::Mode;
using vgpu::testing::Gpu;
using vgpu::testing::parameters;
using Bytes = std::vector<std::byte>;

enum class Place { global, own, peer };  // shared memory of the block that issues the copy, and of the other one

struct Kind {
  std::string_view name;
  Place from, to;
  bool signals;         // an mbarrier beside each destination; else the copy is waited for
  std::uint32_t unit;   // alignment of the addresses; a bulk copy's length is a multiple of it
  std::uint32_t fixed;  // the length where the instruction says it; 0: %length
  std::string_view instruction;
  std::uint32_t from_unit = unit;  // where the source may lie closer
};

// %global (%map: a tensor of 128 bytes there), %here and %there (of the other block) are where it may begin and end.
constexpr std::array kinds{
    Kind{"load", Place::global, Place::own, true, 16, 0,
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%here], [%global], %length, [%barrier];"},
    Kind{"multicast", Place::global, Place::own, true, 16, 0,
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%here], [%global], "
         "%length, [%barrier], %mask;"},
    Kind{"tensor_multicast", Place::global, Place::own, true, 128, 128,
         "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%here], "
         "[%map, {0}], [%barrier], %mask;",
         16},
    Kind{"to_peer", Place::own, Place::peer, true, 16, 0,
         "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%there], [%here], %length, "
         "[%peer_barrier];"},
    Kind{"store", Place::own, Place::global, false, 16, 0,
         "cp.async.bulk.global.shared::cta.bulk_group [%global], [%here], %length;"},
    Kind{"reduce", Place::own, Place::global, false, 16, 0,
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%global], [%here], %length;"},
    Kind{"reduce_wide", Place::own, Place::global, false, 16, 0,
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%global], [%here], %length;"},
    Kind{"reduce_peer", Place::own, Place::peer, true, 16, 0,
         "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.xor.b32 [%there], [%here], "
         "%length, [%peer_barrier];"},
    Kind{"small_4", Place::global, Place::own, false, 4, 4, "cp.async.ca.shared.global [%here], [%global], 4;"},
    Kind{"small_8", Place::global, Place::own, false, 8, 8, "cp.async.ca.shared.global [%here], [%global], 8;"},
    Kind{"small_16", Place::global, Place::own, false, 16, 16, "cp.async.cg.shared.global [%here], [%global], 16;"},
    Kind{"small_sized", Place::global, Place::own, false, 16, 16,
         "cp.async.cg.shared.global [%here], [%global], 16, %length;"},
};

// Two blocks of one thread. Each fills its shared memory from `out`, the first copies, then each writes its back, and
// behind it 1 where its mbarrier completed.
std::string entry(const Kind& kind) {
  return fmt::format(R"(
.visible .entry {}(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 words, .param .u64 global, .param .u32 here, .param .u32 there,
                   .param .u32 length, .param .u32 mask, .param .u32 receivers)
{{
  .reg .pred %p<6>;
  .reg .b16 %mask;
  .reg .b32 %r<20>, %here, %there, %length, %barrier, %peer_barrier, %rank;
  .reg .b64 %d<6>, %global, %map;
  mov.u32 %rank, %cluster_ctarank;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [words];
  add.u32 %r2, %r1, 1;
  mul.lo.u32 %r2, %r2, %rank;
  mad.wide.u32 %d1, %r2, 4, %d1;
  mov.u32 %r3, memory;
  add.u32 %r3, %r3, 1023;
  and.b32 %r3, %r3, 0xfffffc00;
  mov.u32 %r4, 0;
  mov.u64 %d2, %d1;
  mov.u32 %r5, %r3;
fill:
  ld.global.u32 %r6, [%d2];
  st.shared.u32 [%r5], %r6;
  add.u64 %d2, %d2, 4;
  add.u32 %r5, %r5, 4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %r1;
  @%p1 bra fill;
  mov.u32 %barrier, barrier;
  mbarrier.init.shared::cta.b64 [%barrier], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  ld.param.u32 %length, [length];
  ld.param.u32 %r7, [receivers];
  shr.u32 %r7, %r7, %rank;
  and.b32 %r7, %r7, 1;
  setp.ne.u32 %p2, %r7, 0;
  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %length;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p3, %rank, 0;
  @%p3 bra copied;
  ld.param.u64 %global, [global];
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u32 %here, [here];
  add.u32 %here, %here, %r3;
  ld.param.u32 %there, [there];
  add.u32 %there, %there, %r3;
  mapa.shared::cluster.u32 %there, %there, 1;
  mapa.shared::cluster.u32 %peer_barrier, %barrier, 1;
  ld.param.u32 %r8, [mask];
  cvt.u16.u32 %mask, %r8;
  {}
  cp.async.wait_all;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
copied:
  mov.u32 %r9, 0;
  @!%p2 bra drained;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%barrier], 0;
  @%p4 mov.u32 %r9, 1;
  @%p4 bra drained;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p5, %r10, 2000;
  @%p5 bra wait;
drained:
  mov.u32 %r4, 0;
drain:
  ld.shared.u32 %r6, [%r3];
  st.global.u32 [%d1], %r6;
  add.u64 %d1, %d1, 4;
  add.u32 %r3, %r3, 4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %r1;
  @%p1 bra drain;
  st.global.u32 [%d1], %r9;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}}
)",
                     kind.name, kind.instruction);
}

struct Memories {
  Bytes global;
  std::array<Bytes, 2> shared;  // of each block
  bool operator==(const Memories&) const = default;
};

struct Copy {
  const Kind& kind;
  std::int64_t global = 0, here = 0, there = 0;  // where it begins in each memory
  std::uint32_t length = 0, mask = 1;
  // Blocks whose mbarriers are told.
  std::uint32_t receivers() const {
    if (!kind.signals) return 0;
    return kind.name.ends_with("multicast") ? mask & 3 : kind.to == Place::own ? 1 : 2;
  }
};

// `length` bytes from `offset` on; empty where they are not all there, or not aligned.
std::span<std::byte> part(Bytes& memory, std::int64_t offset, std::uint32_t length, std::uint32_t alignment) {
  const auto size = static_cast<std::int64_t>(memory.size());
  if (offset < 0 || offset % alignment != 0 || offset + length > size) return {};
  return std::span(memory).subspan(static_cast<std::size_t>(offset), length);
}

// Does it to the memories; false where it must fail.
bool define(const Copy& c, Memories& m) {
  const Kind& kind = c.kind;
  const bool sized = kind.name == "small_sized";
  const std::uint32_t writes = kind.fixed != 0 ? kind.fixed : c.length, reads = sized ? c.length : writes;
  if (kind.fixed == 0 && c.length % 16 != 0) return false;
  if (sized && c.length > 16) return false;
  if (kind.name.ends_with("multicast") && c.mask > 3) return false;
  if (writes == 0) return true;
  if (kind.name == "tensor_multicast" && c.mask == 0) return c.global % 16 == 0;  // only the map is looked at
  std::span<std::byte> source;
  if (reads > 0) {
    source = kind.from == Place::global ? part(m.global, c.global, reads, kind.from_unit)
                                        : part(m.shared[0], c.here, reads, kind.unit);
    if (source.empty()) return false;
  }
  std::vector<std::span<std::byte>> targets;
  if (kind.to == Place::global)
    targets.push_back(part(m.global, c.global, writes, kind.unit));
  else if (kind.to == Place::peer)
    targets.push_back(part(m.shared[1], c.there, writes, kind.unit));
  else
    for (const std::uint32_t rank : {0u, 1u})
      if (c.mask >> rank & 1) targets.push_back(part(m.shared[rank], c.here, writes, kind.unit));
  for (const auto target : targets)
    if (target.empty()) return false;
  for (const auto target : targets)
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::byte value = i < source.size() ? source[i] : std::byte{0};
      target[i] = kind.name.starts_with("reduce") ? target[i] ^ value : value;
    }
  return true;
}

Copy random_copy(Random& random, const Memories& m) {
  Copy c{kinds[static_cast<std::size_t>(between(random, 0, kinds.size() - 1))]};
  const auto offset = [&](const Bytes& memory) {
    const auto size = static_cast<std::int64_t>(memory.size());
    // Mostly all of it lies inside, often up to the end; else around the ends.
    const std::int64_t last = size - (c.kind.fixed != 0 ? c.kind.fixed : c.length);
    if (chance(random, 85) && last >= 0) {
      const std::int64_t at = chance(random, 50) ? last : between(random, 0, last);
      return chance(random, 95) ? at / c.kind.unit * c.kind.unit : at;
    }
    const std::int64_t unit = c.kind.unit;
    return std::max<std::int64_t>(0, size / unit * unit + unit * between(random, -2, 2));
  };
  c.length = static_cast<std::uint32_t>(between(random, 0, static_cast<std::int64_t>(m.shared[0].size())));
  if (c.kind.fixed != 0) c.length = c.kind.fixed;
  if (c.kind.name == "small_sized") c.length = static_cast<std::uint32_t>(between(random, 0, 17));
  if (c.kind.fixed == 0 && chance(random, 95)) c.length = c.length / 16 * 16;
  if (c.kind.name.ends_with("multicast"))
    c.mask = static_cast<std::uint32_t>(chance(random, 90) ? between(random, 0, 3) : between(random, 4, 15));
  c.global = offset(m.global);
  c.here = offset(m.shared[0]);
  c.there = offset(m.shared[1]);
  if (chance(random, 3)) c.global = -static_cast<std::int64_t>(c.kind.unit);
  // The first 1024 bytes are the system's; ours begin 1024 later.
  if (chance(random, 3)) c.here = c.there = -1024 - static_cast<std::int64_t>(c.kind.unit);
  return c;
}

class ByteCopies {
 public:
  ByteCopies() {
    std::string text = ".shared .align 8 .b64 barrier;\n.extern .shared .align 16 .b8 memory[];\n";
    for (const Kind& kind : kinds) text += entry(kind);
    gpu_.load(vgpu::testing::module_text(text));
  }

  // The error, or nothing; `m` is what the memories hold then.
  std::string run(const Copy& c, Memories& m) {
    Bytes filling;
    for (const Bytes& shared : m.shared) {
      filling.insert(filling.end(), shared.begin(), shared.end());
      filling.resize(filling.size() + 4);
    }
    const std::size_t size = m.shared[0].size();
    const std::uint64_t global = gpu_.upload(m.global), out = gpu_.upload(filling);
    const std::uint32_t gap = 0x400 - 16;  // from the end of the kernel's own variable to a multiple of 1024
    const std::uint64_t place = global + static_cast<std::uint64_t>(c.global);
    const TensorMap map =
        tensor_map::encode_virtual({.element = MapElement::u8, .address = place, .dims = {128}, .box = {128}});
    std::string error;
    try {
      gpu_.run(c.kind.name, {{2}, {1}, {2}, gap + static_cast<std::uint32_t>(size)},
               parameters(map, out, static_cast<std::uint32_t>(size / 4), place, static_cast<std::uint32_t>(c.here),
                          static_cast<std::uint32_t>(c.there), c.length, c.mask, c.receivers()));
      if (gpu_.options.check)
        for (const auto& finding : gpu_.report.check->findings) error += finding.text();
    } catch (const Error& e) {
      error = e.what();
      EXPECT_EQ(e.code(), ErrorCode::execution) << error;
    }
    m.global = gpu_.download<std::byte>(global, m.global.size());
    filling = gpu_.download<std::byte>(out, filling.size());
    for (const std::uint32_t rank : {0u, 1u}) {
      const auto begin = filling.begin() + static_cast<std::ptrdiff_t>(rank * (size + 4));
      m.shared[rank].assign(begin, begin + static_cast<std::ptrdiff_t>(size));
      if (error.empty() &&
          std::to_integer<std::uint32_t>(begin[static_cast<std::ptrdiff_t>(size)]) != (c.receivers() >> rank & 1))
        error = "the mbarrier did not count the bytes";
    }
    gpu_.machine().free(out);
    gpu_.machine().free(global);
    return error;
  }
  Gpu gpu_;
};

TEST(ByteCopies, EveryCopyEndsAsDefinedInEveryMode) {
  ByteCopies copies;
  Random random(20261202);
  int right = 0, refused = 0;
  for (int round = 0; round < 600; ++round) {
    const auto size = static_cast<std::size_t>(4 * between(random, 5, 200));
    Memories before{Bytes(static_cast<std::size_t>(between(random, 16, 900))), {Bytes(size), Bytes(size)}};
    for (Bytes* bytes : {&before.global, &before.shared[0], &before.shared[1]})
      for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random());
    const Copy c = random_copy(random, before);
    Memories after = before;
    const bool defined = define(c, after);
    ++(defined ? right : refused);
    for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
      for (const bool check : {false, true}) {
        copies.gpu_.options = {.mode = mode, .seed = random(), .deterministic = true, .check = check};
        SCOPED_TRACE(
            fmt::format("round {}: {} of {} bytes, global {} of {}, here {} there {} of {}, mask {}, mode {}{}", round,
                        c.kind.name, c.length, c.global, before.global.size(), c.here, c.there, size, c.mask,
                        static_cast<int>(mode), check ? " checked" : ""));
        Memories now = before;
        const std::string error = copies.run(c, now);
        ASSERT_EQ(error.empty(), defined) << error;
        if (defined) {
          ASSERT_TRUE(now == after);
        }
      }
  }
  EXPECT_GT(right, 300);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace wm::test
