// What the instructions of tcgen05 share: pairs of blocks, the columns that a block may use, the order of its work.
#pragma once

#include "vgpu/isa/decoder.hpp"
#include "vgpu/isa/numeric/tensor_descriptor.hpp"
#include "vgpu/machine/async.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu::isa {

// .cta_group::1 or ::2; refused where it is missing.
u32 take_cta_group(FunctionDecoder& decoder);

// Faults where the block has used another .cta_group before, or has no other block to make a pair with.
void enter_cta_group(Warp& warp, u32 group, u32 lane);

// Faults where not all of these columns are there and allocated by the block.
void check_columns(const Warp& warp, const Block& block, u32 column, u32 count, u32 lane);
// Faults where no matrix of `element`s lies as the descriptor says; `whose`: "A", for messages.
numeric::TensorDescriptor matrix_at(const Warp& warp, u64 bits, numeric::Element element, bool mn_major,
                                    const char* whose, u32 lane);

// Products, copies and commits of a thread take place in the order of their issue.
u64 tensor_stream(const Warp& warp, u32 lane);

// Generic addresses under which the judge knows the cells of a block's tensor memory: a lane's columns lie together.
u64 cell_address(const Block& block, u32 lane, u32 column);

// tcgen05_transfer.cpp
void tensor_load(FunctionDecoder& decoder);
void tensor_store(FunctionDecoder& decoder);
void tensor_wait(FunctionDecoder& decoder, bool stores);
// tcgen05_mma.cpp
void tensor_multiply(FunctionDecoder& decoder);
// tcgen05_cp.cpp
void tensor_copy_in(FunctionDecoder& decoder);

}  // namespace wm::vgpu::isa
