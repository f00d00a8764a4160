# What an installed copy holds: the library, static and shared, with its CMake package, the headers for hosts and for kernels, the program.
include(CMakePackageConfigHelpers)
# `make install` builds it and nothing else.
add_custom_target(installed_parts DEPENDS warpmill warpmill_shared warpmill_program warpmill_cudart warpmill_cuda bench_attention
  kernels_ahead)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/warpmill)

install(TARGETS warpmill warpmill_shared EXPORT warpmill)
install(TARGETS warpmill_program)
# What the program hands to other people's programs: no name that the loader finds by itself.
install(TARGETS warpmill_cudart warpmill_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/warpmill NAMELINK_SKIP)
install(FILES src/cudart/python/sitecustomize.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/warpmill/python)
install(DIRECTORY include/warpmill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The library carries these as text for its own compiler; installed they also serve nvcc, under the same names.
install(DIRECTORY kernels/warpmill ${CMAKE_BINARY_DIR}/kernels/warpmill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT warpmill NAMESPACE warpmill:: DESTINATION ${package_folder} FILE warpmill-targets.cmake)
configure_package_config_file(cmake/warpmill-config.cmake.in ${CMAKE_BINARY_DIR}/warpmill-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/warpmill-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/warpmill-config.cmake ${CMAKE_BINARY_DIR}/warpmill-config-version.cmake
  DESTINATION ${package_folder})
