// Names of kernels, as people write and ask for them.
#pragma once

#include <string>

namespace wm::cudart {

std::string demangled(const std::string& name);  // "void scale<float>(float*, int)"
// With *, ? and | between alternatives; one without * and ? matches names that contain it.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace wm::cudart
