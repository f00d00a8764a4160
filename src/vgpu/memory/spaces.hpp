// The state spaces, and where they lie in the generic address space.
#pragma once

#include "vgpu/memory/integers.hpp"

namespace wm::vgpu {

enum class AddressSpace : u8 { generic, global, shared, shared_cluster, local, constant, param };

// Device memory grows upwards from global_begin, what kernels allocate from heap_begin; the windows lie above both.
// Memory of the host that a kernel may touch lies wherever the host has it, but in no window. A block's shared
// addresses carry its rank in the cluster in bits 24 and up, so the shared window is 16 MB a block, block after block.
inline constexpr u64 global_begin = 0x0000'0100'0000'0000;
inline constexpr u64 heap_begin = 0x0000'6000'0000'0000;
inline constexpr u64 global_end = 0x0000'7000'0000'0000;
inline constexpr u64 window_bytes = u64{1} << 32;
inline constexpr u64 tensor_window = 0x0000'7a00'0000'0000;    // cells of tensor memory, for the judge alone
inline constexpr u64 function_window = 0x0000'7b00'0000'0000;  // code addresses: 16 bytes a function
// The kernel's parameters: compilers take such an address in 32 bits too.
inline constexpr u64 param_window = 0x7c00'0000;
inline constexpr u64 local_window = 0x0000'7d00'0000'0000;
inline constexpr u64 shared_window = 0x0000'7e00'0000'0000;

inline constexpr u32 shared_rank_shift = 24;
inline constexpr u32 shared_offset_mask = (1u << shared_rank_shift) - 1;
inline constexpr u32 shared_reserved = 0x400;  // the first variable of a block lies here, as on the chip
// Of what is reserved, for kernels that ask where it lies (%reserved_smem_offset_1): cooperative groups keep the
// barriers of tiles of several warps there, 288 bytes that begin as zeros.
inline constexpr u32 shared_of_groups = 0x200;

// A thread's, as on the chip; a kernel's.
inline constexpr u32 most_local_bytes = 512 * 1024;
inline constexpr u32 most_parameter_bytes = 32764;

inline bool in_window(u64 address, u64 window) { return address - window < window_bytes; }
inline bool is_parameter(u64 generic) { return generic - param_window < 2 * most_parameter_bytes; }
inline bool is_shared(u64 generic) { return in_window(generic, shared_window); }
inline bool is_tensor(u64 generic) { return in_window(generic, tensor_window); }
inline bool is_local(u64 generic) { return in_window(generic, local_window); }
inline bool is_function(u64 generic) { return in_window(generic, function_window); }
// Where kernels allocate; memory of the host may lie there too (that of AddressSanitizer does).
inline bool is_heap(u64 generic) { return generic >= heap_begin && generic < global_end; }
inline bool is_global(u64 generic) {
  if (generic < tensor_window) return !is_parameter(generic);
  return !is_tensor(generic) && !is_function(generic) && !is_local(generic) && !is_shared(generic);
}

}  // namespace wm::vgpu
