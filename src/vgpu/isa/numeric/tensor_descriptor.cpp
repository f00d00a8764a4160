// What the descriptors of tcgen05 may say, and the words where they say something else.
#include "vgpu/isa/numeric/tensor_descriptor.hpp"

#include <fmt/format.h>

namespace wm::vgpu::numeric {

namespace {

enum : std::uint32_t { d_f16 = 0, d_f32 = 1, d_s32 = 2 };

const char* name_of(TensorKind kind) {
  constexpr const char* names[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return names[static_cast<int>(kind)];
}

// Why A or B cannot be of the type with this code.
std::string type_refusal(TensorKind kind, char operand, std::uint32_t code) {
  const int first = operand == 'A' ? 7 : 10;
  const auto wrong = [&](const char* right) {
    return fmt::format("bits {}-{} give {} the type {}; .kind::{} has {}", first, first + 2, operand, code,
                       name_of(kind), right);
  };
  switch (kind) {
    case TensorKind::f16: return code <= 1 ? "" : wrong("0 for f16 and 1 for bf16");
    case TensorKind::tf32: return code == 2 ? "" : wrong("2 for tf32");
    case TensorKind::i8: return code <= 1 ? "" : wrong("0 for u8 and 1 for s8");
    case TensorKind::f8f6f4:
    case TensorKind::mxf8f6f4:
      return code <= 5 && code != 2 ? "" : wrong("0 for e4m3, 1 for e5m2, 3 for e2m3, 4 for e3m2 and 5 for e2m1");
    case TensorKind::mxf4:
    case TensorKind::mxf4nvf4: return code == 1 ? "" : wrong("1 for e2m1");
  }
  return {};
}

std::string sum_refusal(const InstructionDescriptor& d, TensorKind kind) {
  const std::uint32_t code = d.field(4, 2);
  const auto wrong = [&](const char* right) {
    return fmt::format("bits 4-5 give D the type {}; .kind::{} has {}", code, name_of(kind), right);
  };
  switch (kind) {
    case TensorKind::tf32: return code == d_f32 ? "" : wrong("1 for f32");
    case TensorKind::i8: return code == d_s32 ? "" : wrong("2 for s32");
    case TensorKind::f8f6f4: return code <= d_f32 ? "" : wrong("0 for f16 and 1 for f32");
    case TensorKind::f16:
      if (code > d_f32) return wrong("0 for f16 and 1 for f32");
      if (code == d_f16 && (d.field(7, 3) != 0 || d.field(10, 3) != 0))
        return "products of bf16 are summed in f32 alone";
      return {};
    default: return {};
  }
}

std::string size_refusal(const InstructionDescriptor& d, const TensorForm& form) {
  const int m = d.m(), n = d.n(), blocks = form.blocks;
  if (has_scales(form.kind) && m != 128 && m != 128 * blocks)
    return fmt::format("bits 24-28 give M = {}; with scales M is 128{}", m,
                       blocks == 2 ? " or 256" : " in .cta_group::1");
  if (m != 64 * blocks && m != 128 * blocks)
    return fmt::format("bits 24-28 give M = {}; of .cta_group::{} M is {} or {}", m, blocks, 64 * blocks, 128 * blocks);
  const int step = 8 * blocks;
  if (n < step || n > 256 || n % step != 0)
    return fmt::format("bits 17-22 give N = {}; of .cta_group::{} N is a multiple of {} from {} to 256", n, blocks,
                       step, step);
  if (form.kind == TensorKind::i8 && (blocks == 2 ? n % 32 != 0 : n > 32 && n % 16 != 0))
    return fmt::format("bits 17-22 give N = {}; of .kind::i8 N is {}", n,
                       blocks == 2 ? "a multiple of 32" : "8, 16, 24, 32 or a multiple of 16");
  const bool bytes =
      form.kind == TensorKind::f8f6f4 || form.kind == TensorKind::mxf8f6f4 || form.kind == TensorKind::i8;
  if (bytes && d.b_mn_major() && n % (16 * blocks) != 0)
    return fmt::format("bits 17-22 give N = {}; with an MN-major B of 8-bit elements N is a multiple of {}", n,
                       16 * blocks);
  return {};
}

// Types, orders and sizes.
std::string matrices_refusal(const InstructionDescriptor& d, const TensorForm& form) {
  for (const char operand : {'A', 'B'}) {
    const bool is_a = operand == 'A';
    if (std::string no = type_refusal(form.kind, operand, d.field(is_a ? 7 : 10, 3)); !no.empty()) return no;
    const Element element = is_a ? d.a(form.kind) : d.b(form.kind);
    if ((is_a ? d.a_mn_major() : d.b_mn_major()) && (has_gaps(element) || element == Element::e2m1_pairs))
      return fmt::format("bit {} makes {} MN-major, and elements of fewer than 8 bits are K-major", is_a ? 15 : 16,
                         operand);
  }
  if (d.a_mn_major() && form.a_in_tensor_memory) return "bit 15 makes A MN-major, and in tensor memory A is K-major";
  return {};
}

}  // namespace

std::string InstructionDescriptor::dense_refusal(const TensorForm& form) const {
  const TensorKind kind = form.kind;
  if (field(6, 1) != 0 || field(23, 1) != 0 || field(29, 1) != 0) return "bits 6, 23 and 29 are not zero";
  if (field(30, 2) != 0) return "bits 30-31 give a shift, which only .ws has";
  if (saturate() && kind != TensorKind::i8) return "bit 3 saturates, which only .kind::i8 does";
  if ((negate_a() || negate_b()) && kind == TensorKind::i8) return "bits 13-14 negate, which .kind::i8 does not";
  if (std::string no = matrices_refusal(*this, form); !no.empty()) return no;
  if (kind == TensorKind::f16 && field(7, 3) != field(10, 3))
    return "bits 7-12 mix f16 and bf16: nothing confirms that the chip does";
  return sum_refusal(*this, kind);
}

std::string InstructionDescriptor::scaled_refusal(const TensorForm& form) const {
  if (field(3, 1) != 0 || field(6, 1) != 0) return "bits 3 and 6 are not zero";
  if (field(31, 1) != 0) return "bit 31 asks for 96 elements along k, which is of sm_103a";
  if (std::string no = matrices_refusal(*this, form); !no.empty()) return no;
  const int scales = form.scales();
  if (!scales_are_ue8m0() && scales != 4)
    return fmt::format("bit 23 makes the scales ue4m3; {} for a row are ue8m0", scales);
  for (const char operand : {'A', 'B'})
    if (const std::uint32_t first = operand == 'A' ? a_scale_byte() : b_scale_byte();
        first % static_cast<std::uint32_t>(scales) != 0)
      return fmt::format("bits {} let {}'s scales begin at byte {} of a cell; {} for a row begin at {}",
                         operand == 'A' ? "29-30" : "4-5", operand, first, scales, scales == 2 ? "0 or 2" : "0");
  return {};
}

std::string InstructionDescriptor::refusal(const TensorForm& form) const {
  const auto why = [&]() -> std::string {
    if (field(2, 1) != 0) return "bit 2 is set: sparse products are not imitated";
    if (field(0, 2) != 0) return "bits 0-1 select sparse metadata of a product that is not sparse";
    if (std::string no = has_scales(form.kind) ? scaled_refusal(form) : dense_refusal(form); !no.empty()) return no;
    return size_refusal(*this, form);
  }();
  return why.empty() ? why : fmt::format("the instruction descriptor {:#010x}: {}", bits, why);
}

Element InstructionDescriptor::element(TensorKind kind, std::uint32_t code) {
  switch (kind) {
    case TensorKind::f16: return code == 0 ? Element::f16 : Element::bf16;
    case TensorKind::tf32: return Element::tf32;
    case TensorKind::f8f6f4:
    case TensorKind::mxf8f6f4:
      return code == 0   ? Element::e4m3
             : code == 1 ? Element::e5m2
             : code == 3 ? Element::e2m3
             : code == 4 ? Element::e3m2
                         : Element::e2m1;
    case TensorKind::i8: return code == 0 ? Element::u8 : Element::s8;
    case TensorKind::mxf4:
    case TensorKind::mxf4nvf4: return Element::e2m1_pairs;
  }
  return Element::f16;
}

TensorDescriptor TensorDescriptor::decode(std::uint64_t bits) {
  return {MatrixDescriptor::decode(bits), (bits >> 61 & 7) == 1};
}

std::string TensorDescriptor::refusal(std::uint64_t bits, Element element, bool mn_major) {
  const auto field = [&](int from, int width) { return bits >> from & ((std::uint64_t{1} << width) - 1); };
  const auto why = [&]() -> std::string {
    if (field(46, 3) > 1) return fmt::format("bits 46-48 are {} where tcgen05 has 1", field(46, 3));
    if (field(14, 2) != 0 || field(30, 2) != 0 || field(53, 8) != 0) return "bits 14-15, 30-31 and 53-60 are not zero";
    if (field(49, 3) != 0) return fmt::format("bits 49-51 give a base offset of {}: only 0 is confirmed", field(49, 3));
    if (field(52, 1) != 0) return "bit 52 makes the leading offset an address, which is of sm_103a";
    const auto swizzle = field(61, 3);
    if (swizzle == 3 || swizzle == 5 || swizzle == 7)
      return fmt::format(
          "bits 61-63 are {}; swizzles are 0 none, 1 128 bytes in atoms of 32, 2 128 bytes, 4 64 bytes, 6 32 bytes",
          swizzle);
    const bool wide = swizzle == 1, turned_words = mn_major && element == Element::tf32;
    if (wide && !turned_words) return "bits 61-63 swizzle in atoms of 32 bytes, which only MN-major tf32 is read in";
    if (turned_words && !wide)
      return "MN-major tf32 is read only with the swizzle of 128 bytes in atoms of 32 (bits 61-63 = 1)";
    return {};
  }();
  return why.empty() ? why : fmt::format("descriptor {:#018x}: {}", bits, why);
}

}  // namespace wm::vgpu::numeric
