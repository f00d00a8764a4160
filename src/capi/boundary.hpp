// Between C and C++: handles, exceptions to codes and words, structs that carry their size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/error.hpp"
#include "warpmill/warpmill.h"

struct wm_device {
  explicit wm_device(wm::Device opened) : device(std::move(opened)), arch(device.info().arch.name()) {}
  wm::Device device;
  std::string arch;  // for C
};
struct wm_stream {
  wm::Stream stream;
};
struct wm_buffer {
  wm::Buffer buffer;
};

namespace wm::capi {

// The code of the exception that is being handled; its words become the thread's.
wm_status remember_failure() noexcept;
// The texts that the thread got from its last call go.
void forget_texts() noexcept;
// Valid until the thread's next call.
const char* thread_text(std::string text);

// Runs `body`, and no exception leaves.
template <class Body>
wm_status guarded(Body&& body) noexcept {
  try {
    forget_texts();
    body();
    return WM_OK;
  } catch (...) {
    return remember_failure();
  }
}

// What a pointer of the caller's points to; refused where it is NULL.
template <class T>
T& at(T* pointer, std::string_view name) {
  if (!pointer) throw Error(ErrorCode::invalid_argument, std::string(name) + " is NULL");
  return *pointer;
}

// Of `given`, `bytes` long in this library, as much as both know; the rest stays zero. Refused where the caller's is
// longer and says more than this library knows.
void read_sized(void* own, std::size_t bytes, const void* given, std::string_view name);
template <class T>
T read(const T* given, std::string_view name) {
  T own{};
  read_sized(&own, sizeof own, given, name);
  return own;
}

// The bytes that the struct at `given` says it has; refused where none can have so few or so many.
std::size_t size_of(const void* given, std::string_view name);

// Writes a result, as much of it as the caller has room for; what a newer caller's has besides becomes zero.
template <class T>
void write(T* result, T own, std::string_view name) {
  own.size = size_of(result, name);
  std::memcpy(result, &own, std::min(own.size, sizeof own));
  if (own.size > sizeof own) std::memset(reinterpret_cast<char*>(result) + sizeof own, 0, own.size - sizeof own);
}

// A handle for the caller, made by `make`.
template <class Handle, class Make>
wm_status give(Handle** result, Make&& make) noexcept {
  return guarded([&] {
    Handle*& place = at(result, "the place of the result");
    place = std::make_unique<Handle>(Handle{make()}).release();
  });
}

// The caller's view, on `device`.
View view_of(const Device& device, const wm_view* view, std::string_view name);

inline std::vector<std::int64_t> list_of(const std::int64_t* numbers, std::size_t count) {
  return numbers ? std::vector<std::int64_t>(numbers, numbers + count) : std::vector<std::int64_t>();
}

}  // namespace wm::capi
