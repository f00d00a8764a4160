// The rules, and the words for who breaks them.
#include "common/launch_rules.hpp"

#include <fmt/format.h>

namespace wm {
namespace {

// The same on every architecture that runs here.
constexpr Dim3 largest_grid{2147483647, 65535, 65535};
constexpr Dim3 largest_block{most_block_threads, most_block_threads, 64};

bool is_free(const Dim3& required) { return required.x == 0; }

std::optional<std::string> size_refusal(std::string_view what, const Dim3& size, const Dim3& limit) {
  if (size.x == 0 || size.y == 0 || size.z == 0) return fmt::format("the {} {} has a size of 0", what, words(size));
  if (size.x > limit.x || size.y > limit.y || size.z > limit.z)
    return fmt::format("the {} {} is more than {}", what, words(size), words(limit));
  return std::nullopt;
}

std::optional<std::string> block_refusal(const LaunchRules& rules, const Dim3& block) {
  if (auto refusal = size_refusal("block", block, largest_block)) return refusal;
  if (volume(block) > rules.block_threads)
    return fmt::format("the block {} has {} threads, and this kernel allows {} ({})", words(block), volume(block),
                       rules.block_threads,
                       rules.registers == 0 ? "what a block may have, or the kernel's launch bounds"
                                            : fmt::format("it takes {} registers a thread, or was compiled with launch "
                                                          "bounds",
                                                          rules.registers));
  if (!is_free(rules.required_block) && block != rules.required_block)
    return fmt::format("the block is {}, and the kernel was compiled for exactly {}", words(block),
                       words(rules.required_block));
  return std::nullopt;
}

std::optional<std::string> cluster_refusal(const LaunchRules& rules, const Dim3& grid, const Dim3& asked) {
  const Dim3 cluster = cluster_of(rules, asked);
  if (!is_free(rules.required_cluster) && cluster != rules.required_cluster)
    return fmt::format("the cluster is {}, and the kernel was compiled for exactly {}", words(cluster),
                       words(rules.required_cluster));
  if (cluster == Dim3{}) return std::nullopt;
  const std::uint32_t most = rules.cluster_blocks;
  if (most == 1) return fmt::format("the cluster is {}, and {} has no clusters", words(cluster), rules.arch.name());
  if (auto refusal = size_refusal("cluster", cluster, {most, most, most})) return refusal;
  if (volume(cluster) > most)
    return fmt::format("the cluster {} has {} blocks, and {} allows {}", words(cluster), volume(cluster),
                       rules.arch.name(), most);
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return fmt::format("the cluster {} does not divide the grid {}", words(cluster), words(grid));
  return std::nullopt;
}

}  // namespace

std::uint32_t most_cluster_blocks(const Architecture& arch) { return arch.major >= 9 ? 16 : 1; }

std::uint64_t volume(const Dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }
std::string words(const Dim3& size) { return fmt::format("{}x{}x{}", size.x, size.y, size.z); }

Dim3 cluster_of(const LaunchRules& rules, const Dim3& asked) {
  return asked == Dim3{} && !is_free(rules.required_cluster) ? rules.required_cluster : asked;
}

std::optional<std::string> launch_refusal(const LaunchRules& rules, const Dim3& grid, const Dim3& block,
                                          const Dim3& cluster) {
  if (auto refusal = size_refusal("grid", grid, largest_grid)) return refusal;
  if (auto refusal = block_refusal(rules, block)) return refusal;
  return cluster_refusal(rules, grid, cluster);
}

}  // namespace wm
