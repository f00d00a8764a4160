#include "ops/settings.hpp"

namespace wm::test {

// Of the GEMM alone.
const Settings settings{.device = "virtual:sm_120a:sms=4",
                        .products = 40,
                        .largest_product = 300,
                        .waves = {515, 536, 200},
                        .attentions = 0,
                        .longest_attention = 0,
                        .equal_runs = 3};

}  // namespace wm::test
