// How plans are ranked, for C.
#include <fmt/format.h>

#include "capi/requests.hpp"
#include "ops/attention_problem.hpp"
#include "ops/gemm_aligned.hpp"
#include "ops/gemm_problem.hpp"
#include "plan/attention_choice.hpp"
#include "plan/attention_plan_text.hpp"
#include "plan/gemm_choice.hpp"
#include "plan/gemm_plan_text.hpp"

using namespace wm;
using namespace wm::capi;

namespace {

struct Row {
  std::string text;
  wm_plan plan;  // without its text
};

}  // namespace

struct wm_plans {
  std::vector<Row> rows;
};

namespace {

template <class Estimate>
Row row_of(const Estimate& e, std::int64_t tiles, bool taken, bool tuned) {
  return {plan::text_of(e.plan),
          {0, nullptr, taken, taken && tuned, e.plan.shared_bytes(), e.plan.registers(), tiles, e.seconds}};
}

// The one that is taken first, then the others in the ranking's order.
template <class Choice, class Estimate, class Tiles>
wm_plans listed(const std::optional<Choice>& taken, const Estimate& estimate, const std::vector<Estimate>& ranking,
                const Tiles& tiles) {
  wm_plans plans;
  plans.rows.push_back(row_of(estimate, tiles(estimate), true, taken->tuned));
  for (const Estimate& other : ranking)
    if (!(other.plan == taken->plan)) plans.rows.push_back(row_of(other, tiles(other), false, false));
  return plans;
}

[[noreturn]] void refuse_shape(const Device& device) {
  throw Error(ErrorCode::unsupported, fmt::format("no plan serves this request on {}", device.info().id));
}

}  // namespace

wm_status wm_plans_gemm(const wm_stream* stream, const wm_gemm_request* request, wm_plans** plans) {
  return give(plans, [&] {
    const Stream& own = at(stream, "stream").stream;
    const Device& device = own.device();
    const auto instruction = plan::instruction_of(device.info().arch);
    const GemmRequest asked = gemm_request(device, request);
    const ops::GemmProblem p = ops::understand(own, asked, instruction);
    const GemmKind kind = asked.align ? ops::kind_to_run(p) : p.kind;
    const plan::GemmShape shape{p.m, p.n, p.k, p.batch};
    const plan::ChipRates rates = plan::rates_of(device.info());
    const auto taken = plan::choose(kind, shape, rates, device.info().name);
    if (!taken) refuse_shape(device);
    return listed(taken, plan::estimate(taken->plan, shape, rates), plan::rank(kind, shape, rates),
                  [](const plan::GemmEstimate& e) { return e.schedule.tiles; });
  });
}

wm_status wm_plans_attention(const wm_stream* stream, const wm_attention_request* request, wm_plans** plans) {
  return give(plans, [&] {
    const Stream& own = at(stream, "stream").stream;
    const Device& device = own.device();
    const ops::AttentionProblem p = ops::understand(own, attention_request(device, request));
    const plan::ChipRates rates = plan::rates_of(device.info());
    const auto taken = rates.instruction == TensorInstruction::wgmma
                           ? plan::choose(p.kind, p.shape(), rates, device.info().name)
                           : std::nullopt;
    if (!taken) refuse_shape(device);
    return listed(taken, plan::estimate(taken->plan, p.shape(), rates), plan::rank(p.kind, p.shape(), rates),
                  [](const plan::AttentionEstimate& e) { return e.tiles; });
  });
}

void wm_plans_free(wm_plans* plans) { delete plans; }
std::size_t wm_plans_count(const wm_plans* plans) { return plans ? plans->rows.size() : 0; }

wm_status wm_plans_at(const wm_plans* plans, std::size_t index, wm_plan* plan) {
  return guarded([&] {
    const std::vector<Row>& rows = at(plans, "plans").rows;
    if (index >= rows.size())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there are {} plans, and none of index {}", rows.size(), index));
    wm_plan own = rows[index].plan;
    own.text = rows[index].text.c_str();
    write(plan, own, "plan");
  });
}
