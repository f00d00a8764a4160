// Loading any PTX on the virtual GPU: read, memory laid out, every instruction decoded or refused.
#include <string_view>

#include "mutate.hpp"
#include "promise.hpp"
#include "vgpu/vgpu.hpp"
#include "warpmill/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static wm::vgpu::Machine machine(wm::vgpu::Chip::of({9, 0, true}));
  try {
    machine.load(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  } catch (const wm::Error& error) {
    const auto code = error.code();
    wm::fuzz::promise(
        code == wm::ErrorCode::compile || code == wm::ErrorCode::unsupported || code == wm::ErrorCode::out_of_memory,
        "any refusal is one of the text or of its size", error.what());
    wm::fuzz::promise_clean(error.what());
  }
  return 0;
}
