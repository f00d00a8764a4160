// Words about a run: who waits on what.
#pragma once

#include <string>

namespace wm::vgpu {

struct Cluster;

std::string describe(const Cluster& cluster);  // "cluster 3 (blocks (6,0,0) to (7,0,0))", or "block (3,0,0)"
// One line for each group of threads with the same reason and place.
std::string list_waiting(const Cluster& cluster);

}  // namespace wm::vgpu
