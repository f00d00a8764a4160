// What the judge of the virtual GPU found in a run: findings with their places, and what was executed and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/module.hpp"

namespace wm::vgpu {

// An error is what data shows, or what PTX forbids and no toolchain relies on; a warning what PTX demands and released
// code omits everywhere without harm seen; advice what costs time.
enum class Severity { error, warning, advice };
WARPMILL_API const char* name_of(Severity severity);

// What the judge looks for, each under a name that does not change.
struct FindingKind {
  const char* name;  // "missing-proxy-fence"
  Severity severity;
  const char* meaning;  // in one line
  const char* help;     // what to do; a finding may know better
};
WARPMILL_API std::vector<FindingKind> finding_kinds();

// What PTX demands and released code omits everywhere: such findings are warnings.
struct OmissionKind {
  const char* meaning;  // in one line
  const char* section;  // of the PTX ISA that demands more
};
WARPMILL_API std::vector<OmissionKind> omission_kinds();

// An instruction that a finding is about, and who executed it.
struct FindingPlace {
  std::string file;  // of the source where the PTX knows it (the author's own line, not the library's), else the module
  std::uint32_t line = 0;
  std::string instruction;  // "cp.async.bulk.global.shared::cta.bulk_group"
  Dim3 block{0, 0, 0};
  std::uint32_t warp = 0;
  std::string role;  // where the kernel names it
  std::string what;  // "reads shared 0x400 to 0x5ff"
  struct Frame {
    std::string file;
    std::uint32_t line = 0;
  };
  std::vector<Frame> inlined_at;  // the calls around that line, innermost first
  std::vector<Frame> through;     // the library's lines between it and the instruction, outermost first
};

struct Finding {
  std::string name;  // of its kind
  Severity severity = Severity::error;
  std::string message, help;
  std::string relies_on, section;  // of a warning: its OmissionKind
  std::vector<FindingPlace> places;
  std::uint64_t count = 1;                // how often it was seen, at these lines
  std::vector<Finding> consequences;      // what follows from it, and goes when it is mended
  WARPMILL_API std::string text() const;  // as printed

  // Whom it concerns: those of its places, and all that use an mbarrier that is misused.
  struct Party {
    Dim3 block;
    std::uint32_t warp = 0;
    bool operator==(const Party&) const = default;
  };
  std::vector<Party> parties;
};

// What a run executed, all of it under the judge's eyes.
struct CheckSummary {
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t accesses = 0;      // of lanes to shared and global memory
  std::uint64_t copies = 0, copied_bytes = 0;
  std::uint64_t products = 0;  // wgmma, counted a warp
  std::uint64_t barriers = 0;  // arrivals at barriers of every kind
};

struct CheckReport {
  std::vector<Finding> findings;  // errors first; causes, with what follows from them folded in
  CheckSummary executed;
  WARPMILL_API bool clean() const;  // no error; warnings and advice do not count
  WARPMILL_API std::size_t count(Severity severity) const;
  WARPMILL_API void join(const CheckReport& other);  // of another run of the same kernel
};

}  // namespace wm::vgpu
