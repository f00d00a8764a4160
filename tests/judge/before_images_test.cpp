// What a run overwrites is kept so that the run can be made again, by whoever has the memory alone.
#include "vgpu/check/before_images.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "vgpu/memory/global.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {
namespace {

TEST(BeforeImages, HoldWhatWasThereBeforeTheFirstWriteOfEachPage) {
  Memory memory(1 << 20);
  const u64 address = memory.allocate(700);
  std::byte* const host = memory.at(address, 700, "test");
  std::memset(host, 1, 700);
  BeforeImages before(memory);
  before.keep(address + 508, 8);  // of both pages, the second of which is short
  std::memset(host, 2, 700);
  before.keep(address, 4);
  ASSERT_EQ(before.pages().size(), 2u);
  EXPECT_EQ(before.pages().at(address).bytes, std::vector<std::byte>(512, std::byte{1}));
  EXPECT_EQ(before.pages().at(address + 512).bytes, std::vector<std::byte>(188, std::byte{1}));
  EXPECT_TRUE(before.whole());
}

TEST(BeforeImages, AreNotWholeWhereWhatWasWrittenCannotBePutBack) {
  Memory memory(1 << 20);
  alignas(4096) static std::byte of_host[4096];
  memory.map_host(of_host, sizeof of_host);
  for (const u64 address : {reinterpret_cast<u64>(of_host), memory.allocate_heap(64), memory.allocate(64) + 4096}) {
    BeforeImages before(memory);
    before.keep(address, 4);
    EXPECT_FALSE(before.whole());
    EXPECT_TRUE(before.pages().empty());
  }
}

// Whoever lends memory leaves it alone meanwhile. It may begin and end in the middle of a page, beside another's.
TEST(BeforeImages, KeepLentMemoryAndNothingAroundIt) {
  Memory memory(1 << 20);
  alignas(512) static std::byte of_host[512];
  std::memset(of_host, 1, sizeof of_host);
  memory.lend(of_host + 48, 16);
  memory.lend(of_host + 64, 100);
  BeforeImages before(memory);
  before.keep(reinterpret_cast<u64>(of_host), sizeof of_host);
  std::memset(of_host, 2, sizeof of_host);
  EXPECT_TRUE(before.whole());
  ASSERT_EQ(before.pages().size(), 2u);
  for (const auto& [offset, bytes] : {std::pair{48, 16}, std::pair{64, 100}}) {
    const Image& image = before.pages().at(reinterpret_cast<u64>(of_host + offset));
    EXPECT_EQ(image.place, of_host + offset);
    EXPECT_EQ(image.bytes, std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{1}));
  }
}

// A store that goes to memory for reading only is a finding, and is lost: there is nothing to put back, nor may it be.
TEST(BeforeImages, KeepNothingOfMemoryThatIsOnlyRead) {
  Memory memory(1 << 20);
  alignas(512) static std::byte of_host[512];
  memory.lend(of_host, sizeof of_host, true);
  const u64 constant = memory.allocate(16, "constant", true);
  BeforeImages before(memory);
  before.keep(reinterpret_cast<u64>(of_host), sizeof of_host);
  before.keep(constant, 16);
  EXPECT_TRUE(before.whole());
  EXPECT_TRUE(before.pages().empty());
}

TEST(MemoryAlone, IsGrantedToTheOnlyUserAndKeepsOthersWaiting) {
  Memory memory(1 << 20);
  const Memory::Use use(memory);
  {
    const Memory::Use other(memory);
    EXPECT_FALSE(Memory::Alone(memory).granted());
  }
  std::atomic<bool> uses = false;
  std::thread second;
  {
    const Memory::Alone alone(memory);
    EXPECT_TRUE(alone.granted());
    second = std::thread([&] {
      const Memory::Use other(memory);
      uses = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(uses);
  }
  second.join();
  EXPECT_TRUE(uses);
}

}  // namespace
}  // namespace wm::vgpu::check
