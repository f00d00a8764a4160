// Reading and writing architecture names.
#include "warpmill/architecture.hpp"

#include <charconv>

#include <fmt/format.h>

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
  int number = 0;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const std::string_view suffix(end, rest.data() + rest.size() - end);
  if (rest.size() == text.size() || status != std::errc() || number < 10 || number > 999 ||
      (!suffix.empty() && suffix != "a"))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no architecture; write sm_80, sm_90a, sm_100a or sm_120a", text));
  arch.major = number / 10;
  arch.minor = number % 10;
  arch.specific = suffix == "a";
  return arch;
}

std::string Architecture::name() const { return fmt::format("sm_{}{}", number(), specific ? "a" : ""); }

bool Architecture::runs(const Architecture& code) const {
  if (code.specific) return specific && major == code.major && minor == code.minor;
  return major == code.major && minor >= code.minor;
}

bool Architecture::runs_ptx(const Architecture& target) const {
  return target.specific ? runs(target) : number() >= target.number();
}

}  // namespace wm
