// The PTX reader on arbitrary bytes. Seeds: tests/vgpu/ptx/samples and tests/vgpu/foreign.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vgpu/ptx/module.hpp"
#include "warpmill/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    wm::vgpu::ptx::read(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  } catch (const wm::Error& error) {
    if (error.code() != wm::ErrorCode::compile) __builtin_trap();  // any refusal is a refusal of the text
  }
  return 0;
}
