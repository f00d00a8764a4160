// A GEMM's kind: what is computed. All of it is part of what is compiled; m, n and k are not. Plain C++, shared by host
// and device.
#pragma once

#include "warpmill/gemm/block_format.h"
#include "warpmill/shared_types.h"

namespace wm {

constexpr int element_bytes(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:
    case DType::e4m3:
    case DType::e5m2: return 1;
    case DType::u16:
    case DType::i16:
    case DType::f16:
    case DType::bf16: return 2;
    case DType::u64:
    case DType::i64:
    case DType::f64: return 8;
    default: return 4;
  }
}

constexpr bool small_float(DType dtype) { return dtype == DType::e4m3 || dtype == DType::e5m2; }

// Who brings the operands into shared memory.
enum class Producer : unsigned char {
  tma,       // the copy engine
  copies16,  // threads, with cp.async of 16, 8 or 4 bytes: rows that do not start where the engine can read
  copies8,
  copies4,
  elements,  // threads, element by element: odd rows of small types, and what must be transposed or rounded on the way
};
constexpr int copy_bytes(Producer producer) {
  return producer == Producer::copies16 ? 16 : producer == Producer::copies8 ? 8 : 4;
}

// The function that D's elements go through last. `expression`: the caller's own.
enum class Activation : unsigned char { none, relu, gelu_tanh, gelu_erf, silu, expression };

// What happens to a sum on its way to D. The parts that are there are known when the kernel is compiled, their values
// are arguments.
struct EpilogueFacts {
  bool alpha = false;         // a factor other than 1
  bool residual = false;      // + beta C
  bool row_scale = false;     // a factor for each row (or one for all)
  bool column_scale = false;  // a factor for each column (or one for all)
  bool row_bias = false;      // + a value for each row
  bool column_bias = false;   // + a value for each column
  bool amax = false;          // the largest magnitude, before D's own scale
  bool d_scale = false;       // a last factor, before rounding
  Activation activation = Activation::none;
  DType c = DType::bf16;    // of the residual
  DType bias = DType::f32;  // of both biases

  // Every field once, with its name: what is compiled is written from this list.
  template <class Facts, class Visit>
  static constexpr void each_field(Facts& facts, Visit&& visit) {
    visit("alpha", facts.alpha);
    visit("residual", facts.residual);
    visit("row_scale", facts.row_scale);
    visit("column_scale", facts.column_scale);
    visit("row_bias", facts.row_bias);
    visit("column_bias", facts.column_bias);
    visit("amax", facts.amax);
    visit("d_scale", facts.d_scale);
    visit("activation", facts.activation);
    visit("c", facts.c);
    visit("bias", facts.bias);
  }

  constexpr bool operator==(const EpilogueFacts&) const = default;
  constexpr EpilogueFacts transposed() const {
    EpilogueFacts facts = *this;
    facts.row_scale = column_scale, facts.column_scale = row_scale;
    facts.row_bias = column_bias, facts.column_bias = row_bias;
    return facts;
  }
  constexpr bool none() const { return *this == EpilogueFacts{.c = c, .bias = bias}; }
};

struct GemmKind {
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  // Of operands with block scales: `a` and `b` are u8 then, bytes as they lie in shared memory, and k counts these.
  BlockFormat a_format = BlockFormat::none, b_format = BlockFormat::none;
  Major a_major = Major::k, b_major = Major::k;
  bool d_columns = false;  // D's columns are contiguous instead of its rows
  Producer a_producer = Producer::tma, b_producer = Producer::tma;
  bool d_scattered = false;  // D is no place the copy engine can write
  bool promote = false;      // 8-bit floats: add the tensor cores' sums of 128 products in full precision
  bool listed = false;       // the matrices of a batch lie anywhere: ListedGemmArguments
  EpilogueFacts epilogue{};

  template <class Kind, class Visit>
  static constexpr void each_field(Kind& kind, Visit&& visit) {
    visit("a", kind.a);
    visit("b", kind.b);
    visit("d", kind.d);
    visit("a_format", kind.a_format);
    visit("b_format", kind.b_format);
    visit("a_major", kind.a_major);
    visit("b_major", kind.b_major);
    visit("d_columns", kind.d_columns);
    visit("a_producer", kind.a_producer);
    visit("b_producer", kind.b_producer);
    visit("d_scattered", kind.d_scattered);
    visit("promote", kind.promote);
    visit("listed", kind.listed);
    visit("epilogue", kind.epilogue);
  }

  constexpr bool operator==(const GemmKind&) const = default;

  constexpr int operand_bytes() const { return element_bytes(a); }
  constexpr bool integer() const { return a == DType::i8; }
  constexpr bool scaled() const { return a_format != BlockFormat::none; }
  // Two elements of 4 bits to a byte of shared memory; with other elements each has a byte of its own.
  constexpr bool packed() const { return a_format == b_format && scaled() && facts_of(a_format).bits == 4; }
  // Blocks of scales along k that a stage takes.
  constexpr int scale_blocks() const { return !packed() ? 1 : a_format == BlockFormat::nvfp4 ? 4 : 2; }
  constexpr bool by_tma() const { return a_producer == Producer::tma && b_producer == Producer::tma; }
  constexpr bool by_elements() const { return a_producer == Producer::elements && b_producer == Producer::elements; }
  // Where the copy engine reads and writes, copies of 16 bytes do too.
  constexpr GemmKind without_tma() const {
    GemmKind kind = *this;
    if (a_producer == Producer::tma) kind.a_producer = Producer::copies16;
    if (b_producer == Producer::tma) kind.b_producer = Producer::copies16;
    return kind;
  }
  // Columns leave whole in 16-bit types only.
  constexpr bool store_by_threads() const { return d_scattered || (d_columns && element_bytes(d) != 2); }
  // Registers of a thread that finishes sums; found by compiling the largest tiles with each part.
  constexpr int finish_registers() const {
    const EpilogueFacts& e = epilogue;
    const bool function = e.activation != Activation::none && e.activation != Activation::relu;
    const bool wide = element_bytes(d) == 1 && !e.none();  // twice as many values are made at a time
    const int parts = 4 * (store_by_threads() || wide) + 3 * e.residual + e.row_scale + e.column_scale + e.row_bias +
                      e.column_bias + function + (e.amax || e.d_scale);
    return 8 * (parts < 8 ? parts : 8);
  }
  // The same product the other way round: D^T = B^T A^T.
  constexpr GemmKind transposed() const {
    GemmKind kind = *this;
    kind.a = b, kind.b = a;
    kind.a_format = b_format, kind.b_format = a_format;
    kind.a_major = b_major, kind.b_major = a_major;
    kind.a_producer = b_producer, kind.b_producer = a_producer;
    kind.d_columns = !d_columns;
    kind.epilogue = epilogue.transposed();
    return kind;
  }
};

}  // namespace wm
