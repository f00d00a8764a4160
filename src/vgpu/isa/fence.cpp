// fence and membar. Between host threads one full fence serves all of them; what each one orders is the judge's matter.
#include <atomic>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {
Step fence_op(Warp&, const Op&, u32) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return Step::go;
}

void decode_proxy(FunctionDecoder& d) {
  const int kind = d.modifiers.take_one_of({"tensormap::generic", "alias", "async", "async::generic"});
  if (kind < 0) d.refuse("there is no such proxy");
  const bool tensor_map = kind == 0;
  const bool acquire = d.modifiers.take("acquire");
  if (!acquire) d.modifiers.take("release");
  d.modifiers.take("sync_restrict::shared::cta");
  d.modifiers.take("sync_restrict::shared::cluster");
  take_scope(d);
  take_space(d);
  if (tensor_map && acquire) {
    d.expect_operands(2);
    d.address(d.operand(0), AddressSpace::generic);
    if (d.constant(d.operand(1), "the size") != 128) d.refuse("a tensor map has 128 bytes");
  } else {
    d.expect_operands(0);
  }
  d.emit(&fence_op);
}
}  // namespace

void fence(FunctionDecoder& d) {
  if (d.modifiers.take("proxy")) return decode_proxy(d);
  d.modifiers.take("mbarrier_init");
  d.modifiers.take_one_of({"sc", "acq_rel", "acquire", "release"});
  d.modifiers.take_one_of({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (!take_scope(d)) d.refuse("a fence needs a scope");
  d.expect_operands(0);
  d.emit(&fence_op);
}

void membar(FunctionDecoder& d) {
  if (d.modifiers.take("proxy")) return decode_proxy(d);
  if (d.modifiers.take_one_of({"cta", "gl", "sys"}) < 0) d.refuse("it is membar.{cta|gl|sys}");
  d.expect_operands(0);
  d.emit(&fence_op);
}

}  // namespace wm::vgpu::isa
