// The library's own kernels: their source for a plan, compiled once and kept loaded.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "warpmill/jit.hpp"
#include "warpmill/module.hpp"

namespace wm::ops {

// What is compiled. Plans that differ only in what the host does with them have the same.
struct KernelSource {
  std::string file;        // what messages call it: "gemm.cu"
  std::string text;        // includes the kernel and the instructions of its types
  std::string expression;  // the kernel's name in C++: "wm::gemm_sm90<...>"

  KernelSource stamped() const;  // the same with its stamps (kernels/warpmill/pipeline/stamps.cuh)
};

// The chip gets a cubin, the virtual GPU PTX with source lines. Lost speed is no error here: a rare epilogue with a
// plan by hand may spill and still be right; what is shipped is tested not to.
enum class Target { chip, virtual_gpu };
jit::Options options_of(const KernelSource& source, const Architecture& arch, Target target);
jit::Program compile(const KernelSource& source, const Architecture& arch, Target target);

// A device's kernels. Many threads; the table is never locked while something compiles.
class Kernels {
 public:
  // Compiled once; two threads that need it at the same moment compile once too, and load it twice.
  Kernel get(const Device& device, const KernelSource& source);

 private:
  std::mutex mutex_;
  std::map<std::string, Kernel> kernels_;  // by all that is compiled
};

}  // namespace wm::ops
