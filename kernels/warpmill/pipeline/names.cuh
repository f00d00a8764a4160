// Names for the reports of the virtual GPU: roles of warps, and shared memory. They travel in comments of the PTX,
// which the chip's assembler drops with everything that only they use.
#pragma once

#include "warpmill/types.cuh"

namespace wm {

// A string as a template argument, so that a name costs nothing at run time: name_role<"load">().
template <int size>
struct Name {
  char text[size];

  constexpr Name(const char (&literal)[size]) : text{} {
    for (int i = 0; i < size; ++i) text[i] = literal[i];
  }
  constexpr Name() : text{} {}

  // The name with `suffix` behind it: "kv" and ".full" are "kv.full".
  template <int more>
  constexpr Name<size + more - 1> operator+(const char (&suffix)[more]) const {
    Name<size + more - 1> whole;
    for (int i = 0; i < size - 1; ++i) whole.text[i] = text[i];
    for (int i = 0; i < more; ++i) whole.text[size - 1 + i] = suffix[i];
    return whole;
  }
  // Eight characters as a number, the first in the low byte: inline assembly takes numbers, but no computed text.
  constexpr u64 word(int index) const {
    u64 word = 0;
    for (int i = 0; i < 8 && index * 8 + i < size; ++i) word |= u64(u8(text[index * 8 + i])) << (8 * i);
    return word;
  }
  static_assert(size - 1 <= 24, "a name has at most 24 characters: three words travel");
};

// What the warps that come by here are from now on.
template <Name name>
WM_DEVICE void name_role() {
  asm volatile("// wm.name role %0 %1 %2" ::"n"(name.word(0)), "n"(name.word(1)), "n"(name.word(2)));
}

// `count` things of `bytes` each in shared memory.
template <Name name, u32 bytes, u32 count>
WM_DEVICE void name_shared(SharedAddress address) {
  asm volatile("// wm.name shared %0 %1 %2 %3 %4 %5" ::"n"(name.word(0)), "n"(name.word(1)), "n"(name.word(2)),
               "r"(address.value), "n"(bytes), "n"(count));
}
template <Name name, class T, int count>
WM_DEVICE void name_shared(T (&array)[count]) {
  name_shared<name, sizeof(T), count>(SharedAddress(&array));
}

}  // namespace wm
