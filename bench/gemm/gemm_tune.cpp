// A heat of all candidates, then a final of the best with other bands; in each the candidates take turns.
#include "gemm/gemm_tune.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gemm/rotation.hpp"
#include "ops/gemm_aligned.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

struct Contender {
  GemmPlan plan;
  Graph graph;
  double seconds = 0;
};

class Contest {
 public:
  // `without`: plans that do not enter, with any band.
  Contest(const Stream& stream, const Shape& shape, const TuneOptions& options, std::vector<GemmPlan> without)
      : stream_(stream), rotation_(stream, shape), options_(options), without_(std::move(without)) {}

  std::vector<Contender>& contenders() { return contenders_; }

  void enter(const GemmPlan& plan) {
    const std::string name = plan::text_of(plan);
    const auto same = [&](const Contender& other) { return other.plan == plan; };
    if (std::any_of(contenders_.begin(), contenders_.end(), same) || left_out(plan)) return;
    options_.trying(name);
    const auto product = [&](const RandomProduct& problem) {
      GemmRequest request = problem.request(plan);
      request.early = false;  // a tuned plan is taken behind any kernel
      gemm(stream_, request);
    };
    const RandomProduct& first = rotation_.first();
    try {
      first.poison(stream_);
      product(first);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::execution) throw;  // the device is lost
      options_.note(fmt::format("{} is left out: {}", name, error.what()));
      return;
    }
    if (!(first.sampled_error() < 1)) {
      options_.note(fmt::format("{} is left out: its product is WRONG", name));
      return;
    }
    contenders_.push_back({plan, rotation_.record(product)});
  }

  // Everybody once a round, so that clocks and heat are the same for all; the fastest first.
  void race(int rounds) {
    std::vector<std::vector<double>> seconds(contenders_.size());
    for (int round = -1; round < rounds; ++round)  // the first warms up
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        options_.trying(plan::text_of(contenders_[i].plan));
        const double time = rotation_.seconds(contenders_[i].graph);
        if (round >= 0) seconds[i].push_back(time);
      }
    for (std::size_t i = 0; i < contenders_.size(); ++i) contenders_[i].seconds = quantile(seconds[i], 0.5);
    std::stable_sort(contenders_.begin(), contenders_.end(),
                     [](const Contender& a, const Contender& b) { return a.seconds < b.seconds; });
  }

 private:
  bool left_out(const GemmPlan& plan) const {
    const auto is_it = [&](GemmPlan other) {
      other.kind = plan.kind, other.band = plan.band;
      return other == plan;
    };
    return std::any_of(without_.begin(), without_.end(), is_it);
  }

  const Stream& stream_;
  Rotation rotation_;
  const TuneOptions& options_;
  std::vector<GemmPlan> without_;
  std::vector<Contender> contenders_;
};

}  // namespace

void check_tunable(const DeviceInfo& device) {
  if (device.kind != DeviceKind::cuda)
    throw Error(ErrorCode::unsupported, "plans are tuned by measuring a GPU; " + device.id + " is none");
}

std::optional<plan::TunedPlan> tune_gemm(const Device& device, const Shape& shape, const TuneOptions& options) {
  check_tunable(device.info());
  const Stream stream(device);
  const plan::ChipRates rates = plan::rates_of(device.info());
  const GemmKind kind = ops::kind_to_run(ops::understand(stream, imagined_request(device, shape), rates.instruction));
  const plan::GemmShape sizes{shape.m, shape.n, shape.k};
  // Whatever is given in words is read before the first plan runs: once one does, an end of the process is its fault.
  std::vector<GemmPlan> by_hand, without;
  for (const std::string& text : options.without) without.push_back(plan::plan_from_text(text, kind));
  for (const std::string& text : options.by_hand) {
    by_hand.push_back(plan::plan_from_text(text, kind));
    if (const char* const problem = by_hand.back().problem())
      throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is not tuned: {}", text, problem));
    if (by_hand.back().instruction != rates.instruction)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' is not tuned: the library takes {} plans on this chip", text,
                              rates.instruction == TensorInstruction::mma ? "only mma" : "no mma"));
  }
  const auto ranking = plan::rank(kind, sizes, rates);
  // With the band that it will have: one that is too long is cut, and the model's is named.
  const auto with_band = [&](GemmPlan plan, int band) {
    plan.band = band;
    plan.band = static_cast<int>(plan::schedule_of(plan, sizes, rates).work.tiles.band);
    return plan;
  };
  Contest contest(stream, shape, options, std::move(without));
  for (std::size_t i = 0; i < ranking.size() && i < static_cast<std::size_t>(options.candidates); ++i)
    contest.enter(with_band(ranking[i].plan, 0));
  for (const GemmPlan& plan : by_hand) contest.enter(with_band(plan, plan.band));
  auto& contenders = contest.contenders();
  if (contenders.empty()) return std::nullopt;

  contest.race(3);
  const auto keep = [&](std::size_t most) {
    if (contenders.size() > most)
      contenders.erase(contenders.begin() + static_cast<std::ptrdiff_t>(most), contenders.end());
  };
  keep(5);
  for (std::size_t i = 0, best = std::min<std::size_t>(2, contenders.size()); i < best; ++i)
    for (const int band : {1, 2, 4, 8, 16, 32}) {
      const GemmPlan plan = contenders[i].plan;  // entering moves the contenders
      contest.enter(with_band(plan, band));
    }
  contest.race(options.rounds);
  for (const Contender& contender : contenders)
    options.note(fmt::format("{:8.2f} us  {}", contender.seconds * 1e6, plan::text_of(contender.plan)));
  const Contender& winner = contenders.front();
  return plan::TunedPlan{plan::key_of(device.info().name, kind, sizes), plan::text_of(winner.plan),
                         winner.seconds * 1e6};
}

}  // namespace wm::bench
