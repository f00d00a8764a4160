// The kernel ahead in a stream may still run when the next one starts (griddepcontrol): what it does not write may be
// read at once.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "runtime/backend.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"

namespace wm::ops {

inline runtime::ByteRange bytes_of(const View& view) { return {view.address, view.address + view.span_bytes()}; }

class KernelAhead {
 public:
  explicit KernelAhead(const Stream& stream) : writes_(stream.device().backend().writes_ahead(stream.native())) {}
  // Whether it is known, and writes nothing there.
  bool leaves(const runtime::ByteRange& bytes) const {
    if (!writes_) return false;
    for (const runtime::ByteRange& written : *writes_)
      if (written.meets(bytes)) return false;
    return true;
  }

  // Of the launch that was just made, for the next one. Only for kernels that let the next start
  // (griddepcontrol.launch_dependents) when those ahead of them have ended, not before: else the next would have to
  // know of these too.
  static void note(const Stream& stream, std::initializer_list<runtime::ByteRange> writes) {
    stream.device().backend().note_writes(stream.native(), {writes.begin(), writes.size()});
  }

 private:
  std::optional<std::vector<runtime::ByteRange>> writes_;
};

}  // namespace wm::ops
