// golden_alu: ALU instructions, each a kernel of plain PTX over a fixed set of inputs.
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "golden/alu/variant.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/module.hpp"

namespace {

using namespace wm;
using golden::Variant;

std::vector<std::byte> inputs_of(const Variant& variant, std::size_t operand) {
  const std::size_t size = static_cast<std::size_t>(golden::bits_of(variant.inputs[operand])) / 8;
  std::vector<std::byte> bytes(variant.count() * size);
  for (std::size_t i = 0; i < variant.count(); ++i) {
    const std::uint64_t value = variant.input(operand, i);
    std::memcpy(bytes.data() + i * size, &value, size);
  }
  return bytes;
}

golden::Results run(const Variant& variant, const Device& device) {
  constexpr std::uint32_t threads = 128;
  const Module module = Module::load_ptx(device, golden::module_of(std::span(&variant, 1)), variant.name);
  golden::Results results{variant.result, std::vector<std::byte>(variant.count() * size_of(variant.result))};
  Buffer out(device, results.bytes.size());
  std::vector<Buffer> inputs;
  std::vector<std::uint64_t> addresses{out.address()};
  for (std::size_t i = 0; i < variant.inputs.size(); ++i) {
    inputs.push_back(Buffer::of(device, std::span<const std::byte>(inputs_of(variant, i))));
    addresses.push_back(inputs.back().address());
  }
  std::vector<Argument> arguments;
  for (const std::uint64_t& address : addresses)
    arguments.push_back({&address, sizeof address, ParameterKind::pointer, nullptr});
  const Stream stream(device);
  const LaunchConfig config{
      .grid = {static_cast<std::uint32_t>(variant.count()) / threads}, .block = {threads}, .cluster = {}};
  launch(stream, module.kernel("variant0"), config, std::span<const Argument>(arguments));
  stream.synchronize();
  out.download(results.bytes);
  return results;
}

golden::Case case_of(Variant variant) {
  const auto shared = std::make_shared<const Variant>(std::move(variant));
  const auto inputs = [shared](std::size_t index) {
    std::string text;
    for (std::size_t i = 0; i < shared->inputs.size(); ++i)
      text += fmt::format("{}{:#x}", i ? ", " : "", shared->input(i, index));
    return text;
  };
  const auto work = [shared](const Device& device) { return run(*shared, device); };
  return {shared->name, shared->bound, work, shared->bound.exact() ? std::size_t{32} : std::size_t{512}, inputs};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<golden::Case> cases;
  for (Variant& variant : golden::every_variant()) cases.push_back(case_of(std::move(variant)));
  return golden::run_golden(argc, argv, cases);
}
