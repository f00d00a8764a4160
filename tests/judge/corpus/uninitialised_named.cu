// Memory that nobody wrote, each piece with a name: two of one name, a part of a larger one, a name given anew.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* y) {
  extern __shared__ u32 space[];
  WM_NAME_SHARED("tile", space, 64, 2);
  WM_NAME_SHARED("full", space + 32, 8, 2);
  WM_NAME_SHARED("full", space + 36, 8, 2);
  WM_NAME_SHARED("whole", space + 40, 128, 1);
  WM_NAME_SHARED("part", space + 48, 16, 1);
  WM_NAME_SHARED("old", space + 72, 64, 1);
  WM_NAME_SHARED("fresh", space + 72, 128, 1);
#ifdef REPAIRED
  for (u32 i = 0; i < 128; ++i) space[i] = 0;
#endif
  y[0] = space[17] + 1;  // expect: first
  y[1] = space[33] + 1;
  y[2] = space[38] + 1;
  y[3] = space[41] + 1;
  y[4] = space[49] + 1;
  y[5] = space[75] + 1;
}
