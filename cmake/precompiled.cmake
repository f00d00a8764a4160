# What most files include, read by the compiler once for the library and once for the tests. Nothing of Warpmill is in it: a
# change would compile everything anew. The preset debug compiles without, and so finds what leans on another file's includes.
set(WARPMILL_COMMON_HEADERS <algorithm> <array> <bit> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <span>
  <string> <string_view> <unordered_map> <vector> <fmt/format.h>)

# warpmill_takes_headers(target from): `target` takes what was compiled for `from`, and is compiled alike: names are as
# visible, and the code is position-independent, where an executable would have -fPIE. Not by clang, whose fuzz targets have their own.
function(warpmill_takes_headers target from)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_compile_options(${target} PRIVATE -fPIC)
    get_target_property(visibility ${from} CXX_VISIBILITY_PRESET)
    if(visibility)
      set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET ${visibility} VISIBILITY_INLINES_HIDDEN ON)
    endif()
  endif()
endfunction()
