// What a fuzz target holds the code to besides surviving: a broken promise ends the run like a crash.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace wm::fuzz {

inline void promise(bool kept, std::string_view what, std::string_view shown = {}) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %.*s\n%.*s\n", int(what.size()), what.data(), int(shown.size()), shown.data());
  std::abort();
}

// A refusal goes to terminals and logs: whatever was in the text, it must not move the cursor or ring the bell.
inline void promise_clean(std::string_view message) {
  promise(!message.empty(), "a refusal says something");
  for (const char c : message)
    promise((static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\n' || c == '\t',
            "a refusal has no control characters", message);
}

}  // namespace wm::fuzz
