// Machine code whose PTX its compiler left behind: a file beside the same machine code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wm::cudart {

struct KeptPtx {
  std::string text;     // empty where there is none
  std::string problem;  // why not, where that is not all there is to say
};

// Of a cubin, in `kept`: x.ptx beside an x.cubin of the same bytes, since variants of a kernel have one name. In
// `named`, where the machine code need not lie, also the only text that has all its kernels.
KeptPtx kept_ptx(std::string_view cubin, const std::vector<std::string>& kept, const std::vector<std::string>& named);

}  // namespace wm::cudart
