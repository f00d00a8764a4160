// A module ready to run: every instruction decoded, every variable placed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/machine/chip.hpp"
#include "vgpu/machine/effect.hpp"
#include "vgpu/machine/kernel.hpp"
#include "vgpu/machine/op.hpp"
#include "vgpu/machine/touched.hpp"
#include "vgpu/memory/global.hpp"
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu {

// Constants spread over 32 lanes, so that a handler reads them like registers. Rows never move.
template <class Word>
class ConstantRows {
 public:
  u32 row_of(Word value) {
    auto [entry, added] = index_.try_emplace(value, static_cast<u32>(words_.size() / lanes_per_warp));
    if (added) words_.insert(words_.end(), lanes_per_warp, value);
    return entry->second;
  }
  const Word* data() const { return words_.data(); }

 private:
  std::vector<Word> words_;
  std::unordered_map<Word, u32> index_;
};

// Where a parameter or result of a function lies in its frame (in the parameter space for a kernel).
struct Slot {
  u32 offset = 0;
  u32 bytes = 0;
};

struct Function {
  std::string name;
  u32 index = 0;
  bool entry = false;
  const ptx::Function* source = nullptr;
  std::vector<Op> ops;
  std::vector<u32> instruction_of;  // op -> instruction of the source
  std::vector<Effect> effects;      // of the ops
  TouchedRegisters touched;         // by the instructions of the source
  std::vector<bool> awaits;         // instructions before which the assembler puts a wait for wgmma; empty: none
  u32 rows32 = 1, rows64 = 1, predicates = 3;
  u32 frame_bytes = 0;  // a lane: .local variables, and for a device function parameters and results
  std::vector<Slot> parameters, results;
  u32 shared_end = 0, dynamic_shared = 0;  // offsets: the end of the kernel's static shared memory, its dynamic part
  std::vector<std::shared_ptr<void>> details;  // what Op::detail points to
};

class Program {
 public:
  // Turns the body of a function into ops; what it cannot is added to `refused`, one line each.
  using Decode = void (*)(Program& program, Function& function, std::vector<std::string>& refused);
  // Decodes all of it. Throws unsupported with the first refusals, each by name and line; Error(compile) for text that
  // is no PTX. Variables that are only declared lie where `linked` says.
  Program(std::string_view ptx, std::string_view name, Memory& memory, const Chip& chip, Decode decode,
          const Linked& linked = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const ptx::Module& module() const { return module_; }
  const std::deque<Function>& functions() const { return functions_; }
  const Function* find(std::string_view function) const;
  const std::deque<ProgramKernel>& kernels() const { return kernels_; }
  const Function& entry_of(const ProgramKernel& kernel) const;

  const u32* constants32() const { return constants32_.data(); }
  const u64* constants64() const { return constants64_.data(); }

  std::pair<u64, u64> variable(std::string_view name) const;
  bool uses_tensor_memory = false, uses_reserved_shared = false;

  // The static shared variables that a kernel may touch, with their offsets.
  std::vector<std::pair<const ptx::Variable*, u32>> shared_variables(const Function& kernel) const;

  // "gemm.cu:12 (module.ptx:340) `ld.global.f32`": an instruction for people.
  std::string place_of(const Function& function, u32 pc) const;

 private:
  friend class FunctionDecoder;
  void place_variables(const Linked& linked);
  void place_shared();
  void relocate();
  void describe_kernels();
  u64 address_of(const std::string& symbol, bool generic) const;
  u64 place_in_memory(const ptx::Variable& variable);

  ptx::Module module_;
  Memory& memory_;
  const Chip chip_;
  std::deque<Function> functions_;
  std::unordered_map<std::string_view, u32> function_index_;
  std::deque<ProgramKernel> kernels_;
  std::vector<u64> variable_address_;  // of module variables: generic for .global and .const, offset for .shared
  std::unordered_map<std::string_view, u32> variable_index_;
  std::unordered_map<const ptx::Variable*, u32> local_shared_offset_;  // of function-scope .shared variables
  std::unordered_map<const ptx::Variable*, u64> local_address_;        // of function-scope .global and .const ones
  std::vector<u64> owned_;                                             // allocations behind variables
  ConstantRows<u32> constants32_;
  ConstantRows<u64> constants64_;
};

}  // namespace wm::vgpu
