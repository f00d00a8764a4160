// What reports call memory: variables of the PTX, what the kernel names itself, buffers of the caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpu/machine/block.hpp"

namespace wm::vgpu::check {

class Names {
 public:
  explicit Names(const Run& run);

  // An array in every block's shared memory. It takes the place of names it overlaps, unless it lies within one: parts
  // of a thing have names of their own.
  void name_shared(const std::string& name, u32 offset, u32 element_bytes, u32 count);
  // "shared `stage` bytes 16 to 31", "global bytes 0x... to 0x...".
  std::string memory(u64 generic, u64 bytes) const;
  // "`full[2]`", "the mbarrier at 0x408".
  std::string mbarrier(u64 shared_address) const;

 private:
  struct Array {
    std::string name;
    u32 offset = 0;
    u64 bytes = 0;
    u32 element_bytes = 0;  // 0: not known
    u64 end() const { return offset + bytes; }
  };
  const Array* find(u64 offset) const;  // the smallest that holds it
  std::string name_of(const Array& array, std::optional<u64> index) const;
  const Run& run_;
  std::vector<Array> arrays_;
};

}  // namespace wm::vgpu::check
