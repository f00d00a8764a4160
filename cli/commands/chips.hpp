// Chips by name, present or not.
#pragma once

#include <string>

#include "warpmill/device.hpp"

namespace wm::cli {

// What is known of a chip: of one that is here all; one of the table of measured plans is taken for an H200, or for an
// A100 where its plans are made of mma. Refused: names that nobody knows.
DeviceInfo chip_of(const std::string& name);

}  // namespace wm::cli
