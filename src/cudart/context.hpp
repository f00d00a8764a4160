// The driver's contexts: names for the devices, of which a thread has a stack.
#pragma once

#include <cuda.h>

namespace wm::cudart {

struct Context {
  int device = 0;
  bool primary = false;
  unsigned flags = 0;
  int retained = 0;  // of a primary one
};

Context& primary_context(int device);
Context* create_context(int device, unsigned flags);
void destroy_context(CUcontext handle);
Context& known_context(CUcontext handle);  // fails with CUDA_ERROR_INVALID_CONTEXT

// Null where there is none; fails with CUDA_ERROR_CONTEXT_IS_DESTROYED.
Context* current_context();
void set_current_context(Context*);  // the top of the stack
void push_context(Context& context);
Context* pop_context();

void note_initialised();     // cuInit, or the runtime's first call
void note_runtime_thread();  // the runtime makes the primary context current
void require_initialised();  // fails with CUDA_ERROR_NOT_INITIALIZED
void require_context();      // fails with CUDA_ERROR_INVALID_CONTEXT

inline CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

}  // namespace wm::cudart
