// What the shared library exports; everything else in it is hidden.
#pragma once

#define WARPMILL_API [[gnu::visibility("default")]]
