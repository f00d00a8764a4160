// mma.sync, ldmatrix, stmatrix, movmatrix: matrices spread over the registers of one warp.
#include "vgpu/isa/numeric/matrix.hpp"

#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_product.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using numeric::Element;
using numeric::Sum;
using ptx::OperandKind;
using ptx::Type;

namespace {

template <class W>
std::vector<const W*> source_rows(const Warp& warp, const std::vector<Operand>& operands) {
  std::vector<const W*> rows;
  rows.reserve(operands.size());
  for (Operand o : operands) rows.push_back(source_row<W>(warp, o));
  return rows;
}
template <class W>
std::vector<W*> destination_rows(Warp& warp, const std::vector<Operand>& operands) {
  std::vector<W*> rows;
  rows.reserve(operands.size());
  for (Operand o : operands) rows.push_back(destination_row<W>(warp, o));
  return rows;
}

template <class W, class Multiply>
void with_rows(Warp& warp, const Product& p, const Multiply& multiply) {
  multiply(destination_rows<W>(warp, p.d), source_rows<W>(warp, p.a), source_rows<W>(warp, p.b),
           source_rows<W>(warp, p.c));
}

}  // namespace

std::optional<Element> element_of(Type type) {
  switch (type) {
    case Type::f16: return Element::f16;
    case Type::bf16: return Element::bf16;
    case Type::tf32: return Element::tf32;
    case Type::e4m3: return Element::e4m3;
    case Type::e5m2: return Element::e5m2;
    case Type::s8: return Element::s8;
    case Type::u8: return Element::u8;
    default: return std::nullopt;
  }
}

std::optional<Sum> sum_of(Type type) {
  switch (type) {
    case Type::f16: return Sum::f16;
    case Type::f32: return Sum::f32;
    case Type::s32: return Sum::s32;
    default: return std::nullopt;
  }
}

void refuse_foreign_matrices(FunctionDecoder& d) {
  for (const char* name : {"sp", "sp::ordered_metadata"})
    if (d.modifiers.has(name)) d.refuse("sparse matrices are not supported");
  if (d.modifiers.has("b1")) d.refuse("matrices of .b1 are not supported");
}

void multiply(Warp& warp, const Product& p) {
  switch (p.kind) {
    case Product::Kind::f64:
      with_rows<u64>(warp, p, [&](const auto& d, const auto& a, const auto& b, const auto& c) {
        numeric::mma_f64(p.shape.m, p.shape.k, d, a, b, c);
      });
      break;
    case Product::Kind::quad:
      with_rows<u32>(warp, p, [&](const auto&... rows) { numeric::mma_m8n8k4_f16(p.quad, rows...); });
      break;
    case Product::Kind::nibbles:
      with_rows<u32>(warp, p, [&](const auto&... rows) { numeric::mma_nibbles(p.nibbles, rows...); });
      break;
    case Product::Kind::plain: {
      numeric::MmaShape shape = p.shape;
      if (warp.launch().options.chip_sums && shape.d != Sum::s32)
        shape.as_chip =
            warp.launch().chip.arch.major >= 9 ? numeric::hopper_mma_sum(shape.a) : numeric::ampere_mma_sum(shape.a);
      with_rows<u32>(warp, p, [&](const auto&... rows) { numeric::mma(shape, rows...); });
      break;
    }
  }
}

void take_sync_aligned(FunctionDecoder& d) {
  if (!d.modifiers.take("sync") || !d.modifiers.take("aligned")) d.refuse("it is .sync.aligned");
}

namespace {

Step mma_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  multiply(warp, op.as<Product>());
  return Step::go;
}

// Shapes of matrices in memory, as ldmatrix and stmatrix name them.
enum class TileShape : u8 { m8n8, m8n16, m16n16, m16n8 };

struct Tiles {
  Address address;
  AddressSpace space = AddressSpace::generic;
  bool transposed = false;
  u32 row_bytes = 16;   // that are read or written
  u32 packed_bits = 0;  // of elements that are spread over bytes, sixteen of a row; 0: there are none
  std::vector<Operand> registers;

  // Each register has eight rows of memory, each lane the address of one.
  u32 lanes() const { return registers.size() == 4 ? all_lanes : (1u << 8 * registers.size()) - 1; }
};

LaneBytes tile_rows(Warp& warp, const Op& op, const Tiles& t, AccessKind kind) {
  LaneAddresses addresses;
  LaneBytes bytes;
  lane_addresses(warp, t.address, addresses);
  resolve(warp, op, t.space, addresses, t.row_bytes, 16, kind, t.lanes(), bytes);
  return bytes;
}

// Row `row` of those that all lanes name, as sixteen bytes.
void read_row(const Tiles& t, const LaneBytes& bytes, std::size_t row, void* to) {
  std::memcpy(to, bytes.at[row], t.row_bytes);
  if (t.packed_bits != 0) numeric::spread_over_bytes(to, t.packed_bits);
}

Step load_matrix_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Tiles>();
  const LaneBytes bytes = tile_rows(warp, op, t, AccessKind::read);
  for (std::size_t i = 0; i < t.registers.size(); ++i) {
    numeric::Matrix8x8 matrix;
    for (std::size_t r = 0; r < 8; ++r) read_row(t, bytes, 8 * i + r, matrix.rows[r]);
    numeric::matrix_to_register(matrix, t.transposed, warp.row32(t.registers[i]));
  }
  return Step::go;
}

Step load_bytes_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Tiles>();
  const LaneBytes bytes = tile_rows(warp, op, t, AccessKind::read);
  for (std::size_t i = 0; i < t.registers.size(); i += 2) {
    numeric::Matrix16x16 matrix;
    for (std::size_t r = 0; r < 16; ++r) read_row(t, bytes, 8 * i + r, matrix.rows[r]);
    numeric::turned_to_registers(matrix, warp.row32(t.registers[i]), warp.row32(t.registers[i + 1]));
  }
  return Step::go;
}

Step store_matrix_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Tiles>();
  const LaneBytes bytes = tile_rows(warp, op, t, AccessKind::write);
  for (std::size_t i = 0; i < t.registers.size(); ++i) {
    const numeric::Matrix8x8 matrix = numeric::register_to_matrix(warp.source32(t.registers[i]), t.transposed);
    for (std::size_t r = 0; r < 8; ++r) std::memcpy(bytes.at[8 * i + r], matrix.rows[r], 16);
  }
  return Step::go;
}

Step store_bytes_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Tiles>();
  const LaneBytes bytes = tile_rows(warp, op, t, AccessKind::write);
  for (std::size_t i = 0; i < t.registers.size(); ++i) {
    const numeric::Columns16x8 matrix = numeric::register_to_columns(warp.source32(t.registers[i]));
    for (std::size_t r = 0; r < 8; ++r) std::memcpy(bytes.at[8 * i + r], matrix.columns[r], 16);
  }
  return Step::go;
}

Step move_matrix_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  numeric::transpose_register(warp.source32(op.a), warp.row32(op.d));
  return Step::go;
}

AddressSpace take_matrix_space(FunctionDecoder& d) {
  const AddressSpace space = take_space(d);
  if (space != AddressSpace::generic && space != AddressSpace::shared) d.refuse("its matrices lie in shared memory");
  return space;
}

TileShape take_tile_shape(FunctionDecoder& d, bool load) {
  const int shape = d.modifiers.take_one_of({"m8n8", "m8n16", "m16n16", "m16n8"});
  if (shape == static_cast<int>(TileShape::m8n8)) return TileShape::m8n8;
  if (d.chip().arch.major < 10) d.refuse("its shape is .m8n8 on this architecture");
  if (shape < 0 || load == (shape == static_cast<int>(TileShape::m16n8)))
    d.refuse(load ? "its shapes are .m8n8, .m8n16 and .m16n16" : "its shapes are .m8n8 and .m16n8");
  const Architecture& target = d.program().module().target;
  if (!(target.specific || target.family))
    d.refuse(fmt::format("matrices of 8 bits and fewer are of sm_100a, sm_120a and their families; this is code for {}",
                         target.name()));
  return static_cast<TileShape>(shape);
}

// Sixteen elements of 4 or 6 bits lie together at the start of 16 bytes and get a byte each, in its low bits.
void take_packed_type(FunctionDecoder& d, Tiles& t) {
  const bool four = d.modifiers.has("b4x16_p64");
  if (!d.modifiers.take("b8x16") || !d.modifiers.take(four ? "b4x16_p64" : "b6x16_p32"))
    d.refuse("its types are .b8x16.b4x16_p64 and .b8x16.b6x16_p32");
  t.packed_bits = four ? 4 : 6;
  t.row_bytes = 2 * t.packed_bits;
}

struct DecodedTiles {
  TileShape shape = TileShape::m8n8;
  Tiles tiles;
};

DecodedTiles decode_tiles(FunctionDecoder& d, const ptx::Operand& address, const ptx::Operand& registers, bool load) {
  DecodedTiles decoded;
  Tiles& t = decoded.tiles;
  take_sync_aligned(d);
  const TileShape shape = decoded.shape = take_tile_shape(d, load);
  const bool bytes = shape == TileShape::m16n16 || shape == TileShape::m16n8;
  const int count = d.modifiers.take_one_of({"x1", "x2", "x4"});
  if (count < 0 || (count == 2 && shape == TileShape::m16n16))
    d.refuse(shape == TileShape::m16n16 ? "it needs .x1 or .x2" : "it needs .x1, .x2 or .x4");
  t.transposed = shape != TileShape::m8n16 && d.modifiers.take("trans");
  if (bytes && !t.transposed) d.refuse("matrices of bytes are .trans");
  t.space = take_matrix_space(d);
  if (shape == TileShape::m8n16 || d.modifiers.has("b8x16"))
    take_packed_type(d, t);
  else if (d.modifiers.take_type() != (bytes ? Type::b8 : Type::b16))
    d.refuse(bytes ? "its type is .b8" : "its type is .b16");
  if (t.packed_bits != 0 && (shape == TileShape::m8n8 || !load))
    d.refuse("elements of 4 and 6 bits are loaded, as .m8n16 and .m16n16");
  d.expect_operands(2);
  t.address = d.address(address, t.space);
  t.registers = load ? d.destinations(registers, Type::b32) : d.sources(registers, Type::b32);
  const std::size_t needed = std::size_t{1} << (count + (shape == TileShape::m16n16 ? 1 : 0));
  if (t.registers.size() != needed)
    d.refuse(
        fmt::format("{} registers are named for {} matrices, which take {}", t.registers.size(), 1 << count, needed));
  return decoded;
}

void check_count(FunctionDecoder& d, const char* what, std::size_t given, int needed) {
  if (static_cast<int>(given) != needed)
    d.refuse(fmt::format("operand {} has {} registers, not {}", what, needed, given));
}

void read_operands(FunctionDecoder& d, Product& p, Type word_d, Type word_a, Type word_b, Type word_c) {
  d.expect_operands(4);
  p.a = d.sources(d.operand(1), word_a);
  p.b = d.sources(d.operand(2), word_b);
  p.c = d.sources(d.operand(3), word_c);
  p.d = d.destinations(d.operand(0), word_d);
}

// Integers of four bits, which are no type elsewhere.
void multiply_nibbles(FunctionDecoder& d, Product p) {
  const auto take_nibble = [&] {
    const bool is_signed = d.modifiers.first() == "s4";
    if (!d.modifiers.take(is_signed ? "s4" : d.modifiers.first() == "u4" ? "u4" : ""))
      d.refuse("A and B have types that do not go together");
    return is_signed;
  };
  numeric::NibbleMmaShape& shape = p.nibbles;
  shape = {p.shape.m, p.shape.n, p.shape.k, true, true, p.shape.saturate};
  if (const std::string why = shape.refusal(); !why.empty()) d.refuse(why);
  const Type sum = d.modifiers.take_type();
  shape.a_signed = take_nibble();
  shape.b_signed = take_nibble();
  if (sum != Type::s32 || d.modifiers.take_type() != Type::s32)
    d.refuse("integers are summed in s32, and nothing else is");
  read_operands(d, p, Type::b32, Type::b32, Type::b32, Type::b32);
  check_count(d, "A", p.a.size(), shape.a_registers());
  check_count(d, "B", p.b.size(), shape.b_registers());
  check_count(d, "C", p.c.size(), shape.c_registers());
  check_count(d, "D", p.d.size(), shape.c_registers());
  p.kind = Product::Kind::nibbles;
  d.emit(&mma_op, Effect::none().by_whole_warp(), std::move(p));
}

}  // namespace

void matrix_multiply(FunctionDecoder& d) {
  refuse_foreign_matrices(d);
  take_sync_aligned(d);
  for (const char* kind : {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"})
    if (d.modifiers.has(kind)) return narrow_matrix_multiply(d);
  Product p;
  const std::string shape(d.modifiers.first());
  if (std::sscanf(shape.c_str(), "m%dn%dk%d", &p.shape.m, &p.shape.n, &p.shape.k) != 3) d.refuse("it needs a shape");
  d.modifiers.take(shape);
  const std::string a_order(d.modifiers.first());
  if (!d.modifiers.take("row") && !d.modifiers.take("col")) d.refuse("it needs the order of A and B: .row.col");
  const std::string b_order(d.modifiers.first());
  if (!d.modifiers.take("row") && !d.modifiers.take("col")) d.refuse("it needs the order of A and B: .row.col");
  p.shape.saturate = d.modifiers.take("satfinite");
  if (d.modifiers.has("s4") || d.modifiers.has("u4")) {
    if (a_order != "row" || b_order != "col") d.refuse("its order is .row.col");
    return multiply_nibbles(d, std::move(p));
  }
  const Type type_d = d.modifiers.take_type(), type_a = d.modifiers.take_type(), type_b = d.modifiers.take_type(),
             type_c = d.modifiers.take_type();
  if (type_d == Type::f64) {
    if (const std::string why = numeric::mma_f64_refusal(p.shape.m, p.shape.n, p.shape.k); !why.empty()) d.refuse(why);
    if (a_order != "row" || b_order != "col") d.refuse("its order is .row.col");
    d.modifiers.take("rn");
    if (type_a != Type::f64 || type_b != Type::f64 || type_c != Type::f64) d.refuse("f64 is multiplied with f64 alone");
    read_operands(d, p, Type::f64, Type::f64, Type::f64, Type::f64);
    check_count(d, "A", p.a.size(), p.shape.m * p.shape.k / 32);
    check_count(d, "B", p.b.size(), 8 * p.shape.k / 32);
    check_count(d, "C", p.c.size(), p.shape.m * 8 / 32);
    check_count(d, "D", p.d.size(), p.shape.m * 8 / 32);
    p.kind = Product::Kind::f64;
    d.emit(&mma_op, Effect::none().by_whole_warp(), std::move(p));
    return;
  }
  const auto a = element_of(type_a), b = element_of(type_b);
  const auto c = sum_of(type_c), sum = sum_of(type_d);
  if (!a || !b || !c || !sum) d.refuse("there is no product of these types");
  p.shape.a = *a;
  p.shape.b = *b;
  p.shape.c = *c;
  p.shape.d = *sum;
  read_operands(d, p, Type::b32, Type::b32, Type::b32, Type::b32);
  if (shape == "m8n8k4") {
    p.quad = {a_order == "col", b_order == "col", *c, *sum};
    if (*a != Element::f16 || *b != Element::f16) d.refuse("m8n8k4 is of f16 or f64");
    if (const std::string why = p.quad.refusal(); !why.empty()) d.refuse(why);
    check_count(d, "A", p.a.size(), 2);
    check_count(d, "B", p.b.size(), 2);
    check_count(d, "C", p.c.size(), *c == Sum::f32 ? 8 : 4);
    check_count(d, "D", p.d.size(), *sum == Sum::f32 ? 8 : 4);
    p.kind = Product::Kind::quad;
    d.emit(&mma_op, Effect::none().by_whole_warp(), std::move(p));
    return;
  }
  if (a_order != "row" || b_order != "col") d.refuse("its order is .row.col");
  if (const std::string why = p.shape.refusal(); !why.empty()) d.refuse(why);
  if (d.chip().arch.number() < 89 && (numeric::bits_of(*a) == 8 && (*a == Element::e4m3 || *a == Element::e5m2)))
    d.refuse("8-bit floats came after this architecture");
  const int d_registers = p.shape.m * p.shape.n * (*sum == Sum::f16 ? 16 : 32) / 32 / 32;
  check_count(d, "A", p.a.size(), p.shape.a_registers());
  check_count(d, "B", p.b.size(), p.shape.b_registers());
  check_count(d, "C", p.c.size(), p.shape.c_registers());
  check_count(d, "D", p.d.size(), d_registers);
  d.emit(&mma_op, Effect::none().by_whole_warp(), std::move(p));
}

void load_matrix(FunctionDecoder& d) {
  DecodedTiles decoded = decode_tiles(d, d.operand(1), d.operand(0), true);
  d.emit(decoded.shape == TileShape::m16n16 ? &load_bytes_op : &load_matrix_op,
         Effect::access(AddressSpace::shared).by_whole_warp(), std::move(decoded.tiles));
}

void store_matrix(FunctionDecoder& d) {
  DecodedTiles decoded = decode_tiles(d, d.operand(0), d.operand(1), false);
  d.emit(decoded.shape == TileShape::m16n8 ? &store_bytes_op : &store_matrix_op,
         Effect::access(AddressSpace::shared).by_whole_warp(), std::move(decoded.tiles));
}

void move_matrix(FunctionDecoder& d) {
  take_sync_aligned(d);
  if (!d.modifiers.take("m8n8") || !d.modifiers.take("trans") || d.modifiers.take_type() != Type::b16)
    d.refuse("it is movmatrix.sync.aligned.m8n8.trans.b16");
  emit_lanewise(d, Effect::none().by_whole_warp(), &move_matrix_op, Type::b32, {Type::b32});
}

}  // namespace wm::vgpu::isa
