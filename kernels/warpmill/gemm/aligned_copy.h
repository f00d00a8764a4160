// What is copied to where the copy engine can read it. Plain C++, shared by host and device.
#pragma once

namespace wm {

inline constexpr unsigned aligned_copy_threads = 256;  // of a block
inline constexpr unsigned line_piece = 256;            // elements that a warp copies at a time

// `matrices` times `lines` lines of `length` elements; strides and pitches are in elements, and what is written has no
// gaps between its matrices.
struct AlignedCopy {
  unsigned long long from, to;  // addresses
  unsigned long long lines, length, matrices;
  long long from_pitch, from_matrix_stride, to_pitch;
};

struct AlignedCopies {
  AlignedCopy of[2];  // A and B; one without matrices where only the other is copied
};

}  // namespace wm
