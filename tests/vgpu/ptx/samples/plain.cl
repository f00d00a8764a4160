// OpenCL C through LLVM: the dialect of clang, with a load in Triton's manner.
constant int table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
constant float bias[4] = {0.5f, 1.5f};

__attribute__((noinline)) static float folded(global const float* values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void plain(global float* out, global const float* in,
                                                                   int count) {
  local float tile[256];
  const int thread = __nvvm_read_ptx_sreg_tid_x();
  int a, b;
  __asm__ volatile(
      "{ .reg .pred p; setp.ne.b32 p, %3, 0; mov.u32 %0, 0x0;\n\tmov.u32 %1, 0x0;\n\t@p ld.global.v2.b32 { %0, %1 }, [ %2 "
      "+ 0 ]; }"
      : "=r"(a), "=r"(b)
      : "l"(in + thread), "r"(thread < count));
  tile[thread & 255] = (float)(a ^ b) + bias[thread & 3];
  __nvvm_bar_sync(0);
  double scaled = tile[(thread + 1) & 255] * 0.1;
  switch (count & 7) {
    case 0: scaled += table[thread % 3][0]; break;
    case 1: scaled *= folded(in, thread); break;
    case 2: scaled -= 4; break;
    case 3: scaled = -scaled; break;
    case 4: scaled *= scaled; break;
    case 5: scaled /= 3; break;
  }
  out[thread] = (float)scaled;
}
