// Calls of device functions, and of the few that the system provides.
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/system_call.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

// An argument or result of a call: a variable of the caller's frame.
using Passed = Slot;
struct Call {
  const Program* program = nullptr;
  const Function* callee = nullptr;  // null: the address is in op.a
  SystemCall system = nullptr;
  std::vector<Passed> arguments, results;
};

// What is wrong with the arguments and results for this function; empty where nothing is.
std::string mismatch(const Call& call, const Function& callee) {
  const auto differ = [](const std::vector<Passed>& passed, const std::vector<ptx::Variable>& wanted) {
    if (passed.size() != wanted.size()) return true;
    for (std::size_t k = 0; k < passed.size(); ++k)
      if (passed[k].bytes != wanted[k].bytes) return true;
    return false;
  };
  if (differ(call.arguments, callee.source->parameters)) return fmt::format("`{}` takes other arguments", callee.name);
  if (differ(call.results, callee.source->results)) return fmt::format("`{}` gives another result", callee.name);
  return {};
}

void copy_in(Warp& warp, const Call& call, const Function& callee, u32 caller_base, u32 callee_base, u32 active) {
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    const Passed& from = call.arguments[k];
    const Slot to = callee.parameters[k];
    for_each_lane(active, [&](u32 i) {
      std::memcpy(warp.local(i) + callee_base + to.offset, warp.local(i) + caller_base + from.offset, to.bytes);
    });
  }
}

Step call_op(Warp& warp, const Op& op, u32 active) {
  const auto& call = op.as<Call>();
  const Function* callee = call.callee;
  if (callee == nullptr) {
    const u64* address = warp.source64(op.a);
    const u64 first = address[std::countr_zero(active)];
    const u64 index = (first - function_window) / 16;
    if (!in_window(first, function_window) || first % 16 != 0 || index >= call.program->functions().size())
      warp.fault(fmt::format("a call to {:#x}, which is no function", first), std::countr_zero(active));
    callee = &call.program->functions()[index];
    // Lanes that call another function stay at the call; their part comes back to it.
    const u32 others = active & ballot_of([&](u32 i) { return address[i] != first; });
    if (others != 0) {
      warp.split(others, warp.pc - 1);
      active &= ~others;
    }
    if (callee->entry || callee->source->declaration)
      warp.fault(fmt::format("a call to `{}` through a pointer", callee->name), std::countr_zero(active));
    if (const std::string wrong = mismatch(call, *callee); !wrong.empty())
      warp.fault("a call through a pointer: " + wrong, std::countr_zero(active));
  }
  const u32 caller_base = warp.local_base();
  const Step step = warp.call(*callee, active);
  copy_in(warp, call, *callee, caller_base, warp.local_base(), active);
  return step;
}

Step system_op(Warp& warp, const Op& op, u32 active) {
  const auto& call = op.as<Call>();
  std::vector<u32> arguments;
  for (const Passed& p : call.arguments) arguments.push_back(warp.local_base() + p.offset);
  const u32 result = call.results.empty() ? 0 : warp.local_base() + call.results[0].offset;
  for_each_lane(active, [&](u32 i) {
    std::vector<std::byte*> places;
    for (u32 offset : arguments) places.push_back(warp.local(i) + offset);
    const u64 value = call.system(warp, i, places);
    if (!call.results.empty()) std::memcpy(warp.local(i) + result, &value, std::min(call.results[0].bytes, 8u));
  });
  return Step::go;
}

// The caller's op before the return address says where the results go.
Step ret_op(Warp& warp, const Op&, u32 active) {
  const Function* callee = warp.function();
  if (callee->entry) return warp.exit(active);
  const u32 callee_base = warp.local_base();
  const Step step = warp.ret(active);
  const Op& call_site = warp.function()->ops[warp.pc - 1];
  const auto& call = call_site.as<Call>();
  const u32 caller_base = warp.local_base();
  for (std::size_t k = 0; k < call.results.size() && k < callee->results.size(); ++k) {
    const Slot from = callee->results[k];
    const u32 bytes = std::min(from.bytes, call.results[k].bytes);
    for_each_lane(active, [&](u32 i) {
      std::memcpy(warp.local(i) + caller_base + call.results[k].offset, warp.local(i) + callee_base + from.offset,
                  bytes);
    });
  }
  return step;
}

std::vector<Passed> passed(FunctionDecoder& d, const ptx::Operand& list) {
  std::vector<Passed> all;
  for (const ptx::Operand& o : list.parts) {
    if (o.kind != OperandKind::symbol) d.refuse("arguments in registers are not supported: pass .param variables");
    const auto symbol = d.symbol(o.name);
    if (symbol.address.base != AddressBase::frame) d.refuse("an argument is no .param variable of this function");
    all.push_back({static_cast<u32>(symbol.address.offset), static_cast<u32>(symbol.variable->bytes)});
  }
  return all;
}

}  // namespace

void call(FunctionDecoder& d) {
  d.modifiers.take("uni");
  d.expect_operands(3, 4);
  Call call;
  call.program = &d.program();
  call.results = passed(d, d.operand(0));
  call.arguments = passed(d, d.operand(2));
  if (call.results.size() > 1) d.refuse("a function has one result");
  const ptx::Operand& target = d.operand(1);
  if (target.kind == OperandKind::reg) {
    const Operand address = d.source(target, Type::u64);
    d.emit(&call_op, Effect::none(), std::move(call)).a = address;
    return;
  }
  const Function* callee = d.program().find(target.name);
  if (callee == nullptr) d.refuse(fmt::format("there is no function `{}`", target.name));
  if (callee->entry) d.refuse("a kernel cannot be called");
  if (const std::string wrong = mismatch(call, *callee); !wrong.empty()) d.refuse(wrong);
  if (callee->source->declaration) {
    call.system = system_call(target.name);
    if (call.system == nullptr) d.refuse(fmt::format("`{}` is not defined in this module", target.name));
    if (!system_call_fits(target.name, *callee->source)) d.refuse("it is declared with other parameters than it has");
    d.emit(&system_op, Effect::none(), std::move(call));
    return;
  }
  call.callee = callee;
  d.emit(&call_op, Effect::none(), std::move(call));
}

void ret(FunctionDecoder& d) {
  d.modifiers.take("uni");
  d.expect_operands(0);
  d.emit(&ret_op, Effect::none());
}

}  // namespace wm::vgpu::isa
