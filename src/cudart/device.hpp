// What the virtual devices say of themselves.
#pragma once

#include <optional>
#include <string>

#include <cuda_runtime_api.h>

namespace wm::cudart {

std::string device_name();
std::optional<int> device_attribute(int attribute);  // a cudaDeviceAttr or CUdevice_attribute: they are the same
cudaDeviceProp device_properties(int device);
std::string pci_bus_id(int device);

}  // namespace wm::cudart
