// Arrays and the runtime's calls for them.
#include "cudart/array.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "cudart/face.hpp"
#include "cudart/memory.hpp"

namespace wm::cudart {
namespace {

// What a chip's arrays may have.
constexpr cudaExtent most_elements_2d{131072, 65536, 0}, most_elements_3d{16384, 16384, 16384};

struct Arrays {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Array>> known;
};
Arrays& arrays() {
  static auto* const all = new Arrays;
  return *all;
}

}  // namespace

std::size_t Array::element_bytes() const {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

Rows Array::at(std::size_t x_bytes, std::size_t y, std::size_t z, const Extent& needed) const {
  require(x_bytes + needed.width <= extent.width * element_bytes() && y + needed.height <= rows() &&
          z + needed.depth <= slices());
  const std::size_t slice = pitch * rows();
  return {address + z * slice + y * pitch + x_bytes, pitch, slice};
}

Array* create_array(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags) {
  for (const int bits : {format.x, format.y, format.z, format.w})
    require(bits == 0 || bits == 8 || bits == 16 || bits == 32, cudaErrorInvalidChannelDescriptor);
  auto array = std::make_unique<Array>(Array{format, extent, flags});
  const cudaExtent& most = extent.depth > 0 ? most_elements_3d : most_elements_2d;
  require(array->element_bytes() > 0, cudaErrorInvalidChannelDescriptor);
  require(extent.width > 0 && extent.width <= most.width && extent.height <= most.height && extent.depth <= most.depth);
  const Pitched rows = pitched(extent.width * array->element_bytes(), array->rows(), array->slices());
  array->pitch = rows.pitch;
  array->address = allocate_device(rows.bytes);
  Array* const handle = array.get();
  const std::lock_guard lock(arrays().mutex);
  arrays().known.emplace(handle, std::move(array));
  return handle;
}

void destroy_array(const void* handle) {
  free_device(known_array(handle).address);
  const std::lock_guard lock(arrays().mutex);
  arrays().known.erase(handle);
}

Array& known_array(const void* handle) {
  const std::lock_guard lock(arrays().mutex);
  const auto found = arrays().known.find(handle);
  require(found != arrays().known.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

}  // namespace wm::cudart

using namespace wm::cudart;

WARPMILL_FACE cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
WARPMILL_FACE cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                            unsigned flags) {
  return answer([&] {
    require(array != nullptr && format != nullptr);
    *array = reinterpret_cast<cudaArray_t>(create_array(*format, extent, flags));
  });
}
WARPMILL_FACE cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                                          size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
WARPMILL_FACE cudaError_t cudaFreeArray(cudaArray_t array) {
  return answer([&] {
    if (array != nullptr) destroy_array(array);
  });
}
WARPMILL_FACE cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                           cudaArray_t handle) {
  return answer([&] {
    const Array& array = known_array(handle);
    if (format != nullptr) *format = array.format;
    if (extent != nullptr) *extent = array.extent;
    if (flags != nullptr) *flags = array.flags;
  });
}
WARPMILL_FACE cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return answer([&] {
    require(format != nullptr);
    *format = known_array(array).format;
  });
}
