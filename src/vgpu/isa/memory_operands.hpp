// Qualifiers of memory instructions: space, ordering, scope, cache behaviour, vectors.
#pragma once

#include <optional>

#include "vgpu/isa/decoder.hpp"

namespace wm::vgpu::isa {

struct MemoryQualifiers {
  AddressSpace space = AddressSpace::generic;
  Ordering ordering = Ordering::weak;
  std::optional<Scope> scope;
  bool cache_hint = false;  // one more operand
  u32 vector = 1;
};

// Takes all of them that are there, in whatever order.
MemoryQualifiers take_memory_qualifiers(FunctionDecoder& decoder);
AddressSpace take_space(FunctionDecoder& decoder);          // generic where there is none
AddressSpace take_space_first(FunctionDecoder& decoder);    // the one that comes first; refused where there is none
std::optional<Scope> take_scope(FunctionDecoder& decoder);  // .cta, .cluster, .gpu, .sys
Ordering take_ordering(FunctionDecoder& decoder);

// What the ordering means between host threads: nothing for plain accesses.
void order_before(Ordering ordering);  // release
void order_after(Ordering ordering);   // acquire

}  // namespace wm::vgpu::isa
