// Names that kernels put into comments of their PTX (kernels/warpmill/pipeline/names.cuh): told to whoever observes.
#include "vgpu/isa/names.hpp"

#include <bit>
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

}  // namespace

void decode_name(FunctionDecoder& d, const std::string& text) {
  std::istringstream words(text);
  std::string kind, name, reg;
  words >> kind >> name;
  if (kind == "role" && !name.empty()) {
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
