#include "ops/settings.hpp"

namespace wm::test {

const Settings settings{.device = "virtual:sm_90a:sms=4",
                        .products = 100,
                        .largest_product = 300,
                        .waves = {515, 536, 200},
                        .attentions = 30,
                        .longest_attention = 300,
                        .equal_runs = 3};

}  // namespace wm::test
