// Branches, ends, and instructions that only the scheduler notices.
#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

Step branch_op(Warp& warp, const Op& op, u32 active) { return warp.branch(static_cast<u32>(op.immediate), active); }

struct RegisterCount {
  u32 count = 0;
  bool more = false;
};
// More than the block has to spare are waited for; threads that have ended keep theirs.
Step set_registers_op(Warp& warp, const Op& op, u32 active) {
  const auto& asked = op.as<RegisterCount>();
  if (asked.more ? asked.count <= warp.registers : asked.count >= warp.registers) return Step::go;
  if (!warp.block().has_registers(warp, asked.count)) {
    Wait wait;
    wait.kind = WaitKind::registers;
    wait.index = asked.count;
    return warp.wait(wait, active);
  }
  warp.block().set_registers(warp, asked.count);
  return Step::go;
}

struct Targets {
  std::vector<u32> ops;
};
Step indexed_op(Warp& warp, const Op& op, u32 active) {
  const auto& targets = op.as<Targets>().ops;
  const u32* index = warp.source32(op.a);
  for_each_lane(active, [&](u32 i) {
    if (index[i] >= targets.size())
      warp.fault(fmt::format("index {} of a branch table with {} targets", index[i], targets.size()), i);
  });
  // One part for each target but the last.
  for (u32 left = active;;) {
    const u32 target = targets[index[std::countr_zero(left)]];
    const u32 same = left & ballot_of([&](u32 i) { return (left >> i & 1) && targets[index[i]] == target; });
    left &= ~same;
    if (left == 0) return warp.branch(target, same);
    warp.split(same, target);
  }
}

Step exit_op(Warp& warp, const Op&, u32 active) { return warp.exit(active); }

Step trap_op(Warp& warp, const Op&, u32 active) { warp.fault("the kernel executed `trap`", std::countr_zero(active)); }
Step breakpoint_op(Warp& warp, const Op&, u32 active) {
  warp.fault("the kernel executed `brkpt`, and there is no debugger", std::countr_zero(active));
}

Step sleep_op(Warp& warp, const Op&, u32 active) {
  if (warp.resumed) return Step::go;
  Wait w;
  w.kind = WaitKind::pause;
  w.until = warp.cluster().round + 1;
  return warp.wait(w, active);
}

Step nothing(Warp&, const Op&, u32) { return Step::go; }

}  // namespace

void branch(FunctionDecoder& d) {
  d.modifiers.take("uni");
  d.expect_operands(1);
  if (d.operand(0).kind != OperandKind::label) d.refuse("its target is no label");
  d.emit(&branch_op, Effect::none());
  d.aim_at(d.operand(0).index);
}

void branch_indexed(FunctionDecoder& d) {
  if (!d.modifiers.take("idx")) d.refuse("it is brx.idx");
  d.modifiers.take("uni");
  d.expect_operands(2);
  const Operand index = d.source(d.operand(0), Type::u32);
  if (d.operand(1).kind != OperandKind::table) d.refuse("its targets are no .branchtargets");
  auto targets = std::make_shared<Targets>();
  targets->ops = d.source_function().branch_tables.at(d.operand(1).index).targets;
  if (targets->ops.empty()) d.refuse("its branch table is empty");
  d.aim_table(targets->ops);
  d.function().details.push_back(targets);
  Op& op = d.emit(&indexed_op, Effect::none());
  op.a = index;
  op.detail = targets.get();
}

void exit(FunctionDecoder& d) {
  d.expect_operands(0);
  d.emit(&exit_op, Effect::none());
}

void trap(FunctionDecoder& d) {
  d.expect_operands(0);
  d.emit(d.instruction().opcode == "trap" ? &trap_op : &breakpoint_op, Effect::none());
}

void nanosleep(FunctionDecoder& d) {
  d.modifiers.take_type();
  d.expect_operands(1);
  d.source(d.operand(0), Type::u32);
  d.emit(&sleep_op, Effect::none());
}

void no_operation(FunctionDecoder& d) { d.emit(&nothing, Effect::none()); }

void set_register_budget(FunctionDecoder& d) {
  const bool up = d.modifiers.take("inc");
  if (!up && !d.modifiers.take("dec")) d.refuse("it needs .inc or .dec");
  if (!d.modifiers.take("sync") || !d.modifiers.take("aligned") || d.modifiers.take_type() != Type::u32)
    d.refuse("it is setmaxnreg.{inc|dec}.sync.aligned.u32");
  d.expect_operands(1);
  const i64 count = d.constant(d.operand(0), "the number of registers");
  if (count < 24 || count > 256 || count % 8 != 0)
    d.refuse("the number of registers is a multiple of 8 from 24 to 256");
  d.emit(&set_registers_op, Effect::register_budget().by_whole_warp(), RegisterCount{static_cast<u32>(count), up});
}

// For a profiler that is not there.
void monitor_event(FunctionDecoder& d) {
  d.modifiers.take("mask");
  d.expect_operands(1);
  d.constant(d.operand(0), "the event");
  d.emit(&nothing, Effect::none());
}

// Kernels of one machine run one after the other: what came before is done, and whatever waits may start at the end.
void grid_dependency(FunctionDecoder& d) {
  if (d.modifiers.take_one_of({"launch_dependents", "wait"}) < 0) d.refuse("it needs .launch_dependents or .wait");
  d.emit(&nothing, Effect::none());
}

}  // namespace wm::vgpu::isa
