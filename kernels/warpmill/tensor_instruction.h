// The instructions that tensor cores have, by chip, and what comes with each. Plain C++, shared by host and device.
#pragma once

namespace wm {

// The tensor cores' instruction, and with it what surrounds it (InstructionFacts).
enum class TensorInstruction : unsigned char {
  wgmma,    // sm_90a
  mma,      // sm_80 and everything newer
  tcgen05,  // sm_100a
  mma_tma,  // sm_120a: mma, and a copy engine
};

// What comes with an instruction, on the chips that it is for.
struct InstructionFacts {
  bool copy_engine;    // it may bring the operands, and it takes the results out; kernels may overlap at their ends
  bool reads_shared;   // the operands, as they lie there; else threads bring them into registers
  int reader_threads;  // that multiply together, and let go of a stage together
  int shared_limit;    // bytes of shared memory that a block may have. A multiprocessor has 1024 more, and takes 1024
                       // for each block
  int least_spare;     // registers of a thread beside its sums: addresses, and operands that it holds
  bool tensor_memory;  // holds the sums: one warp multiplies, and the groups only finish and store them
};
constexpr InstructionFacts facts_of(TensorInstruction instruction) {
  switch (instruction) {
    case TensorInstruction::wgmma: return {true, true, 128, 232448, 40, false};     // H200
    case TensorInstruction::mma: return {false, false, 32, 166912, 100, false};     // A100
    case TensorInstruction::tcgen05: return {true, true, 32, 232448, 40, true};     // B200
    case TensorInstruction::mma_tma: return {true, false, 32, 101376, 100, false};  // RTX 5090
  }
  return {};
}

}  // namespace wm
