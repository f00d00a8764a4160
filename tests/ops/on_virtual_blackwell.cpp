#include "ops/settings.hpp"

namespace wm::test {

// A cluster of eight that uses tensor memory takes as many multiprocessors.
const Settings settings{.device = "virtual:sm_100a:sms=8",
                        .products = 40,
                        .largest_product = 300,
                        .waves = {515, 536, 200},
                        .attentions = 8,
                        .longest_attention = 300,
                        .equal_runs = 3};

}  // namespace wm::test
