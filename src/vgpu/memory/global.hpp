// Device memory: an address space of its own with a table of allocations. Addresses are never host pointers, and are
// not used twice, so that an access to freed memory is recognised.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/memory/host_bytes.hpp"
#include "vgpu/memory/integers.hpp"

namespace wm::vgpu {

// A run of device addresses and the host bytes behind it.
struct Region {
  u64 address = 0;
  u64 bytes = 0;
  std::byte* host = nullptr;
  bool read_only = false;  // for kernels: .const variables, and what the caller lends for reading
  bool of_host = false;    // mapped by the caller, who owns the bytes
  bool lent = false;       // and leaves them alone while a kernel runs

  bool holds(u64 first, u64 count) const { return first - address < bytes && count <= bytes - (first - address); }
  bool constant() const { return read_only && !of_host; }
  bool only_lent_to_read() const { return read_only && of_host; }
  const char* what_cannot_be_written() const {
    return of_host ? "memory that the caller lends for reading" : "constant memory";
  }
};

struct Allocation : Region {
  std::string name;       // of a module's variable, or what the caller calls it
  bool unwritten = true;  // by the caller, and by any kernel that has ended
};

class Memory {
 public:
  explicit Memory(u64 capacity) : capacity_(capacity) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zero-filled, aligned to 512 bytes. Throws out_of_memory.
  u64 allocate(u64 bytes, std::string name = {}, bool read_only = false);
  void free(u64 address) noexcept;
  // The caller's own memory, under its own address, until it is unmapped or freed here; it counts as written. What is
  // lent the caller leaves alone while a kernel runs, and has back when none does; read-only it is never written.
  // Throws invalid_argument where part of it is there already or lies where kernels have other things, or nothing is
  // mapped.
  void map_host(std::byte* host, u64 bytes) { map({.bytes = bytes, .host = host}); }
  void lend(std::byte* host, u64 bytes, bool read_only = false) {
    map({.bytes = bytes, .host = host, .read_only = read_only, .lent = true});
  }
  void unmap_host(const std::byte* host);

  // malloc and free of kernels. What a kernel allocates outlives its launch, as on the chip; what it frees is reused at
  // once, under another address. 0 where the heap is full.
  u64 allocate_heap(u64 bytes);
  u64 free_heap(u64 address);  // its bytes; 0 where allocate_heap did not give it

  // The live allocation that holds `address`, or an empty region. One of the heap may be gone any moment.
  Region find(u64 address) const;
  std::vector<Region> overlapping(u64 address, u64 bytes) const;  // all that are live, in order
  // The host bytes of a range that must lie in one allocation; throws invalid_argument with `what` and the reason.
  std::byte* at(u64 address, u64 bytes, const char* what) const;
  // The same for the host to write there, which it may where kernels have constants.
  std::byte* to_write(u64 address, u64 bytes, const char* what) const;
  // Why an access is wrong: "8 bytes at 0x... are 4 bytes past the end of ...".
  std::string explain(u64 address, u64 bytes) const;

  // The name of the allocation that holds an address, and the bytes before it there.
  struct Named {
    std::string name;
    u64 offset = 0;
  };
  Named named(u64 address) const;
  void name(u64 address, std::string name);

  // Whether the address lies in memory that was freed.
  bool was_freed(u64 address) const;

  std::vector<Region> writable() const;  // all that is live and no constant

  // What reads would find nothing in: allocations that nobody has written since they were made, or since forget().
  std::vector<Region> unwritten() const;
  void forget(u64 address);
  void note_written(u64 address);
  void note_all_written();

  // While any of these lives, freed memory keeps its host bytes: a kernel that is running may hold on to them.
  class Use {
   public:
    explicit Use(Memory& memory);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Memory& memory_;
  };
  // While this lives, nobody begins to use the memory. Granted where the caller's Use is the only one.
  class Alone {
   public:
    explicit Alone(Memory& memory);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    bool granted() const { return granted_; }

   private:
    Memory& memory_;
    bool granted_;
  };

 private:
  void map(Region region);
  u64 clear_of_the_host(u64 address, u64 bytes) const;  // the first place for them from `address` on
  const Allocation* locate(u64 address) const;          // the last allocation at or below `address`
  Allocation* locate(u64 address) { return const_cast<Allocation*>(std::as_const(*this).locate(address)); }
  const Allocation* locate_freed(u64 address) const;  // the remembered one that holds `address`
  bool was_of_heap(u64 address) const;                // freed so long ago that it is not remembered
  void remember(Allocation freed);

  mutable std::shared_mutex mutex_;
  std::map<u64, Allocation> live_;   // by address
  std::map<u64, Allocation> freed_;  // by address, the most recent ones; for messages
  std::deque<u64> freed_order_;      // of freed_, the oldest first
  std::vector<Region> dying_;        // freed while in use
  HostPool heap_;
  u64 capacity_ = 0, used_ = 0, heap_used_ = 0;
  u64 next_ = 0, next_of_heap_ = 0;
  int uses_ = 0;
  bool alone_ = false;
  std::condition_variable_any no_longer_alone_, no_longer_used_;
};

}  // namespace wm::vgpu
