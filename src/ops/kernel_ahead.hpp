// The kernel ahead in a stream may still run when the next one starts (griddepcontrol): what it does not write may be
// read at once.
#pragma once

#include <optional>

#include "runtime/backend.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/module.hpp"

namespace wm::ops {

inline runtime::ByteRange bytes_of(const View& view) { return {view.address, view.address + view.span_bytes()}; }
inline runtime::ByteRange bytes_of(const std::optional<View>& view) {
  return view ? bytes_of(*view) : runtime::ByteRange{};
}

class KernelAhead {
 public:
  KernelAhead() = default;  // nothing is known
  explicit KernelAhead(const Stream& stream) : kernel_(stream.device().backend().kernel_ahead(stream.native())) {}
  // Whether it is known, and writes nothing there.
  bool leaves(const runtime::ByteRange& bytes) const {
    if (!kernel_) return false;
    for (const runtime::ByteRange& written : kernel_->writes)
      if (written.meets(bytes)) return false;
    return true;
  }
  runtime::Place place() const { return kernel_ ? kernel_->place : runtime::Place{}; }

 private:
  std::optional<runtime::KernelAhead> kernel_;
};

// A kernel with one struct of arguments.
template <class Arguments>
void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config, const Arguments& arguments,
            const runtime::LaunchNotes& notes) {
  const Argument argument = wm::detail::as_argument(arguments);
  runtime::launch(stream, kernel, config, {&argument, 1}, notes);
}

}  // namespace wm::ops
