// .npy files: any bytes are refused in words, or are an array that every dtype can be made from or refuses.
#include "case/npy.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "promise.hpp"
#include "warpmill/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using wm::fuzz::promise;
  const auto refused = [](const wm::Error& error) {
    promise(error.code() == wm::ErrorCode::invalid_argument, "a wrong file is an invalid argument", error.what());
    wm::fuzz::promise_clean(error.what());
  };
  wm::cases::NpyArray array;
  try {
    array = wm::cases::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
  } catch (const wm::Error& error) {
    refused(error);
    return 0;
  }
  for (int dtype = 0; dtype <= int(wm::DType::e5m2); ++dtype) try {
      const auto elements = wm::cases::convert(array, wm::DType(dtype));
      promise(elements.size() / wm::size_of(wm::DType(dtype)) == array.data.size() / array.width,
              "every element is converted");
    } catch (const wm::Error& error) {
      refused(error);
    }
  return 0;
}
