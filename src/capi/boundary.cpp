// Errors, texts and sized structs at the boundary to C.
#include "capi/boundary.hpp"

#include <list>
#include <new>

#include <fmt/format.h>

namespace wm::capi {
namespace {

thread_local std::string error_text;
thread_local std::list<std::string> texts;

// A status for each code, in the same order, after WM_OK.
constexpr wm_status status_of(ErrorCode code) { return static_cast<wm_status>(static_cast<int>(code) + 1); }
static_assert(status_of(ErrorCode::invalid_argument) == WM_INVALID_ARGUMENT &&
              status_of(ErrorCode::unsupported) == WM_UNSUPPORTED && status_of(ErrorCode::not_found) == WM_NOT_FOUND &&
              status_of(ErrorCode::out_of_memory) == WM_OUT_OF_MEMORY && status_of(ErrorCode::compile) == WM_COMPILE &&
              status_of(ErrorCode::launch) == WM_LAUNCH && status_of(ErrorCode::execution) == WM_EXECUTION &&
              status_of(ErrorCode::stopped) == WM_STOPPED && status_of(ErrorCode::io) == WM_IO &&
              status_of(ErrorCode::internal) == WM_INTERNAL);

wm_status remember(wm_status code, const char* text) noexcept {
  try {
    error_text = text;
  } catch (...) {
    error_text.clear();  // no memory even for the words
  }
  return code;
}

}  // namespace

wm_status remember_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return remember(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return remember(WM_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return remember(WM_INTERNAL, error.what());
  } catch (...) {
    return remember(WM_INTERNAL, "an exception of no known type");
  }
}

void forget_texts() noexcept { texts.clear(); }
const char* thread_text(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }

std::size_t size_of(const void* given, std::string_view name) {
  if (!given) throw Error(ErrorCode::invalid_argument, fmt::format("{} is NULL", name));
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > 65536)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} says that it has {} bytes; set its size first: .size = sizeof {}", name, size, name));
  return size;
}

void read_sized(void* own, std::size_t bytes, const void* given, std::string_view name) {
  const std::size_t size = size_of(given, name);
  const auto* data = static_cast<const unsigned char*>(given);
  if (size > bytes && std::any_of(data + bytes, data + size, [](unsigned char byte) { return byte != 0; }))
    throw Error(ErrorCode::unsupported,
                fmt::format("{} has {} bytes, and those after {} ask for what this library, {}, does not know; it is "
                            "older than its caller",
                            name, size, bytes, wm_version()));
  std::memcpy(own, data, std::min(size, bytes));
}

static_assert(static_cast<int>(DType::e5m2) == WM_E5M2 && static_cast<int>(DType::f16) == WM_F16 &&
              static_cast<int>(DType::tf32) == WM_TF32);

View view_of(const Device& device, const wm_view* view, std::string_view name) {
  const wm_view given = read(view, name);
  if (given.dtype < 0 || given.dtype > WM_E5M2)
    throw Error(ErrorCode::invalid_argument, fmt::format("{} has no dtype of number {}", name, int{given.dtype}));
  constexpr std::uint32_t most_dimensions = 16;
  if (given.rank > most_dimensions || (given.rank > 0 && !given.shape))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} has {} dimensions{}; there are at most {}", name, given.rank,
                            given.shape ? "" : " and its shape is NULL", most_dimensions));
  return View(device, given.address, static_cast<DType>(given.dtype), list_of(given.shape, given.rank),
              list_of(given.strides, given.rank));
}

}  // namespace wm::capi

const char* wm_error_text(void) { return wm::capi::error_text.c_str(); }

const char* wm_status_name(wm_status code) {
  if (code == WM_OK) return "ok";
  if (code < WM_OK || code > WM_INTERNAL) return "no such code";
  return wm::name_of(static_cast<wm::ErrorCode>(code - 1)).data();
}

const char* wm_version(void) { return WARPMILL_VERSION; }
