// One attention on a device: random operands, the request for it, and a check of its result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "warpmill/attention.hpp"
#include "warpmill/buffer.hpp"

namespace wm::bench {

// How heads and positions lie in memory.
enum class HeadLayout {
  heads_first,      // batch x heads x positions x dim
  positions_first,  // batch x positions x heads x dim
  packed,           // positions first, and q, k and v of a position side by side
};

// Whether numbers of e4m3 come with scales, and for what each is one.
enum class Scales { none, tensor, heads };

struct AttentionCase {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 1, keys = 1;
  int head_dim = 128, value_dim = 128;
  DType dtype = DType::bf16;
  DType out_dtype = DType::bf16;  // where the others are e4m3
  Scales scales = Scales::none;   // between 1/2 and 2; an output in e4m3 has one of 8
  AttentionMask mask{};
  float softcap = 0;
  std::optional<float> scale{};
  HeadLayout layout = HeadLayout::heads_first;
  bool lse = true;
  bool alibi = false, sinks = false;  // the usual slopes, 2^(-8 / heads) to 2^-8; normal random sinks
  float slope_factor = 1;             // of all slopes
  // Expressions, and what they compute; arrays of the caller's by name.
  std::string score{}, mask_expression{}, skip{}, whole{};
  std::function<double(double score, std::int64_t q, std::int64_t k, std::int64_t head, std::int64_t batch)> score_of{};
  std::function<bool(std::int64_t q, std::int64_t k, std::int64_t head, std::int64_t batch)> sees{};
  std::vector<std::pair<std::string, std::vector<float>>> numbers{};
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> integers{};

  // Queries see the keys of their own document, of so many with random lengths.
  void set_documents(int documents);
  // Lengths of sequences that lie one behind the other, queries and keys; batch, queries and keys above then do not
  // count.
  std::vector<std::pair<std::int64_t, std::int64_t>> sequences{};
  std::vector<std::int64_t> key_lengths{};  // keys that count, of each batch; the others are NaN
  float spread = 1;                         // of q's values: a larger one makes peaks that move

  bool narrow() const { return dtype == DType::e4m3; }
  DType out_type() const { return narrow() ? out_dtype : dtype; }
  double flops() const;  // of both products, what no query sees left out
  double bytes() const;  // of operands and results
  // What a RandomAttention takes where the device's memory is the host's: these, and float copies of the operands.
  double host_bytes() const { return 4 * bytes(); }
};

// Keys that query `i` sees: from first to second, which is not seen any more.
std::pair<std::int64_t, std::int64_t> seen(const AttentionMask& mask, std::int64_t queries, std::int64_t keys,
                                           std::int64_t i);

// Normal random values; the output and the logarithms hold NaNs, so that an element nobody writes is found.
class RandomAttention {
 public:
  RandomAttention(const Stream& stream, const AttentionCase& problem, std::uint64_t seed);

  AttentionRequest request(std::optional<AttentionPlan> plan = {}) const;
  void poison(const Stream& stream) const;

  // The largest error over `samples` rows (all of them where there are no more) against float64, in units of what
  // rounding of weights and output and the arithmetic before it allow: a right result stays below 1. The first and the
  // last row of each sequence and head are among them where the samples are enough for that.
  double error(std::size_t samples = ~std::size_t{0}) const;

  // Operands as the device has them, for whoever changes some; `upload` after that.
  std::vector<float> q, k, v;  // (sequence, position, head, dim)
  void upload(const Stream& stream);
  std::size_t q_index(std::int64_t sequence, std::int64_t head, std::int64_t position) const;
  std::size_t kv_index(std::int64_t sequence, std::int64_t kv_head, std::int64_t position, bool value) const;
  // The output as it is now: the elements of a row by sequence, head and position.
  std::function<std::span<const float>(std::int64_t sequence, std::int64_t head, std::int64_t position)> rows() const;
  // All bits of the output and the logarithms as they are now.
  std::vector<std::uint8_t> out_bits() const { return out_.download<std::uint8_t>(); }
  std::vector<std::uint32_t> lse_bits() const { return lse_.download<std::uint32_t>(); }

 private:
  struct Sequence {
    std::int64_t queries, keys, first_query, first_key;
    std::int64_t used;  // keys that count
  };
  struct Placed {  // strides in elements, of sequence, head and position
    std::int64_t batch, head, position, offset;
  };
  View view(const Buffer& buffer, DType dtype, const Placed& at, std::int64_t heads, std::int64_t positions,
            int dim) const;
  double row_error(std::int64_t sequence, std::int64_t head, std::int64_t position, const std::vector<float>& out,
                   const std::vector<float>& lse) const;
  std::vector<float> download_out() const;  // (sequence, position, head, dim)

  AttentionCase problem_;
  std::vector<Sequence> sequences_;
  std::int64_t all_queries_ = 0, all_keys_ = 0;
  Placed q_at_{}, k_at_{}, v_at_{}, out_at_{};
  std::vector<float> slopes_, sinks_;
  // Of q, k and v, for each sequence and head of k; then of the output.
  std::vector<float> scales_[3];
  float out_scale_ = 1;
  bool short_sums_;  // products of 8-bit floats are summed with 13 bits, as the chip does
  double scale_of(int tensor, std::int64_t sequence, std::int64_t kv_head) const;
  std::vector<Buffer> device_scales_;
  Buffer operands_, out_, lse_, query_offsets_, key_offsets_, device_slopes_, device_sinks_, device_lengths_;
  std::vector<Buffer> arrays_;
};

}  // namespace wm::bench
