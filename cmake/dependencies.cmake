# What the build takes from elsewhere. `make` installs what is missing (scripts/setup); nothing is downloaded from here.
find_package(Threads REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/fmt.cmake)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# CUDA's headers: a toolkit, or the wheels that scripts/setup put into the build folder. Headers only, nothing is linked.
option(WARPMILL_IGNORE_TOOLKIT "Take CUDA's headers and NVRTC from PyPI's wheels even where a toolkit is installed" OFF)
set(WARPMILL_CUDA_WHEELS ${CMAKE_BINARY_DIR}/cuda-wheels/nvidia/cu13)
if(WARPMILL_IGNORE_TOOLKIT)
  set(cuda_folders ${WARPMILL_CUDA_WHEELS})
else()
  set(cuda_folders $ENV{CUDA_HOME} /usr/local/cuda ${WARPMILL_CUDA_WHEELS})
endif()
function(warpmill_is_cuda_13 result folder)
  file(STRINGS ${folder}/cuda.h version REGEX "^#define CUDA_VERSION 1[3-9]")
  if(NOT version)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_path(WARPMILL_CUDA_INCLUDE cuda.h PATHS ${cuda_folders} PATH_SUFFIXES include NO_DEFAULT_PATH
  VALIDATOR warpmill_is_cuda_13 DOC "folder of cuda.h")
if(NOT WARPMILL_CUDA_INCLUDE)
  message(FATAL_ERROR "cuda.h of CUDA 13 was not found in ${cuda_folders}. Run scripts/setup (make does), or set CUDA_HOME to a CUDA 13 toolkit.")
endif()

# For code that waits for other code, tests and the program's front: optimising it costs more time than it saves.
# A sanitizer's report needs their lines alone.
add_library(warpmill_light INTERFACE)
target_compile_options(warpmill_light INTERFACE $<$<NOT:$<CONFIG:Debug>>:-O1> $<$<CONFIG:RelWithDebInfo>:-g1>)

# Flags of every target of ours.
add_library(warpmill_flags INTERFACE)
target_compile_options(warpmill_flags INTERFACE -Wall -Wextra -Werror=return-type -ffp-contract=off)
if(WARPMILL_SANITIZE)
  target_compile_options(warpmill_flags INTERFACE -fsanitize=${WARPMILL_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(warpmill_flags INTERFACE -fsanitize=${WARPMILL_SANITIZE})
  if(WARPMILL_SANITIZE MATCHES undefined)
    target_compile_options(warpmill_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
