# The fuzz targets (fuzz/) as tests: built with clang beside everything else, each run for a bounded time.
find_program(WARPMILL_CLANG clang++ DOC "clang with libFuzzer, for the fuzz targets")
set(fuzzer_library "")
if(WARPMILL_CLANG)
  execute_process(COMMAND ${WARPMILL_CLANG} -print-resource-dir OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB fuzzer_library ${resources}/lib/*/libclang_rt.fuzzer*.a)
endif()
if(NOT fuzzer_library)
  message(STATUS "No clang with libFuzzer: the fuzz tests are left out. scripts/setup --fuzz installs it (make test does).")
  return()
endif()

include(ExternalProject)
ExternalProject_Add(fuzz_targets
  SOURCE_DIR ${CMAKE_SOURCE_DIR}/fuzz
  BINARY_DIR ${CMAKE_BINARY_DIR}/fuzz
  PREFIX ${CMAKE_BINARY_DIR}/fuzz/steps
  CMAKE_ARGS -DCMAKE_CXX_COMPILER=${WARPMILL_CLANG} -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
  LOG_CONFIGURE ON LOG_OUTPUT_ON_FAILURE ON
  BUILD_ALWAYS ON
  INSTALL_COMMAND "")

# Seconds: where a minute found nothing more, these find what a change broke. The long ones look for what nobody broke.
foreach(run ptx:10 case:10 npy:5)
  string(REPLACE ":" ";" run ${run})
  list(GET run 0 name)
  list(GET run 1 seconds)
  set(program ${CMAKE_SOURCE_DIR}/scripts/fuzz ${CMAKE_BINARY_DIR} ${name})
  add_test(NAME fuzz_${name} COMMAND ${program} ${seconds})
  warpmill_test_takes(fuzz_${name} ${seconds})
  warpmill_long_test(fuzz_${name}_long SECONDS 300 COMMAND ${program} 300)
  set_tests_properties(fuzz_${name} fuzz_${name}_long PROPERTIES RESOURCE_LOCK fuzz_${name})  # one work folder
endforeach()
warpmill_long_test(fuzz_load_long SECONDS 300 COMMAND ${CMAKE_SOURCE_DIR}/scripts/fuzz ${CMAKE_BINARY_DIR} load 300)
