// Candidates take turns, so that clocks and heat are the same for all.
#include "attention/attention_tune.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gemm/graph.hpp"
#include "gemm/rotation.hpp"
#include "ops/attention_problem.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

struct Contender {
  AttentionPlan plan;
  Graph graph;
  std::vector<double> seconds{};
};

constexpr int launches = 8;  // of one replay

double seconds_of(const Stream& stream, const Graph& graph) {
  const Event start(stream.device()), end(stream.device());
  stream.record(start);
  graph.replay(stream);
  stream.record(end);
  end.synchronize();
  return end.since(start) * 1e-3 / launches;
}

}  // namespace

std::optional<plan::TunedAttention> tune_attention(const Device& device, const AttentionCase& attention,
                                                   const TuneOptions& options) {
  check_tunable(device.info());
  const Stream stream(device);
  // Two sets of operands in turn: what one launch leaves in L2 is not what the next one reads.
  const RandomAttention first(stream, attention, 1), second(stream, attention, 2);
  const ops::AttentionProblem problem = ops::understand(stream, first.request());
  std::vector<AttentionPlan> without;
  for (const std::string& text : options.without) without.push_back(plan::attention_plan_from_text(text, problem.kind));
  std::vector<Contender> contenders;
  for (const auto& candidate : plan::rank(problem.kind, problem.shape(), plan::rates_of(device.info()))) {
    const AttentionPlan& plan = candidate.plan;
    const std::string name = plan::text_of(plan);
    if (std::find(without.begin(), without.end(), plan) != without.end()) continue;
    options.trying(name);
    try {
      first.poison(stream);
      wm::attention(stream, first.request(plan));
      stream.synchronize();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::execution) throw;  // the device is lost
      options.note(fmt::format("{} is left out: {}", name, error.what()));
      continue;
    }
    if (!(first.error(256) < 1)) {
      options.note(fmt::format("{} is left out: its result is WRONG", name));
      continue;
    }
    const auto work = [&] {
      for (int i = 0; i < launches; ++i) wm::attention(stream, (i % 2 ? second : first).request(plan));
    };
    work();
    stream.synchronize();
    contenders.push_back({plan, Graph(stream, work)});
  }
  if (contenders.empty()) return std::nullopt;
  for (int round = -1; round < options.rounds; ++round)  // the first warms up
    for (Contender& contender : contenders) {
      options.trying(plan::text_of(contender.plan));
      const double seconds = seconds_of(stream, contender.graph);
      if (round >= 0) contender.seconds.push_back(seconds);
    }
  const auto median = [](const Contender& contender) { return quantile(contender.seconds, 0.5); };
  std::stable_sort(contenders.begin(), contenders.end(),
                   [&](const Contender& a, const Contender& b) { return median(a) < median(b); });
  for (const Contender& contender : contenders)
    options.note(fmt::format("{:8.2f} us  {}", median(contender) * 1e6, plan::text_of(contender.plan)));
  return plan::TunedAttention{plan::key_of(device.info().name, problem.kind, problem.shape()),
                              plan::text_of(contenders.front().plan), median(contenders.front()) * 1e6};
}

}  // namespace wm::bench
