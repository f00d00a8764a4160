// A PTX module as the reader gives it: names resolved, scopes flattened, every instruction with its place in the
// source. It says what the text says and nothing about what an instruction means: that is isa/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/architecture.hpp"

namespace wm::vgpu::ptx {

enum class Space : std::uint8_t { none, global, shared, local, constant, param };

// The fundamental and packed types that appear as modifiers. `none` where an instruction has no type.
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  f32x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
};
std::uint32_t bytes_of(Type type);  // pred: 0 (it lives in registers only)
std::string_view name_of(Type type);
Type type_named(std::string_view name);  // "u32"; none where there is no such type

// Where an instruction comes from.
struct Place {
  std::uint32_t ptx_line = 0;    // 1-based line in the PTX text
  std::uint32_t file = 0;        // index into Module::files; 0: no .loc was seen
  std::uint32_t line = 0;        // source line
  std::int32_t inlined_at = -1;  // index into Module::inline_sites
};
struct InlineSite {
  std::string function;  // the inlined function's name, where the PTX says it
  Place at;              // where it was inlined
};

// A variable of a state space: module-scope, function-scope (.shared, .local) or a parameter.
struct Relocation {
  std::uint64_t offset = 0;  // of the 8 (or fewer) bytes that hold the address
  std::uint32_t bytes = 8;
  std::string symbol;  // variable or function
  std::int64_t addend = 0;
  bool generic = false;     // generic(symbol)
  std::uint32_t shift = 0;  // bits the address is shifted right before its low bytes are stored: 0xFF00(symbol) is 8
};
struct Variable {
  // Unique in its function and distinct from every module-scope name: a second `param0` of a function, in another
  // scope, is called `param0#2`. Operands use the same name.
  std::string name;
  Space space = Space::none;
  Type type = Type::none;
  std::uint32_t alignment = 1;
  std::uint64_t bytes = 0;  // 0 for `.extern .shared x[]` (dynamic shared memory)
  bool external = false, dynamic = false;
  bool pointer = false;               // .ptr on a parameter
  std::int32_t reg = -1;              // a `.reg` parameter or result of a function: its register
  std::vector<std::uint8_t> initial;  // the first bytes; those beyond it are zero
  std::vector<Relocation> relocations;
  Place place;
};

struct Register {
  std::string name;  // as written; two scopes may use one name, the index tells them apart
  Type type = Type::none;
};

enum class OperandKind : std::uint8_t {
  reg,      // index: register
  integer,  // integer
  f32,
  f64,      // integer holds the bits (0f..., 0d...), or a decimal literal as f64 bits
  label,    // index: instruction, always a valid one
  symbol,   // symbol (+ integer): the address of a variable or the name of a function
  special,  // name: "%tid.x", "%clock64", "WARP_SZ" excluded (an integer)
  memory,   // [base + integer]: base is `parts[0]` (reg or symbol or integer)
  vector,   // {a, b, ...}: parts
  sink,     // _
  pair,     // p|q: parts[0], parts[1]
  tensor,   // [map, {c0, c1, ...}]: parts[0] is a memory operand, parts[1] the coordinates' vector, more after it
  list,     // (a, b): a call's arguments or results
  table,    // index: Function::branch_tables
};

struct Operand {
  OperandKind kind = OperandKind::integer;
  bool negated = false;  // !p
  std::uint32_t index = 0;
  std::int64_t integer = 0;
  std::string name;  // symbol, special
  std::vector<Operand> parts;
};

// A call has the operands: list of results, function (symbol or reg), list of arguments, and where the text has one the
// symbol of a prototype or a list of targets. Lists may be empty.
struct Instruction {
  std::string opcode;                  // "cp"
  std::vector<std::string> modifiers;  // {"async", "bulk", "tensor", "2d", "shared::cluster", ...}, no dots, `::` kept
  std::int32_t guard = -1;             // predicate register, -1: none
  bool guard_negated = false;
  std::vector<Operand> operands;
  Place place;
  std::string full_name() const;  // "cp.async.bulk.tensor.2d..." for messages
};

struct BranchTable {  // .branchtargets
  std::string name;
  std::vector<std::uint32_t> targets;  // instruction indices
};
// A name that Warpmill's own headers put into the PTX in comments: // wm.name <kind> <name> ...
struct NameComment {
  std::uint32_t instruction = 0;  // the next instruction
  std::string text;
};

struct Function {
  std::string name;
  bool entry = false;
  bool declaration = false;  // no body: an extern function such as vprintf
  std::vector<Variable> parameters;
  std::vector<Variable> results;  // of a device function
  std::vector<Register> registers;
  std::vector<Variable> variables;        // function-scope .shared, .local and call-sequence .param variables
  std::vector<Instruction> instructions;  // a body that could run off its end gets a final `ret`
  std::vector<BranchTable> branch_tables;
  std::vector<NameComment> names;
  std::vector<std::uint32_t> max_threads, required_threads,
      required_cluster;  // .maxntid, .reqntid, .reqnctapercluster: 0 or 3 numbers
  std::uint32_t min_blocks = 0, max_registers = 0, max_cluster = 0;
  bool explicit_cluster = false, blocks_are_clusters = false;
  Place place;
};

struct Module {
  std::string name;
  int version_major = 0, version_minor = 0;
  Architecture target;
  std::vector<std::string> files;  // [0] is empty
  std::vector<InlineSite> inline_sites;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

// Throws Error(compile) with "name:line:column: what" on text that is no PTX. Safe on any input.
Module read(std::string_view text, std::string_view name);

}  // namespace wm::vgpu::ptx
