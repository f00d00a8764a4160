// wmma: products of larger matrices in one warp, whose fragments are loaded and stored by instructions of their own.
// They are made of mma.sync products side by side, and fragments of their operands one behind the other, as the chips
// have it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_product.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using numeric::Element;
using numeric::Sum;
using ptx::Type;

namespace {

// An element of A and B, or of C and D.
struct Kind {
  u32 bits = 0;
  bool is_signed = true;
  bool f64 = false;
  std::optional<Element> element{};  // of mma.sync; 4 bits and f64 are apart
  std::optional<Sum> sum{};
  u32 in_register() const { return f64 ? 1 : 32 / bits; }
};

// Nothing where no type is left.
std::optional<Kind> take_kind(FunctionDecoder& d) {
  if (const std::string first(d.modifiers.first()); first == "s4" || first == "u4") {
    d.modifiers.take(first);
    return Kind{.bits = 4, .is_signed = first == "s4"};
  }
  const Type type = d.modifiers.take_type();
  if (type == Type::none) return std::nullopt;
  if (type == Type::f64) return Kind{.bits = 64, .f64 = true};
  const auto element = element_of(type);
  const auto sum = sum_of(type);
  if (!element && !sum) d.refuse("there is no matrix of this type");
  return Kind{.bits = 8 * ptx::bytes_of(type), .element = element, .sum = sum};
}

// D[m, n] = A[m, k] B[n, k] + C. `tall` is the operand whose rows are those of the mma.sync inside, 16 of each (8 where
// there are no more): A, but B where n is larger. The other, flat one has their columns, 8 of each.
struct Shape {
  int m = 0, n = 0, k = 0;
  bool swapped() const { return n > 16; }
  int tall() const { return swapped() ? n : m; }
  int flat() const { return swapped() ? m : n; }
  int rows() const { return std::min(tall(), 16); }
};

Shape take_shape(FunctionDecoder& d) {
  Shape s;
  for (const std::string_view name : {"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", "m8n8k32"})
    if (d.modifiers.take(name)) {
      std::sscanf(name.data(), "m%dn%dk%d", &s.m, &s.n, &s.k);
      return s;
    }
  if (d.modifiers.has("m8n8k128")) d.refuse("matrices of .b1 are not supported");
  d.refuse("its shape is m16n16k16, m32n8k16, m8n32k16, m16n16k8, m8n8k4 or m8n8k32");
}

void check_multiplicand(FunctionDecoder& d, const Shape& s, const Kind& kind) {
  const bool right = s.k == 16  ? kind.element && (kind.bits == 8 || kind.bits == 16)
                     : s.k == 8 ? kind.element == Element::tf32
                     : s.k == 4 ? kind.f64
                                : kind.bits == 4;
  const bool eight_bit_float = kind.element == Element::e4m3 || kind.element == Element::e5m2;
  if (!right || eight_bit_float) d.refuse("there is no matrix of this type in this shape");
}

// Which matrix a fragment is of.
enum class Part : u8 { a, b, sum };

// A fragment: its registers in groups, one for each mma.sync operand.
struct Fragment {
  Part part = Part::a;
  Shape shape;
  Kind kind;

  bool tall() const { return (part == Part::a) != shape.swapped(); }
  int groups() const {
    if (part == Part::sum) return shape.tall() / shape.rows() * (shape.flat() / 8);
    return tall() ? shape.tall() / shape.rows() : shape.flat() / 8;
  }
  int group_registers() const {
    const int elements = part == Part::sum ? shape.rows() * 8 : (tall() ? shape.rows() : 8) * shape.k;
    return std::max(1, elements / 32 / static_cast<int>(kind.in_register()));
  }
  // A and B of f16 have as many registers as they had on the first chips with wmma; the rest say the same again.
  int registers() const { return part != Part::sum && kind.element == Element::f16 ? 8 : groups() * group_registers(); }

  struct Place {
    int major = 0, k = 0;  // of A and B: row or column of D, and along k; of sums the row and column of D
  };
  Place place(int reg, u32 lane, u32 element) const {
    const int group = reg / group_registers(), q = reg % group_registers();
    const int g = static_cast<int>(lane / 4), t = static_cast<int>(lane % 4), e = static_cast<int>(element);
    const int wide = static_cast<int>(kind.in_register());
    if (part != Part::sum)
      return tall() ? Place{16 * group + g + 8 * (q % 2), wide * t + e + 4 * wide * (q / 2)}
                    : Place{8 * group + g, wide * t + e + 4 * wide * q};
    const int flat_groups = shape.flat() / 8;
    const int half = kind.bits == 16 ? q : q / 2;
    const int row = 16 * (group / flat_groups) + g + 8 * half;
    const int column = 8 * (group % flat_groups) + 2 * t + (kind.bits == 16 ? e : q % 2);
    return shape.swapped() ? Place{column, row} : Place{row, column};
  }
};

struct Transfer {
  Fragment fragment;
  bool row_major = true;
  Address address;
  AddressSpace space = AddressSpace::generic;
  Operand stride;
  std::vector<Operand> registers;

  // Whether a register's elements lie side by side in memory.
  bool together() const {
    if (fragment.kind.in_register() == 1) return true;
    return fragment.part == Part::sum ? row_major != fragment.shape.swapped() : row_major == (fragment.part == Part::a);
  }
  u64 index(const Fragment::Place& at, u64 pitch) const {
    const bool first = fragment.part == Part::b ? !row_major : row_major;  // the major index steps by the pitch
    const u64 major = static_cast<u64>(at.major), k = static_cast<u64>(at.k);
    return first ? major * pitch + k : k * pitch + major;
  }
};

// Calls move(register, element, bytes of each lane) for all that the fragment holds, elements or registers at a time.
template <class Move>
void for_each_piece(Warp& warp, const Op& op, const Transfer& t, AccessKind access, const Move& move) {
  LaneAddresses base;
  lane_addresses(warp, t.address, base);
  u32 pitch[lanes_per_warp];  // which may lie in a register that is loaded
  std::memcpy(pitch, warp.source32(t.stride), sizeof pitch);
  const Kind& kind = t.fragment.kind;
  // Pairs of sums may begin at any element, so they move one by one.
  const bool whole = kind.in_register() == 1 || (t.together() && t.fragment.part != Part::sum);
  const u32 pieces = whole ? 1 : kind.in_register(), bytes = kind.f64 ? 8 : whole ? 4 : kind.bits / 8;
  const int unique = t.fragment.groups() * t.fragment.group_registers();
  for (int reg = 0; reg < unique; ++reg)
    for (u32 piece = 0; piece < pieces; ++piece) {
      LaneAddresses at;
      for (u32 i = 0; i < lanes_per_warp; ++i)
        at[i] = base[i] + t.index(t.fragment.place(reg, i, piece), pitch[i]) * kind.bits / 8;
      LaneBytes places;
      resolve(warp, op, t.space, at, bytes, bytes, access, all_lanes, places);
      move(t.registers[static_cast<std::size_t>(reg)], piece, bytes, places);
    }
}

Step load_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Transfer>();
  for_each_piece(warp, op, t, AccessKind::read, [&](Operand reg, u32 piece, u32 bytes, const LaneBytes& places) {
    for (u32 i = 0; i < lanes_per_warp; ++i) {
      if (bytes == 8) {
        std::memcpy(&warp.row64(reg)[i], places.at[i], 8);
        continue;
      }
      u32 value = 0;
      std::memcpy(&value, places.at[i], bytes);
      u32& word = warp.row32(reg)[i];
      word = piece == 0 ? value : word | value << 8 * bytes * piece;
    }
  });
  const auto unique = static_cast<std::size_t>(t.fragment.groups() * t.fragment.group_registers());
  for (std::size_t reg = unique; reg < t.registers.size(); ++reg)
    std::memcpy(warp.row32(t.registers[reg]), warp.source32(t.registers[reg % unique]), 4 * lanes_per_warp);
  return Step::go;
}

Step store_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Transfer>();
  for_each_piece(warp, op, t, AccessKind::write, [&](Operand reg, u32 piece, u32 bytes, const LaneBytes& places) {
    for (u32 i = 0; i < lanes_per_warp; ++i) {
      const u64 value = bytes == 8 ? warp.source64(reg)[i] : warp.source32(reg)[i] >> 8 * bytes * piece;
      std::memcpy(places.at[i], &value, bytes);
    }
  });
  return Step::go;
}

// A register of two f16 and the two of f32 that say the same.
struct Halves {
  Operand packed, low, high;
};
// All of it, into registers of its own, which then become D: that may be any of the operands. Where one of C and D is
// f16 and the other f32, both are f32 meanwhile.
struct Products {
  std::vector<Halves> widened;
  std::vector<Product> parts;
  std::vector<Halves> narrowed;
  std::vector<std::pair<Operand, Operand>> results;  // from, to
  bool wide = false;
};
Step products_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& p = op.as<Products>();
  for (const Halves& h : p.widened)
    for (u32 i = 0; i < lanes_per_warp; ++i) {
      const u32 packed = warp.source32(h.packed)[i];
      warp.row32(h.low)[i] = numeric::f32_bits(numeric::f32_of_f16(packed & 0xffff));
      warp.row32(h.high)[i] = numeric::f32_bits(numeric::f32_of_f16(packed >> 16));
    }
  for (const Product& part : p.parts) multiply(warp, part);
  for (const Halves& h : p.narrowed)
    for (u32 i = 0; i < lanes_per_warp; ++i)
      warp.row32(h.packed)[i] = numeric::f16_of_f32(numeric::f32_from(warp.source32(h.low)[i])) |
                                u32{numeric::f16_of_f32(numeric::f32_from(warp.source32(h.high)[i]))} << 16;
  for (const auto& [from, to] : p.results)
    if (p.wide)
      std::memcpy(warp.row64(to), warp.source64(from), 8 * lanes_per_warp);
    else
      std::memcpy(warp.row32(to), warp.source32(from), 4 * lanes_per_warp);
  return Step::go;
}

bool take_row_major(FunctionDecoder& d) {
  const int order = d.modifiers.take_first_of({"row", "col"});
  if (order < 0) d.refuse("it needs the order of its matrix: .row or .col");
  return order == 0;
}

void check_count(FunctionDecoder& d, const Fragment& f, std::size_t given) {
  if (given != static_cast<std::size_t>(f.registers()))
    d.refuse(fmt::format("this fragment has {} registers, not {}", f.registers(), given));
}

void decode_transfer(FunctionDecoder& d, bool load) {
  Transfer t;
  const int which = d.modifiers.take_one_of({"a", "b", "c", "d"});
  if (which < 0 || (which == 3) == load || (!load && which < 3)) d.refuse("it loads .a, .b or .c, or stores .d");
  take_sync_aligned(d);
  t.row_major = take_row_major(d);
  t.fragment.part = which >= 2 ? Part::sum : static_cast<Part>(which);
  t.fragment.shape = take_shape(d);
  t.space = take_space(d);
  if (t.space != AddressSpace::generic && t.space != AddressSpace::global && t.space != AddressSpace::shared)
    d.refuse("its matrices lie in global or shared memory");
  const Shape& s = t.fragment.shape;
  const Kind kind = t.fragment.kind = take_kind(d).value_or(Kind{});
  if (which < 2)
    check_multiplicand(d, s, kind);
  else if (s.k == 4 ? !kind.f64 : !kind.sum)
    d.refuse("there is no matrix of this type in this shape");
  if (kind.bits == 4 && t.row_major != (which == 0)) d.refuse("of 4 bits A is .row and B .col");
  d.expect_operands(2, 3);
  const ptx::Operand &address = d.operand(load ? 1 : 0), &registers = d.operand(load ? 0 : 1);
  t.address = d.address(address, t.space);
  const int natural = which == 0    ? (t.row_major ? s.k : s.m)
                      : which == 1  ? (t.row_major ? s.n : s.k)
                      : t.row_major ? s.n
                                    : s.m;
  t.stride = d.operands() == 3 ? d.source(d.operand(2), Type::u32) : d.constant32(static_cast<u32>(natural));
  const Type word = kind.f64 ? Type::f64 : Type::b32;
  t.registers = load ? d.destinations(registers, word) : d.sources(registers, word);
  check_count(d, t.fragment, t.registers.size());
  const Effect effect = Effect::access(t.space).by_whole_warp();
  d.emit(load ? &load_op : &store_op, effect, std::move(t));
}

void decode_products(FunctionDecoder& d) {
  refuse_foreign_matrices(d);
  take_sync_aligned(d);
  const bool a_by_rows = take_row_major(d), b_by_rows = take_row_major(d);  // as they were loaded
  const Shape s = take_shape(d);
  Product part;
  part.shape.saturate = d.modifiers.take("satfinite");
  d.modifiers.take("rn");
  std::vector<Kind> kinds;  // of D, A, B and C; of f16 only those of D and C are written
  while (const auto kind = take_kind(d)) kinds.push_back(*kind);
  if (kinds.size() == 2) kinds.insert(kinds.begin() + 1, 2, Kind{.bits = 16, .element = Element::f16});
  if (kinds.size() != 4) d.refuse("it has the types of D, A, B and C, or of D and C where A and B are f16");
  const Kind sum = kinds[0], a = kinds[1], b = kinds[2], old = kinds[3];
  check_multiplicand(d, s, a);
  check_multiplicand(d, s, b);
  const bool mixed = sum.sum != old.sum;  // f16 and f32
  const bool of_halves = a.element == Element::f16 && b.element == Element::f16;
  const bool of_integers = sum.sum == Sum::s32 || old.sum == Sum::s32;
  if (s.k == 4 ? !sum.f64 || !old.f64 : !sum.sum || !old.sum) d.refuse("there is no product of these types");
  if ((mixed && (!of_halves || of_integers)) || (a.bits == 4 && sum.sum != Sum::s32))
    d.refuse("there is no product of these types");
  if (a.bits == 4 && (!a_by_rows || b_by_rows)) d.refuse("of 4 bits A is .row and B .col");

  const Fragment of_a{Part::a, s, a}, of_b{Part::b, s, b}, of_c{Part::sum, s, old}, of_d{Part::sum, s, sum};
  const Type word = sum.f64 ? Type::f64 : Type::b32;
  d.expect_operands(4);
  const auto rows_a = d.sources(d.operand(1), word), rows_b = d.sources(d.operand(2), word),
             rows_c = d.sources(d.operand(3), word), rows_d = d.destinations(d.operand(0), word);
  check_count(d, of_a, rows_a.size());
  check_count(d, of_b, rows_b.size());
  check_count(d, of_c, rows_c.size());
  check_count(d, of_d, rows_d.size());

  part.shape.m = s.rows();
  part.shape.n = 8;
  part.shape.k = s.k;
  if (sum.f64) {
    part.kind = Product::Kind::f64;
  } else if (a.bits == 4) {
    part.kind = Product::Kind::nibbles;
    part.nibbles = {
        s.rows(),           8, s.k, s.swapped() ? b.is_signed : a.is_signed, s.swapped() ? a.is_signed : b.is_signed,
        part.shape.saturate};
  } else {
    part.shape.a = *(s.swapped() ? b : a).element;
    part.shape.b = *(s.swapped() ? a : b).element;
    part.shape.c = mixed ? Sum::f32 : *old.sum;
    part.shape.d = mixed ? Sum::f32 : *sum.sum;
    if (const std::string why = part.shape.refusal(); !why.empty()) d.refuse(why);
  }
  Products products;
  products.wide = sum.f64;
  const auto group = [](const std::vector<Operand>& rows, const Fragment& f, int number) {
    const auto first = rows.begin() + number * f.group_registers();
    return std::vector<Operand>(first, first + f.group_registers());
  };
  const Fragment &tall = s.swapped() ? of_b : of_a, &flat = s.swapped() ? of_a : of_b;
  const auto &tall_rows = s.swapped() ? rows_b : rows_a, &flat_rows = s.swapped() ? rows_a : rows_b;
  for (int number = 0; number < of_d.groups(); ++number) {
    part.a = group(tall_rows, tall, number / flat.groups());
    part.b = group(flat_rows, flat, number % flat.groups());
    part.c = group(rows_c, of_c, number);
    part.d.clear();
    if (mixed && old.sum == Sum::f16) {
      std::vector<Operand> wide;
      for (const Operand packed : part.c) {
        const Halves& h = products.widened.emplace_back(Halves{packed, d.temporary(4), d.temporary(4)});
        wide.insert(wide.end(), {h.low, h.high});
      }
      part.c = std::move(wide);
    }
    for (const Operand to : group(rows_d, of_d, number)) {
      const Operand own = d.temporary(products.wide ? 8 : 4);
      products.results.emplace_back(own, to);
      if (mixed && sum.sum == Sum::f16) {
        const Halves& h = products.narrowed.emplace_back(Halves{own, d.temporary(4), d.temporary(4)});
        part.d.insert(part.d.end(), {h.low, h.high});
      } else {
        part.d.push_back(own);
      }
    }
    products.parts.push_back(part);
  }
  d.emit(&products_op, Effect::none().by_whole_warp(), std::move(products));
}

}  // namespace

void warp_matrix(FunctionDecoder& d) {
  const int what = d.modifiers.take_first_of({"load", "store", "mma"});
  if (what < 0) d.refuse("it loads, stores or multiplies");
  return what == 2 ? decode_products(d) : decode_transfer(d, what == 0);
}

}  // namespace wm::vgpu::isa
