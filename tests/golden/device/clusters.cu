// Clusters: places, barriers, remote arrivals, and each other's shared memory.
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"

using namespace wm;

// 16 words a block: who it is and where its and its neighbours' memory lies.
extern "C" __global__ void places(u32* out) {
  __shared__ u32 mine;
  if (threadIdx.x != 0) return;
  const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z),
            next = (cluster::rank() + 1) % cluster::blocks();
  const auto in = cluster::block_place(), shape = cluster::shape(), place = cluster::place(),
             grid = cluster::grid_shape();
  const ClusterAddress there = cluster::map(SharedAddress(&mine), next);
  const u32 words[16] = {cluster::rank(),
                         cluster::blocks(),
                         cluster::is_explicit(),
                         in.x,
                         in.y,
                         in.z,
                         shape.x,
                         shape.y,
                         place.x,
                         place.y,
                         grid.x,
                         grid.y,
                         there.value - SharedAddress(&mine).value,
                         cluster::rank_of(there),
                         cluster::rank_of(SharedAddress(&mine)),
                         SharedAddress(&mine).value >> 24};
  for (int i = 0; i < 16; ++i) out[block * 16 + i] = words[i];
}

// Rounds of: write into the next block, barrier, read from both neighbours. The barrier in its parts and as one.
extern "C" __global__ void exchange(const u32* in, u32* out, u32 rounds) {
  __shared__ u32 words[128], received[128];
  const u32 rank = cluster::rank(), blocks = cluster::blocks(), t = threadIdx.x;
  words[t] = in[blockIdx.x * 128 + t];
  cluster::sync();
  for (u32 round = 0; round < rounds; ++round) {
    cluster::store(cluster::map(SharedAddress(&received[t]), (rank + 1) % blocks), words[t] * 5 + round);
    cluster::arrive();
    cluster::wait();
    const u32 mirror = *cluster::map(&words[127 - t], (rank + blocks - 1) % blocks);
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
    words[t] = received[t] + mirror % 7;
    cluster::sync();
    const u32 seen = cluster::load<u32>(cluster::map(SharedAddress(&words[t]), (rank + 1) % blocks));
    cluster::sync();
    words[t] ^= seen;
  }
  out[blockIdx.x * 128 + t] = words[t];
  cluster::arrive_relaxed();
  cluster::wait();
}

// Vectors through distributed shared memory, and atomics on block 0.
extern "C" __global__ void vectors_and_atomics(u32* out) {
  __shared__ alignas(16) u32 words[256];
  __shared__ u32 sum, last;
  const u32 rank = cluster::rank(), blocks = cluster::blocks(), t = threadIdx.x;
  for (u32 i = t; i < 256; i += blockDim.x) words[i] = 0xa5a5a5a5;
  if (t == 0) sum = last = 0;
  cluster::sync();
  if (t < 16) {
    const u32 next = (rank + 1) % blocks, base = rank * 1000 + t * 10;
    cluster::store(cluster::map(SharedAddress(&words[t * 4]), next), Quad<u32>{base, base + 1, base + 2, base + 3});
    cluster::store(cluster::map(SharedAddress(&words[128 + t * 2]), next), Pair<u32>{base + 4, base + 5});
  }
  cluster::fetch_add(cluster::map(SharedAddress(&sum), 0), rank * 128 + t);
  if (t == 0)  // the ranks take turns
    while (cluster::compare_swap(cluster::map(SharedAddress(&last), 0), rank, rank + 1) != rank) {
    }
  cluster::sync();
  const auto quad =
      cluster::load<Quad<u32>>(cluster::map(SharedAddress(&words[t % 64 * 4 % 256]), (rank + 1) % blocks));
  const auto pair =
      cluster::load<Pair<u32>>(cluster::map(SharedAddress(&words[128 + t % 64 * 2]), (rank + 1) % blocks));
  u32* mine = out + (blockIdx.x * 128 + t) * 8;
  mine[0] = quad.x, mine[1] = quad.y, mine[2] = quad.z, mine[3] = quad.w, mine[4] = pair.x, mine[5] = pair.y;
  mine[6] = *cluster::map(&sum, 0), mine[7] = *cluster::map(&last, 0);
  cluster::sync();
}

// Every thread of every block arrives on block 0's barrier, with counts and bytes; block 0 waits for five phases.
extern "C" __global__ void remote_arrivals(u32* out) {
  __shared__ u64 barrier;
  __shared__ u32 words[512];
  const u32 rank = cluster::rank(), blocks = cluster::blocks(), t = threadIdx.x;
  for (u32 i = t; i < 512; i += blockDim.x) words[i] = 0;
  if (rank == 0 && t == 0) {
    mbarrier::init(&barrier, blocks * 32);
    fence::mbarrier_init();
  }
  cluster::sync();
  const ClusterAddress remote = cluster::map(SharedAddress(&barrier), 0);
  for (u32 phase = 0; phase < 3; ++phase) {
    cluster::store(cluster::map(SharedAddress(&words[rank * 32 + t]), 0), (phase + 1) * 1000 + rank * 32 + t);
    if (phase == 0) mbarrier::arrive_remote(remote);
    if (phase == 1 && t % 2 == 0) mbarrier::arrive_remote(remote, 2);
    if (phase == 2) {
      mbarrier::arrive_expect_tx_remote(remote, 8);
      mbarrier::complete_tx_remote(remote, 8);
    }
    if (rank == 0) {
      mbarrier::wait_parity<Scope::cluster>(&barrier, phase & 1);
      for (u32 i = t; i < blocks * 32; i += 32) out[phase * 512 + i] = words[i];
    }
    cluster::sync();
  }
  // The last rank leaves the barrier; the others complete the phase after without it.
  if (rank == blocks - 1) mbarrier::arrive_drop_remote(remote);
  if (rank != blocks - 1) mbarrier::arrive_remote(remote);
  if (rank == 0) mbarrier::wait_parity<Scope::cluster>(&barrier, 1);
  cluster::sync();
  if (rank != blocks - 1) {
    mbarrier::expect_tx_remote(remote, 4);
    mbarrier::arrive_remote(remote);
    mbarrier::complete_tx_remote(remote, 4);
  }
  if (rank == 0) {
    mbarrier::wait_parity<Scope::cluster>(&barrier, 0);
    out[3 * 512 + t] = 4;
  }
  cluster::sync();
}

// st.async and red.async into the next block, counted by its barrier.
extern "C" __global__ void asynchronous_stores(u32* out) {
  __shared__ alignas(16) u32 words[512];
  __shared__ u64 barrier;
  const u32 rank = cluster::rank(), next = (rank + 1) % cluster::blocks(), t = threadIdx.x;
  for (u32 i = t; i < 512; i += blockDim.x) words[i] = 0xa5a5a5a5;
  if (t == 0) {
    mbarrier::init(&barrier, 1);
    fence::mbarrier_init();
    mbarrier::arrive_expect_tx(&barrier, 32 * (4 + 8 + 16));
  }
  cluster::sync();
  const ClusterAddress remote = cluster::map(SharedAddress(&barrier), next);
  const u32 base = rank * 10000 + t * 100;
  cluster::store_async(cluster::map(SharedAddress(&words[t]), next), base, remote);
  cluster::store_async(cluster::map(SharedAddress(&words[64 + 2 * t]), next), Pair<u32>{base + 1, base + 2}, remote);
  cluster::store_async(cluster::map(SharedAddress(&words[128 + 4 * t]), next),
                       Quad<u32>{base + 3, base + 4, base + 5, base + 6}, remote);
  mbarrier::wait_parity<Scope::cluster>(&barrier, 0);
  for (u32 i = t; i < 512; i += blockDim.x) out[rank * 512 + i] = words[i];
  cluster::sync();
}

// Thread t of block 0 combines values[t] into block 1's memory, all threads into the same element of their group of 8.
template <Reduction operation, class T>
__global__ void asynchronous_reduction(const T* start, const T* values, T* out) {
  __shared__ T words[32];
  __shared__ u64 barrier;
  const u32 rank = cluster::rank(), t = threadIdx.x;
  words[t] = start[t];
  if (t == 0) {
    mbarrier::init(&barrier, 1);
    fence::mbarrier_init();
    if (rank == 1) mbarrier::arrive_expect_tx(&barrier, 32 * sizeof(T));
  }
  cluster::sync();
  if (rank == 0)
    cluster::reduce_async<operation>(cluster::map(SharedAddress(&words[t]), 1), values[t],
                                     cluster::map(SharedAddress(&barrier), 1));
  if (rank == 1) {
    mbarrier::wait_parity<Scope::cluster>(&barrier, 0);
    out[t] = words[t];
  }
  cluster::sync();
}
