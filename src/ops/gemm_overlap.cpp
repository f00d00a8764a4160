// What of a GEMM request may not overlap.
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/gemm_problem.hpp"
#include "ops/overlap.hpp"

namespace wm::ops {
namespace {

// Whether x lies in memory as d does, element for element.
bool alike(const View& d, const View& x) {
  if (x.dtype != d.dtype || x.shape != d.shape) return false;
  for (std::size_t i = 0; i < d.shape.size(); ++i)
    if (d.shape[i] > 1 && x.strides[i] != d.strides[i]) return false;
  return true;
}

// Whether what begins there, `bytes` each, has room.
bool apart(std::vector<std::uint64_t>& begins, std::uint64_t bytes) {
  std::sort(begins.begin(), begins.end());
  const auto too_close = [&](std::uint64_t x, std::uint64_t y) { return y - x < bytes; };
  return std::adjacent_find(begins.begin(), begins.end(), too_close) == begins.end();
}

// The matrices that a request writes, held against everything else. A batch with strides is one matrix here, of three
// dimensions.
class Outputs {
 public:
  explicit Outputs(const GemmRequest& request)
      : like_(request.d),
        listed_(request.batch.has_value()),
        addresses_(listed_ ? request.batch->d : std::span(&request.d.address, 1)),
        bytes_(request.d.span_bytes()),
        order_(addresses_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t x, std::size_t y) { return addresses_[x] < addresses_[y]; });
  }

  // Against each other: all at once by their ranges or by their bytes of a period, else pair by pair.
  void check() const {
    std::vector<std::uint64_t> begins(addresses_.begin(), addresses_.end());
    if (apart(begins, bytes_)) return;
    const bool side_by_side = any_pitch(like_, [&](std::uint64_t pitch) {
      const auto width = bytes_of_period(like_, pitch);
      if (!width) return false;
      begins.assign(addresses_.begin(), addresses_.end());
      for (std::uint64_t& begin : begins) begin %= pitch;
      begins.push_back(*std::min_element(begins.begin(), begins.end()) + pitch);
      return apart(begins, *width);
    });
    if (side_by_side) return;
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::size_t j = i + 1; j < order_.size() && addresses_[order_[j]] < addresses_[order_[i]] + bytes_; ++j)
        if (overlap(like_, addresses_[order_[i]], like_, addresses_[order_[j]]))
          refuse(fmt::format("{} overlaps {}", called("d", order_[i]), called("d", order_[j])));
  }

  // Against something that is read, or amax. An empty list: the view's own address.
  void check(std::string_view name, const View& view, std::span<const std::uint64_t> list, std::string_view why) const {
    const bool shared = list.empty();
    if (shared) list = {&view.address, 1};
    for (std::size_t i = 0; i < list.size(); ++i) {
      // From the first that may reach this far.
      const std::uint64_t least = list[i] > bytes_ ? list[i] - bytes_ : 0;
      auto out = std::lower_bound(order_.begin(), order_.end(), least,
                                  [&](std::size_t x, std::uint64_t begin) { return addresses_[x] < begin; });
      for (; out != order_.end() && addresses_[*out] < list[i] + view.span_bytes(); ++out) {
        const bool own_c = name == "c" && (shared ? addresses_.size() == 1 : *out == i);
        if (own_c && list[i] == addresses_[*out] && alike(like_, view)) continue;  // in place
        if (overlap(like_, addresses_[*out], view, list[i]))
          refuse(fmt::format("{} overlaps {}{}", called("d", *out), shared ? std::string(name) : called(name, i), why));
      }
    }
  }

 private:
  std::string called(std::string_view name, std::size_t number) const {
    return listed_ ? fmt::format("{}[{}] of the batch", name, number) : std::string(name);
  }

  const View& like_;
  bool listed_;
  std::span<const std::uint64_t> addresses_;
  std::uint64_t bytes_;
  std::vector<std::size_t> order_;  // by address
};

}  // namespace

void check_overlaps(const GemmRequest& request) {
  const Outputs outputs(request);
  outputs.check();
  const GemmBatch lists = request.batch.value_or(GemmBatch{});
  const GemmEpilogue& e = request.epilogue;
  const auto keeps_amax_apart = [&](std::string_view name, const View& view, std::span<const std::uint64_t> list) {
    if (list.empty()) list = {&view.address, 1};
    for (const std::uint64_t address : list)
      if (e.amax && overlap(*e.amax, e.amax->address, view, address))
        refuse(fmt::format("amax lies in {}, and is cleared before the product begins", name));
  };
  const auto operand = [&](std::string_view name, const View& view, std::span<const std::uint64_t> list,
                           std::string_view why) {
    outputs.check(name, view, list, why);
    keeps_amax_apart(name, view, list);
  };
  operand("a", request.a, lists.a, "; the product cannot be made in place");
  operand("b", request.b, lists.b, "; the product cannot be made in place");
  if (e.c && e.beta != 0) operand("c", *e.c, lists.c, " without being the same: its elements would change on the way");
  const auto vector = [&](std::string_view name, const std::optional<View>& view) {
    if (!view) return;
    outputs.check(name, *view, {}, ": its elements would change on the way");
    if (&view != &e.amax) keeps_amax_apart(name, *view, {});
  };
  vector("row_scale", e.row_scale);
  vector("column_scale", e.column_scale);
  vector("row_bias", e.row_bias);
  vector("column_bias", e.column_bias);
  vector("d_scale", e.d_scale);
  vector("amax", e.amax);
}

}  // namespace wm::ops
