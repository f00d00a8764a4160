#include "ops/settings.hpp"

namespace wm::test {

const Settings settings{.device = "cuda:0",
                        .products = 500,
                        .largest_product = 1500,
                        .waves = {3001, 3112, 200},
                        .attentions = 300,
                        .longest_attention = 1500,
                        .equal_runs = 20};

}  // namespace wm::test
