// Reading and writing architecture names.
#include "warpmill/architecture.hpp"

#include <fmt/format.h>

#include "common/numbers.hpp"
#include "warpmill/error.hpp"

namespace wm {

Architecture Architecture::parse(std::string_view text) {
  std::string_view rest = text;
  for (std::string_view prefix : {"sm_", "compute_"})
    if (rest.starts_with(prefix)) {
      rest.remove_prefix(prefix.size());
      break;
    }
  Architecture arch;
  const bool prefixed = rest.size() < text.size();
  arch.specific = rest.ends_with('a');
  arch.family = rest.ends_with('f');
  if (arch.specific || arch.family) rest.remove_suffix(1);
  const int number = number_from<int>(rest).value_or(0);
  constexpr int first_family = 100;
  if (!prefixed || number < 10 || number > 999 || (arch.family && number < first_family))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no architecture; write sm_80, sm_90a, sm_100a, sm_100f or sm_120a", text));
  arch.major = number / 10;
  arch.minor = number % 10;
  return arch;
}

std::string Architecture::name() const { return fmt::format("sm_{}{}", number(), specific ? "a" : family ? "f" : ""); }

bool Architecture::runs(const Architecture& code) const {
  if (code.specific) return specific && major == code.major && minor == code.minor;
  if (code.family && !specific && !family) return false;
  return major == code.major && minor >= code.minor;
}

bool Architecture::runs_ptx(const Architecture& target) const {
  return target.specific || target.family ? runs(target) : number() >= target.number();
}

}  // namespace wm
