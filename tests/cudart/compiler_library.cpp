// What a library shows that makes machine code, and one that has a static runtime: names, and functions that fail.
asm(R"(
  .text
  .macro fails name
  .balign 16
  .globl \name
  .type \name, @function
\name:
  movl $99, %eax
  ret
  .skip 10, 0x90  # room for a jump
  .size \name, . - \name
  .endm

  fails __nvJitLinkCreate_13_0
  fails __nvJitLinkDestroy_13_0
  fails __nvJitLinkAddData_13_0
  fails __nvJitLinkComplete_13_0
  fails __nvJitLinkGetErrorLogSize_13_0
  fails __nvJitLinkGetErrorLog_13_0
  fails __nvJitLinkGetLinkedCubinSize_13_0
  fails __nvJitLinkGetLinkedCubin_13_0
  fails own_count

  # Five bytes, without such room: it is a jump itself.
  .balign 16
  .globl _cudaGetDeviceCount
  .type _cudaGetDeviceCount, @function
_cudaGetDeviceCount:
  .byte 0xe9
  .long own_count - . - 4
  .size _cudaGetDeviceCount, . - _cudaGetDeviceCount
)");
