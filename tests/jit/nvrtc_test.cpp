// Finding NVRTC: where it is forced, where it is missing, and the wheel from PyPI. Each in a process of its own,
// because a process keeps the NVRTC it opened.
#include "jit/support.hpp"

namespace wm::jit {
namespace {

namespace fs = std::filesystem;

std::string forced(const fs::path& path) {
  return "WARPMILL_CACHE_MAX_BYTES=0 WARPMILL_NVRTC=" + in_shell_quotes(path);
}

TEST(MissingNvrtc, IsOneErrorThatSaysWhatWasTriedAndHowToGetIt) {
  const Folder empty;
  for (const fs::path& place : {fs::path("/nowhere/libnvrtc.so"), empty.path()}) {
    const Ended ended = run_worker(forced(place), "1");
    EXPECT_EQ(ended.status, 3) << ended.output;
    for (const std::string part : {"not found: no usable NVRTC", "only WARPMILL_NVRTC", place.c_str(), "pip install",
                                   "nvidia-cuda-nvrtc==13.0.*", "CUDA 13 toolkit"})
      EXPECT_TRUE(holds(ended.output, part)) << part << " is not in\n" << ended.output;
    EXPECT_FALSE(holds(ended.output, "/usr/local/cuda:")) << "a place that was not asked for: " << ended.output;
  }
}

TEST(MissingNvrtc, AFileThatIsNoLibraryIsNamedWithTheReason) {
  const Folder folder;
  folder.write("libnvrtc.so.13", "not a library");
  const Ended ended = run_worker(forced(folder.path()), "1");
  EXPECT_EQ(ended.status, 3);
  EXPECT_TRUE(holds(ended.output, (folder.path() / "libnvrtc.so.13").string())) << ended.output;
}

TEST(MissingNvrtc, AnOlderOneIsRefusedWithItsVersion) {
  const Ended ended = run_worker("FAKE_NVRTC_VERSION='12 4' " + forced(WARPMILL_FAKE_NVRTC), "1");
  EXPECT_EQ(ended.status, 3);
  EXPECT_TRUE(holds(ended.output, "NVRTC 12.4")) << ended.output;
}

TEST(FoundNvrtc, ANewerOneIsNamedAsSuch) {
  const Ended newer = run_worker("FAKE_NVRTC_VERSION='13 2' " + forced(WARPMILL_FAKE_NVRTC), "0");
  EXPECT_EQ(newer.status, 0);
  EXPECT_TRUE(holds(newer.output, "note NVRTC 13.2 is newer than 13.0")) << newer.output;
  const Ended tested = run_worker("FAKE_NVRTC_VERSION='13 0' " + forced(WARPMILL_FAKE_NVRTC), "0");
  EXPECT_FALSE(holds(tested.output, "newer")) << tested.output;
}

TEST(FoundNvrtc, TheWheelFromPyPICompilesEvenWhereAToolkitIsInstalled) {
  const fs::path wheels = WARPMILL_WHEELS;
  ASSERT_TRUE(fs::exists(wheels / "nvidia/cu13/lib/libnvrtc.so.13"))
      << "the wheel nvidia-cuda-nvrtc==13.0.* is not in " << wheels << "; scripts/setup puts it there (make test does)";
  for (const fs::path& place : {wheels, wheels / "nvidia/cu13/lib", wheels / "nvidia/cu13/lib/libnvrtc.so.13"}) {
    // Without the loader's path the builtins are found only if they were opened first.
    const Ended ended = run_worker("-u LD_LIBRARY_PATH " + forced(place), "1");
    EXPECT_EQ(ended.status, 0) << ended.output;
    EXPECT_TRUE(holds(ended.output, "nvrtc 13.0 " + wheels.string())) << ended.output;
    EXPECT_TRUE(holds(ended.output, "compiled ")) << ended.output;
  }
}

}  // namespace
}  // namespace wm::jit
