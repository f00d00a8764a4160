#include "ops/settings.hpp"

namespace wm::test {

#ifdef __SANITIZE_THREAD__
constexpr int products = 100;  // threads meet in each of them
#else
constexpr int products = 200;
#endif

const Settings settings{.device = "virtual:sm_90a:sms=4",
                        .products = products,
                        .largest_product = 300,
                        .waves = {515, 536, 200},
                        .attentions = 60,
                        .longest_attention = 300,
                        .equal_runs = 3};

}  // namespace wm::test
