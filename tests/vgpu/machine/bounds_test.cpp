// Every kind of access in every memory: its first byte and its last are reached, one step further is a fault.
#include <fmt/format.h>

#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

// A memory of `size` bytes of which nothing lies before or behind. %base becomes its address.
struct Place {
  std::string name, space = {};                  // `space` is the instruction's modifier
  std::string module = {}, own = {}, base = {};  // text at module scope, in the kernel, and what gives %base
  std::string first = {}, last = {};             // the kernel's parameters before and behind the usual ones
  std::uint32_t dynamic_shared = 0, cluster = 1;
  bool device = false;  // %base is the first parameter: memory that the caller allocates
};

// `size` is said as {0}.
std::string with(std::string_view text, std::uint32_t size) { return fmt::format(fmt::runtime(text), size); }

std::vector<Place> places(std::uint32_t size) {
  const auto s = [size](std::string_view text) { return with(text, size); };
  return {
      {.name = "global", .space = ".global", .base = "mov.u64 %base, %out;", .device = true},
      {.name = "generic global", .base = "mov.u64 %base, %out;", .device = true},
      {.name = "a module's variable",
       .space = ".global",
       .module = s(".global .align 16 .b8 v[{0}];"),
       .base = "mov.u64 %base, v;"},
      {.name = "constant", .space = ".const", .module = s(".const .align 16 .b8 v[{0}];"), .base = "mov.u64 %base, v;"},
      {.name = "shared", .space = ".shared", .own = s(".shared .align 16 .b8 v[{0}];"), .base = "mov.u64 %base, v;"},
      {.name = "dynamic shared",
       .space = ".shared",
       .module = ".extern .shared .align 16 .b8 v[];",
       .base = "mov.u64 %base, v;",
       .dynamic_shared = size},
      {.name = "generic shared",
       .own = s(".shared .align 16 .b8 v[{0}];"),
       .base = "mov.u64 %base, v; cvta.shared.u64 %base, %base;"},
      {.name = "another block's shared",
       .space = ".shared::cluster",
       .own = s(".shared .align 16 .b8 v[{0}];"),
       .base = "mov.u32 %r1, v; mapa.shared::cluster.u32 %r1, %r1, 1; cvt.u64.u32 %base, %r1;",
       .cluster = 2},
      {.name = "local", .space = ".local", .own = s(".local .align 16 .b8 v[{0}];"), .base = "mov.u64 %base, v;"},
      {.name = "generic local",
       .own = s(".local .align 16 .b8 v[{0}];"),
       .base = "mov.u64 %base, v; cvta.local.u64 %base, %base;"},
      {.name = "the first parameter",
       .base = "mov.b64 %base, v; cvta.param.u64 %base, %base;",
       .first = s(".param .align 16 .b8 v[{0}], ")},
      {.name = "the last parameter",
       .base = "mov.b64 %base, v; cvta.param.u64 %base, %base;",
       .last = s(", .param .align 16 .b8 v[{0}]")},
  };
}

bool writable(const Place& p) { return p.space != ".const" && p.first.empty() && p.last.empty(); }
bool is_local(const Place& p) { return contains(p.name, "local"); }

struct Access {
  std::string text;  // {0} is the space's modifier; the address is in %at (in %at32 where it is shared)
  std::uint32_t bytes, alignment;
};

std::vector<Access> accesses(const Place& place) {
  std::vector<Access> all = {{"ld{0}.u8 %r2, [%at];", 1, 1},
                             {"ld{0}.u16 %h2, [%at];", 2, 2},
                             {"ld{0}.u32 %r2, [%at];", 4, 4},
                             {"ld{0}.f64 %d2, [%at];", 8, 8},
                             {"ld{0}.v2.u8 {{%h2, %h3}}, [%at];", 2, 2},
                             {"ld{0}.v4.u16 {{%h2, %h3, %h4, %h5}}, [%at];", 8, 8},
                             {"ld{0}.v2.u32 {{%r2, %r3}}, [%at];", 8, 8},
                             {"ld{0}.v4.f32 {{%f2, %f3, %f4, %f5}}, [%at];", 16, 16},
                             {"ld{0}.v2.u64 {{%rd2, %rd3}}, [%at];", 16, 16}};
  const auto add = [&](std::initializer_list<Access> more) { all.insert(all.end(), more); };
  if (!writable(place)) return all;
  add({{"st{0}.u8 [%at], %r2;", 1, 1},
       {"st{0}.b16 [%at], %h2;", 2, 2},
       {"st{0}.u32 [%at], %r2;", 4, 4},
       {"st{0}.u64 [%at], %rd2;", 8, 8},
       {"st{0}.v4.u8 [%at], {{%h2, %h3, %h4, %h5}};", 4, 4},
       {"st{0}.v2.f32 [%at], {{%f2, %f3}};", 8, 8},
       {"st{0}.v4.u32 [%at], {{%r2, %r3, %r4, %r5}};", 16, 16},
       {"st{0}.v2.b64 [%at], {{%rd2, %rd3}};", 16, 16}});
  if (is_local(place)) return all;
  add({{"atom{0}.add.u32 %r2, [%at], 1;", 4, 4},
       {"atom{0}.cas.b64 %rd2, [%at], %rd3, %rd4;", 8, 8},
       {"atom{0}.cas.b16 %h2, [%at], %h3, %h4;", 2, 2},
       {"red{0}.or.b32 [%at], %r2;", 4, 4},
       {"red{0}.add.u64 [%at], %rd2;", 8, 8}});
  if (place.device)
    add({{"cp.async.ca.shared.global [%tile], [%at], 4;", 4, 4},
         {"cp.async.ca.shared.global [%tile], [%at], 8;", 8, 8},
         {"cp.async.cg.shared.global [%tile], [%at], 16;", 16, 16},
         {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%at], 16, [%tile+64];", 16, 16},
         {"cp.async.bulk.global.shared::cta.bulk_group [%at], [%tile], 16;", 16, 16},
         {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%at], [%tile], 16;", 16, 16}});
  if (place.space == ".shared")
    add({{"cp.async.ca.shared.global [%at32], [%out], 4;", 4, 4},
         {"cp.async.ca.shared.global [%at32], [%out], 8;", 8, 8},
         {"cp.async.cg.shared.global [%at32], [%out], 16;", 16, 16},
         {"cp.async.bulk.global.shared::cta.bulk_group [%out], [%at32], 16;", 16, 16},
         {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%at32];", 16, 16},
         {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%at32], {{%r2}};", 16, 16},
         {"mbarrier.init.shared.b64 [%at32], 1;", 8, 8},
         {"ld.shared.u32 %r2, [%at32];", 4, 4},
         {"st.shared.v4.u32 [%at32], {{%r2, %r3, %r4, %r5}};", 16, 16}});
  return all;
}

// Copies need shared memory of their own beside the place that is probed.
bool uses_tile(const Access& access) { return contains(access.text, "%tile"); }

std::string kernel(const Place& place, const Access& access) {
  const std::string tile = R"(
  .shared .align 128 .b8 tile[128];
  mov.u32 %tile, tile;
  mbarrier.init.shared.b64 [%tile+64], 1;
)";
  return module_text(place.module + fmt::format(R"(
.visible .entry test({}.param .u64 test_out, .param .u64 test_offset, .param .u32 test_step{})
{{
  .reg .b16 %h<8>;
  .reg .b32 %r<8>, %at32, %tile;
  .reg .f32 %f<8>;
  .reg .f64 %d<4>;
  .reg .b64 %rd<8>, %out, %offset, %base, %at;
  .reg .pred %p<2>;
  {}
  {}
  ld.param.u64 %out, [test_out];
  ld.param.u64 %offset, [test_offset];
  {}
  mov.u32 %r6, %cluster_ctarank;
  setp.ne.u32 %p1, %r6, 0;
  @%p1 bra done;
  ld{}.u8 %h1, [%base];
  ld.param.u32 %r6, [test_step];
  mov.u32 %r7, %tid.x;
  mad.wide.u32 %at, %r6, %r7, %base;
  add.u64 %at, %at, %offset;
  cvt.u32.u64 %at32, %at;
  {}
done:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}}
)",
                                                place.first, place.last, place.own, uses_tile(access) ? tile : "",
                                                place.base, place.space,
                                                fmt::format(fmt::runtime(access.text), place.space)));
}

// The rows of a matrix are the first lanes' addresses.
bool is_matrix(const Access& access) { return contains(access.text, "matrix"); }

class Probe {
 public:
  Probe(const Place& place, const Access& access, std::uint32_t size, std::uint32_t threads)
      : place_(place), threads_(threads), step_(threads > 1 && !is_matrix(access) ? access.bytes : 0), size_(size) {
    gpu_.load(kernel(place, access));
    memory_ = gpu_.machine().allocate(place.device ? size : 64);
  }

  // The name of the fault that the access of the first thread at `offset` ends with; empty where it does not.
  std::optional<Flaw> at(std::int64_t offset) {
    std::vector<std::byte> bytes;
    const auto add = [&](const void* value, std::size_t count, std::size_t alignment) {
      bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
      const auto* from = static_cast<const std::byte*>(value);
      bytes.insert(bytes.end(), from, from + count);
    };
    const std::vector<std::byte> parameter(size_);
    if (!place_.first.empty()) add(parameter.data(), size_, 16);
    add(&memory_, 8, 8);
    add(&offset, 8, 8);
    add(&step_, 4, 4);
    if (!place_.last.empty()) add(parameter.data(), size_, 16);
    try {
      RunReport report;
      gpu_.machine().run(*gpu_.program(), gpu_.kernel("test"),
                         {{place_.cluster}, {threads_}, {place_.cluster}, place_.dynamic_shared}, bytes, {}, report);
      return {};
    } catch (const Fault& fault) {
      return fault.finding;
    }
  }

 private:
  Gpu gpu_;
  const Place& place_;
  const std::uint32_t threads_, step_, size_;
  std::uint64_t memory_ = 0;
};

TEST(Bounds, EndAtTheLastByteOfEveryMemoryForEveryAccess) {
  // Sizes of every remainder; one thread alone and a warp whose lanes lie side by side.
  for (std::uint32_t room = 33; room <= 48; ++room)
    for (const std::uint32_t threads : {1u, 32u})
      for (const Access& shape : {Access{"", 1, 1}, {"", 2, 2}, {"", 4, 4}, {"", 8, 8}, {"", 16, 16}}) {
        const std::uint32_t size = room + (threads - 1) * shape.bytes;
        for (const Place& place : places(size))
          for (const Access& access : accesses(place)) {
            if (access.bytes != shape.bytes || (is_matrix(access) && threads == 1)) continue;
            const std::uint32_t reach = is_matrix(access) ? access.bytes : threads * access.bytes;
            Probe probe(place, access, size, threads);
            SCOPED_TRACE(fmt::format("{} of {} bytes: {} in {} threads", place.name, size, access.text, threads));
            const std::int64_t last = (size - reach) / access.alignment * access.alignment;
            ASSERT_EQ(probe.at(0), std::nullopt);
            ASSERT_EQ(probe.at(last), std::nullopt);
            if (place.first.empty()) {
              ASSERT_EQ(probe.at(last + access.alignment), fault::out_of_bounds);
            }
            if (place.last.empty()) {
              ASSERT_EQ(probe.at(-std::int64_t{access.alignment}), fault::out_of_bounds);
            }
          }
      }
}

}  // namespace
}  // namespace wm::vgpu::testing
