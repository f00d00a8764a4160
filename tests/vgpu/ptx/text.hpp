// Short PTX modules for the tests: a head, and around statements a kernel.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "vgpu/ptx/module.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::ptx {

inline std::string module_text(std::string_view body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + std::string(body);  // the body starts in line 4
}

// The statements start in line 6. Declares %r, %rd, %f, %p with 10 each.
inline std::string kernel_text(std::string_view statements) {
  return module_text(
      ".visible .entry kernel(.param .u64 out, .param .align 8 .b8 arguments[24]) {\n"
      ".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .reg .pred %p<10>;\n" +
      std::string(statements) + "\n}\n");
}

inline Module read_module(std::string_view body) { return read(module_text(body), "test.ptx"); }

inline Function read_kernel(std::string_view statements) {
  return read(kernel_text(statements), "test.ptx").functions.at(0);
}

// The message with which a text is refused; a text that is not refused fails the test.
inline std::string refusal(const std::string& text) {
  try {
    read(text, "test.ptx");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile);
    return error.what();
  }
  ADD_FAILURE() << "was read without complaint:\n" << text;
  return "";
}

inline std::string module_refusal(std::string_view body) { return refusal(module_text(body)); }
inline std::string kernel_refusal(std::string_view statements) { return refusal(kernel_text(statements)); }

inline const Operand& operand(const Function& function, std::size_t instruction, std::size_t index) {
  return function.instructions.at(instruction).operands.at(index);
}

inline std::string register_name(const Function& function, const Operand& operand) {
  EXPECT_EQ(operand.kind, OperandKind::reg);
  return function.registers.at(operand.index).name;
}

}  // namespace wm::vgpu::ptx
