// The driver's linker: cuLinkCreate to cuLinkDestroy.
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cudart/face.hpp"
#include "cudart/linking.hpp"
#include "cudart/module.hpp"
#include "warpmill/error.hpp"

using namespace wm::cudart;

namespace {

// Where the caller wants errors in words, and how much room there is.
struct Log {
  char* text = nullptr;
  std::size_t room = 0;
  Log() = default;
  Log(unsigned count, const CUjit_option* options, void** values) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) text = static_cast<char*>(values[i]);
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = reinterpret_cast<std::uintptr_t>(values[i]);
    }
  }
  void say(const char* words) const {
    if (text != nullptr && room > 0) std::snprintf(text, room, "warpmill: %s", words);
  }
};

struct State {
  Linking linking;
  Log log;
};

// Handles that the program holds: those that exist.
struct States {
  std::mutex mutex;
  std::set<const void*> known;
};
States& states() {
  static auto* const all = new States;
  return *all;
}

State& known_state(CUlinkState handle) {
  const std::lock_guard lock(states().mutex);
  require(states().known.contains(handle), cudaErrorInvalidResourceHandle);
  return *reinterpret_cast<State*>(handle);
}

LinkedKind kind_of(CUjitInputType type) {
  switch (type) {
    case CU_JIT_INPUT_PTX: return LinkedKind::ptx;
    case CU_JIT_INPUT_FATBINARY: return LinkedKind::fat_binary;
    case CU_JIT_INPUT_LIBRARY: return LinkedKind::library;
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_OBJECT: return LinkedKind::machine_code;
    default: fail(cudaErrorInvalidValue);
  }
}

// What the linker says goes where the caller wants it, and the call fails.
template <class Call>
void logged(const Log& log, const Call& call) {
  try {
    call();
  } catch (const wm::Error& error) {
    log.say(error.what());
    fail(cudaErrorInvalidPtx, error.what());
  }
}

void add(CUlinkState handle, CUjitInputType type, std::string_view bytes, const char* name, const Log& own) {
  State& state = known_state(handle);
  const LinkedKind kind = kind_of(type);
  logged(own.text != nullptr ? own : state.log,
         [&] { state.linking.add(kind, bytes, name != nullptr ? name : "a text"); });
}

}  // namespace

WARPMILL_FACE CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return context_answer([&] {
    require(state != nullptr);
    auto made = std::make_unique<State>();
    made->log = Log(count, options, values);
    const std::lock_guard lock(states().mutex);
    states().known.insert(made.get());
    *state = reinterpret_cast<CUlinkState>(made.release());
  });
}
WARPMILL_FACE CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name,
                                     unsigned count, CUjit_option* options, void** values) {
  return context_answer([&] {
    require(data != nullptr);
    add(state, type, {static_cast<const char*>(data), bytes}, name, Log(count, options, values));
  });
}
WARPMILL_FACE CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* file, unsigned count,
                                     CUjit_option* options, void** values) {
  return context_answer([&] {
    require(file != nullptr);
    add(state, type, text_of_file(file), file, Log(count, options, values));
  });
}
WARPMILL_FACE CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return context_answer([&] {
    require(image != nullptr);
    State& known = known_state(state);
    logged(known.log, [&] { known.linking.complete(); });
    *image = const_cast<char*>(known.linking.image().c_str());
    if (bytes != nullptr) *bytes = known.linking.image().size() + 1;
  });
}
WARPMILL_FACE CUresult cuLinkDestroy(CUlinkState state) {
  return context_answer([&] {
    State* const known = &known_state(state);
    const std::lock_guard lock(states().mutex);
    states().known.erase(known);
    delete known;
  });
}
