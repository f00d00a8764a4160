// A compute architecture: sm_80, sm_90a, sm_100a, sm_100f, sm_120a.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "warpmill/api.hpp"

namespace wm {

struct WARPMILL_API Architecture {
  int major = 9;
  int minor = 0;
  bool specific = false;  // the "a" of sm_90a: features of exactly this chip, wgmma and setmaxnreg among them
  bool family = false;    // the "f" of sm_100f: features that all later chips of the same major number share

  static Architecture parse(std::string_view text);  // "sm_90a" or "compute_90a"; throws invalid_argument
  std::string name() const;                          // "sm_90a"
  int number() const { return major * 10 + minor; }  // 90
  // Whether code compiled for `code` runs on a chip of this architecture: of an "a" target on exactly that chip, of an
  // "f" target on it and later ones of its family.
  bool runs(const Architecture& code) const;
  // Whether PTX for `target` does: it is compiled for the chip when loaded, so every plain architecture up to this one.
  bool runs_ptx(const Architecture& target) const;
  auto operator<=>(const Architecture&) const = default;
};

}  // namespace wm
