// What C++ callers use of the static library; the rest of it is hidden, and the shared one exports the C ABI alone.
#pragma once

#define WARPMILL_API [[gnu::visibility("default")]]
