// Prints how CuTe's host-side layouts spread matrices over the registers of a warp: the fragments of mma.sync, and
// ldmatrix and stmatrix of bytes. The second part of cute-vectors.cpp, which says how both are compiled.
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <cute/atom/copy_traits_sm100.hpp>
#include <cute/atom/mma_traits_sm120.hpp>
#include <cute/tensor.hpp>

#include "cute-walk.hpp"

using namespace cute;

// ---- fragments of mma.sync on sm_120a ----

// Rows (of A, or columns of B) and elements along k of threads and of a thread's values.
template <class Layout>
void print_fragment(const char* operand, int k, int rows, Layout layout) {
  const int values = int(size<1>(layout));
  const auto at = [&](long thread, long value) {
    const long index = long(layout(int(thread), int(value)));
    return Cell{index % rows, index / rows};
  };
  for (long t = 0; t < 32; ++t)
    for (long v = 0; v < values; ++v)
      verify(at(t, v) == Cell{at(t, 0).lane + at(0, v).lane, at(t, 0).column + at(0, v).column}, operand);
  std::printf("fragment %s %d | %s | %s\n", operand, k, walk(operand, 32, [&](long t) { return at(t, 0); }).c_str(),
              walk(operand, values, [&](long v) { return at(0, v); }).c_str());
}

template <class Traits>
void print_fragments(int k) {
  print_fragment("a", k, 16, typename Traits::ALayout{});
  print_fragment("b", k, 8, typename Traits::BLayout{});
  print_fragment("a-scales", k, 16, typename Traits::SFALayout{});
  print_fragment("b-scales", k, 8, typename Traits::SFBLayout{});
}

// ---- ldmatrix and stmatrix of bytes ----

// For each byte of a thread's registers the lane that gives the address of its row, and the byte of that row. Behind
// ldmatrix.m16n16 the operator exchanges bytes of two registers; here they lie as the instruction leaves them.
template <class Op, bool loads>
void print_matrix(const char* name, int matrices) {
  using Traits = Copy_Traits<Op>;
  const auto memory = std::conditional_t<loads, typename Traits::SrcLayout, typename Traits::DstLayout>{};
  const auto registers = std::conditional_t<loads, typename Traits::DstLayout, typename Traits::SrcLayout>{};
  const int bytes = int(size<1>(registers)) / 8;
  std::vector<Cell> places(size(memory) / 8);
  for (long lane = 31; lane >= 0; --lane)  // of lanes that give the same row the first
    for (long byte = 0; byte < 16; ++byte) places[long(memory(int(lane), int(8 * byte))) / 8] = {lane, byte};
  const bool exchanged = loads && std::string(name).find("m16n16") != std::string::npos;
  const auto at = [&](long thread, long value) {
    const long reg = value / 4, byte = value % 4;
    const long held = exchanged ? reg / 2 * 8 + byte / 2 * 4 + reg % 2 * 2 + byte % 2 : value;
    return places[long(registers(int(thread), int(8 * held))) / 8];
  };
  for (long t = 0; t < 32; ++t)
    for (long v = 0; v < bytes; ++v)
      verify(at(t, v) == Cell{at(t, 0).lane + at(0, v).lane, at(t, 0).column + at(0, v).column}, name);
  std::printf("matrix %s %d | %s | %s\n", name, matrices, walk(name, 32, [&](long t) { return at(t, 0); }).c_str(),
              walk(name, bytes, [&](long v) { return at(0, v); }).c_str());
}

int main() {
  print_fragments<
      MMA_Traits<SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 32>>>(32);
  print_fragments<
      MMA_Traits<SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>>>(64);
  print_matrix<SM100_U8x8_LDSM_T, true>("ld m16n16", 1);
  print_matrix<SM100_U8x16_LDSM_T, true>("ld m16n16", 2);
  print_matrix<SM100_SU4_DU8x16_x1_LDSM_N, true>("ld m8n16", 1);
  print_matrix<SM100_SU6_DU8x16_x2_LDSM_N, true>("ld m8n16", 2);
  print_matrix<SM100_SU4_DU8x16_x4_LDSM_N, true>("ld m8n16", 4);
  print_matrix<SM100_U8x4_STSM_T, false>("st m16n8", 1);
  print_matrix<SM100_U8x8_STSM_T, false>("st m16n8", 2);
  print_matrix<SM100_U8x16_STSM_T, false>("st m16n8", 4);
}
