// Tensor maps in the form of a device.
#include "warpmill/tensor_map.hpp"

#include "runtime/backend.hpp"

namespace wm {

TensorMap make_tensor_map(const Device& device, const TensorMapSpec& spec) {
  check(spec, device.backend().info().arch);
  return device.backend().encode(spec);
}

}  // namespace wm
