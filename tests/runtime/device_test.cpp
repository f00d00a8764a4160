// Devices, streams and events: opening, identity, order, threads.
#include "warpmill/device.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "runtime/kernels.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;

TEST(Device, OneIdIsOneDevice) {
  const Device device = Device::open("virtual");
  EXPECT_EQ(device, Device::open("virtual:sm_90a"));
  EXPECT_EQ(device.info().id, "virtual:sm_90a");
  EXPECT_NE(device, Device::open("virtual:sm_80"));
  const Device small = Device::open("virtual:sm_90a:sms=4");
  EXPECT_NE(device, small);
  EXPECT_EQ(small.info().multiprocessors, 4);
  EXPECT_EQ(small, Device::open("virtual:sms=4"));
}

TEST(Device, OpenedFromManyThreadsIsStillOne) {
  std::vector<std::thread> threads;
  std::vector<std::optional<Device>> opened(8);
  for (auto& slot : opened) threads.emplace_back([&slot] { slot = Device::open("virtual:sm_80:sms=3"); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& device : opened) EXPECT_EQ(*device, *opened[0]);
}

TEST(Device, ListsGpusBeforeVirtualOnesAndOpensEach) {
  bool virtual_seen = false;
  for (const DeviceInfo& info : Device::list()) {
    EXPECT_FALSE(info.kind == DeviceKind::cuda && virtual_seen);
    virtual_seen |= info.kind == DeviceKind::virtual_gpu;
    EXPECT_EQ(Device::open(info.id).info().id, info.id);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GE(info.shared_bytes_per_block, 48u << 10);
  }
  EXPECT_TRUE(virtual_seen);
}

TEST(Device, TheBestIsAGpuOrElseTheVirtualHopper) {
  const bool gpu = Device::gpu_problem().empty();
  EXPECT_EQ(Device::best().info().id, gpu ? "cuda:0" : "virtual:sm_90a");
}

TEST(Device, SaysWhichIdsThereAre) {
  EXPECT_REFUSED(Device::open("cuda:77"), not_found, "no such device: cuda:77");
  EXPECT_REFUSED(Device::open("cuda:77"), not_found, "virtual:sm_90a (");
  EXPECT_REFUSED(Device::open("cuda:77"), not_found, "ids look like cuda:0, virtual,");
  if (const std::string problem = Device::gpu_problem(); !problem.empty())
    EXPECT_REFUSED(Device::open("cuda:0"), not_found, problem);
}

TEST(Device, RefusesWhatIsNoId) {
  for (const char* id :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cuda:99999999999", "virtual:", "virtual:90",
        "virtual:sm_90a:", "virtual:sm_90a:sms=0", "virtual:sm_90a:sms=x", "virtual:sms=4:sm_80",
        "virtual:sm_90a:sms=4:sms=5", "virtual:sm_90a:cores=4", "virtual:sms=99999"})
    EXPECT_REFUSED(Device::open(id), invalid_argument, "is no device id");
  EXPECT_REFUSED(Device::open("virtual:sm_75"), unsupported, "sm_75");
}

TEST(Stream, TheDefaultStreamCanBeWrapped) {
  const Device device = Device::open("virtual");
  const Stream stream = Stream::wrap(device, nullptr);
  const Buffer buffer(device, 16);
  stream.fill(buffer.address(), std::byte{7}, 16);
  stream.synchronize();
  EXPECT_EQ(buffer.download<std::uint8_t>(), std::vector<std::uint8_t>(16, 7));
  int other = 0;
  EXPECT_REFUSED(Stream::wrap(device, &other), invalid_argument, "no streams but its default one");
}

TEST(Stream, MovesBytesInOrder) {
  const Device device = Device::open("virtual");
  Stream stream(device);
  const Buffer one(device, 8), two(device, 8);
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint8_t> back(8);
  stream.upload(one.address(), std::as_bytes(std::span(bytes)));
  stream.copy(two.address(), one.address(), 8);
  stream.fill(two.address() + 6, std::byte{0}, 2);
  stream.download(std::as_writable_bytes(std::span(back)), two.address());
  stream.synchronize();
  EXPECT_EQ(back, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 0, 0}));
  const Stream moved = std::move(stream);
  EXPECT_EQ(moved.device(), device);
  moved.upload(0, {});  // nothing to do, nothing to refuse
}

TEST(Event, MeasuresTimeBetweenRecords) {
  const Device device = Device::open("virtual");
  const Stream stream(device);
  const Event start(device), end(device);
  EXPECT_REFUSED(end.since(start), invalid_argument, "never recorded");
  stream.record(start);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stream.record(end);
  stream.wait(end);
  end.synchronize();
  EXPECT_GE(end.since(start), 5.0);
  EXPECT_LT(end.since(start), 60'000.0);
}

TEST(Event, StaysOnItsDevice) {
  const Device hopper = Device::open("virtual"), ampere = Device::open("virtual:sm_80");
  const Event event(ampere);
  const Stream stream(hopper);
  EXPECT_REFUSED(stream.record(event), invalid_argument, "the event is on virtual:sm_80");
  EXPECT_REFUSED(stream.wait(event), invalid_argument, "virtual:sm_90a");
  EXPECT_REFUSED(Event(hopper).since(event), invalid_argument, "virtual:sm_80");
}

TEST(RunOptions, BelongToAVirtualDevice) {
  const Device device = Device::open("virtual:sm_90a:sms=2");
  vgpu::set_run_options(device, {.mode = vgpu::Mode::random, .seed = 42, .host_threads = 1});
  EXPECT_EQ(vgpu::run_options(Device::open("virtual:sm_90a:sms=2")).seed, 42u);
  EXPECT_EQ(vgpu::run_options(Device::open("virtual")).seed, 0u);
}
