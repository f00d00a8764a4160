// Compiling device code of the tests with the layer's headers, as a user of the library would.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "warpmill/error.hpp"
#include "warpmill/jit.hpp"

namespace wm::test {

inline const std::filesystem::path source_folder = WARPMILL_SOURCE;
inline const std::filesystem::path device_folder = WARPMILL_TEST_DATA;

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::io, "cannot read " + path.string());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline jit::Program compile(std::string name, std::string text, std::string_view arch) {
  jit::Options options;
  options.arch = Architecture::parse(arch);
  options.include_folders = {device_folder};
  return jit::compile({std::move(name), std::move(text)}, options);
}

}  // namespace wm::test
