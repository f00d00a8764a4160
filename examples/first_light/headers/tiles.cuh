// What the kernel of struct_arguments.cu is given: two maps in one struct, as libraries pass them.
#pragma once
#include "warpmill/types.cuh"

struct Tiles {
  int bias;
  wm::TensorMap left;          // at byte 128: its alignment
  const wm::TensorMap* right;  // in memory
  int* sums;
};
