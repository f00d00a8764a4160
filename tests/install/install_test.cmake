# Installs into an empty folder, builds the consumers against it, of C++ and of C, and runs them.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
set(prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${FOLDER}/build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
# A name in fmt::v9 (3fmt2v9) would be taken for the consumer's, whose fmt may be another or have other options.
execute_process(COMMAND ${NM} ${LIBRARY} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(names MATCHES "3fmt[0-9]+v[0-9]+")
  message(FATAL_ERROR "the library has names in fmt's own namespace")
endif()
# Where there is no toolkit, NVRTC is the build folder's, which an installed program does not know.
if(NOT DEFINED ENV{WARPMILL_NVRTC} AND NOT EXISTS /usr/local/cuda AND NOT EXISTS "$ENV{CUDA_HOME}")
  set(ENV{WARPMILL_NVRTC} ${BUILD}/cuda-wheels)
endif()
# A cache that cannot be used is something to tell, and still the library prints nothing.
set(ENV{WARPMILL_CACHE_DIR} ${FOLDER}/build/consumer/no_folder)
foreach(consumer consumer consumer_c)
  execute_process(COMMAND ${FOLDER}/build/${consumer} OUTPUT_VARIABLE out ERROR_VARIABLE err COMMAND_ERROR_IS_FATAL ANY)
  if(NOT "${out}${err}" MATCHES "^right on [^\n]+\n$")
    message(FATAL_ERROR "${consumer} printed more than its own line: ${out}${err}")
  endif()
endforeach()
set(ENV{WARPMILL_CACHE_DIR} ${FOLDER}/cache)
run(${prefix}/bin/warpmill doctor)
