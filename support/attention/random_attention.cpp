// Random attentions and their reference, row by row in float64.
#include "attention/random_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"
#include "warpmill/virtual.hpp"

namespace wm::bench {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

template <class Visit>
auto with_type(DType dtype, Visit visit) {
  if (dtype == DType::e4m3) return visit(e4m3{});
  return dtype == DType::bf16 ? visit(bf16{}) : visit(f16{});
}
void put(DType dtype, std::byte* at, const float* values, int count) {
  with_type(dtype, [&](auto element) {
    for (int i = 0; i < count; ++i) {
      element = decltype(element)(values[i]);
      std::memcpy(at + static_cast<std::size_t>(i) * sizeof(element.bits), &element.bits, sizeof(element.bits));
    }
  });
}
float value_at(DType dtype, const std::uint8_t* at) {
  return with_type(dtype, [&](auto element) {
    std::memcpy(&element.bits, at, sizeof(element.bits));
    return static_cast<float>(element);
  });
}

// The first million are drawn; of more, the rest is pieces of these in random order, so that a gigabyte takes a second.
void fill_normal(std::vector<float>& values, DType dtype, float spread, std::mt19937_64& dice) {
  constexpr std::size_t drawn = 1 << 20, piece = 1 << 12;
  std::normal_distribution<float> normal(0, spread);
  for (std::size_t i = 0; i < std::min(values.size(), drawn); ++i)
    values[i] = with_type(dtype, [&](auto element) { return static_cast<float>(decltype(element)(normal(dice))); });
  for (std::size_t i = drawn; i < values.size(); i += piece)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(dice() % (drawn - piece)),
                std::min(piece, values.size() - i), values.begin() + static_cast<std::ptrdiff_t>(i));
}

// A weight as the product with values has it, and how far it may be from there.
struct Weight {
  double value, doubt;
};
// In e4m3, of a weight relative to a base that is a power of two and whose logarithm may be off by `slack`. Those that
// are normal numbers have three bits after the first, whatever the power. Smaller ones were rounded relative to some
// base before this one, or to this.
Weight in_e4m3(double exact, double slack) {
  if (exact * std::exp(slack) < 0x1p-6) return {exact, 0x1p-10 + exact * slack};
  const auto rounded = [](double x) {
    int exponent;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(fraction * 16), exponent - 4);
  };
  const double low = rounded(exact * std::exp(-slack)), high = rounded(exact * std::exp(slack));
  return {rounded(exact), high - low};
}
// In f16, relative to the largest: what is less than its normal numbers is a multiple of 2^-24.
Weight in_f16(double exact) { return {exact, exact < 0x1p-14 ? std::min(exact, 0x1p-25) : 0}; }
// What a sum that keeps 13 bits may lose in each step of 32, whose terms are cut off one by one, where it or a term is
// at most so large.
double cut_off(std::int64_t terms, double largest) {
  return 4 * 0x1p-13 * largest * static_cast<double>((terms + 31) / 32);
}

}  // namespace

RandomAttention::RandomAttention(const Stream& stream, const AttentionCase& problem, std::uint64_t seed)
    : problem_(problem),
      short_sums_(stream.device().info().kind == DeviceKind::cuda || vgpu::run_options(stream.device()).chip_sums),
      operands_(stream.device(), 0),
      out_(stream.device(), 0),
      lse_(stream.device(), 0),
      query_offsets_(stream.device(), 0),
      key_offsets_(stream.device(), 0),
      device_slopes_(stream.device(), 0),
      device_sinks_(stream.device(), 0),
      device_lengths_(stream.device(), 0) {
  const AttentionCase& p = problem_;
  auto lengths = p.sequences;
  if (lengths.empty()) lengths.assign(size(p.batch), {p.queries, p.keys});
  std::vector<std::int32_t> query_offsets{0}, key_offsets{0};
  for (const auto& [queries, keys] : lengths) {
    const std::int64_t used = p.key_lengths.empty() ? keys : p.key_lengths[sequences_.size()];
    sequences_.push_back({queries, keys, all_queries_, all_keys_, used});
    all_queries_ += queries, all_keys_ += keys;
    query_offsets.push_back(static_cast<std::int32_t>(all_queries_));
    key_offsets.push_back(static_cast<std::int32_t>(all_keys_));
  }
  if (p.layout == HeadLayout::packed && (all_queries_ != all_keys_ || p.head_dim != p.value_dim))
    throw Error(ErrorCode::invalid_argument, "packed operands have as many queries as keys, and one dim");

  // Sequences of equal length are a batch: their positions follow one another too, unless heads come first.
  const auto placed = [&](std::int64_t heads, std::int64_t positions, std::int64_t dim, std::int64_t offset) {
    const bool heads_first = p.layout == HeadLayout::heads_first;
    return heads_first ? Placed{heads * positions * dim, positions * dim, dim, offset}
                       : Placed{positions * heads * dim, dim, heads * dim, offset};
  };
  const std::int64_t of_queries = p.sequences.empty() ? p.queries : all_queries_,
                     of_keys = p.sequences.empty() ? p.keys : all_keys_;
  const std::int64_t q_elements = all_queries_ * p.heads * p.head_dim, k_elements = all_keys_ * p.kv_heads * p.head_dim,
                     v_elements = all_keys_ * p.kv_heads * p.value_dim;
  if (p.layout == HeadLayout::packed) {
    const std::int64_t row = (p.heads + 2 * p.kv_heads) * p.head_dim;
    q_at_ = {of_queries * row, p.head_dim, row, 0};
    k_at_ = {of_queries * row, p.head_dim, row, p.heads * p.head_dim};
    v_at_ = {of_queries * row, p.head_dim, row, (p.heads + p.kv_heads) * p.head_dim};
  } else {
    q_at_ = placed(p.heads, of_queries, p.head_dim, 0);
    k_at_ = placed(p.kv_heads, of_keys, p.head_dim, q_elements);
    v_at_ = placed(p.kv_heads, of_keys, p.value_dim, q_elements + k_elements);
  }
  out_at_ = placed(p.heads, of_queries, p.value_dim, 0);
  operands_ = Buffer(stream.device(), size(q_elements + k_elements + v_elements) * size_of(p.dtype));
  out_ = Buffer(stream.device(), size(all_queries_ * p.heads * p.value_dim) * size_of(p.out_type()));
  lse_ = Buffer(stream.device(), size(all_queries_ * p.heads) * sizeof(float));
  query_offsets_ = Buffer::of<std::int32_t>(stream.device(), query_offsets);
  key_offsets_ = Buffer::of<std::int32_t>(stream.device(), key_offsets);

  std::mt19937_64 dice(seed);
  q.resize(size(q_elements)), k.resize(size(k_elements)), v.resize(size(v_elements));
  fill_normal(q, p.dtype, p.spread, dice);
  fill_normal(k, p.dtype, 1, dice);
  fill_normal(v, p.dtype, 1, dice);
  for (std::int64_t head = 0; head < p.heads; ++head)
    slopes_.push_back(p.slope_factor * std::exp2(-8 * static_cast<float>(head + 1) / static_cast<float>(p.heads)));
  sinks_.resize(size(p.heads));
  fill_normal(sinks_, DType::bf16, 3, dice);
  device_slopes_ = Buffer::of<float>(stream.device(), slopes_);
  device_sinks_ = Buffer::of<float>(stream.device(), sinks_);
  device_lengths_ =
      Buffer::of<std::int32_t>(stream.device(), std::vector<std::int32_t>(p.key_lengths.begin(), p.key_lengths.end()));
  for (const Sequence& s : sequences_)
    for (std::int64_t i = s.used; i < s.keys; ++i) {
      const std::int64_t from = (s.first_key + i) * p.kv_heads;
      std::fill_n(k.begin() + from * p.head_dim, p.kv_heads * p.head_dim, NAN);
      std::fill_n(v.begin() + from * p.value_dim, p.kv_heads * p.value_dim, NAN);
    }
  if (p.narrow() && p.scales != Scales::none) {
    std::uniform_real_distribution<float> even(0.5f, 2.f);
    for (std::vector<float>& scales : scales_) {
      scales.resize(p.scales == Scales::tensor ? 1 : sequences_.size() * size(p.kv_heads));
      for (float& scale : scales) scale = even(dice);
      device_scales_.push_back(Buffer::of<float>(stream.device(), scales));
    }
    if (p.out_dtype == DType::e4m3) out_scale_ = 8;
    device_scales_.push_back(Buffer::of<float>(stream.device(), std::vector{out_scale_}));
  }
  for (const auto& [name, values] : p.numbers) arrays_.push_back(Buffer::of<float>(stream.device(), values));
  for (const auto& [name, values] : p.integers) arrays_.push_back(Buffer::of<std::int32_t>(stream.device(), values));
  upload(stream);
  poison(stream);
}

std::size_t RandomAttention::q_index(std::int64_t sequence, std::int64_t head, std::int64_t position) const {
  return size(((sequences_[size(sequence)].first_query + position) * problem_.heads + head) * problem_.head_dim);
}
std::size_t RandomAttention::kv_index(std::int64_t sequence, std::int64_t kv_head, std::int64_t position,
                                      bool value) const {
  const int dim = value ? problem_.value_dim : problem_.head_dim;
  return size(((sequences_[size(sequence)].first_key + position) * problem_.kv_heads + kv_head) * dim);
}

void RandomAttention::upload(const Stream& stream) {
  const AttentionCase& p = problem_;
  const std::size_t bytes = size_of(p.dtype);
  std::vector<std::byte> bits(operands_.bytes());
  const auto place = [&](const std::vector<float>& values, const Placed& at, std::int64_t heads, bool keys, int dim) {
    std::size_t from = 0;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      const Sequence& sequence = sequences_[s];
      const std::int64_t first = keys ? sequence.first_key : sequence.first_query;
      for (std::int64_t i = 0; i < (keys ? sequence.keys : sequence.queries); ++i)
        for (std::int64_t head = 0; head < heads; ++head) {
          const std::int64_t to = at.offset + head * at.head +
                                  (p.sequences.empty() ? static_cast<std::int64_t>(s) * at.batch + i * at.position
                                                       : (first + i) * at.position);
          put(p.dtype, &bits[size(to) * bytes], &values[from], dim);
          from += size(dim);
        }
    }
  };
  place(q, q_at_, p.heads, false, p.head_dim);
  place(k, k_at_, p.kv_heads, true, p.head_dim);
  place(v, v_at_, p.kv_heads, true, p.value_dim);
  if (!bits.empty()) operands_.upload(bits);
  stream.synchronize();
}

void RandomAttention::poison(const Stream& stream) const {
  if (out_.bytes() > 0) stream.fill(out_.address(), std::byte{0xff}, out_.bytes());
  if (lse_.bytes() > 0) stream.fill(lse_.address(), std::byte{0xff}, lse_.bytes());
}

double RandomAttention::scale_of(int tensor, std::int64_t sequence, std::int64_t kv_head) const {
  const std::vector<float>& scales = scales_[tensor];
  return scales.empty() ? 1 : scales[scales.size() == 1 ? 0 : size(sequence * problem_.kv_heads + kv_head)];
}

View RandomAttention::view(const Buffer& buffer, DType dtype, const Placed& at, std::int64_t heads,
                           std::int64_t positions, int dim) const {
  const auto offset = size(at.offset) * size_of(dtype);
  if (!problem_.sequences.empty())
    return buffer.view(dtype, {heads, positions, dim}, {at.head, at.position, 1}, offset);
  return buffer.view(dtype, {problem_.batch, heads, positions, dim}, {at.batch, at.head, at.position, 1}, offset);
}

AttentionRequest RandomAttention::request(std::optional<AttentionPlan> plan) const {
  const AttentionCase& p = problem_;
  const bool varying = !p.sequences.empty();
  const std::int64_t queries = varying ? all_queries_ : p.queries, keys = varying ? all_keys_ : p.keys;
  AttentionRequest request{.q = view(operands_, p.dtype, q_at_, p.heads, queries, p.head_dim),
                           .k = view(operands_, p.dtype, k_at_, p.kv_heads, keys, p.head_dim),
                           .v = view(operands_, p.dtype, v_at_, p.kv_heads, keys, p.value_dim),
                           .out = view(out_, p.out_type(), out_at_, p.heads, queries, p.value_dim),
                           .scale = p.scale,
                           .mask = p.mask,
                           .softcap = p.softcap,
                           .plan = plan};
  if (p.lse)
    request.lse = varying ? lse_.view<float>({p.heads, queries}) : lse_.view<float>({p.batch, p.heads, queries});
  request.expressions = {p.score, p.mask_expression, p.skip, p.whole, {}};
  std::size_t array = 0;
  const auto add = [&](const auto& named, DType dtype) {
    for (const auto& [name, values] : named)
      request.expressions.arrays.push_back(
          {name, arrays_[array++].view(dtype, {static_cast<std::int64_t>(values.size())})});
  };
  add(p.numbers, DType::f32);
  add(p.integers, DType::i32);
  if (!p.key_lengths.empty()) request.key_lengths = device_lengths_.view(DType::i32, {p.batch});
  if (p.alibi) request.alibi_slopes = device_slopes_.view<float>({p.heads});
  if (p.sinks) request.sinks = device_sinks_.view<float>({p.heads});
  if (!device_scales_.empty()) {
    const auto scales = [&](std::size_t i) {
      return scales_[i].size() == 1
                 ? device_scales_[i].view<float>({1})
                 : device_scales_[i].view<float>({static_cast<std::int64_t>(sequences_.size()), p.kv_heads});
    };
    request.q_descale = scales(0), request.k_descale = scales(1), request.v_descale = scales(2);
    if (p.out_dtype == DType::e4m3) request.out_scale = device_scales_[3].view<float>({1});
  }
  if (varying) {
    AttentionSequences sequences{query_offsets_.view(DType::i32, {static_cast<std::int64_t>(sequences_.size()) + 1}),
                                 key_offsets_.view(DType::i32, {static_cast<std::int64_t>(sequences_.size()) + 1}), 0,
                                 0};
    for (const Sequence& s : sequences_) {
      sequences.longest_queries = std::max(sequences.longest_queries, s.queries);
      sequences.longest_keys = std::max(sequences.longest_keys, s.keys);
    }
    request.sequences = sequences;
  }
  return request;
}

std::vector<float> RandomAttention::download_out() const {
  const AttentionCase& p = problem_;
  const auto bits = out_bits();
  const std::size_t bytes = size_of(p.out_type());
  std::vector<float> out(bits.size() / bytes);
  std::size_t to = 0;
  for (std::size_t s = 0; s < sequences_.size(); ++s)
    for (std::int64_t i = 0; i < sequences_[s].queries; ++i)
      for (std::int64_t head = 0; head < p.heads; ++head) {
        const std::int64_t from =
            head * out_at_.head + (p.sequences.empty()
                                       ? static_cast<std::int64_t>(s) * out_at_.batch + i * out_at_.position
                                       : (sequences_[s].first_query + i) * out_at_.position);
        for (int j = 0; j < p.value_dim; ++j) out[to++] = value_at(p.out_type(), &bits[size(from + j) * bytes]);
      }
  return out;
}

std::function<std::span<const float>(std::int64_t, std::int64_t, std::int64_t)> RandomAttention::rows() const {
  return [this, out = download_out()](std::int64_t sequence, std::int64_t head, std::int64_t position) {
    const std::int64_t row = (sequences_[size(sequence)].first_query + position) * problem_.heads + head;
    return std::span(out).subspan(size(row * problem_.value_dim), size(problem_.value_dim));
  };
}

double RandomAttention::row_error(std::int64_t sequence, std::int64_t head, std::int64_t position,
                                  const std::vector<float>& out, const std::vector<float>& lse) const {
  const AttentionCase& p = problem_;
  const Sequence& s = sequences_[size(sequence)];
  const auto [from, to] = seen(p.mask, s.queries, s.used, position);
  const std::int64_t kv_head = head / (p.heads / p.kv_heads);
  const double scale = p.scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim)))) *
                       scale_of(0, sequence, kv_head) * scale_of(1, sequence, kv_head);
  const bool short_sums = p.narrow() && short_sums_;
  std::vector<double> score(size(to - from)), slack_of(size(to - from));
  double most = -INFINITY, slack = 0;  // slack: how far a score may be off
  const float* const query = &q[q_index(sequence, head, position)];
  for (std::int64_t j = from; j < to; ++j) {
    const float* const key = &k[kv_index(sequence, kv_head, j, false)];
    double sum = 0, magnitude = 0, largest = 0;
    for (int i = 0; i < p.head_dim; ++i) {
      const double product = static_cast<double>(query[i]) * key[i];
      sum += product, magnitude += std::fabs(product);
      largest = std::max({largest, std::fabs(sum), std::fabs(product)});
    }
    double error = 0x1p-21 * magnitude * scale;
    if (short_sums) error += cut_off(p.head_dim, largest) * scale;
    sum *= scale;
    if (p.softcap > 0) {
      sum = p.softcap * std::tanh(sum / p.softcap);
      error += 0x1p-10 * std::fabs(sum);  // tanh.approx
    }
    if (p.alibi) {
      const std::int64_t opposite = position + (p.mask.alignment == Alignment::ends ? s.used - s.queries : 0);
      const double bias = slopes_[size(head)] * std::fabs(static_cast<double>(opposite - j));
      sum -= bias, error += 0x1p-22 * std::fabs(bias);
    }
    if (p.score_of) sum = p.score_of(sum, position, j, head, sequence), error += 1e-6 * std::fabs(sum);
    if (p.sees && !p.sees(position, j, head, sequence)) sum = -INFINITY;
    score[size(j - from)] = sum;
    slack_of[size(j - from)] = error;
    most = std::max(most, sum);
    if (sum > -INFINITY) slack = std::max(slack, error);
  }
  // Of e4m3 weights are relative to 2^-5 of the next power of two.
  if (p.narrow() && most > -INFINITY)
    most = (std::ceil(most * std::numbers::log2e) - 5) * std::numbers::ln2;
  else if (p.sinks)
    most = std::max(most, static_cast<double>(sinks_[size(head)]));
  double total = p.sinks ? std::exp(sinks_[size(head)] - most) : 0;
  std::vector<double> expected(size(p.value_dim)), magnitude(size(p.value_dim)), doubt(size(p.value_dim));
  std::vector<double> largest(size(p.value_dim));  // that a sum has been, or one of its terms
  for (std::int64_t j = to - 1; j >= from; --j) {  // as steps are taken
    if (score[size(j - from)] == -INFINITY) continue;
    const double exact = std::exp(score[size(j - from)] - most);
    // Powers are approximate, and their arguments rounded.
    const double own_slack = slack_of[size(j - from)] + 1e-6 * (1 + std::fabs(score[size(j - from)]));
    const Weight weight = p.narrow()              ? in_e4m3(exact, own_slack)
                          : p.dtype == DType::f16 ? in_f16(exact)
                                                  : Weight{exact, 0};
    const float* const value = &v[kv_index(sequence, kv_head, j, true)];
    total += exact;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += weight.value * value[i], magnitude[i] += exact * std::fabs(value[i]);
      doubt[i] += weight.doubt * std::fabs(value[i]);
      largest[i] = std::max({largest[i], std::fabs(expected[i]), std::fabs(weight.value * value[i])});
    }
  }
  // Weights and output are rounded once each (of e4m3 it is known how); 2e-4 is for approximate powers and sums in f32.
  const double unit = p.out_type() == DType::e4m3 ? 0x1p-4 : p.out_type() == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const double smallest = p.out_type() == DType::e4m3 ? 0x1p-9 : 0x1p-24;
  const double factor = scale_of(2, sequence, kv_head) * out_scale_;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (short_sums) doubt[i] += cut_off(to - from, largest[i]);
    for (auto* values : {&expected, &magnitude, &doubt}) (*values)[i] *= factor;
    if (p.narrow()) doubt[i] += 1.01 * unit * std::fabs(expected[i]);
  }
  const double relative = (p.narrow() ? 0 : 2.02 * unit) + 2e-4 + 2 * slack;
  const std::size_t row = size((s.first_query + position) * p.heads + head);
  double worst = 0;
  const auto hold = [&](double got, double want, double bound) {
    if (got == want) return;
    worst = std::isnan(got) ? INFINITY : std::max(worst, std::fabs(got - want) / bound);
  };
  for (std::size_t i = 0; i < expected.size(); ++i)
    hold(out[row * expected.size() + i], total > 0 ? expected[i] / total : 0,
         total > 0 ? (relative * magnitude[i] + doubt[i]) / total + smallest : 0x1p-100);
  if (p.lse) {
    const std::size_t place = p.sequences.empty() ? size((sequence * p.heads + head) * p.queries + position)
                                                  : size(head * all_queries_ + s.first_query + position);
    const double log = total > 0 ? most + std::log(total) : -INFINITY;
    hold(lse[place], log, 2e-4 + 2 * slack + 1e-6 * std::fabs(log));
  }
  return worst;
}

double RandomAttention::error(std::size_t samples) const {
  const std::vector<float> out = download_out();
  const std::vector<float> lse = lse_.download<float>();
  std::vector<std::array<std::int64_t, 3>> rows;
  const std::size_t all = size(all_queries_ * problem_.heads);
  std::mt19937_64 dice(7);
  for (std::size_t s = 0; s < sequences_.size(); ++s)
    for (std::int64_t head = 0; head < problem_.heads; ++head)
      for (std::int64_t i = 0; i < sequences_[s].queries; ++i) {
        const bool end = i == 0 || i + 1 == sequences_[s].queries;
        const bool ends_taken = samples >= 2 * sequences_.size() * size(problem_.heads);
        if (all <= samples || (end && ends_taken) || dice() % all < samples)
          rows.push_back({static_cast<std::int64_t>(s), head, i});
      }
  double worst = 0;
  for (const auto& [sequence, head, position] : rows) {
    const double error = row_error(sequence, head, position, out, lse);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace wm::bench
