// The host's memory in a machine: anywhere but where kernels have other things, given back untouched, and not before
// its last user is done.
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "support/refusal.hpp"
#include "vgpu/memory/global.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu {
namespace {

using testing::HasSubstr;

// Two pages of the host at an address.
class Pages {
 public:
  explicit Pages(u64 address)
      : memory_(mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {}
  ~Pages() { munmap(memory_, bytes); }
  bool at(u64 address) const { return memory_ == reinterpret_cast<void*>(address); }
  std::byte* begin() const { return static_cast<std::byte*>(memory_); }
  static constexpr u64 bytes = 8192;

 private:
  void* memory_;
};

constexpr u64 in_the_heap = heap_begin + 0x800'0000'0000;

TEST(LentMemory, IsTheCallersAtAddressesOfTheHeap) {
  const Pages pages(in_the_heap);
  ASSERT_TRUE(pages.at(in_the_heap));
  pages.begin()[0] = std::byte{7};
  {
    Memory memory(1 << 20);
    memory.lend(pages.begin(), 64);
    EXPECT_EQ(memory.free_heap(in_the_heap), 0u);  // no kernel's to free
    EXPECT_EQ(memory.find(in_the_heap).host, pages.begin());
    memory.free(in_the_heap);  // the caller's, by another way
    EXPECT_EQ(memory.find(in_the_heap).bytes, 0u);
    memory.lend(pages.begin(), 64);
  }
  EXPECT_EQ(pages.begin()[0], std::byte{7});
}

TEST(LentMemory, IsPassedOverByAllocations) {
  const Pages pages(global_begin), of_heap(heap_begin);
  ASSERT_TRUE(pages.at(global_begin) && of_heap.at(heap_begin));
  Memory memory(1 << 20);
  memory.lend(pages.begin() + 2048, 1000);
  memory.lend(pages.begin() + 4096, 1000);
  memory.lend(of_heap.begin() + 16, 3000);
  for (int i = 0; i < 8; ++i) {
    const u64 address = memory.allocate(700), on_heap = memory.allocate_heap(700);
    EXPECT_EQ(memory.overlapping(address - 1, 702).size(), 1u) << address;
    EXPECT_EQ(memory.overlapping(on_heap - 1, 702).size(), 1u) << on_heap;
  }
}

TEST(LentMemory, LiesWhereKernelsHaveGlobalMemory) {
  Memory memory(1 << 20);
  const auto at = [](u64 address) { return reinterpret_cast<std::byte*>(address); };
  for (const u64 window : {shared_window, local_window, tensor_window, function_window, param_window}) {
    EXPECT_FALSE(is_global(window));
    EXPECT_THAT(refusal([&] { memory.lend(at(window + 64), 4); }), HasSubstr("has no global memory"));
    EXPECT_THAT(refusal([&] { memory.lend(at(window - 16), 32); }), HasSubstr("has no global memory"));
    EXPECT_NO_THROW(memory.lend(at(window - 16), 16));
    EXPECT_TRUE(is_global(window - 1));
  }
  EXPECT_THAT(refusal([&] { memory.lend(at(4096), ~u64{0}); }),
              HasSubstr("no memory at 0x1000 has 18446744073709551615 bytes"));
  for (const u64 address : {u64{0x40'0000}, u64{0x1574'f130}, u64{0xc0'0000'0000}, in_the_heap, u64{0x7b04'0000'0000},
                            u64{0x7fff'0000'0000}})
    EXPECT_TRUE(is_global(address)) << address;  // where malloc and mmap have put things
}

// Constants the host writes; what it lends for reading nobody does, and its pages may not be there to write.
TEST(LentMemory, IsOnlyReadWhereThatIsWhatItIsLentFor) {
  alignas(16) static std::byte bytes[16];
  const u64 address = reinterpret_cast<u64>(bytes);
  Memory memory(1 << 20);
  memory.lend(bytes, sizeof bytes, true);
  EXPECT_TRUE(memory.find(address).read_only);
  EXPECT_FALSE(memory.find(address).constant());
  EXPECT_EQ(memory.at(address + 4, 8, "reading"), bytes + 4);
  EXPECT_THAT(refusal([&] { memory.to_write(address + 4, 8, "writing"); }),
              HasSubstr("writing: memory that the caller lends for reading cannot be written: 8 bytes"));
  EXPECT_TRUE(memory.writable().empty());
  memory.forget(address);
  EXPECT_TRUE(memory.unwritten().empty());  // the judge would fill it
  const u64 constant = memory.allocate(16, "constant", true);
  EXPECT_TRUE(memory.find(constant).constant());
  EXPECT_NO_THROW(memory.to_write(constant, 16, "writing"));
}

TEST(LentMemory, ComesBackWhenNobodyUsesIt) {
  alignas(16) static std::byte bytes[16];
  Memory memory(1 << 20);
  memory.lend(bytes, sizeof bytes);
  std::atomic<bool> back = false;
  std::thread caller;
  {
    const Memory::Use kernel(memory);
    caller = std::thread([&] {
      memory.unmap_host(bytes);
      back = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(back);
    EXPECT_EQ(memory.find(reinterpret_cast<u64>(bytes)).bytes, 16u);
  }
  caller.join();
  EXPECT_THAT(refusal([&] { memory.unmap_host(bytes); }), HasSubstr("no mapped memory"));
}

}  // namespace
}  // namespace wm::vgpu
