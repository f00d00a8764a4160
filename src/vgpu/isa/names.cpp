// Names that kernels put into comments of their PTX (kernels/warpmill/pipeline/names.cuh): told to whoever observes.
#include "vgpu/isa/names.hpp"

#include <bit>
#include <charconv>
#include <sstream>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu::isa {
namespace {

struct SharedName {
  std::string name;
  Operand address;
  u32 bytes = 0, count = 0;
};

Step role_op(Warp& warp, const Op& op, u32 active) {
  if (Observer* observer = warp.launch().observer) observer->role_named(warp, active, op.as<std::string>());
  return Step::go;
}

Step shared_op(Warp& warp, const Op& op, u32 active) {
  const auto& s = op.as<SharedName>();
  if (Observer* observer = warp.launch().observer)
    observer->shared_named(warp, s.name, warp.source32(s.address)[std::countr_zero(active)], s.bytes, s.count);
  return Step::go;
}

// names.cuh sends characters as three numbers, eight in each, the first in the low byte; PTX by hand may spell the
// name.
std::string read_name(std::istream& words) {
  std::string word, name;
  if (!(words >> word)) return {};
  u64 packed = 0;
  const auto parse = [&] {
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), packed);
    return status == std::errc() && end == word.data() + word.size();
  };
  if (!parse()) return word;
  for (int i = 0; i < 3; ++i) {
    for (; packed != 0; packed >>= 8)
      if (const char c = static_cast<char>(packed & 0xff); c > ' ' && c < 0x7f) name += c;
    if (i < 2 && !(words >> word && parse())) return {};
  }
  return name;
}

}  // namespace

void decode_name(FunctionDecoder& d, const std::string& text) {
  std::istringstream words(text);
  std::string kind, reg;
  words >> kind;
  std::string name = read_name(words);
  if (name.empty()) return;
  if (kind == "role") {
    d.emit(&role_op, Effect::name(), std::move(name));
  } else if (u32 bytes = 0, count = 0; kind == "shared" && words >> reg >> bytes >> count) {
    const auto& registers = d.source_function().registers;
    for (u32 i = 0; i < registers.size(); ++i) {
      if (registers[i].name != reg || ptx::bytes_of(registers[i].type) != 4) continue;
      ptx::Operand operand;
      operand.kind = ptx::OperandKind::reg;
      operand.index = i;
      d.emit(&shared_op, Effect::name(), SharedName{std::move(name), d.observed(operand), bytes, count});
      return;
    }
  }
}

}  // namespace wm::vgpu::isa
