// Prints how CuTe's own host-side layouts place the operands and results of tcgen05: the second reference of
// tests/vgpu/tcgen05 (cute.hpp), recorded in tests/vgpu/tcgen05/cute.txt. With nvidia-cutlass 4.2 from PyPI
// (scripts/cutlass-examples fetches it) and CUDA's headers:
//
//   for part in cute-vectors cute-warp-vectors; do
//     g++ -std=c++17 -w -ICUTLASS/include -I/usr/local/cuda/include -I/usr/local/cuda/include/cccl \
//       scripts/$part.cpp -o vectors && ./vectors | grep -v ^ERROR
//   done
//
// (CuTe complains of each address in shared memory that it is asked for on a host.)
//
// A walk is a list of EXTENT:LANE,COLUMN, the fastest digit first: what each step of that digit adds. Places in shared
// memory are bytes, one for each bit of an index, joined by exclusive or. The program itself verifies that the walk or
// the bits give every single place.
#include <cstdio>
#include <string>
#include <vector>

#include <cute/arch/mma_sm100_desc.hpp>
#include <cute/atom/copy_traits_sm100.hpp>
#include <cute/atom/mma_traits_sm100.hpp>
#include <cute/tensor.hpp>

#include "cute-walk.hpp"

using namespace cute;

Cell cell_of_bit(long bit) { return {bit >> 21, (bit & 0x1fffff) >> 5}; }  // an address in bits: 32 a column
Cell cell_of(unsigned address) { return {address >> 16, address & 0xffff}; }

// ---- tcgen05.ld and st ----

template <class Op, class Registers>
void print_access(const char* name, const char* shape, int count, bool packed, Registers registers) {
  using Traits = Copy_Traits<Op>;
  const int bits = int(size<1>(registers)), words = bits / 32;
  const auto at = [&](long thread, long bit) {
    return long(typename Traits::ValID{}(int(registers(int(thread), int(bit)))));
  };
  for (long t = 0; t < 32; ++t)
    for (long bit = 0; bit < bits; ++bit) {
      const long first = at(t, bit / 16 * 16);
      verify(at(t, bit) == first + bit % 16, shape);  // halves lie together
      if (!packed) verify(at(t, bit) == at(t, bit / 32 * 32) + bit % 32, shape);
      const Cell cell = cell_of_bit(at(t, bit)), alone = cell_of_bit(at(0, bit)), row = cell_of_bit(at(t, 0));
      verify(cell == Cell{alone.lane + row.lane, alone.column + row.column}, shape);
    }
  std::printf("%s %s %d %s | %s | %s | %s\n", name, shape, count, packed ? "packed" : "plain",
              walk(shape, 32, [&](long t) { return cell_of_bit(at(t, 0)); }).c_str(),
              walk(shape, words, [&](long r) { return cell_of_bit(at(0, 32 * r)); }).c_str(),
              walk(shape, 2, [&](long half) { return cell_of_bit(at(0, 16 * half)); }).c_str());
}

#define ACCESS(lanes, width, shape, count)                                                                      \
  print_access<SM100_TMEM_LOAD_##lanes##dp##width##b##count##x>(                                                \
      "ld", shape, count, false, Copy_Traits<SM100_TMEM_LOAD_##lanes##dp##width##b##count##x>::DstLayout{});    \
  print_access<SM100_TMEM_LOAD_##lanes##dp##width##b##count##x_16b>(                                            \
      "ld", shape, count, true, Copy_Traits<SM100_TMEM_LOAD_##lanes##dp##width##b##count##x_16b>::DstLayout{}); \
  print_access<SM100_TMEM_STORE_##lanes##dp##width##b##count##x>(                                               \
      "st", shape, count, false, Copy_Traits<SM100_TMEM_STORE_##lanes##dp##width##b##count##x>::SrcLayout{});   \
  print_access<SM100_TMEM_STORE_##lanes##dp##width##b##count##x_16b>(                                           \
      "st", shape, count, true, Copy_Traits<SM100_TMEM_STORE_##lanes##dp##width##b##count##x_16b>::SrcLayout{})
#define ACCESSES_32(lanes, width, shape) \
  ACCESS(lanes, width, shape, 1);        \
  ACCESS(lanes, width, shape, 2);        \
  ACCESS(lanes, width, shape, 4);        \
  ACCESS(lanes, width, shape, 8);        \
  ACCESS(lanes, width, shape, 16);       \
  ACCESS(lanes, width, shape, 32)

// ---- tcgen05.cp ----

// Rows by bits of the source, and how often it is repeated.
template <class Op>
void print_copy(const char* shape) {
  using Traits = Copy_Traits<Op>;
  typename Traits::SrcLayout source;
  typename Traits::DstLayout target;
  const long all = long(size(target)), bits = std::string(shape).find("256b") != std::string::npos ? 256 : 128;
  long rows = 0;
  for (long v = 0; v < all; ++v) rows = std::max(rows, long(source(int(v))) + 1);
  rows /= bits;
  // Of 64x128b.warpx2::01_23 CuTe takes the rows in two halves of 32: (32, 128, 2).
  const long half = std::string(shape).find("01_23") != std::string::npos ? 32 : rows;
  std::vector<std::vector<long>> places(rows * bits);  // of (row, bit)
  for (long v = 0; v < all; ++v) {
    const long index = long(source(int(v))), row = index % half + index / (half * bits) * half;
    places[row * bits + index / half % bits].push_back(long(typename Traits::ValID{}(int(target(int(v))))));
  }
  const long copies = long(places[0].size());
  for (long row = 0; row < rows; ++row)
    for (long bit = 0; bit < bits; ++bit)
      for (long copy = 0; copy < copies; ++copy)
        verify(places[row * bits + bit][copy] - places[row * bits][0] == bit + places[0][copy] - places[0][0], shape);
  std::printf("cp %s | %s | %s | %s\n", shape,
              walk(shape, rows, [&](long row) { return cell_of_bit(places[row * bits][0]); }).c_str(),
              walk(shape, bits / 32, [&](long word) { return cell_of_bit(places[32 * word][0]); }).c_str(),
              walk(shape, copies, [&](long copy) { return cell_of_bit(places[0][copy]); }).c_str());
}

// ---- D and A in tensor memory ----

template <int blocks, int rows, int columns>
void print_sums() {
  const auto tensor = UMMA::tmem_frg<float, uint32_t, blocks>::make(Shape<Shape<Int<rows>, Int<columns>>, _1, _1>{});
  const auto at = [&](long i, long j) {
    return cell_of(unsigned(tensor.layout()(make_coord(make_coord(int(i), int(j)), 0, 0))));
  };
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) {
      const Cell row = at(i, 0), column = at(0, j), both = at(i, j);
      verify(both == Cell{row.lane + column.lane, row.column + column.column}, "D");
    }
  std::printf("d %d %d %d | %s | %s\n", blocks, rows * blocks, columns,
              walk("D", rows, [&](long i) { return at(i, 0); }).c_str(),
              walk("D", columns, [&](long j) { return at(0, j); }).c_str());
}

// Of 64 rows in each of two blocks the fragment has both copies, one behind the other: 128.
template <int blocks, int rows, class Type>
void print_factors(const char* type) {
  constexpr int k = 256 / sizeof_bits_v<Type>;
  constexpr auto mode = blocks == 1 ? UMMA::TmemAllocMode::NonInterleaved : UMMA::TmemAllocMode::Duplicated;
  constexpr int lanes = blocks == 2 ? 128 : rows;
  const auto tensor = UMMA::tmem_frg<Type, Type, blocks, mode>::make(Shape<Shape<Int<rows>, Int<k>>, _1, _1>{});
  constexpr long word = 32 / sizeof_bits_v<Type>;  // elements of a column
  const auto at = [&](long i, long j) {            // an address counts elements
    const long address = long(tensor.layout()(make_coord(make_coord(int(i), int(j)), 0, 0)));
    const long lane = long(TMEM::DP<Type>{});
    verify(address % lane % word == j % word, "A");
    return Cell{address / lane, address % lane / word};
  };
  for (long i = 0; i < lanes; ++i)
    for (long j = 0; j < k; ++j) {
      const Cell row = at(i, 0), column = at(0, j), both = at(i, j);
      verify(both == Cell{row.lane + column.lane, row.column + column.column}, "A");
    }
  std::printf("a %d %d %s | %s | %s\n", blocks, rows * blocks, type,
              walk("A", lanes, [&](long i) { return at(i, 0); }).c_str(),
              walk("A", k / word, [&](long j) { return at(0, j * word); }).c_str());
}

template <class Type>
void print_all_factors(const char* type) {
  print_factors<1, 64, Type>(type);
  print_factors<1, 128, Type>(type);
  print_factors<2, 64, Type>(type);
  print_factors<2, 128, Type>(type);
}

// ---- operands in shared memory ----

std::string bits_of(const char* what, long count, const std::function<long(long)>& at) {
  std::string text;
  for (long bit = 1; bit < count; bit *= 2) text += (text.empty() ? "" : " ") + std::to_string(at(bit));
  for (long i = 0; i < count; ++i) {
    long joined = 0;
    for (long bit = 1; bit < count; bit *= 2)
      if (i & bit) joined ^= at(bit);
    verify(joined == at(i), what);
  }
  return text;
}

template <UMMA::Major major, class Type, int rows, class Atom>
void print_operand(const char* type, const char* swizzle, Atom atom) {
  constexpr int k = 256 / sizeof_bits_v<Type>;
  // As deep along k as a swizzle needs; one product reads the first 32 bytes.
  constexpr int depth =
      major == UMMA::Major::K ? cute::max(k, int(size<1>(Atom{}))) : cute::max(k, int(size<1>(Atom{})));
  alignas(4096) static Type memory[rows * depth];
  const auto layout = tile_to_shape(atom, Shape<Int<rows>, Int<depth>>{});
  const auto whole = make_tensor(make_smem_ptr(memory), layout);
  const auto tile = local_tile(whole, Shape<Int<rows>, Int<k>>{}, make_coord(0, 0));
  const auto descriptor = UMMA::make_umma_desc<major>(tile);
  const auto at = [&](long row, long column) {
    return reinterpret_cast<const char*>(raw_pointer_cast(&tile(int(row), int(column)))) -
           reinterpret_cast<const char*>(memory);
  };
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < k; ++j) verify(at(i, j) == (at(i, 0) ^ at(0, j)), "an operand");
  std::printf("operand %s %s %s %d 0x%016llx | %s | %s\n", type, major == UMMA::Major::K ? "k" : "mn", swizzle, rows,
              static_cast<unsigned long long>(descriptor.desc_ & ~0x3fffull),  // without the start
              bits_of("rows", rows, [&](long i) { return at(i, 0); }).c_str(),
              bits_of("k", k, [&](long j) { return at(0, j); }).c_str());
}

template <class Type, int rows>
void print_operands(const char* type) {
  print_operand<UMMA::Major::K, Type, rows>(type, "none", UMMA::Layout_K_INTER_Atom<Type>{});
  print_operand<UMMA::Major::K, Type, rows>(type, "32", UMMA::Layout_K_SW32_Atom<Type>{});
  print_operand<UMMA::Major::K, Type, rows>(type, "64", UMMA::Layout_K_SW64_Atom<Type>{});
  print_operand<UMMA::Major::K, Type, rows>(type, "128", UMMA::Layout_K_SW128_Atom<Type>{});
  if constexpr (sizeof(Type) == 4) {
    print_operand<UMMA::Major::MN, Type, rows>(type, "128_32", UMMA::Layout_MN_SW128_32B_Atom<Type>{});
  } else {
    print_operand<UMMA::Major::MN, Type, rows>(type, "none", UMMA::Layout_MN_INTER_Atom<Type>{});
    print_operand<UMMA::Major::MN, Type, rows>(type, "32", UMMA::Layout_MN_SW32_Atom<Type>{});
    print_operand<UMMA::Major::MN, Type, rows>(type, "64", UMMA::Layout_MN_SW64_Atom<Type>{});
    print_operand<UMMA::Major::MN, Type, rows>(type, "128", UMMA::Layout_MN_SW128_Atom<Type>{});
  }
}

// ---- instruction descriptors ----

template <class A, class B, class C, int m, int n, UMMA::Major a_major, UMMA::Major b_major>
void print_product(const char* kind, const char* a, const char* b, const char* sum) {
  const UMMA::InstrDescriptor descriptor = UMMA::make_instr_desc<A, B, C, m, n, a_major, b_major>();
  std::printf("product %s %s %s %s %d %d %s %s 0x%08x\n", kind, a, b, sum, m, n, a_major == UMMA::Major::K ? "k" : "mn",
              b_major == UMMA::Major::K ? "k" : "mn", uint32_t(descriptor));
}

template <class A, class B, class C, int m, int n>
void print_products(const char* kind, const char* a, const char* b, const char* sum) {
  print_product<A, B, C, m, n, UMMA::Major::K, UMMA::Major::K>(kind, a, b, sum);
  print_product<A, B, C, m, n, UMMA::Major::MN, UMMA::Major::K>(kind, a, b, sum);
  print_product<A, B, C, m, n, UMMA::Major::K, UMMA::Major::MN>(kind, a, b, sum);
  print_product<A, B, C, m, n, UMMA::Major::MN, UMMA::Major::MN>(kind, a, b, sum);
}

template <class A, class B, class C>
void print_sizes(const char* kind, const char* a, const char* b, const char* sum) {
  print_products<A, B, C, 64, 32>(kind, a, b, sum);
  print_products<A, B, C, 128, 48>(kind, a, b, sum);
  print_products<A, B, C, 128, 256>(kind, a, b, sum);
  print_products<A, B, C, 256, 64>(kind, a, b, sum);
  print_products<A, B, C, 256, 256>(kind, a, b, sum);
}

// ---- scales ----

// Of rows, of the copies of one, and of the scales of one along k, which are bytes of a cell and are counted so.
template <bool of_a, int blocks, int rows, int group, int scales, class Mode>
void print_scales(const char* operand, int m) {
  constexpr auto mode = UMMA::TmemAllocMode(Mode::value);
  const auto tensor = UMMA::tmem_sf_frg<float_ue8m0_t, group, blocks, of_a, mode>::make(
      Shape<Shape<Int<rows>, Shape<Int<group>, Int<scales>>>, _1, _1>{});
  constexpr bool halves = !of_a && mode == UMMA::TmemAllocMode::ScaleFactorDuplicated2by2;
  constexpr long copies = halves ? 2 : 4, lane = long(TMEM::DP<float_ue8m0_t>{});
  const auto at = [&](long row, long copy, long scale) {  // in bytes
    return long(tensor.layout()(make_coord(make_coord(int(row + rows * copy), int(scale * group)), 0, 0)));
  };
  const auto cell = [&](long address) { return Cell{address / lane, address % lane / 4}; };
  for (long row = 0; row < rows; ++row)
    for (long copy = 0; copy < copies; ++copy)
      for (long scale = 0; scale < scales; ++scale) {
        verify(at(row, copy, scale) == at(row, 0, 0) + at(0, copy, 0) + at(0, 0, scale), "scales");
        verify(at(row, copy, 0) % 4 == 0 && at(0, 0, scale) < 4, "scales");
      }
  std::printf("scales %s %d %d %d %d | %s | %s | %s\n", operand, blocks, m, group, scales,
              walk("scales", rows, [&](long row) { return cell(at(row, 0, 0)); }).c_str(),
              walk("scales", copies, [&](long copy) { return cell(at(0, copy, 0)); }).c_str(),
              walk("scales", scales, [&](long scale) {
                return Cell{0, at(0, 0, scale)};
              }).c_str());
}

template <int group, int scales>
void print_all_scales() {
  using Everywhere = Int<int(UMMA::TmemAllocMode::ScaleFactorDuplicated4by1)>;
  using Halves = Int<int(UMMA::TmemAllocMode::ScaleFactorDuplicated2by2)>;
  print_scales<true, 1, 128, group, scales, Everywhere>("a", 128);
  print_scales<true, 2, 64, group, scales, Halves>("a", 128);
  print_scales<true, 2, 128, group, scales, Everywhere>("a", 256);
  print_scales<false, 1, 256, group, scales, Everywhere>("b", 128);
  print_scales<false, 2, 256, group, scales, Halves>("b", 128);
  print_scales<false, 2, 256, group, scales, Everywhere>("b", 256);
}

// Two elements in a byte: places in bytes, of rows and of bytes along k.
template <int rows, class Atom>
void print_pairs(const char* swizzle, Atom atom) {
  constexpr int k = 64;
  constexpr int depth = cute::max(k, int(size<1>(Atom{})));
  alignas(4096) static unsigned char memory[rows * depth / 2];
  const auto layout = tile_to_shape(atom, Shape<Int<rows>, Int<depth>>{});
  const auto whole = make_tensor(make_smem_ptr<float_e2m1_t>(memory), layout);
  const auto descriptor =
      UMMA::make_umma_desc<UMMA::Major::K>(local_tile(whole, Shape<Int<rows>, Int<k>>{}, make_coord(0, 0)));
  const auto places = as_position_independent_swizzle_layout(layout);  // in elements
  const auto at = [&](long row, long element) { return long(places(int(row), int(element))); };
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < k; ++j) verify(at(i, j) == (at(i, 0) ^ at(0, j)) && at(i, j) % 2 == j % 2, "pairs");
  std::printf("operand e2m1 k %s %d 0x%016llx | %s | %s\n", swizzle, rows,
              static_cast<unsigned long long>(descriptor.desc_ & ~0x3fffull),
              bits_of("rows", rows, [&](long i) { return at(i, 0) / 2; }).c_str(),
              bits_of("k", k / 2, [&](long j) { return at(0, 2 * j) / 2; }).c_str());
}

template <int rows>
void print_all_pairs() {
  print_pairs<rows>("none", UMMA::Layout_K_INTER_Atom<float_e2m1_t>{});
  print_pairs<rows>("32", UMMA::Layout_K_SW32_Atom<float_e2m1_t>{});
  print_pairs<rows>("64", UMMA::Layout_K_SW64_Atom<float_e2m1_t>{});
  print_pairs<rows>("128", UMMA::Layout_K_SW128_Atom<float_e2m1_t>{});
}

template <class A, class B, class Scale, int m, int n, UMMA::Major a_major = UMMA::Major::K,
          UMMA::Major b_major = UMMA::Major::K>
void print_scaled(const char* kind, int group, const char* a, const char* b, const char* scale) {
  const auto descriptor = UMMA::make_instr_desc_block_scaled<A, B, float, Scale, m, n, a_major, b_major>();
  std::printf("scaled %s %d %s %s %s %d %d %s %s 0x%08x\n", kind, group, a, b, scale, m, n,
              a_major == UMMA::Major::K ? "k" : "mn", b_major == UMMA::Major::K ? "k" : "mn", uint32_t(descriptor));
}

template <class A, class B, class Scale>
void print_scaled_sizes(const char* kind, int group, const char* a, const char* b, const char* scale) {
  print_scaled<A, B, Scale, 128, 48>(kind, group, a, b, scale);
  print_scaled<A, B, Scale, 128, 256>(kind, group, a, b, scale);
  print_scaled<A, B, Scale, 256, 256>(kind, group, a, b, scale);
}

int main() {
  ACCESSES_32(32, 32, "32x32b");
  ACCESS(32, 32, "32x32b", 64);
  ACCESS(32, 32, "32x32b", 128);
  ACCESSES_32(16, 64, "16x64b");
  ACCESS(16, 64, "16x64b", 64);
  ACCESS(16, 64, "16x64b", 128);
  ACCESSES_32(16, 128, "16x128b");
  ACCESS(16, 128, "16x128b", 64);
  ACCESSES_32(16, 256, "16x256b");
  ACCESSES_32(16, 32, "16x32bx2");
  ACCESS(16, 32, "16x32bx2", 64);
  ACCESS(16, 32, "16x32bx2", 128);

  print_copy<SM100_UTCCP_128dp256bit_1cta>("128x256b");
  print_copy<SM100_UTCCP_128dp128bit_1cta>("128x128b");
  print_copy<SM100_UTCCP_2x64dp128bitlw0213_1cta>("64x128b.warpx2::02_13");
  print_copy<SM100_UTCCP_2x64dp128bitlw0123_1cta>("64x128b.warpx2::01_23");
  print_copy<SM100_UTCCP_4x32dp128bit_1cta>("32x128b.warpx4");

  print_sums<1, 64, 32>();
  print_sums<1, 128, 48>();
  print_sums<1, 128, 256>();
  print_sums<2, 64, 48>();
  print_sums<2, 64, 256>();
  print_sums<2, 128, 64>();
  print_sums<2, 128, 256>();
  print_all_factors<half_t>("f16");
  print_all_factors<tfloat32_t>("tf32");
  print_all_factors<int8_t>("s8");

  print_operands<half_t, 128>("f16");
  print_operands<half_t, 256>("f16");
  print_operands<tfloat32_t, 128>("tf32");
  print_operands<tfloat32_t, 256>("tf32");
  print_operands<int8_t, 128>("s8");
  print_operands<int8_t, 256>("s8");

  print_sizes<half_t, half_t, float>("f16", "f16", "f16", "f32");
  print_sizes<half_t, half_t, half_t>("f16", "f16", "f16", "f16");
  print_sizes<bfloat16_t, bfloat16_t, float>("f16", "bf16", "bf16", "f32");
  print_sizes<tfloat32_t, tfloat32_t, float>("tf32", "tf32", "tf32", "f32");
  print_sizes<float_e4m3_t, float_e5m2_t, float>("f8f6f4", "e4m3", "e5m2", "f32");
  print_sizes<float_e5m2_t, float_e4m3_t, half_t>("f8f6f4", "e5m2", "e4m3", "f16");
  print_sizes<int8_t, uint8_t, int32_t>("i8", "s8", "u8", "s32");
  print_sizes<uint8_t, int8_t, int32_t>("i8", "u8", "s8", "s32");

  print_all_scales<32, 1>();
  print_all_scales<32, 2>();
  print_all_scales<16, 4>();
  print_all_pairs<128>();
  print_all_pairs<256>();
  using E2m3 = cute::detail::float_e2m3_unpacksmem_t;
  using E3m2 = cute::detail::float_e3m2_unpacksmem_t;
  using E2m1 = cute::detail::float_e2m1_unpacksmem_t;
  print_scaled_sizes<float_e4m3_t, float_e5m2_t, float_ue8m0_t>("mxf8f6f4", 32, "e4m3", "e5m2", "ue8m0");
  print_scaled_sizes<float_e5m2_t, E2m3, float_ue8m0_t>("mxf8f6f4", 32, "e5m2", "e2m3", "ue8m0");
  print_scaled_sizes<E3m2, float_e4m3_t, float_ue8m0_t>("mxf8f6f4", 32, "e3m2", "e4m3", "ue8m0");
  print_scaled_sizes<E2m1, E2m1, float_ue8m0_t>("mxf8f6f4", 32, "e2m1", "e2m1", "ue8m0");
  print_scaled<float_e4m3_t, float_e4m3_t, float_ue8m0_t, 256, 256, UMMA::Major::MN, UMMA::Major::MN>(
      "mxf8f6f4", 32, "e4m3", "e4m3", "ue8m0");
  print_scaled_sizes<float_e2m1_t, float_e2m1_t, float_ue8m0_t>("mxf4", 32, "e2m1", "e2m1", "ue8m0");
  print_scaled_sizes<float_e2m1_t, float_e2m1_t, float_ue8m0_t>("mxf4nvf4", 16, "e2m1", "e2m1", "ue8m0");
  print_scaled_sizes<float_e2m1_t, float_e2m1_t, float_ue4m3_t>("mxf4nvf4", 16, "e2m1", "e2m1", "ue4m3");
}
