// A number that one thread of a cluster's first block tells one of the second, again and again.
//
//   told        of the second block: 1 arrival (its thread, which announces the bytes) + the number's 4 bytes
//   told.heard  of the first one: 1 arrival of the second's thread, which has read it
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/types.cuh"

namespace wm {

struct ToldNumberShared {
  u64 told, heard;  // the barriers
  u32 number;

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go.
  WM_DEVICE void init() {
    name_shared<"told", 8, 1>(&told);
    name_shared<"told.heard", 8, 1>(&heard);
    mbarrier::init(&told, 1);
    mbarrier::init(&heard, 1);
  }
};

class ToldNumber {
 public:
  WM_DEVICE explicit ToldNumber(ToldNumberShared& shared) : shared_(shared) {}

  // The first block's number, to both.
  WM_DEVICE u32 pass(u32 number) {
    if (cluster::rank() == 0) {
      mbarrier::wait_parity<Scope::cluster>(&shared_.heard, phase_ ^ 1);  // at once before the first
      cluster::store_async(cluster::map(SharedAddress(&shared_.number), 1), number,
                           cluster::map(SharedAddress(&shared_.told), 1));
    } else {
      mbarrier::arrive_expect_tx(&shared_.told, sizeof(number));
      mbarrier::wait_parity<Scope::cluster>(&shared_.told, phase_);
      number = *const_cast<volatile u32*>(&shared_.number);
      mbarrier::arrive_remote(cluster::map(SharedAddress(&shared_.heard), 0));
    }
    phase_ ^= 1;
    return number;
  }

 private:
  ToldNumberShared& shared_;
  u32 phase_ = 0;
};

}  // namespace wm
