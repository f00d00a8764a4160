// Names for the reports of the virtual GPU: roles of warps, and shared memory. They travel in comments of the PTX,
// which the chip's assembler drops with everything that only they use. A name must be a string literal, hence macros.
#pragma once

// What the warps that come by here are from now on: WM_NAME_ROLE("load").
#define WM_NAME_ROLE(role) asm volatile("// wm.name role " role)
// An array in shared memory, with the bytes of an element: WM_NAME_SHARED("full", full, 8, stages).
#define WM_NAME_SHARED(name, address, bytes, count) \
  asm volatile("// wm.name shared " name " %0 %1 %2" ::"r"(::wm::SharedAddress(address).value), "n"(bytes), "n"(count))
