// Block-scaled matrices: made on the device, read on the host.
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/block_scaled.hpp"
#include "ops/device_state.hpp"
#include "ops/kernels.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm {
namespace {

constexpr std::array<std::pair<BlockFormat, std::string_view>, 6> names{{{BlockFormat::mxfp8_e4m3, "mxfp8_e4m3"},
                                                                         {BlockFormat::mxfp8_e5m2, "mxfp8_e5m2"},
                                                                         {BlockFormat::mxfp6_e2m3, "mxfp6_e2m3"},
                                                                         {BlockFormat::mxfp6_e3m2, "mxfp6_e3m2"},
                                                                         {BlockFormat::mxfp4, "mxfp4"},
                                                                         {BlockFormat::nvfp4, "nvfp4"}}};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "quantize refused: " + why);
}

// As the kernel has it.
struct QuantizeArguments {
  std::uint64_t source, data, scales;
  std::int64_t row_stride, column_stride;
  std::uint32_t rows, k, row_bytes, groups, line_bytes, scale_blocks;
};

struct QuantizeState {
  ops::Kernels kernels;
};

void check_source(const Stream& stream, const View& source) {
  if (!(source.device == stream.device()))
    refuse(fmt::format("the matrix lies on {} and the stream belongs to {}", source.device.info().id,
                       stream.device().info().id));
  if (source.shape.size() != 2)
    refuse(fmt::format("the matrix has {} dimensions; it has rows and k", source.shape.size()));
  if (source.dtype != DType::f32 && source.dtype != DType::bf16 && source.dtype != DType::f16)
    refuse(fmt::format("the matrix holds {}; it may hold f32, bf16, f16", name_of(source.dtype)));
  for (const std::int64_t size : source.shape)
    if (size > 0x7fffff00) refuse(fmt::format("a dimension of {} is beyond 32-bit coordinates", size));
}

// A number of so many bits of exponent and mantissa, and a sign.
double decoded(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double mantissa = (bits & ((1u << mantissa_bits) - 1)) / std::exp2(mantissa_bits);
  const double value = exponent == 0 ? mantissa * std::exp2(1 - bias) : (1 + mantissa) * std::exp2(exponent - bias);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

}  // namespace

std::string_view name_of(BlockFormat format) {
  for (const auto& [each, name] : names)
    if (each == format) return name;
  return "none";
}

BlockFormat block_format_from_name(std::string_view name) {
  if (name == "mxfp8") return BlockFormat::mxfp8_e4m3;
  if (name == "mxfp6") return BlockFormat::mxfp6_e2m3;
  std::string list;
  for (const auto& [format, each] : names) {
    if (each == name) return format;
    list += fmt::format(", {}", each);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is no format of block-scaled matrices; there are mxfp8, mxfp6{}", name, list));
}

namespace ops {

void check_block_scaled(const BlockScaledView& matrix, std::string_view name) {
  const auto wrong = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} {}", name, why));
  };
  if (matrix.format == BlockFormat::none) wrong("has no format");
  if (matrix.rows < 0 || matrix.k < 0 || matrix.rows > 0x7fffff00 || matrix.k > 0x7fffff00)
    wrong(fmt::format("is {} x {}; a dimension has 0 to {} elements", matrix.rows, matrix.k, 0x7fffff00));
  if (matrix.major == Major::mn && !may_be_mn_major(matrix.format))
    wrong(fmt::format("is {} and MN-major: elements of fewer than 8 bits lie along k", name_of(matrix.format)));
  if (matrix.rows == 0 || matrix.k == 0) return;  // nothing lies there
  if (matrix.data == 0 || matrix.data % 32)
    wrong(fmt::format("has its elements at {:#x}; they begin at a multiple of 32 bytes", matrix.data));
  if (matrix.scales == 0 || matrix.scales % 16)
    wrong(fmt::format("has its scales at {:#x}; they begin at a multiple of 16 bytes", matrix.scales));
}

}  // namespace ops

void quantize(const Stream& stream, const View& source, const BlockScaledView& to) {
  check_source(stream, source);
  const Device& device = stream.device();
  const Architecture& arch = device.info().arch;
  if (!arch.specific || (arch.number() != 100 && arch.number() != 120))
    throw Error(ErrorCode::unsupported,
                fmt::format("quantize refused: {} is {}, and block-scaled matrices are for sm_100a and sm_120a",
                            device.info().id, arch.name()));
  if (!(to.device == device)) refuse("the result lies on another device than the stream's");
  if (to.rows != source.shape[0] || to.k != source.shape[1])
    refuse(fmt::format("the matrix is {} and the result {} x {}", fmt::join(source.shape, " x "), to.rows, to.k));
  ops::check_block_scaled(to, "quantize refused: the result");
  if (to.rows == 0 || to.k == 0) return;
  const auto facts = facts_of(to.format);
  const QuantizeArguments arguments{.source = source.address,
                                    .data = to.data,
                                    .scales = to.scales,
                                    .row_stride = source.strides[0],
                                    .column_stride = source.strides[1],
                                    .rows = static_cast<std::uint32_t>(to.rows),
                                    .k = static_cast<std::uint32_t>(to.k),
                                    .row_bytes = static_cast<std::uint32_t>(row_bytes(to.format, to.k)),
                                    .groups = static_cast<std::uint32_t>(padded_k(to.format, to.k) / facts.group),
                                    .line_bytes = to.major == Major::mn ? static_cast<std::uint32_t>(to.pitch()) : 0,
                                    .scale_blocks = static_cast<std::uint32_t>(scale_blocks_along_k(to.format, to.k))};
  const ops::KernelSource kernel{"quantize.cu", "#include \"warpmill/quantize.cuh\"\n",
                                 fmt::format("wm::quantize<wm::Element<wm::DType({})>, wm::BlockFormat({})>",
                                             static_cast<int>(source.dtype), static_cast<int>(to.format))};
  constexpr std::int64_t threads = 256;
  const std::int64_t scale_rows = (to.rows + 255) / 256 * 256;
  const std::int64_t blocks = (scale_rows * arguments.groups + threads - 1) / threads;
  if (blocks > 0x7fffffff) refuse(fmt::format("{} x {} are more groups than one launch has threads", to.rows, to.k));
  launch(stream, ops::state_of<QuantizeState>(device).kernels.get(device, kernel),
         LaunchConfig{.grid = {static_cast<std::uint32_t>(blocks)}, .block = {static_cast<std::uint32_t>(threads)}},
         arguments);
}

BlockScaledMatrix quantize(const Stream& stream, const View& source, BlockFormat format, Major major) {
  check_source(stream, source);
  if (format == BlockFormat::none) refuse("there is no format 'none'");
  const std::int64_t rows = source.shape[0], k = source.shape[1];
  const BlockScaledView sizes{stream.device(), format, rows, k, 0, 0, major};
  BlockScaledMatrix matrix{format,
                           rows,
                           k,
                           Buffer(stream.device(), static_cast<std::size_t>(sizes.data_bytes())),
                           Buffer(stream.device(), static_cast<std::size_t>(sizes.scale_bytes())),
                           major};
  quantize(stream, source, matrix.view());
  return matrix;
}

std::vector<float> numbers_of(const BlockScaledMatrix& matrix) {
  const auto facts = facts_of(matrix.format);
  const auto data = matrix.data.download<std::uint8_t>(), scales = matrix.scales.download<std::uint8_t>();
  const std::int64_t pitch = matrix.view().pitch(), blocks = scale_blocks_along_k(matrix.format, matrix.k);
  const bool turned = matrix.major == Major::mn;
  std::vector<float> numbers;
  numbers.reserve(static_cast<std::size_t>(matrix.rows * matrix.k));
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t i = 0; i < matrix.k; ++i) {
      const std::int64_t bit = turned ? 0 : i * facts.bits, group = i / facts.group;
      const std::uint8_t* const at = &data[static_cast<std::size_t>(turned ? i * pitch + row : row * pitch + bit / 8)];
      const unsigned two = at[0] | (bit % 8 + facts.bits > 8 ? at[1] << 8 : 0);
      const unsigned bits = two >> bit % 8 & ((1u << facts.bits) - 1);
      const std::int64_t block = row / scale_block_rows * blocks + group / scale_block_groups;
      const unsigned scale = scales[static_cast<std::size_t>(
          block * scale_block_bytes + scale_place(static_cast<unsigned>(row % scale_block_rows),
                                                  static_cast<unsigned>(group % scale_block_groups)))];
      const double factor =
          matrix.format == BlockFormat::nvfp4 ? decoded(scale, 4, 3) : std::exp2(static_cast<int>(scale) - 127);
      numbers.push_back(static_cast<float>(decoded(bits, facts.exponent, facts.mantissa) * factor));
    }
  return numbers;
}

}  // namespace wm
