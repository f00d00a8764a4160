// Attentions under the judge: as they are, in every order of events, and with something left out of their text.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attention/random_attention.hpp"
#include "ops/attention_kernel.hpp"
#include "ops/attention_launch.hpp"
#include "ops/schedules.hpp"
#include "ops/settings.hpp"
#include "ops/workspace.hpp"
#include "warpmill/virtual.hpp"

namespace wm::test {

struct JudgedAttention {
  const char* name;
  bench::AttentionCase problem;
  AttentionPlan plan;
};

// Right, without a finding, and the same bits in every order. With ATTENTION_JUDGE_SEEDS seeds where the environment
// says how many.
inline void expect_silence(const Stream& stream, const std::vector<JudgedAttention>& attentions, int usual_seeds) {
  const auto seeds = static_cast<std::uint64_t>(asked("ATTENTION_JUDGE_SEEDS", usual_seeds));
  for (const JudgedAttention& p : attentions) {
    SCOPED_TRACE(p.name);
    const bench::RandomAttention attention(stream, p.problem, 1);
    std::optional<std::pair<std::vector<std::uint8_t>, std::vector<std::uint32_t>>> first;
    in_every_schedule(stream.device(), seeds, [&] {
      attention.poison(stream);
      wm::attention(stream, attention.request(p.plan));
      stream.synchronize();
      EXPECT_LT(attention.error(100), 1);
      const std::pair bits{attention.out_bits(), attention.lse_bits()};
      EXPECT_TRUE(bits == first.value_or(bits)) << "other bits than in the first order";
      first = bits;
    });
  }
}

// A text with all headers that it includes, each once.
inline std::string flattened(std::string_view text, std::set<std::string>& seen) {
  std::string flat;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    constexpr std::string_view include = "#include \"";
    if (line.starts_with(include)) {
      const std::string name(line.substr(include.size(), line.rfind('"') - include.size()));
      if (seen.insert(name).second) flat += flattened(jit::embedded_headers().at(name), seen);
    } else if (!line.starts_with("#pragma once")) {
      flat += line;
    }
  }
  return flat;
}

struct Noticed {
  std::size_t errors = 0, warnings = 0;
  bool wrong = false;  // the result
  bool anything() const { return errors > 0 || warnings > 0 || wrong; }
};

// What is noticed in a run of the kernel with `from`, which it has once, replaced by `to`. The device's run options say
// that the judge watches.
inline Noticed run_changed(const Stream& stream, const JudgedAttention& p, std::string_view from, std::string_view to) {
  const Device& device = stream.device();
  const bench::RandomAttention attention(stream, p.problem, 1);
  const ops::AttentionProblem problem = ops::understand(stream, attention.request());
  AttentionPlan plan = p.plan;
  plan.kind = problem.kind;
  ops::KernelSource source = ops::attention_source(plan);
  std::set<std::string> seen;
  source.text = flattened(source.text, seen);
  const std::size_t at = source.text.find(from);
  if (at == source.text.npos || source.text.find(from, at + 1) != source.text.npos) {
    ADD_FAILURE() << "the kernel has not one place with: " << from;
    return {};
  }
  source.text.replace(at, from.size(), to);
  ops::Kernels kernels;
  const Kernel kernel = kernels.get(device, source);
  ops::PreparedAttention launch = ops::prepare_launch(device, problem, plan);
  launch.arguments.counter = ops::counter_of(stream);
  wm::launch(stream, kernel, launch.config, launch.arguments);
  stream.synchronize();
  Noticed noticed;
  const vgpu::RunReport report = vgpu::last_run(device);
  for (const vgpu::Finding& finding : report.check->findings) {
    noticed.errors += finding.severity == vgpu::Severity::error;
    noticed.warnings += finding.severity == vgpu::Severity::warning;
  }
  noticed.wrong = !(attention.error() < 1);
  return noticed;
}

}  // namespace wm::test
