# fmt (tried: 9.1, 10.1, 11.1), compiled once, in src/common/fmt.cpp. Header-only it costs each file two to three seconds
# more, and Debian's library is a shared one, which our binaries are not to need. What includes fmt links warpmill_fmt, and warpmill.
# Our copy is in a namespace of its own (fmt::warpmill, not fmt::v9), so that a program that links us may have another.
find_package(fmt 9 REQUIRED)
add_library(warpmill_fmt INTERFACE)
target_include_directories(warpmill_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(warpmill_fmt INTERFACE
  "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace warpmill {" "FMT_END_NAMESPACE=} }")
