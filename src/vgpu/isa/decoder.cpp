// From an instruction of the text to ops.
#include "vgpu/isa/decoder.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/names.hpp"
#include "vgpu/isa/products_in_flight.hpp"
#include "vgpu/isa/special.hpp"
#include "vgpu/machine/source_lines.hpp"
#include "vgpu/machine/warp.hpp"
#include "vgpu/memory/spaces.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

using ptx::OperandKind;
using ptx::Type;

namespace {
struct Refusal {
  std::string why;
};
u64 round_up(u64 value, u64 multiple) { return (value + multiple - 1) / multiple * multiple; }
}  // namespace

void Modifiers::reset(const ptx::Instruction& instruction) {
  left_.assign(instruction.modifiers.begin(), instruction.modifiers.end());
}
bool Modifiers::has(std::string_view name) const { return std::find(left_.begin(), left_.end(), name) != left_.end(); }
bool Modifiers::take(std::string_view name) {
  const auto found = std::find(left_.begin(), left_.end(), name);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}
int Modifiers::take_one_of(std::initializer_list<std::string_view> names) {
  int index = 0;
  for (std::string_view name : names) {
    if (take(name)) return index;
    ++index;
  }
  return -1;
}
int Modifiers::take_first_of(std::initializer_list<std::string_view> names) {
  for (auto it = left_.begin(); it != left_.end(); ++it)
    if (const auto name = std::find(names.begin(), names.end(), *it); name != names.end()) {
      left_.erase(it);
      return static_cast<int>(name - names.begin());
    }
  return -1;
}
Type Modifiers::take_type() {
  for (auto it = left_.begin(); it != left_.end(); ++it)
    if (const Type type = ptx::type_named(*it); type != Type::none) {
      left_.erase(it);
      return type;
    }
  return Type::none;
}

FunctionDecoder::FunctionDecoder(Program& program, Function& function)
    : program_(program),
      function_(function),
      source_(*function.source),
      chip_(program.chip_),
      homes_(source_.registers.size()) {
  // The next place after `end`, which moves behind it.
  const auto place = [&](const ptx::Variable& v, u32& end, u32 most, std::string_view memory) {
    const u64 offset = round_up(end, std::max(v.alignment, 1u));
    if (offset > most || v.bytes > most - offset)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}:{}: `{}` of `{}` takes {} bytes from {} on; {} has {}", program_.module_.name,
                              v.place.ptx_line, v.name, source_.name, v.bytes, offset, memory, most));
    end = static_cast<u32>(offset + v.bytes);
    return Slot{static_cast<u32>(offset), static_cast<u32>(v.bytes)};
  };
  const auto in_frame = [&](const ptx::Variable& v, AddressSpace space) {
    const Slot slot = place(v, function_.frame_bytes, most_local_bytes, "a thread's local memory");
    local_symbols_[v.name] = {space, {AddressBase::frame, {}, slot.offset}, &v};
    return slot;
  };
  u32 parameters_end = 0;
  for (const ptx::Variable& v : source_.parameters) {
    if (!function_.entry) {
      function_.parameters.push_back(in_frame(v, AddressSpace::local));
      continue;
    }
    const Slot slot = place(v, parameters_end, most_parameter_bytes, "a kernel's parameter memory");
    function_.parameters.push_back(slot);
    local_symbols_[v.name] = {
        AddressSpace::param, {AddressBase::absolute, {}, static_cast<i64>(param_window + slot.offset)}, &v};
  }
  for (const ptx::Variable& v : source_.results) function_.results.push_back(in_frame(v, AddressSpace::local));
  for (const ptx::Variable& v : source_.variables) {
    if (v.space == ptx::Space::shared)
      local_symbols_[v.name] = {AddressSpace::shared,
                                v.dynamic ? Address{AddressBase::dynamic_shared, {}, 0}
                                          : Address{AddressBase::shared, {}, program_.local_shared_offset_.at(&v)},
                                &v};
    else if (v.space == ptx::Space::local || v.space == ptx::Space::param)
      in_frame(v, AddressSpace::local);
    else
      local_symbols_[v.name] = {
          AddressSpace::global, {AddressBase::absolute, {}, static_cast<i64>(program_.local_address_.at(&v))}, &v};
  }
}

void FunctionDecoder::run(std::vector<std::string>& refused) {
  first_op_.resize(source_.instructions.size());
  function_.awaits = isa::touches_product_in_flight(source_);
  auto name = source_.names.begin();
  for (u32 i = 0; i < source_.instructions.size(); ++i) {
    first_op_[i] = static_cast<u32>(function_.ops.size());
    first_ = false;
    try {
      for (; name != source_.names.end() && name->instruction == i; ++name) {
        instruction_index_ = i;
        instruction_ = &source_.instructions[i];
        isa::decode_name(*this, name->text);
      }
      decode(i);
    } catch (const Refusal& refusal) {
      const ptx::Instruction& in = source_.instructions[i];
      refused.push_back(fmt::format("{}:{}{}: `{}` is not supported: {}", program_.module_.name, in.place.ptx_line,
                                    author_line(in.place), in.full_name(), refusal.why));
    }
  }
  for (auto [op, instruction] : aims_) function_.ops[op].immediate = first_op_[instruction];
  for (auto* table : tables_)
    for (u32& target : *table) target = first_op_[target];
}

// " (scale.cu:12)", where the PTX has source lines.
std::string FunctionDecoder::author_line(const ptx::Place& place) const {
  if (place.file == 0) return {};
  const SourceLines lines = source_lines(program_.module_, place);
  const SourceLine& own = lines.chain[lines.own];
  return fmt::format(" ({}:{})", own.file, own.line);
}

void FunctionDecoder::decode(u32 index) {
  instruction_index_ = index;
  instruction_ = &source_.instructions[index];
  first_ = true;
  function_.touched.begin();
  modifiers.reset(*instruction_);
  const DecodeFunction decode = decoder_for(instruction_->opcode);
  if (decode == nullptr) refuse("no such instruction is known here");
  if (!function_.awaits.empty() && function_.awaits[index]) isa::await_products(*this);
  decode(*this);
  finish_modifiers();
}

void FunctionDecoder::finish_modifiers() const {
  if (!modifiers.empty()) refuse(fmt::format("the modifier `.{}` is not known here", modifiers.first()));
}

void FunctionDecoder::refuse(const std::string& why) const { throw Refusal{why}; }

const ptx::Operand& FunctionDecoder::operand(std::size_t index) const {
  if (index >= operands()) refuse(fmt::format("operand {} is missing", index + 1));
  return instruction_->operands[index];
}

void FunctionDecoder::expect_operands(std::size_t least, std::size_t most) const {
  if (operands() < least || operands() > most)
    refuse(least == most ? fmt::format("it takes {} operands, not {}", least, operands())
                         : fmt::format("it takes {} to {} operands, not {}", least, most, operands()));
}

Type FunctionDecoder::type_of(const ptx::Operand& reg) const {
  return reg.kind == OperandKind::reg ? source_.registers[reg.index].type : Type::none;
}
u32 FunctionDecoder::register_bytes(const ptx::Operand& reg) const { return ptx::bytes_of(type_of(reg)); }

Operand FunctionDecoder::row_of(const ptx::Operand& reg) {
  Home& home = homes_[reg.index];
  if (!home.assigned) {
    const Type type = source_.registers[reg.index].type;
    const u32 bytes = ptx::bytes_of(type);
    home.assigned = true;
    if (type == Type::pred)
      home.row = function_.predicates++;
    else if (bytes <= 4)
      home.row = function_.rows32++;
    else if (bytes == 8)
      home.row = function_.rows64++;
    else
      home.row = std::exchange(function_.rows64, function_.rows64 + 2);  // .b128: low and high half
  }
  return Operand::reg(home.row);
}

Operand FunctionDecoder::read(const ptx::Operand& reg) {
  function_.touched.read(reg.index);
  return row_of(reg);
}

Operand FunctionDecoder::write(const ptx::Operand& reg) {
  function_.touched.write(reg.index);
  return row_of(reg);
}

Operand FunctionDecoder::temporary(u32 bytes) {
  return Operand::reg(bytes <= 4 ? function_.rows32++ : function_.rows64++);
}

namespace {
// What a literal is in an instruction of this type.
u64 literal_bits(const ptx::Operand& o, Type type) {
  if (o.kind == OperandKind::integer) return static_cast<u64>(o.integer);
  const bool wide = ptx::bytes_of(type) == 8;
  const auto bits = static_cast<u64>(o.integer);
  if (o.kind == OperandKind::f32)
    return wide && type == Type::f64
               ? std::bit_cast<u64>(static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits))))
               : bits;
  return wide ? bits : std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(bits)));
}

Step narrow(Warp& warp, const Op& op, u32 active) {
  const u64* from = warp.source64(op.a);
  u32* to = warp.row32(op.d);
  for (u32 i = 0; i < lanes_per_warp; ++i)
    if (active >> i & 1) to[i] = static_cast<u32>(from[i]);
  return Step::go;
}
}  // namespace

Operand FunctionDecoder::source(const ptx::Operand& o, Type type) {
  const u32 bytes = ptx::bytes_of(type);
  switch (o.kind) {
    case OperandKind::reg: {
      const u32 width = register_bytes(o);
      if (width == 0) refuse("a predicate stands where a value is expected");
      if (width < bytes)
        refuse(fmt::format("register {} has {} bits where {} are read", source_.registers[o.index].name, width * 8,
                           bytes * 8));
      if (width == 16 && bytes < 16) refuse("a .b128 register stands where a narrower one is expected");
      if (width == 8 && bytes < 8) {  // the low part of a wider register
        const Operand low = temporary(4);
        const Operand wide = read(o);
        Op& op = emit(&narrow, Effect::none());
        op.d = low;
        op.a = wide;
        return low;
      }
      return read(o);
    }
    case OperandKind::integer:
    case OperandKind::f32:
    case OperandKind::f64: {
      const u64 bits = literal_bits(o, type);
      return bytes == 8 ? constant64(bits) : constant32(static_cast<u32>(bits));
    }
    case OperandKind::special: {
      const Operand row = temporary(bytes);
      emit_special(*this, Effect::none(), o.name, row, bytes);
      return row;
    }
    case OperandKind::symbol: {
      const Operand row = temporary(bytes);
      emit_symbol(*this, Effect::none(), o, row, bytes);
      return row;
    }
    default: refuse("an operand is of a kind that this instruction does not take");
  }
}

Operand FunctionDecoder::source_bits(const ptx::Operand& o, u32 bytes) {
  return source(o, bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : bytes == 2 ? Type::b16 : Type::b8);
}

Operand FunctionDecoder::destination(const ptx::Operand& o, u32 bytes) {
  if (o.kind == OperandKind::sink) return Operand::reg(sink_row);
  if (o.kind != OperandKind::reg) refuse("its destination is not a register");
  const u32 width = register_bytes(o);
  const bool fits = width == bytes || (width != 0 && width <= 4 && bytes <= 4 && width >= bytes);
  if (!fits)
    refuse(fmt::format("register {} has {} bits where {} are written", source_.registers[o.index].name, width * 8,
                       bytes * 8));
  return write(o);
}

Predicate FunctionDecoder::predicate(const ptx::Operand& o) {
  if (o.kind == OperandKind::integer) return {true_predicate, (o.integer != 0) != o.negated ? 0 : all_lanes};
  if (o.kind != OperandKind::reg || type_of(o) != Type::pred) refuse("a predicate is expected");
  return {read(o).row(), o.negated ? all_lanes : 0};
}

u32 FunctionDecoder::predicate_destination(const ptx::Operand& o) {
  if (o.kind == OperandKind::sink) return sink_predicate;
  if (o.kind != OperandKind::reg || type_of(o) != Type::pred) refuse("a predicate is expected as destination");
  return write(o).row();
}

std::vector<Operand> FunctionDecoder::sources(const ptx::Operand& o, Type type) {
  std::vector<Operand> rows;
  if (o.kind == OperandKind::vector)
    for (const ptx::Operand& part : o.parts) rows.push_back(source(part, type));
  else
    rows.push_back(source(o, type));
  return rows;
}

std::vector<Operand> FunctionDecoder::destinations(const ptx::Operand& o, Type type) {
  std::vector<Operand> rows;
  if (o.kind == OperandKind::vector)
    for (const ptx::Operand& part : o.parts) rows.push_back(destination(part, type));
  else
    rows.push_back(destination(o, type));
  return rows;
}

FunctionDecoder::Symbol FunctionDecoder::symbol(const std::string& name) const {
  if (const auto local = local_symbols_.find(name); local != local_symbols_.end()) return local->second;
  const auto found = program_.variable_index_.find(name);
  if (found == program_.variable_index_.end()) refuse(fmt::format("`{}` is no variable of this module", name));
  const ptx::Variable& v = program_.module_.variables[found->second];
  const u64 address = program_.variable_address_[found->second];
  if (v.space == ptx::Space::shared)
    return {AddressSpace::shared,
            {v.dynamic ? AddressBase::dynamic_shared : AddressBase::shared, {}, static_cast<i64>(address)},
            &v};
  return {v.space == ptx::Space::constant ? AddressSpace::constant : AddressSpace::global,
          {AddressBase::absolute, {}, static_cast<i64>(address)},
          &v};
}

Address FunctionDecoder::address(const ptx::Operand& o, AddressSpace space) {
  if (o.kind != OperandKind::memory || o.parts.empty()) refuse("an address in brackets is expected");
  const ptx::Operand& base = o.parts[0];
  Address result;
  switch (base.kind) {
    case OperandKind::reg: {
      const u32 width = register_bytes(base);
      if (width != 4 && width != 8) refuse("an address register has 32 or 64 bits");
      result.base = width == 8 ? AddressBase::row64 : AddressBase::row32;
      result.row = read(base);
      result.offset = o.integer + base.integer;
      return result;
    }
    case OperandKind::integer: result.offset = o.integer + base.integer; return result;
    case OperandKind::symbol: {
      const Symbol s = symbol(base.name);
      result = s.address;
      result.offset += o.integer + base.integer;
      if (space == AddressSpace::generic && s.space == AddressSpace::shared)
        result.offset += static_cast<i64>(shared_window);
      if (space == AddressSpace::generic && s.space == AddressSpace::local)
        result.offset += static_cast<i64>(local_window);
      return result;
    }
    default: refuse("an address is a register, a variable or a number");
  }
}

i64 FunctionDecoder::constant(const ptx::Operand& o, const char* what) {
  if (o.kind != OperandKind::integer) refuse(fmt::format("{} must be a number known when the module is loaded", what));
  return o.integer;
}

Predicate FunctionDecoder::guard() {
  if (instruction_->guard < 0) return {};
  ptx::Operand guard;
  guard.kind = OperandKind::reg;
  guard.index = static_cast<u32>(instruction_->guard);
  guard.negated = instruction_->guard_negated;
  return predicate(guard);
}

Op& FunctionDecoder::emit(Handler handler, const Effect& effect) {
  function_.instruction_of.push_back(instruction_index_);
  function_.effects.push_back(effect);
  function_.effects.back().first = std::exchange(first_, false);
  Op& op = function_.ops.emplace_back();
  op.run = handler;
  if (effect.kind != Effect::Kind::name) op.guard = guard();
  return op;
}

void FunctionDecoder::aim_at(u32 instruction) {
  aims_.emplace_back(static_cast<u32>(function_.ops.size() - 1), instruction);
}

void decode(Program& program, Function& function, std::vector<std::string>& refused) {
  FunctionDecoder(program, function).run(refused);
}

}  // namespace wm::vgpu
