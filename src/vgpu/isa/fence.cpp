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
  const bool tensor_map = kind == 0, alias = kind == 1;
  const bool acquire = d.modifiers.take("acquire");
  if (!acquire) d.modifiers.take("release");
  const bool shared_only =
      d.modifiers.take_one_of({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"}) >= 0;
  const Scope scope = take_scope(d).value_or(Scope::device);
  const AddressSpace named = take_space(d), space = shared_only ? AddressSpace::shared : named;
  if (tensor_map && acquire) {
    d.expect_operands(2);
    d.address(d.operand(0), AddressSpace::generic);
    if (d.constant(d.operand(1), "the size") != 128) d.refuse("a tensor map has 128 bytes");
  } else {
    d.expect_operands(0);
  }
  // One memory under two addresses is not imitated: a fence between them has nothing to do.
  d.emit(&fence_op, alias         ? Effect::none()
                    : !tensor_map ? Effect::proxy_fence(space)
                    : acquire     ? Effect::map_acquire(scope)
                                  : Effect::map_release(scope));
}
}  // namespace

void fence(FunctionDecoder& d) {
  if (d.modifiers.take("proxy")) return decode_proxy(d);
  const bool init = d.modifiers.take("mbarrier_init");
  const int ordering = d.modifiers.take_one_of({"sc", "acq_rel", "acquire", "release"});
  d.modifiers.take_one_of({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  const auto scope = take_scope(d);
  if (!scope) d.refuse("a fence needs a scope");
  d.expect_operands(0);
  d.emit(&fence_op, init ? Effect::init_fence()
                         : Effect::fence(ordering == 2   ? Ordering::acquire
                                         : ordering == 3 ? Ordering::release
                                                         : Ordering::acq_rel,
                                         *scope));
}

void membar(FunctionDecoder& d) {
  if (d.modifiers.take("proxy")) return decode_proxy(d);
  const int level = d.modifiers.take_one_of({"cta", "gl", "sys"});
  if (level < 0) d.refuse("it is membar.{cta|gl|sys}");
  d.expect_operands(0);
  d.emit(&fence_op, Effect::fence(Ordering::acq_rel, level == 0 ? Scope::block : Scope::device));
}

}  // namespace wm::vgpu::isa
