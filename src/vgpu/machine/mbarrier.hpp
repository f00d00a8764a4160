// The mbarrier object: 64 bits of shared memory that count arrivals and bytes. Instructions, asynchronous copies and
// reports all use it through these functions.
#pragma once

#include <string>

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

struct Cluster;
class Warp;

namespace mbarrier {

// What the 64 bits hold. Two bits mark an initialised barrier, so that anything else is noticed.
struct Fields {
  u32 phase = 0;     // parity of the phase that is going on
  u32 pending = 0;   // arrivals still missing in it
  u32 expected = 0;  // arrivals of the next phase
  i32 bytes = 0;     // announced by expect_tx and not yet arrived; negative where copies were faster
  bool valid = false;
};
inline constexpr u32 most_arrivals = (1u << 20) - 1;
inline constexpr i32 most_bytes = (1 << 20) - 1;

u64 pack(const Fields& fields);
Fields unpack(u64 word);
void turn(Fields& fields);  // begins the next phase if all arrivals and all bytes of this one are there

// Addresses are shared addresses with the block's rank.
bool phase_done(Cluster& cluster, u64 address, u32 parity);
// Copied bytes have arrived. Throws execution where the barrier is gone. `copy` and `arrival` are the observer's
// numbers for who brings them, 0 for none.
void complete_bytes(Cluster& cluster, u64 address, u32 bytes, u64 copy);
// An arrival of an asynchronous operation: cp.async.mbarrier.arrive.
void arrive_async(Cluster& cluster, u64 address, u32 count, u64 arrival);
std::string describe_wait(const Cluster& cluster, u64 address, u32 parity);

}  // namespace mbarrier
}  // namespace wm::vgpu
