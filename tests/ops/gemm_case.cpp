// Products against float64, with the error that the types allow.
#include "ops/gemm_case.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gemm/reference.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::test {
namespace {

constexpr std::size_t guard_bytes = 256;  // before and after a matrix

bool is_small(DType dtype) { return dtype == DType::e4m3 || dtype == DType::e5m2; }

// A NaN in every floating type; no sum that a test makes in i32.
std::byte poison_of(DType dtype) { return dtype == DType::i32 ? std::byte{0xa5} : std::byte{0xff}; }

// What the tensor cores see of an operand's element: f32 rounded to 10 bits of mantissa.
double as_operand(DType dtype, double value) {
  if (dtype != DType::f32 && dtype != DType::tf32) return value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(static_cast<float>(value)) + 0x1000u) & 0xffffe000u);
}

// An f32 that lies halfway between two numbers of tf32 goes to the even one by the copy engine and away from zero by a
// thread; this is the one beside it.
void leave_the_half(std::byte* element) {
  std::uint32_t bits;
  std::memcpy(&bits, element, sizeof bits);
  bits |= 1;
  std::memcpy(element, &bits, sizeof bits);
}

// The largest error of a sum over k, in units of |row of A| |column of B|, which is at least the sum of the products'
// magnitudes. The tensor cores take 32 bytes of k a step and drop what lies below the last kept bit of the largest
// term: bit 22 or lower. 8-bit floats have bench::DroppedBits instead, and these errors only where they are promoted.
double sum_error(const GemmCase& c) {
  if (c.a == DType::i8) return 0;
  const double steps = std::ceil(double(c.k) * double(size_of(c.a)) / 32);
  return is_small(c.a) ? (c.promote ? steps * 0x1p-23 : 0) : (steps + 1) * 0x1p-22;
}

double activated(const EpilogueCase& e, double x) {
  // The one expression that tests have.
  if (e.activation == Activation::expression) return x / (1 + std::exp(-1.702 * x));
  return bench::activated(e.activation, x);
}

// Calls work(i) for every i below `count`, on all cores.
template <class Work>
void in_parallel(std::int64_t count, const Work& work) {
  std::atomic<std::int64_t> next = 0;
  const auto loop = [&] {
    for (std::int64_t i; (i = next++) < count;) work(i);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(loop);
  loop();
}

std::string describe(const Layout& l) {
  std::string text = l.columns ? "columns" : "rows";
  if (l.padding) text += fmt::format("+{}", l.padding);
  if (l.step != 1) text += fmt::format(" step {}", l.step);
  if (l.offset) text += fmt::format(" from {}", l.offset);
  if (l.batch_padding) text += fmt::format(" apart {}", l.batch_padding);
  if (l.repeated) text += " repeated";
  return text;
}

Batching batching_of(const GemmCase& c) {
  return c.batch == 0 ? Batching::none : c.listed ? Batching::listed : Batching::strided;
}

std::string describe(const EpilogueCase& e) {
  std::string text;
  if (e.alpha != 1) text += fmt::format(" alpha {}", e.alpha);
  if (e.beta != 0)
    text += e.in_place ? fmt::format(" beta {} on d", e.beta)
                       : fmt::format(" beta {} on {} c in {}", e.beta, name_of(e.c), describe(e.c_layout));
  for (const auto& [scale, name] : {std::pair{e.row_scale, "row"}, {e.column_scale, "column"}})
    if (scale != Scale::none) text += fmt::format(" {} scale{}", name, scale == Scale::tensor ? " (one)" : "s");
  if (e.row_bias) text += fmt::format(" row bias {}", name_of(*e.row_bias));
  if (e.column_bias) text += fmt::format(" column bias {}", name_of(*e.column_bias));
  if (e.activation != Activation::none) text += fmt::format(" activation {}", int(e.activation));
  if (e.amax) text += " amax";
  if (e.d_scale) text += " d_scale";
  return text.empty() ? "" : ";" + text;
}

}  // namespace

std::string describe(const GemmCase& c) {
  return fmt::format("{}{}x{}x{} {} in {} times {} in {} to {} in {}{}{}; plan '{}', seed {}",
                     c.batch ? fmt::format("{}{} of ", c.batch, c.listed ? " listed" : "") : "", c.m, c.n, c.k,
                     name_of(c.a), describe(c.a_layout), name_of(c.b), describe(c.b_layout), name_of(c.d),
                     describe(c.d_layout), c.promote ? " promoted" : "", describe(c.epilogue), c.plan, c.seed);
}

PlacedMatrix::PlacedMatrix(const Device& device, DType dtype, std::int64_t batch, std::int64_t rows,
                           std::int64_t columns, const Layout& layout, Batching batching)
    : dtype(dtype), batch(batch), rows(rows), columns(columns), batching(batching), buffer(device, 0) {
  const std::int64_t inner = layout.columns ? rows : columns, outer = layout.columns ? columns : rows;
  const std::int64_t line = inner * layout.step + layout.padding;
  const std::int64_t matrix = layout.repeated ? 0 : outer * line + layout.batch_padding;
  strides = {matrix, layout.columns ? layout.step : line, layout.columns ? line : layout.step};
  const std::size_t bytes_of_matrix = static_cast<std::size_t>(outer * line + layout.batch_padding) * size_of(dtype);
  std::size_t end = guard_bytes + static_cast<std::size_t>(layout.offset) * size_of(dtype);
  first_.assign(static_cast<std::size_t>(batch), end);
  if (!layout.repeated) {
    // A list runs backwards, with gaps.
    const bool listed = batching == Batching::listed;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      first_[listed ? first_.size() - 1 - i : i] = end;
      end += bytes_of_matrix + (listed ? 16 * (i * i % 5) : 0);
    }
  } else {
    end += bytes_of_matrix;
  }
  bytes.assign(end + guard_bytes, poison_of(dtype));
  buffer = Buffer(device, bytes.size());
  if (batching == Batching::listed && !layout.repeated)
    for (const std::size_t first : first_) addresses_.push_back(buffer.address() + first);
  upload();
}

View PlacedMatrix::view() const {
  std::vector<std::int64_t> shape{rows, columns}, steps{strides[1], strides[2]};
  if (batching == Batching::strided) shape.insert(shape.begin(), batch), steps.insert(steps.begin(), strides[0]);
  return View(buffer.device(), buffer.address() + (first_.empty() ? guard_bytes : first_[0]), dtype, shape, steps);
}

std::size_t PlacedMatrix::index(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
  return first_[static_cast<std::size_t>(matrix)] +
         static_cast<std::size_t>(row * strides[1] + column * strides[2]) * size_of(dtype);
}

void PlacedMatrix::fill(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> integer(-128, 127);
  for (std::int64_t i = 0; i < (strides[0] ? batch : std::min<std::int64_t>(batch, 1)); ++i)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        std::byte* const element = &bytes[index(i, row, column)];
        store_element(dtype, element, is_floating(dtype) ? normal(random) : integer(random));
        if (dtype == DType::f32) leave_the_half(element);
      }
  upload();
}

GemmRun::GemmRun(const Device& device, const GemmCase& c)
    : case_(c),
      a_(device, c.a, std::max<std::int64_t>(c.batch, 1), c.m, c.k, c.a_layout, batching_of(c)),
      b_(device, c.b, std::max<std::int64_t>(c.batch, 1), c.k, c.n, c.b_layout, batching_of(c)),
      d_(device, c.d, std::max<std::int64_t>(c.batch, 1), c.m, c.n, c.d_layout, batching_of(c)) {
  const EpilogueCase& e = c.epilogue;
  a_.fill(c.seed * 10 + 1);
  b_.fill(c.seed * 10 + 2);
  if (e.beta != 0 && e.in_place) d_.fill(c.seed * 10 + 3);
  if (e.beta != 0 && !e.in_place) {
    c_.emplace(device, e.c, d_.batch, c.m, c.n, e.c_layout, batching_of(c));
    c_->fill(c.seed * 10 + 3);
  }
  const auto add = [&](std::optional<View> GemmEpilogue::*which, DType dtype, std::int64_t size) {
    vectors_.emplace_back(which, PlacedMatrix(device, dtype, 1, 1, size, Layout{}, Batching::none));
    vectors_.back().second.fill(c.seed * 10 + 3 + vectors_.size());
  };
  const auto add_scale = [&](Scale scale, std::optional<View> GemmEpilogue::*which, std::int64_t size) {
    if (scale != Scale::none) add(which, DType::f32, scale == Scale::tensor ? 1 : size);
  };
  add_scale(e.row_scale, &GemmEpilogue::row_scale, c.m);
  add_scale(e.column_scale, &GemmEpilogue::column_scale, c.n);
  if (e.row_bias) add(&GemmEpilogue::row_bias, *e.row_bias, c.m);
  if (e.column_bias) add(&GemmEpilogue::column_bias, *e.column_bias, c.n);
  if (e.d_scale) add(&GemmEpilogue::d_scale, DType::f32, 1);
  if (e.amax)
    vectors_.emplace_back(&GemmEpilogue::amax, PlacedMatrix(device, DType::f32, 1, 1, 1, Layout{}, Batching::none));
}

const PlacedMatrix* GemmRun::vector(std::optional<View> GemmEpilogue::*which) const {
  for (const auto& [member, values] : vectors_)
    if (member == which) return &values;
  return nullptr;
}

GemmRequest GemmRun::request() const {
  GemmRequest request{.a = a_.view(), .b = b_.view(), .d = d_.view(), .promote = case_.promote, .align = case_.align};
  GemmEpilogue& e = request.epilogue;
  e.alpha = case_.epilogue.alpha;
  e.beta = case_.epilogue.beta;
  if (e.beta != 0) e.c = c_ ? c_->view() : d_.view();
  e.activation = case_.epilogue.activation;
  e.expression = case_.epilogue.expression;
  for (const auto& [which, values] : vectors_) {
    e.*which = values.view();
    (e.*which)->shape.erase((e.*which)->shape.begin());
    (e.*which)->strides.erase((e.*which)->strides.begin());
  }
  if (batching_of(case_) == Batching::listed)
    request.batch = GemmBatch{a_.addresses(), b_.addresses(), {}, d_.addresses()};
  if (request.batch && e.beta != 0) request.batch->c = (c_ ? *c_ : d_).addresses();
  if (!case_.plan.empty()) request.plan = plan::plan_from_text(case_.plan);
  return request;
}

void GemmRun::reset() {
  d_.upload();
  for (auto& [which, values] : vectors_) values.upload();
}

std::vector<std::byte> GemmRun::result() const { return d_.buffer.download<std::byte>(); }

// What D should be, and by how much it may differ before it is rounded.
struct GemmRun::Reference {
  std::vector<double> value, error;  // of (matrix, row, column)
  double amax = 0, amax_error = 0;
};

GemmRun::Reference GemmRun::reference() const {
  const std::int64_t m = case_.m, n = case_.n, k = case_.k;
  const EpilogueCase& e = case_.epilogue;
  const std::int64_t batch = d_.batch;
  Reference all;
  all.value.resize(static_cast<std::size_t>(batch * m * n));
  all.error.resize(all.value.size());

  // Widened, B's rows along n.
  const auto widened = [&](const PlacedMatrix& x) {
    std::vector<double> wide(static_cast<std::size_t>(x.batch * x.rows * x.columns));
    in_parallel(x.batch * x.rows, [&](std::int64_t line) {
      for (std::int64_t column = 0; column < x.columns; ++column)
        wide[line * x.columns + column] = as_operand(x.dtype, x.at(line / x.rows, line % x.rows, column));
    });
    return wide;
  };
  const std::vector<double> a = widened(a_), b = widened(b_);
  std::vector<double> b_norm(static_cast<std::size_t>(batch * n));
  for (std::int64_t line = 0; line < batch * k; ++line)
    for (std::int64_t j = 0; j < n; ++j) b_norm[line / k * n + j] += b[line * n + j] * b[line * n + j];
  for (double& norm : b_norm) norm = std::sqrt(norm);

  const auto element = [](const PlacedMatrix* vector, std::int64_t i, double otherwise) {
    return vector ? vector->at(0, 0, vector->columns == 1 ? 0 : i) : otherwise;
  };
  const PlacedMatrix* const row_scale = vector(&GemmEpilogue::row_scale);
  const PlacedMatrix* const column_scale = vector(&GemmEpilogue::column_scale);
  const PlacedMatrix* const row_bias = vector(&GemmEpilogue::row_bias);
  const PlacedMatrix* const column_bias = vector(&GemmEpilogue::column_bias);
  const double d_scale = element(vector(&GemmEpilogue::d_scale), 0, 1);
  const double relative = sum_error(case_);
  std::vector<double> row_amax(static_cast<std::size_t>(batch * m)), row_amax_error(row_amax.size());
  in_parallel(batch * m, [&](std::int64_t line) {
    const std::int64_t matrix = line / m, i = line % m;
    double* const value = all.value.data() + line * n;
    double a_norm = 0;
    bench::DroppedBits dropped_bits(is_small(case_.a) ? n : 0, case_.promote);
    for (std::int64_t step = 0; step < k; ++step) {
      const double x = a[line * k + step];
      a_norm += x * x;
      const double* const b_row = b.data() + (matrix * k + step) * n;
      for (std::int64_t j = 0; j < n; ++j) value[j] += x * b_row[j];
      dropped_bits.add(x, b_row);
    }
    const std::vector<double> dropped = dropped_bits.most();
    a_norm = std::sqrt(a_norm);
    for (std::int64_t j = 0; j < n; ++j) {
      const double factor = e.alpha * element(row_scale, i, 1) * element(column_scale, j, 1);
      const double residual = e.beta != 0 ? e.beta * (c_ ? *c_ : d_).at(matrix, i, j) : 0;
      const double bias_i = element(row_bias, i, 0), bias_j = element(column_bias, j, 0);
      const double x = factor * value[j] + residual + bias_i + bias_j;
      double error =
          std::fabs(factor) * (relative * a_norm * b_norm[matrix * n + j] + (dropped.empty() ? 0 : dropped[j]));
      if (case_.d != DType::i32)  // a few roundings to f32
        error += 0x1p-22 * (std::fabs(factor * value[j]) + std::fabs(residual) + std::fabs(bias_i) + std::fabs(bias_j));
      value[j] = activated(e, x);
      // No slope is steeper than 1.2; the exponential's approximation is good to a few bits of the last.
      if (e.activation != Activation::none) error = 1.2 * error + 0x1p-20 * (1 + std::fabs(value[j]));
      row_amax[line] = std::max(row_amax[line], std::fabs(value[j]));
      row_amax_error[line] = std::max(row_amax_error[line], error);
      value[j] *= d_scale;
      all.error[line * n + j] = error * std::fabs(d_scale) + 0x1p-23 * std::fabs(value[j]) * e.d_scale;
    }
  });
  for (const double x : row_amax) all.amax = std::max(all.amax, x);
  for (const double x : row_amax_error) all.amax_error = std::max(all.amax_error, x);
  return all;
}

void GemmRun::expect_right() const {
  SCOPED_TRACE(describe(case_));
  const Reference expected = reference();
  const auto bytes_of_element = static_cast<std::ptrdiff_t>(size_of(case_.d));
  std::vector<std::byte> got = result();
  int wrong = 0;
  for (std::int64_t line = 0; line < d_.batch * d_.rows; ++line)
    for (std::int64_t j = 0; j < d_.columns; ++j) {
      const std::int64_t matrix = line / d_.rows, i = line % d_.rows;
      const std::size_t at = d_.index(matrix, i, j);
      const double value = load_element(case_.d, &got[at]);
      double wanted = expected.value[line * d_.columns + j];
      if (case_.d == DType::e4m3) wanted = std::clamp(wanted, -448.0, 448.0);
      ASSERT_TRUE(case_.d != DType::f16 || std::fabs(wanted) < 65000) << "a case for f16 must stay in its range";
      const double before = expected.error[line * d_.columns + j];
      const double error = before + bench::rounding_of(case_.d, std::fabs(wanted) + before);
      if (!(std::fabs(value - wanted) <= error) && ++wrong <= 3)
        ADD_FAILURE() << fmt::format("matrix {}, ({}, {}): {} instead of {} +- {}", matrix, i, j, value, wanted, error);
      std::copy_n(&d_.bytes[at], bytes_of_element, &got[at]);
    }
  EXPECT_EQ(wrong, 0) << "wrong elements of " << expected.value.size();
  if (const auto [changed, was] = std::mismatch(got.begin(), got.end(), d_.bytes.begin()); changed != got.end())
    ADD_FAILURE() << "a byte that is no element of d was written, at " << changed - got.begin() << " of " << got.size()
                  << "; d begins at " << d_.index(0, 0, 0);
  if (const PlacedMatrix* amax = vector(&GemmEpilogue::amax)) {
    std::vector<std::byte> bytes = amax->buffer.download<std::byte>();
    EXPECT_NEAR(load_element(DType::f32, &bytes[amax->index(0, 0, 0)]), expected.amax,
                expected.amax_error + 0x1p-23 * expected.amax)
        << "amax";
  }
}

GemmResult check(const Stream& stream, const GemmCase& c) try {
  const GemmRun run(stream.device(), c);
  GemmResult result = gemm(stream, run.request());
  stream.synchronize();
  run.expect_right();
  return result;
} catch (const Error& error) {
  ADD_FAILURE() << describe(c) << ": " << error.what();
  return {};
}

}  // namespace wm::test
