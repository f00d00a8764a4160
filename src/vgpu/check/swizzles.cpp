// Looking through the text for what makes an address, and at its registers for what it is.
#include "vgpu/check/swizzles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "vgpu/machine/warp.hpp"

namespace wm::vgpu::check {
namespace {

constexpr u32 most_seen = 64;    // executions of an instruction that are looked at
constexpr u32 most_terms = 5;    // more are no swizzle
constexpr u32 most_values = 64;  // that an address is made of

u64 shifted(u64 value, i32 shift) {
  if (shift <= -64 || shift >= 64) return 0;
  return shift >= 0 ? value << shift : value >> -shift;
}

// The register that an instruction takes its address from; none where it is a constant.
const ptx::Operand* address_register(const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands)
    if (operand.kind == ptx::OperandKind::memory)
      return operand.parts[0].kind == ptx::OperandKind::reg ? &operand.parts[0] : nullptr;
  return nullptr;
}

}  // namespace

// From an address back through sums, shifts and masks. Registers that are written in several places are all of them.
class Swizzles::Search {
 public:
  Search(const Function& function, const Definitions& definitions) : function_(function), definitions_(definitions) {}
  std::vector<Term> terms;

  void follow(const ptx::Operand& operand, i32 shift, u64 mask) {
    if (operand.kind != ptx::OperandKind::reg || followed_.size() == most_values) return;
    if (!followed_.emplace(operand.index, shift).second) return;
    const auto [first, last] =
        std::equal_range(definitions_.begin(), definitions_.end(), std::pair(operand.index, 0u),
                         [](const auto& one, const auto& other) { return one.first < other.first; });
    for (auto each = first; each != last; ++each) follow_definition(each->second, shift, mask);
  }

 private:
  void follow_definition(u32 index, i32 shift, u64 mask) {
    const ptx::Instruction& instruction = function_.source->instructions[index];
    const std::vector<ptx::Operand>& operands = instruction.operands;
    const std::string& opcode = instruction.opcode;
    const auto constant = [&](std::size_t i) {
      return i < operands.size() && operands[i].kind == ptx::OperandKind::integer ? operands[i].integer : 0;
    };
    if (operands.size() == 2 && (opcode == "mov" || opcode == "cvt" || opcode == "cvta"))
      return follow(operands[1], shift, mask);
    if (operands.size() < 3) return;
    if (opcode == "add" || opcode == "sub" || opcode == "or" || opcode == "selp") {
      follow(operands[1], shift, mask);
      return follow(operands[2], shift, mask);
    }
    if (opcode == "and") {
      if (operands[2].kind == ptx::OperandKind::integer)
        follow(operands[1], shift, mask & shifted(static_cast<u64>(constant(2)), shift));
      return;
    }
    if (opcode == "xor") return take(index, shift, mask);
    const i64 by = constant(2);
    if (by <= 0) return;
    const auto distance = static_cast<i32>(std::min<i64>(by, 64));
    if (opcode == "shl") return follow(operands[1], shift + distance, mask);
    if (opcode == "shr") return follow(operands[1], shift - distance, mask & shifted(~u64{0}, std::max(shift, 0)));
    if ((opcode == "mul" || opcode == "mad") && std::has_single_bit(static_cast<u64>(by))) {
      follow(operands[1], shift + std::countr_zero(static_cast<u64>(by)), mask);
      if (operands.size() == 4) follow(operands[3], shift, mask);
    }
  }

  void take(u32 index, i32 shift, u64 mask) {
    const ptx::Instruction& instruction = function_.source->instructions[index];
    const bool wide = instruction.modifiers == std::vector<std::string>{"b64"};
    if (!wide && instruction.modifiers != std::vector<std::string>{"b32"}) return;
    // The last op of an instruction does what it says.
    const auto behind = std::upper_bound(function_.instruction_of.begin(), function_.instruction_of.end(), index);
    const Op& op = function_.ops[static_cast<std::size_t>(behind - function_.instruction_of.begin()) - 1];
    for (const auto& [operand, row] : {std::pair(&instruction.operands[1], op.a), {&instruction.operands[2], op.b}}) {
      if (!is_exclusive_or(*operand)) terms.push_back({row, wide, shift, mask});
      follow(*operand, shift, mask);
    }
  }

  bool is_exclusive_or(const ptx::Operand& operand) const {
    const auto definition = std::lower_bound(definitions_.begin(), definitions_.end(), std::pair(operand.index, 0u));
    return operand.kind == ptx::OperandKind::reg && definition != definitions_.end() &&
           definition->first == operand.index && function_.source->instructions[definition->second].opcode == "xor";
  }

  const Function& function_;
  const Definitions& definitions_;
  std::set<std::pair<u32, i32>> followed_;  // registers, and how far to the left
};

const Swizzles::Definitions& Swizzles::definitions_of(const Function& function) {
  auto [entry, added] = definitions_.try_emplace(&function);
  if (added) {
    for (u32 i = 0; i < function.source->instructions.size(); ++i)
      for (const u32 reg : function.touched.writes(i)) entry->second.emplace_back(reg, i);
    std::sort(entry->second.begin(), entry->second.end());
  }
  return entry->second;
}

void Swizzles::see(u32 number, const Site& site, const Warp& warp, const u64* addresses, u32 active) {
  auto [entry, added] = uses_.try_emplace(number);
  Use& use = entry->second;
  if (added) {
    const ptx::Operand* const address = address_register(site.function->source->instructions[site.index]);
    if (address != nullptr) {
      Search search(*site.function, definitions_of(*site.function));
      search.follow(*address, 0, ~u64{0});
      if (search.terms.size() <= most_terms) use.terms = std::move(search.terms);
    }
    use.guesses.resize(std::size_t{1} << use.terms.size());
  }
  if (use.seen == most_seen) return;
  ++use.seen;
  for (u32 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    std::array<u64, most_terms> values{};
    for (std::size_t i = 0; i < use.terms.size(); ++i) {
      const Term& term = use.terms[i];
      const u64 value = term.wide ? warp.source64(term.operand)[lane] : warp.source32(term.operand)[lane];
      values[i] = shifted(value, term.shift) & term.mask;
    }
    for (u32 chosen = 0; chosen < use.guesses.size(); ++chosen) {
      Guess& guess = use.guesses[chosen];
      u64 sum = 0;
      for (u32 rest = chosen; rest != 0; rest &= rest - 1) sum ^= values[static_cast<u32>(std::countr_zero(rest))];
      const u32 behind = (row_of(addresses[lane]) - static_cast<u32>(sum / 16)) % rows;
      if (guess.seen == 0) guess.behind = behind;
      guess.possible &= sum % 16 == 0 && sum / 16 < rows && behind == guess.behind;
      guess.seen |= 1u << sum / 16 % rows;
    }
  }
}

// One number alone says nothing.
bool Swizzles::hold(const Touches& touches, bool of_tiles) const {
  u32 seen = 0;
  for (const auto& [number, tile] : touches) {
    const auto use = uses_.find(number);
    if (use == uses_.end()) return false;
    u32 fitting = 0;
    for (const Guess& guess : use->second.guesses)
      if (guess.possible && guess.behind == (of_tiles ? row_of(tile) : 0)) fitting |= guess.seen;
    if (fitting == 0) return false;
    seen |= fitting;
  }
  return std::popcount(seen) > 1;
}

}  // namespace wm::vgpu::check
