// The kernel of a product, its run on the machine, and the same product in doubles from where sheet and CuTe put
// things.
#include "vgpu/tcgen05/product.hpp"

#include <random>

namespace wm::vgpu::testing {
namespace {

// Numbers of one type, small enough that nothing overflows.
void fill(std::vector<uint8_t>& image, uint32_t from, uint32_t bytes, Type type, std::mt19937& dice) {
  for (uint32_t at = from; at < from + bytes; at += static_cast<uint32_t>(sheet::bytes_of(type))) {
    const uint32_t r = dice();
    switch (type) {
      case Type::f16: {
        const auto bits = static_cast<std::uint16_t>((r & 0x83ff) | (10 + r / 0x10000 % 8) << 10);
        std::memcpy(&image[at], &bits, 2);
        break;
      }
      case Type::bf16: {
        const auto bits = static_cast<std::uint16_t>((r & 0x807f) | (122 + r / 0x10000 % 8) << 7);
        std::memcpy(&image[at], &bits, 2);
        break;
      }
      case Type::tf32: {
        const uint32_t bits = (r & 0x807fffff) | (122 + dice() % 8) << 23;
        std::memcpy(&image[at], &bits, 4);
        break;
      }
      case Type::e4m3: image[at] = static_cast<uint8_t>(r % 2 << 7 | r / 2 % 80); break;
      case Type::e5m2: image[at] = static_cast<uint8_t>(r % 2 << 7 | r / 2 % 80); break;
      case Type::ue8m0: image[at] = static_cast<uint8_t>(120 + r % 14); break;
      case Type::ue4m3: image[at] = static_cast<uint8_t>(r % 112); break;
      default: image[at] = static_cast<uint8_t>(r);
    }
  }
}

double number(uint32_t bits, int sum) {
  if (sum == 0) {
    uint8_t half[2];
    std::memcpy(half, &bits, 2);
    return sheet::value(Type::f16, half);
  }
  if (sum == 2) return static_cast<std::int32_t>(bits);
  float f;
  std::memcpy(&f, &bits, 4);
  return static_cast<double>(f);
}

// Brings the scales of the image to %r26 (A's) and %r27.
std::string copies_of_scales(const Product& p) {
  std::string text =
      fmt::format("  add.u32 %r26, %base, {};\n  add.u32 %r27, %base, {};\n", a_scale_cells, b_scale_cells);
  const auto copy = [&](const char* shape, uint32_t from, uint32_t to) {
    const Layout rows{false, 0, 0, 128};  // 16 bytes each, one behind the other
    text += fmt::format(
        "  add.u64 %rd5, %rd2, {};\n  add.u32 %r28, %base, {};\n  tcgen05.cp.cta_group::{}.{} [%r28], %rd5;\n",
        rows.descriptor() + (from >> 4), to, p.blocks, shape);
  };
  copy("32x128b.warpx4", scales_begin, a_scale_cells);
  if (p.b_scales_in_halves())
    copy("64x128b.warpx2::01_23", b_scales_begin, b_scale_cells);
  else
    for (uint32_t i = 0; i < static_cast<uint32_t>(p.n + 127) / 128; ++i)
      copy("32x128b.warpx4", b_scales_begin + 512 * i, b_scale_cells + 4 * i);
  return text;
}

}  // namespace

void Product::expect_cute_scale(bool of_b, uint32_t i, uint32_t g, const sheet::ScaleCells& cells) const {
  const auto& walks = cute::vectors().walks(
      fmt::format("scales {} {} {} {} {}", of_b ? "b" : "a", blocks, m, group, static_cast<int>(k()) / group));
  const sheet::Cell row = walks.at(0).at(i);
  EXPECT_EQ(row, cells.first);
  EXPECT_EQ(walks.at(1).count(), cells.copies);
  for (uint32_t copy = 0; copy < cells.copies; ++copy) EXPECT_EQ(walks.at(1).at(copy), (sheet::Cell{32 * copy, 0}));
  EXPECT_EQ(walks.at(2).at(g), (sheet::Cell{0, g}));
}

std::string kernel_of(const Product& p) {
  std::string body;
  if (p.a_in_tensor_memory && !p.a_expanded) {  // eight columns of A, from the image's first bytes: 32 bytes a thread
    body += "  mad.lo.u32 %r20, %thread, 32, %image;\n";
    for (int i = 0; i < 8; ++i) body += fmt::format("  ld.shared.u32 %r{}, [%r20+{}];\n", 24 + i, 4 * i);
    body += fmt::format(
        "  add.u32 %r21, %base, {};\n  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r21], {};\n"
        "  tcgen05.wait::st.sync.aligned;\n  tcgen05.fence::before_thread_sync;\n"
        "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  tcgen05.fence::after_thread_sync;\n",
        a_cells, registers(24, 8));
  }
  body += fmt::format("  add.u32 %r22, %base, {};\n  add.u32 %r23, %base, {};\n", p.d_lane << 16 | p.d_column,
                      (p.blocks == 1 && p.m == 64 ? p.d_lane << 16 : 0) + a_cells);
  body += "  shr.u32 %r24, %image, 4;\n  cvt.u64.u32 %rd2, %r24;\n";
  body += fmt::format("  add.u64 %rd3, %rd2, {};\n  add.u64 %rd4, %rd2, {};\n", p.place_a().descriptor(),
                      p.place_b().descriptor() + (b_begin >> 4));
  const std::string a = p.a_in_tensor_memory ? "[%r23]" : "%rd3";
  body += "  setp.eq.u32 %p4, %rank, 0;\n  and.pred %p4, %p4, %first;\n  @!%p4 bra issued;\n";
  if (p.a_expanded)
    body += fmt::format("  tcgen05.cp.cta_group::{}.128x256b.b8x16.{} [%r23], %rd3;\n", p.blocks,
                        p.a == Type::e2m1 ? "b4x16_p64" : "b6x16_p32");
  std::string form = fmt::format("kind::{}", p.kind), scales;
  if (p.group != 0) {
    body += copies_of_scales(p);
    form += fmt::format(".block_scale.block{}", p.group);
    scales = ", [%r26], [%r27]";
  }
  for (const int accumulate : p.twice ? std::vector<int>{0, 1} : std::vector<int>{0})
    body += fmt::format("  setp.ne.u32 %p5, {}, 0;\n  tcgen05.mma.cta_group::{}.{} [%r22], {}, %rd4, {}{}{}, %p5{};\n",
                        accumulate, p.blocks, form, a, p.descriptor(), scales, p.mask, accumulate ? p.options : "");
  if (p.blocks == 2)
    body +=
        "  mov.b16 %h1, 3;\n"
        "  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;\n";
  else
    body += "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
  body += "issued:\n";
  body += wait_for_commit;
  return tensor_kernel(body, p.blocks, image_bytes);
}

void check(const Product& p, Mode mode, std::uint64_t seed, bool judged) {
  SCOPED_TRACE(p.name());
  std::mt19937 dice(static_cast<uint32_t>(p.descriptor()) + static_cast<uint32_t>(p.a_swizzle * 8 + p.b_swizzle));
  std::vector<uint8_t> image(static_cast<std::size_t>(p.blocks) * image_bytes);
  for (uint32_t block = 0; block < static_cast<uint32_t>(p.blocks); ++block) {
    fill(image, block * image_bytes, b_begin, p.a, dice);
    for (uint32_t i = 0; p.a_in_containers() && i < b_begin; ++i)
      image[block * image_bytes + i] &= p.a == Type::e2m1 ? 0x3c : 0x3f;
    fill(image, block * image_bytes + b_begin, image_bytes - b_begin, p.b, dice);
    if (p.group != 0) fill(image, block * image_bytes + scales_begin, 2048, p.scale, dice);
    if (p.a_twice()) std::memcpy(&image[block * image_bytes + 64 * 32], &image[block * image_bytes], 64 * 32);
  }
  Gpu gpu("sm_100a", 2);
  gpu.options.mode = mode;
  gpu.options.seed = seed;
  gpu.options.deterministic = true;
  gpu.options.check = judged;
  gpu.load(kernel_of(p));
  const auto in = gpu.upload(image);
  const std::size_t cells = static_cast<std::size_t>(p.blocks) * 128 * 512;
  const auto out = gpu.upload(std::vector<uint32_t>(cells));
  const uint32_t blocks = static_cast<uint32_t>(p.blocks);
  gpu.run("test", {{blocks}, {128}, {blocks}, image_bytes}, parameters(out, in));
  const auto got = gpu.download<uint32_t>(out, cells);
  if (judged) {
    for (const Finding& finding : gpu.report.check->findings)
      ASSERT_TRUE(finding.severity == Severity::advice || finding.name == "uninitialised-read") << finding.text();
  }

  const Product::Place place_a = p.place_a(), place_b = p.place_b();
  const std::string name_of_d = fmt::format("d {} {} {}", p.blocks, p.m, p.n);
  const std::vector<cute::Walk>* const d_by_cute =
      cute::vectors().has_walks(name_of_d) ? &cute::vectors().walks(name_of_d) : nullptr;
  ASSERT_TRUE(d_by_cute != nullptr || !p.as_cute);
  const uint32_t rows = static_cast<uint32_t>(p.m / p.blocks), n = static_cast<uint32_t>(p.n), depth = p.k();
  std::vector<double> a(std::size_t{blocks} * rows * depth), b(std::size_t{n} * depth);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < blocks * rows; ++i) {
      const uint8_t* const own = &image[i / rows * image_bytes];
      if (!p.a_in_tensor_memory || p.a_expanded)
        a[i * depth + k] = p.element(place_a, p.a, own, i % rows, k);
      else if (p.packed())
        a[i * depth + k] = sheet::packed_value(p.a, own + p.byte_in_cells(i % rows, k / 2), k % 2);
      else if (p.a_in_containers())
        a[i * depth + k] = sheet::value_in_container(p.a, own + p.byte_in_cells(i % rows, k));
      else
        a[i * depth + k] = sheet::value(p.a, own + p.byte_in_cells(i % rows, k));
    }
    for (uint32_t j = 0; j < n; ++j)
      b[j * depth + k] = p.element(place_b, p.b, &image[j / (n / blocks) * image_bytes + b_begin], j % (n / blocks), k);
  }
  // Each block has the scales of its own rows of A and of all of B.
  const uint32_t groups = p.group == 0 ? 1 : depth / static_cast<uint32_t>(p.group);
  std::vector<double> a_scales(std::size_t{blocks} * rows * groups, 1), b_scales(std::size_t{blocks} * n * groups, 1);
  for (uint32_t g = 0; p.group != 0 && g < groups; ++g)
    for (uint32_t block = 0; block < blocks; ++block) {
      const uint8_t* const own = &image[block * image_bytes];
      for (uint32_t i = 0; i < rows; ++i)
        a_scales[(block * rows + i) * groups + g] = sheet::value(p.scale, own + p.scale_byte(false, i, g));
      for (uint32_t j = 0; j < n; ++j)
        b_scales[(block * n + j) * groups + g] = sheet::value(p.scale, own + p.scale_byte(true, j, g));
    }
  const double sign = p.negate == 1 || p.negate == 2 ? -1 : 1;
  std::vector<bool> is_d(cells);
  for (uint32_t block = 0; block < blocks; ++block)
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < depth; ++k) {
          const uint32_t g = k * groups / depth;
          const double term = a[(block * rows + i) * depth + k] * b[j * depth + k] *
                              a_scales[(block * rows + i) * groups + g] * b_scales[(block * n + j) * groups + g];
          sum += term;
          size += std::abs(term);
        }
        sum *= sign;
        const auto place = sheet::cell_of_d(p.blocks, p.m, p.n, i, j);
        if (d_by_cute != nullptr) {
          const sheet::Cell row = d_by_cute->at(0).at(i), along = d_by_cute->at(1).at(j);
          ASSERT_EQ(place, (sheet::Cell{row.lane + along.lane, row.column + along.column}));
        }
        const std::size_t cell = (block * 128 + place.lane + static_cast<uint32_t>(p.d_lane)) * 512 + place.column +
                                 static_cast<uint32_t>(p.d_column);
        is_d[cell] = true;
        double want = sum;
        if (p.twice) want = sum + sum * (p.options.empty() ? 1 : std::ldexp(1.0, -std::stoi(p.options.substr(2))));
        if (!p.mask.empty() && place.lane % 2 == 1) {
          ASSERT_EQ(got[cell], fresh) << "row " << i << " column " << j;
          continue;
        }
        const double bound = p.sum == 2 ? 0 : p.sum == 0 ? size * 0x1p-9 + 0x1p-20 : size * 2e-6;
        ASSERT_NEAR(number(got[cell], p.sum), want, bound) << "block " << block << " row " << i << " column " << j;
      }
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const bool is_a = p.a_in_tensor_memory && cell % 512 >= a_cells && cell % 512 < a_cells + 8;
    const bool is_scale = p.group != 0 && cell % 512 >= a_scale_cells && cell % 512 < b_scale_cells + 8;
    if (is_d[cell] || is_a || is_scale) continue;
    ASSERT_EQ(got[cell], fresh) << "cell " << cell;
  }
}

}  // namespace wm::vgpu::testing
