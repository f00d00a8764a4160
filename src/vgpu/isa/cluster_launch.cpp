// clusterlaunchcontrol: a cluster takes over the work of one that has not started yet, and reads which one it got.
#include <array>
#include <cstring>

#include "vgpu/isa/async_copy.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

constexpr u32 answer_bytes = 16;
using Answer = std::array<u32, 4>;  // the first block of the cluster, x, y, z; 1: there is one

struct Request {
  Address answer, barrier;
  bool multicast = false;
};

// Asks when its time comes, and answers in one block or in all of the cluster.
class CancelRequest final : public AsyncOperation {
 public:
  CancelRequest(const Origin& origin, std::vector<Destination> to) : AsyncOperation(origin), to_(std::move(to)) {}
  std::vector<u64> watched_each;

  bool advance(Cluster& cluster, Random*) override {
    const Run& run = *cluster.run;
    Answer answer{};
    if (const auto taken = run.cancel_cluster()) {
      const Dim3& clusters = run.clusters;
      const Dim3& blocks = run.shape.cluster;
      answer = {static_cast<u32>(*taken % clusters.x) * blocks.x,
                static_cast<u32>(*taken / clusters.x % clusters.y) * blocks.y,
                static_cast<u32>(*taken / clusters.x / clusters.y) * blocks.z, 1};
    }
    for (std::size_t i = 0; i < to_.size(); ++i) {
      std::memcpy(shared_at(cluster, to_[i].shared, answer_bytes, "an answer of try_cancel"), answer.data(),
                  answer_bytes);
      mbarrier::complete_bytes(cluster, to_[i].barrier, answer_bytes, watched_each.empty() ? 0 : watched_each[i]);
    }
    return true;
  }

 private:
  std::vector<Destination> to_;
};

Step request_op(Warp& warp, const Op& op, u32 active) {
  const auto& r = op.as<Request>();
  LaneAddresses answers, barriers;
  lane_addresses(warp, r.answer, answers);
  lane_addresses(warp, r.barrier, barriers);
  Cluster& cluster = warp.cluster();
  const u32 everybody = (1u << cluster.blocks.size()) - 1;
  for_each_lane(active, [&](u32 i) {
    const auto to = destinations(warp, i, answers[i], barriers[i], r.multicast ? &everybody : nullptr);
    auto request = std::make_unique<CancelRequest>(Origin::of(warp, i), to);
    for (const Destination& d : to) {
      resolve_one(warp, AddressSpace::shared_cluster, d.shared, answer_bytes, answer_bytes, AccessKind::write, i);
      resolve_one(warp, AddressSpace::shared_cluster, d.barrier, 8, 8, AccessKind::atomic, i);
      if (Observer* observer = warp.launch().observer) {
        CopyIssue issue;
        issue.writes.add(shared_window + d.shared, answer_bytes);
        issue.barrier = d.barrier;
        request->watched_each.push_back(observer->copy_issued(warp, i, issue));
      }
    }
    cluster.async.issue(cluster, std::move(request));
  });
  return Step::go;
}

// Rows of the answer's halves: a is x and y, b is z and whether there is one.
Step is_canceled_op(Warp& warp, const Op& op, u32 active) {
  const u64* high = warp.source64(op.b);
  warp.set_predicate(op.d.row(), ballot_of([&](u32 i) { return high[i] >> 32 != 0; }), active);
  return Step::go;
}

// Of an answer that says no PTX leaves open what is read. Programs read it and then ask, so it is no fault: a number
// that no grid has.
template <u32 dimension>
Step first_block_op(Warp& warp, const Op& op, u32 active) {
  constexpr u32 nobody = ~0u;
  const u64 *low = warp.source64(op.a), *high = warp.source64(op.b);
  u32* to = warp.row32(op.d);
  for_each_lane(active, [&](u32 i) {
    const u64 number = dimension == 0 ? low[i] : dimension == 1 ? low[i] >> 32 : dimension == 2 ? high[i] : 0;
    to[i] = high[i] >> 32 == 0 ? nobody : static_cast<u32>(number);
  });
  return Step::go;
}

void decode_request(FunctionDecoder& d) {
  Request r;
  if (!d.modifiers.take("async")) d.refuse("it is .async");
  const AddressSpace space = take_space(d);
  if (space != AddressSpace::shared) d.refuse("its answer goes to .shared::cta");
  if (!d.modifiers.take("mbarrier::complete_tx::bytes")) d.refuse("it needs .mbarrier::complete_tx::bytes");
  r.multicast = d.modifiers.take("multicast::cluster::all");
  if (d.modifiers.take_type() != Type::b128) d.refuse("its type is .b128");
  d.expect_operands(2);
  r.answer = d.address(d.operand(0), AddressSpace::shared);
  r.barrier = d.address(d.operand(1), AddressSpace::shared);
  d.emit(&request_op, Effect::copy(Proxy::async, Completion::mbarrier), r);
}

void decode_query(FunctionDecoder& d) {
  const int what = d.modifiers.take_one_of(
      {"is_canceled", "get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  if (what < 0) d.refuse("it asks .is_canceled or .get_first_ctaid");
  const bool all = what == 1;
  if (all && !d.modifiers.take("v4")) d.refuse("it is .get_first_ctaid.v4, or ::x, ::y or ::z");
  if (d.modifiers.take_type() != (what == 0 ? Type::pred : Type::b32) || d.modifiers.take_type() != Type::b128)
    d.refuse("its types are .pred or .b32, and .b128");
  d.expect_operands(2);
  const Operand low = d.source(d.operand(1), Type::b128), high = Operand::reg(low.row() + 1);
  const auto emit = [&](Handler handler, Operand to) {
    Op& op = d.emit(handler, Effect::none());
    op.d = to;
    op.a = low;
    op.b = high;
  };
  if (what == 0) return emit(&is_canceled_op, Operand::reg(d.predicate_destination(d.operand(0))));
  constexpr Handler handlers[] = {&first_block_op<0>, &first_block_op<1>, &first_block_op<2>, &first_block_op<3>};
  if (!all) return emit(handlers[what - 2], d.destination(d.operand(0), Type::b32));
  const auto to = d.destinations(d.operand(0), Type::b32);
  if (to.size() != 4) d.refuse("its destination is four registers");
  for (std::size_t i = 0; i < 4; ++i) emit(handlers[i], to[i]);
}

}  // namespace

void cluster_launch_control(FunctionDecoder& d) {
  if (d.chip().arch.major < 10) d.refuse("it is of sm_100 and later");
  const int operation = d.modifiers.take_one_of({"try_cancel", "query_cancel"});
  if (operation < 0) d.refuse("there is no such operation");
  return operation == 0 ? decode_request(d) : decode_query(d);
}

}  // namespace wm::vgpu::isa
