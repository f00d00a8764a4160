// Copies and fills, checked: both faces bring theirs into this form.
#pragma once

#include <driver_types.h>

#include "cudart/operation.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {

// Fails where an end does not hold what is copied, or is not what `kind` says.
void check_copy(const Copy& copy, cudaMemcpyKind kind);
void check_fill(const Fill& fill);

Copy flat_copy(void* to, const void* from, std::size_t bytes);
Copy copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
             std::size_t height);
Copy copy_3d(const cudaMemcpy3DParms& parameters);
Copy copy_to_array(void* array, std::size_t x_bytes, std::size_t y, const void* from, std::size_t pitch,
                   std::size_t width, std::size_t height);
Copy copy_from_array(void* to, std::size_t pitch, const void* array, std::size_t x_bytes, std::size_t y,
                     std::size_t width, std::size_t height);

// In the stream. The host may go on; where its memory is pageable the bytes are taken at once, or it waits, as with a
// GPU.
void copy_async(Stream& stream, Copy copy, cudaMemcpyKind kind);
void copy_and_wait(Stream& stream, Copy copy, cudaMemcpyKind kind);
void fill_async(Stream& stream, Fill fill);

}  // namespace wm::cudart
