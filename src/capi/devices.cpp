// Devices, streams and buffers for C.
#include <span>

#include "capi/boundary.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;
using namespace wm::capi;

namespace {

// With the texts of `info`, which stay where they are.
wm_device_info info_for_c(const DeviceInfo& info, const char* arch) {
  wm_device_info own{};
  own.id = info.id.c_str();
  own.name = info.name.c_str();
  own.arch = arch;
  own.is_virtual = info.kind == DeviceKind::virtual_gpu;
  own.multiprocessors = info.multiprocessors;
  own.memory_bytes = info.memory_bytes;
  own.l2_bytes = info.l2_bytes;
  own.shared_bytes_per_block = info.shared_bytes_per_block;
  return own;
}

// Memory of the caller's on the host.
template <class Byte, class Pointer>
std::span<Byte> bytes_at(Pointer* data, std::size_t bytes) {
  if (bytes > 0) at(static_cast<Byte*>(data), "the memory on the host");
  return {static_cast<Byte*>(data), bytes};
}

}  // namespace

wm_status wm_device_open(const char* id, wm_device** device) {
  return give(device, [&] { return id ? Device::open(id) : Device::best(); });
}
void wm_device_close(wm_device* device) { delete device; }
wm_status wm_device_info_of(const wm_device* device, wm_device_info* info) {
  return guarded([&] {
    const wm_device& own = at(device, "device");
    write(info, info_for_c(own.device.info(), own.arch.c_str()), "info");
  });
}
wm_status wm_device_synchronize(const wm_device* device) {
  return guarded([&] { at(device, "device").device.synchronize(); });
}
wm_status wm_device_count(std::size_t* count) {
  return guarded([&] { at(count, "count") = Device::list().size(); });
}
wm_status wm_device_at(std::size_t index, wm_device_info* info) {
  return guarded([&] {
    const std::vector<DeviceInfo> devices = Device::list();
    if (index >= devices.size())
      throw Error(ErrorCode::not_found, "there are " + std::to_string(devices.size()) + " devices, and none of index " +
                                            std::to_string(index));
    wm_device_info own = info_for_c(devices[index], thread_text(devices[index].arch.name()));
    own.id = thread_text(own.id);
    own.name = thread_text(own.name);
    write(info, own, "info");
  });
}

wm_status wm_stream_create(const wm_device* device, wm_stream** stream) {
  return give(stream, [&] { return Stream(at(device, "device").device); });
}
wm_status wm_stream_wrap(const wm_device* device, void* native, wm_stream** stream) {
  return give(stream, [&] { return Stream::wrap(at(device, "device").device, native); });
}
void wm_stream_free(wm_stream* stream) { delete stream; }
void* wm_stream_native(const wm_stream* stream) { return stream ? stream->stream.native() : nullptr; }
wm_status wm_stream_synchronize(const wm_stream* stream) {
  return guarded([&] { at(stream, "stream").stream.synchronize(); });
}
wm_status wm_stream_upload(const wm_stream* stream, std::uint64_t destination, const void* source, std::size_t bytes) {
  return guarded([&] { at(stream, "stream").stream.upload(destination, bytes_at<const std::byte>(source, bytes)); });
}
wm_status wm_stream_download(const wm_stream* stream, void* destination, std::uint64_t source, std::size_t bytes) {
  return guarded([&] { at(stream, "stream").stream.download(bytes_at<std::byte>(destination, bytes), source); });
}
wm_status wm_stream_copy(const wm_stream* stream, std::uint64_t destination, std::uint64_t source, std::size_t bytes) {
  return guarded([&] { at(stream, "stream").stream.copy(destination, source, bytes); });
}
wm_status wm_stream_fill(const wm_stream* stream, std::uint64_t destination, unsigned char value, std::size_t bytes) {
  return guarded([&] { at(stream, "stream").stream.fill(destination, std::byte{value}, bytes); });
}

wm_status wm_buffer_create(const wm_device* device, std::size_t bytes, wm_buffer** buffer) {
  return give(buffer, [&] { return Buffer(at(device, "device").device, bytes); });
}
void wm_buffer_free(wm_buffer* buffer) { delete buffer; }
std::uint64_t wm_buffer_address(const wm_buffer* buffer) { return buffer ? buffer->buffer.address() : 0; }
std::size_t wm_buffer_bytes(const wm_buffer* buffer) { return buffer ? buffer->buffer.bytes() : 0; }
wm_status wm_buffer_upload(wm_buffer* buffer, std::size_t offset, const void* source, std::size_t bytes) {
  return guarded([&] { at(buffer, "buffer").buffer.upload(bytes_at<const std::byte>(source, bytes), offset); });
}
wm_status wm_buffer_download(const wm_buffer* buffer, std::size_t offset, void* destination, std::size_t bytes) {
  return guarded([&] { at(buffer, "buffer").buffer.download(bytes_at<std::byte>(destination, bytes), offset); });
}
wm_status wm_buffer_name(wm_buffer* buffer, const char* name) {
  return guarded([&] {
    const Buffer& own = at(buffer, "buffer").buffer;
    vgpu::name_memory(own.device(), own.address(), &at(name, "name"));
  });
}

wm_status wm_memory_map(const wm_device* device, void* memory, std::size_t bytes, std::int32_t read_only,
                        const char* name) {
  return guarded([&] {
    const Device& own = at(device, "device").device;
    vgpu::map_memory(own, bytes_at<std::byte>(memory, bytes), read_only != 0);
    if (name) vgpu::name_memory(own, reinterpret_cast<std::uint64_t>(memory), name);
  });
}
wm_status wm_memory_unmap(const wm_device* device, const void* memory) {
  return guarded([&] { vgpu::unmap_memory(at(device, "device").device, static_cast<const std::byte*>(memory)); });
}
