// The driver's functions by their names, as cuGetProcAddress gives them.
#pragma once

namespace wm::cudart {

// The newest of a name ("cuMemAlloc": cuMemAlloc_v2); null where there is none.
void* driver_function(const char* name);
void* own_function(const char* name);  // any that this library exports

}  // namespace wm::cudart
