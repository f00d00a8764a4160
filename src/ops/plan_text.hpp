// A plan as C++ text, for a kernel's template argument: written from the plan's own list of fields.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "warpmill/attention/plan.h"
#include "warpmill/dtype.hpp"
#include "warpmill/gemm/plan.h"

namespace wm::ops {

// What an enumeration is called in a kernel. One that is not here does not compile.
inline std::string_view type_name(DType) { return "wm::DType"; }
inline std::string_view type_name(Alibi) { return "wm::Alibi"; }
inline std::string_view type_name(Major) { return "wm::Major"; }
inline std::string_view type_name(BlockFormat) { return "wm::BlockFormat"; }
inline std::string_view type_name(Producer) { return "wm::Producer"; }
inline std::string_view type_name(Activation) { return "wm::Activation"; }
inline std::string_view type_name(TensorInstruction) { return "wm::TensorInstruction"; }
inline std::string_view type_name(TileSource) { return "wm::TileSource"; }
inline std::string_view type_name(Pipelining) { return "wm::Pipelining"; }

inline std::string cpp_text(bool value) { return value ? "true" : "false"; }
template <class T>
std::string cpp_text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(type_name(value)) + "(" + std::to_string(static_cast<int>(value)) + ")";
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else {
    std::string text = "{";
    T::each_field(value, [&](std::string_view name, const auto& field) {
      if (text.size() > 1) text += ", ";
      text.append(".").append(name).append(" = ").append(cpp_text(field));
    });
    return text + "}";
  }
}

}  // namespace wm::ops
