// What nvcc's code registers before main: which functions and variables of the host stand for which of the device.
#pragma once

#include "cudart/module.hpp"

namespace wm::cudart {

// The kernel behind a host function, or behind the handle of a kernel. Fails with cudaErrorInvalidDeviceFunction.
Kernel& kernel_of(const void* function);
// The variable behind a host variable, on the thread's device. Fails with cudaErrorInvalidSymbol.
Variable variable_of(const void* symbol);

}  // namespace wm::cudart
