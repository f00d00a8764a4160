// One argument of a case file.
#pragma once

#include "values.hpp"

namespace wm::cases {

ArgumentSpec read_argument(const Field& field, const BufferList& buffers);

}  // namespace wm::cases
