// What lanes of a warp do together: votes, matches, shuffles, reductions, and lanes that wait for each other.
extern "C" __global__ void votes(const int* in, unsigned* out) {
  const int value = in[threadIdx.x];
  const unsigned even = __ballot_sync(~0u, (value & 1) == 0);
  unsigned result = even;
  if (value > 50) {
    const unsigned here = __activemask();
    result ^= __ballot_sync(here, value & 2) + __popc(here);
    result += __any_sync(here, value == 99) + 2 * __all_sync(here, value > 50);
  }
  out[threadIdx.x] = result;
}

extern "C" __global__ void matches(const int* in, const long long* in64, unsigned* out) {
  int same;
  const unsigned equals = __match_any_sync(~0u, in[threadIdx.x]);
  const unsigned equals64 = __match_any_sync(~0u, in64[threadIdx.x]);
  const unsigned all = __match_all_sync(~0u, in[threadIdx.x] >> 31, &same);
  out[threadIdx.x] = equals ^ (equals64 << 1) ^ (all & 0xff) ^ (unsigned(same) << 31);
}

extern "C" __global__ void shuffles(const double* in, double* out) {
  double value = in[threadIdx.x];
  const int lane = threadIdx.x % 32;
  double result = __shfl_sync(~0u, value, lane * 5 + 3);
  result += 2 * __shfl_up_sync(~0u, value, 3, 8);
  result += 4 * __shfl_down_sync(~0u, value, 9);
  result += 8 * __shfl_xor_sync(~0u, value, 13, 16);
  for (int width = 16; width > 0; width /= 2) value += __shfl_xor_sync(~0u, value, width);
  out[threadIdx.x] = result + 16 * value;
}

extern "C" __global__ void reductions(const int* in, int* out) {
  const int value = in[threadIdx.x];
  int result = __reduce_add_sync(~0u, value) ^ __reduce_min_sync(~0u, value) * 3;
  result += __reduce_max_sync(~0u, unsigned(value)) & 0xffff;
  if (threadIdx.x & 1)
    result ^= __reduce_xor_sync(0xaaaaaaaau, unsigned(value));
  else
    result ^= __reduce_or_sync(0x55555555u, unsigned(value)) - __reduce_and_sync(0x55555555u, unsigned(value));
  out[threadIdx.x] = result;
}

// One atomic per warp and bin instead of one per lane.
extern "C" __global__ void aggregated(const unsigned char* in, int count, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned peers = __match_any_sync(__activemask(), int(in[i]));
    if (threadIdx.x % 32 == unsigned(__ffs(peers) - 1)) atomicAdd(bins + in[i], unsigned(__popc(peers)));
  }
}

// A bitonic sort across a warp, then a scan by lane masks.
extern "C" __global__ void bitonic(const unsigned* in, unsigned* sorted, unsigned* ranks) {
  unsigned value = in[threadIdx.x];
  const unsigned lane = threadIdx.x % 32;
  for (unsigned size = 2; size <= 32; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      const unsigned other = __shfl_xor_sync(~0u, value, stride);
      const bool ascending = (lane & size) == 0, lower = (lane & stride) == 0;
      value = ascending == lower ? min(value, other) : max(value, other);
    }
  sorted[threadIdx.x] = value;
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  ranks[threadIdx.x] = __popc(__ballot_sync(~0u, value & 1) & below);
}

// Lanes of one warp take a lock in turn: the loser spins while the winner works.
extern "C" __global__ void locked(int* lock, volatile int* counter, int* order) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      const int ticket = *counter;
      *counter = ticket + 1;
      order[blockIdx.x * blockDim.x + threadIdx.x] = ticket;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    } else {
      __nanosleep(20);
    }
  }
}

// A lane produces what its sibling consumes: progress needs both sides of a branch to run.
extern "C" __global__ void siblings(volatile int* mailbox, int* out) {
  const int pair = threadIdx.x / 2;
  int value = 0;
  for (int round = 1; round <= 5; ++round) {
    if (threadIdx.x & 1) {
      while (mailbox[pair] != round) {
      }
      value = value * 3 + mailbox[pair] + pair;
      mailbox[pair] = -round;
    } else {
      mailbox[pair] = round;
      while (mailbox[pair] != -round) {
      }
    }
  }
  out[threadIdx.x] = value;
}

// Loops of different lengths, early exits and nested divergence.
extern "C" __global__ void collatz(int* steps, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long value = i + 1;
  int taken = 0;
  while (value != 1) {
    if (value % 2 == 0) {
      value /= 2;
      if (value == 4) {
        taken += 3;
        break;
      }
    } else {
      value = 3 * value + 1;
    }
    ++taken;
  }
  steps[i] = taken;
}
