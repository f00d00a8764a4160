// RandomProduct under its former name, for tests/ops until they use the new one.
#pragma once

#include "gemm/random_product.hpp"

namespace wm::bench {
using GemmProblem = RandomProduct;
}
