// Memory that nobody wrote, each piece with a name: two of one name, a part of a larger one, a name given anew.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* y) {
  extern __shared__ u32 space[];
  name_shared<"tile", 64, 2>(space);
  name_shared<"full", 8, 2>(space + 32);
  name_shared<"full", 8, 2>(space + 36);
  name_shared<"whole", 128, 1>(space + 40);
  name_shared<"part", 16, 1>(space + 48);
  name_shared<"old", 64, 1>(space + 72);
  name_shared<"fresh", 128, 1>(space + 72);
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
