# warpmill_test(name sources... [SECONDS n] [THREAD] [GPU]): one binary, one ctest entry. Tests see the library's insides
# (src/). SECONDS: what it takes from nothing on a quiet core, 6 or less where nothing is said. THREAD: run under
# ThreadSanitizer too. A GPU test needs the chip: it is built here and run by scripts/test-gpu, which knows it by its
# name, gpu_*.
find_package(GTest REQUIRED)

# Nothing of the user's counts: compiled programs are kept here (the second run takes no time), and no plans are tuned.
set(WARPMILL_TEST_ENVIRONMENT WARPMILL_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache WARPMILL_PLANS=${CMAKE_BINARY_DIR}/no-plans.txt
  "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/thread.supp history_size=4")
add_custom_target(thread_tests)

# A limit is there for what never ends: ten times what the test takes on a quiet core, and much more under a sanitizer.
# The longest start first, so that two cores are busy to the end.
function(warpmill_test_takes name seconds)
  set(limit 60)
  if(seconds GREATER 6)
    math(EXPR limit "${seconds} * 10")
  endif()
  if(WARPMILL_SANITIZE)
    math(EXPR limit "${limit} * 10")
  endif()
  set_tests_properties(${name} PROPERTIES COST ${seconds} TIMEOUT ${limit})
endfunction()

# The headers of all tests, by way of a file of nothing.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "")
add_library(test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
target_link_libraries(test_headers PRIVATE warpmill_flags warpmill_light GTest::gtest GTest::gmock warpmill_fmt)
target_precompile_headers(test_headers PRIVATE ${WARPMILL_COMMON_HEADERS} <cmath> <filesystem> <fstream> <random> <set> <thread>
  <gmock/gmock.h> <gtest/gtest.h>)

function(warpmill_compiled_as_test target)
  warpmill_takes_headers(${target} test_headers)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests ${WARPMILL_CUDA_INCLUDE})
  target_link_libraries(${target} PRIVATE warpmill warpmill_flags warpmill_light GTest::gtest_main warpmill_fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(${target} PRIVATE WARPMILL_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
endfunction()

# warpmill_test_objects(name sources...): what several tests link (target_link_libraries), compiled once.
function(warpmill_test_objects name)
  add_library(${name} OBJECT ${ARGN})
  warpmill_compiled_as_test(${name})
endfunction()

function(warpmill_test name)
  cmake_parse_arguments(arg "GPU;THREAD" "SECONDS" "" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  warpmill_compiled_as_test(${name})
  if(arg_GPU AND NOT name MATCHES "^gpu_")
    message(FATAL_ERROR "the GPU test ${name} must be called gpu_...")
  endif()
  if(arg_GPU)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 6)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${WARPMILL_TEST_ENVIRONMENT}")
  warpmill_test_takes(${name} ${arg_SECONDS})
  if(arg_THREAD)
    set_tests_properties(${name} PROPERTIES LABELS thread)
    add_dependencies(thread_tests ${name})
  endif()
endfunction()

# warpmill_driver_test(name program FILTER tests [SECONDS n] [ENVIRONMENT ...]): tests of a gpu_* program that need no
# chip, only a driver: ours (src/cudart).
function(warpmill_driver_test name program)
  cmake_parse_arguments(arg "" "FILTER;SECONDS" "ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND warpmill_program run $<TARGET_FILE:${program}> --gtest_filter=${arg_FILTER})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "${WARPMILL_TEST_ENVIRONMENT};WARPMILL_OWN_DRIVER=1;${arg_ENVIRONMENT}")
  if(NOT arg_SECONDS)
    set(arg_SECONDS 6)
  endif()
  warpmill_test_takes(${name} ${arg_SECONDS})
endfunction()

# warpmill_long_test(name SECONDS n COMMAND ... [ENVIRONMENT ...]): for `make test-long` alone.
function(warpmill_long_test name)
  cmake_parse_arguments(arg "" "SECONDS" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS long ENVIRONMENT "${WARPMILL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
  warpmill_test_takes(${name} ${arg_SECONDS})
endfunction()
