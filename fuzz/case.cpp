// Case files: any text is refused with its place, or is a case whose small buffers can be filled and compared and whose
// tensor maps can be judged. Nothing is launched. Relative paths start at the working folder.
#include "case/case.hpp"

#include <string_view>

#include "case/compare.hpp"
#include "case/fill.hpp"
#include "case/product.hpp"
#include "mutate.hpp"
#include "promise.hpp"
#include "tensor_map/rules.hpp"
#include "warpmill/error.hpp"

namespace {

using namespace wm::cases;
using wm::fuzz::promise;

constexpr std::size_t small =
    1 << 12;  // elements, and bytes of memory: enough for every path, quick enough for many runs

// The way of a buffer through a run: filled, to memory, back, compared with itself.
void check(const Layout& layout, const Fill& fill) {
  if (layout.elements > small || layout.bytes > small) return;
  std::vector<std::byte> elements;
  try {
    elements = fill_elements(fill, layout);
  } catch (const wm::Error& error) {
    promise(std::holds_alternative<NpyFile>(fill), "only a file can fail to fill a buffer", error.what());
    return wm::fuzz::promise_clean(error.what());
  }
  promise(elements.size() == layout.elements * wm::size_of(layout.dtype), "a fill gives every element");
  const auto memory = to_memory(layout, elements);
  promise(memory.size() == layout.bytes, "memory is as large as its layout says");
  const auto back = from_memory(layout, memory);
  promise(back.size() == elements.size(), "as many elements come back");
  if (layout.dense()) promise(back == elements, "elements come back as they were");
  promise(compare(layout, back, layout.dtype, back, {.nan_equal = true}).holds(), "a buffer equals itself");
}

// A product of what the buffers hold has an element for each of the result's.
void check(const Case& description, const Layout& result, const Product& product) {
  std::vector<std::vector<std::byte>> elements;
  for (const BufferSpec& buffer : description.buffers) {
    if (buffer.layout.elements > small || std::holds_alternative<NpyFile>(buffer.fill)) return;
    elements.push_back(fill_elements(buffer.fill, buffer.layout));
  }
  promise(product_elements(product, description.buffers, elements).size() == result.elements * sizeof(double),
          "a product gives every element");
}

void check(const ArgumentSpec& argument, const wm::Architecture& arch) {
  if (const auto* map = std::get_if<TensorMapArgument>(&argument.value)) {
    if (const auto violation = wm::tensor_map::first_refusal(map->map, arch))
      wm::fuzz::promise_clean(violation->refusal());
    wm::fuzz::promise_clean(map->map.describe(arch));
  } else if (const auto* all = std::get_if<StructArgument>(&argument.value)) {
    for (const ArgumentSpec& member : all->members) check(member, arch);
  } else if (const auto* pointer = std::get_if<PointerArgument>(&argument.value)) {
    check(*pointer->to, arch);
  }
}

void check(const Case& description) {
  for (const BufferSpec& buffer : description.buffers) check(buffer.layout, buffer.fill);
  for (const ArgumentSpec& argument : description.arguments)
    check(argument, description.arch.value_or(wm::Architecture{9, 0, true}));
  for (const OutputSpec& output : description.outputs) {
    if (!output.expected) continue;
    const Layout& layout = description.buffers[output.buffer].layout;
    if (const auto* fill = std::get_if<Fill>(&*output.expected)) check(layout, *fill);
    if (const auto* product = std::get_if<Product>(&*output.expected)) check(description, layout, *product);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check(read_case(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json", ""));
  } catch (const wm::Error& error) {
    promise(error.code() == wm::ErrorCode::invalid_argument, "a wrong case is an invalid argument", error.what());
    promise(std::string_view(error.what()).starts_with("fuzz.json:"), "a refusal names its place", error.what());
    wm::fuzz::promise_clean(error.what());
  }
  return 0;
}
