// Qualifiers of memory instructions.
#include "vgpu/isa/memory_operands.hpp"

#include <atomic>

namespace wm::vgpu::isa {

AddressSpace take_space(FunctionDecoder& d) {
  switch (d.modifiers.take_one_of({"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param",
                                   "param::entry", "param::func"})) {
    case 0: return AddressSpace::global;
    case 1:
    case 2: return AddressSpace::shared;
    case 3: return AddressSpace::shared_cluster;
    case 4: return AddressSpace::local;
    case 5: return AddressSpace::constant;
    case 6:
    case 7:
    case 8: return AddressSpace::param;
    default: return AddressSpace::generic;
  }
}

AddressSpace take_space_first(FunctionDecoder& d) {
  switch (d.modifiers.take_first_of({"global", "shared", "shared::cta", "shared::cluster"})) {
    case 0: return AddressSpace::global;
    case 1:
    case 2: return AddressSpace::shared;
    case 3: return AddressSpace::shared_cluster;
    default: d.refuse("it needs two state spaces");
  }
}

std::optional<Scope> take_scope(FunctionDecoder& d) {
  switch (d.modifiers.take_one_of({"cta", "cluster", "gpu", "sys"})) {
    case 0: return Scope::block;
    case 1: return Scope::cluster;
    case 2:
    case 3: return Scope::device;
    default: return std::nullopt;
  }
}

Ordering take_ordering(FunctionDecoder& d) {
  switch (d.modifiers.take_one_of({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"})) {
    case 1: return Ordering::relaxed;
    case 2: return Ordering::acquire;
    case 3: return Ordering::release;
    case 4: return Ordering::acq_rel;
    case 5: return Ordering::volatile_;
    case 6: d.modifiers.take("relaxed"); return Ordering::mmio;
    default: return Ordering::weak;
  }
}

MemoryQualifiers take_memory_qualifiers(FunctionDecoder& d) {
  MemoryQualifiers q;
  if (d.modifiers.take("mmio")) {
    d.modifiers.take("relaxed");
    q.ordering = Ordering::mmio;
  } else {
    q.ordering = take_ordering(d);
  }
  q.scope = take_scope(d);
  q.space = take_space(d);
  // Caches are not modelled: what only steers them is read and forgotten.
  d.modifiers.take_one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  d.modifiers.take("nc");
  d.modifiers.take_one_of(
      {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  d.modifiers.take_one_of({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  q.cache_hint = d.modifiers.take("L2::cache_hint");
  d.modifiers.take_one_of({"L2::64B", "L2::128B", "L2::256B"});
  switch (d.modifiers.take_one_of({"v2", "v4", "v8"})) {
    case 0: q.vector = 2; break;
    case 1: q.vector = 4; break;
    case 2: q.vector = 8; break;
    default: break;
  }
  return q;
}

void order_before(Ordering ordering) {
  if (ordering == Ordering::release || ordering == Ordering::acq_rel)
    std::atomic_thread_fence(std::memory_order_release);
}
void order_after(Ordering ordering) {
  if (ordering == Ordering::acquire || ordering == Ordering::acq_rel)
    std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace wm::vgpu::isa
