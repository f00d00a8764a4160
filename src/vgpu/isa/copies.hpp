// The decoders of bulk and tensor copies, which copy_family chooses from.
#pragma once

namespace wm::vgpu {
class FunctionDecoder;
}

namespace wm::vgpu::isa {

void bulk_commit(FunctionDecoder&);
void bulk_wait(FunctionDecoder&);
void bulk_copy(FunctionDecoder&, bool reduce, bool prefetch);
void tensor_copy(FunctionDecoder&, bool reduce, bool prefetch);

}  // namespace wm::vgpu::isa
