// tcgen05.ld and st in every shape and count against the sheet's formulas and CuTe's layouts, with pack and unpack.
#include "vgpu/tcgen05/cute.hpp"
#include "vgpu/tcgen05/kernels.hpp"
#include "vgpu/tcgen05/sheet.hpp"

namespace wm::vgpu::testing {
namespace {

using sheet::Shape;
using std::uint32_t;

struct Form {
  const char* name;
  Shape shape;
  int registers_of_one, most;
};
constexpr Form forms[] = {{"32x32b", Shape::b32x32, 1, 128},
                          {"16x64b", Shape::b16x64, 1, 128},
                          {"16x128b", Shape::b16x128, 2, 64},
                          {"16x256b", Shape::b16x256, 4, 32},
                          {"16x32bx2", Shape::b16x32x2, 1, 128}};

// A cell's number, different in all of them.
constexpr uint32_t number(uint32_t lane, uint32_t column) { return lane << 16 | (column * 7 + 3); }

// What the kernel does with one register: the value of lane t of warp w.
uint32_t stored(uint32_t w, uint32_t t, uint32_t r) { return w << 28 | t << 16 | (r * 5 + 1); }

struct Case {
  Form form;
  int count;
  bool packed;
  uint32_t lane, column, apart;
  int registers() const { return form.registers_of_one * count; }
  std::string offset() const { return form.shape == Shape::b16x32x2 ? fmt::format(", {}", apart) : ""; }
  uint32_t columns() const {
    uint32_t most = 0;
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < static_cast<uint32_t>(registers()); ++r) most = std::max(most, cell(t, r).column);
    return most + (packed ? 2 : 1);
  }
  // The first of the register's physical columns.
  sheet::Cell cell(uint32_t t, uint32_t r) const {
    sheet::Cell c = sheet::cell_of_register(form.shape, t, r, 0);
    if (packed) c.column *= 2;
    if (form.shape == Shape::b16x32x2) c.column += t / 16 * apart;
    return c;
  }
  // The same by CuTe, of `ld` or `st`; of a half of the register, 0 or 1.
  sheet::Cell by_cute(const char* name, uint32_t t, uint32_t r, uint32_t half) const {
    const auto& walks =
        cute::vectors().walks(fmt::format("{} {} {} {}", name, form.name, count, packed ? "packed" : "plain"));
    const sheet::Cell thread = walks.at(0).at(t), reg = walks.at(1).at(r), part = walks.at(2).at(half);
    return {thread.lane + reg.lane + part.lane, thread.column + reg.column + part.column};
  }
  void expect_as_cute(const char* name, uint32_t t, uint32_t r) const {
    sheet::Cell place = cell(t, r);
    ASSERT_EQ(place, by_cute(name, t, r, 0)) << "lane " << t << " register " << r;
    if (packed) ++place.column;
    ASSERT_EQ(place, by_cute(name, t, r, 1)) << "lane " << t << " register " << r;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Form& form : forms)
    for (int count = 1; count <= form.most; count *= 2)
      for (const bool packed : {false, true}) {
        Case c{form, count, packed, 0, 0, 0};
        c.apart = form.shape == Shape::b16x32x2 ? static_cast<uint32_t>(count) * (packed ? 2 : 1) : 0;
        if (c.columns() > 512) continue;
        c.column = std::min(8u, 512 - c.columns());
        c.lane = form.shape != Shape::b32x32 && count % 4 == 2 ? 16 : 0;
        all.push_back(c);
      }
  return all;
}

// Cells are first filled with their numbers by st.32x32b, which the stores of the other shapes check.
std::string filled() {
  std::string body = "  shl.b32 %r16, %thread, 16;\n";
  for (int column = 0; column < 512; column += 8) {
    for (int i = 0; i < 8; ++i) body += fmt::format("  add.u32 %r{}, %r16, {};\n", 24 + i, (column + i) * 7 + 3);
    body += fmt::format("  add.u32 %r17, %base, {};\n  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r17], {};\n", column,
                        registers(24, 8));
  }
  return body + "  tcgen05.wait::st.sync.aligned;\n";
}

TEST(TensorTransfer, StoresEveryShapeAndCount) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{} x{} packed {}", c.form.name, c.count, c.packed));
    std::string body = filled() +
                       "  and.b32 %r18, %thread, 31;\n  shl.b32 %r18, %r18, 16;\n  shl.b32 %r19, %warp, 28;\n"
                       "  or.b32 %r18, %r18, %r19;\n";
    for (int r = 0; r < c.registers(); ++r) body += fmt::format("  add.u32 %r{}, %r18, {};\n", 100 + r, r * 5 + 1);
    body += fmt::format("  add.u32 %r17, %base, {};\n  tcgen05.st.sync.aligned.{}.x{}{}.b32 [%r17]{}, {};\n",
                        c.lane << 16 | c.column, c.form.name, c.count, c.packed ? ".unpack::16b" : "", c.offset(),
                        registers(100, c.registers()));
    body += "  tcgen05.wait::st.sync.aligned;\n";
    Gpu gpu("sm_100a");
    gpu.load(tensor_kernel(body, 1, 4));
    const auto in = gpu.upload(std::vector<uint32_t>(1)), out = gpu.upload(std::vector<uint32_t>(128 * 512));
    gpu.run("test", {{1}, {128}, {}, 4}, parameters(out, in));
    const auto got = gpu.download<uint32_t>(out, 128 * 512);
    std::vector<uint32_t> want(128 * 512);
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 512; ++column) want[lane * 512 + column] = number(lane, column);
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t t = 0; t < 32; ++t)
        for (uint32_t r = 0; r < static_cast<uint32_t>(c.registers()); ++r) {
          const auto cell = c.cell(t, r);
          ASSERT_NO_FATAL_FAILURE(c.expect_as_cute("st", t, r));
          uint32_t* to = &want[(32 * w + c.lane + cell.lane) * 512 + c.column + cell.column];
          to[0] = c.packed ? stored(w, t, r) & 0xffff : stored(w, t, r);
          if (c.packed) to[1] = stored(w, t, r) >> 16;
        }
    ASSERT_EQ(got, want);
  }
}

TEST(TensorTransfer, LoadsEveryShapeAndCount) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{} x{} packed {}", c.form.name, c.count, c.packed));
    std::string body = filled();
    body += fmt::format("  add.u32 %r17, %base, {};\n  tcgen05.ld.sync.aligned.{}.x{}{}.b32 {}, [%r17]{};\n",
                        c.lane << 16 | c.column, c.form.name, c.count, c.packed ? ".pack::16b" : "",
                        registers(100, c.registers()), c.offset());
    body += fmt::format("  mad.wide.u32 %rd5, %thread, {}, %out;\n", 4 * c.registers());
    for (int r = 0; r < c.registers(); ++r)  // used without a wait, which is legal
      body += fmt::format("  st.global.u32 [%rd5+{}], %r{};\n", 128 * 512 * 4 + 4 * r, 100 + r);
    Gpu gpu("sm_100a");
    gpu.load(tensor_kernel(body, 1, 4));
    const std::size_t words = 128 * static_cast<std::size_t>(c.registers());
    const auto in = gpu.upload(std::vector<uint32_t>(1)), out = gpu.upload(std::vector<uint32_t>(128 * 512 + words));
    gpu.run("test", {{1}, {128}, {}, 4}, parameters(out, in));
    const auto got = gpu.download<uint32_t>(out, 128 * 512 + words);
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t r = 0; r < static_cast<uint32_t>(c.registers()); ++r) {
        const auto cell = c.cell(thread % 32, r);
        ASSERT_NO_FATAL_FAILURE(c.expect_as_cute("ld", thread % 32, r));
        const uint32_t lane = thread / 32 * 32 + c.lane + cell.lane, column = c.column + cell.column;
        const uint32_t want =
            c.packed ? (number(lane, column) & 0xffff) | number(lane, column + 1) << 16 : number(lane, column);
        ASSERT_EQ(got[128 * 512 + thread * static_cast<uint32_t>(c.registers()) + r], want)
            << "thread " << thread << " register " << r;
      }
  }
}

// DeepGEMM gives lane 0 in all four warps: the quarter is the warp's own whatever the address says.
TEST(TensorTransfer, AWarpReachesItsOwnQuarterWhateverTheAddressSays) {
  const std::string body =
      filled() +
      "  add.u32 %r17, %base, 0x600000;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r100}, [%r17];\n"
      "  mad.wide.u32 %rd5, %thread, 4, %out;\n  st.global.u32 [%rd5+262144], %r100;\n";
  Gpu gpu("sm_100a");
  gpu.load(tensor_kernel(body, 1, 4));
  const auto in = gpu.upload(std::vector<uint32_t>(1)), out = gpu.upload(std::vector<uint32_t>(128 * 513));
  gpu.run("test", {{1}, {128}, {}, 4}, parameters(out, in));
  const auto got = gpu.download<uint32_t>(out, 128 * 513);
  for (uint32_t thread = 0; thread < 128; ++thread) ASSERT_EQ(got[128 * 512 + thread], number(thread, 0));
}

// Without a wait, as published kernels have it: run plainly a store is done at once, as on a chip; in other orders it
// may come later. The judge says so in every mode.
TEST(TensorTransfer, AStoreThatNobodyWaitsForIsDoneAtOnceInFriendlyRunsAlone) {
  const auto run = [](bool waits, Mode mode, std::uint64_t seed) {
    Gpu gpu("sm_100a", 2);
    gpu.options.mode = mode;
    gpu.options.seed = seed;
    gpu.options.check = true;
    gpu.load(tensor_kernel(fmt::format("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%base], %thread;\n{}",
                                       waits ? "  tcgen05.wait::st.sync.aligned;\n" : ""),
                           1, 1024, 32));
    const auto out = gpu.upload(std::vector<uint32_t>(128 * 512));
    gpu.run("test", {{1}, {128}, {1}, 1024}, parameters(out, gpu.upload(std::vector<uint32_t>(256))));
    const auto got = gpu.download<uint32_t>(out, 128 * 512);
    bool right = true, found = false;
    for (uint32_t lane = 0; lane < 128; ++lane) right = right && got[lane * 512] == lane;
    for (const Finding& finding : gpu.report.check->findings)
      found = found || (finding.name == "read-before-arrival" && finding.severity == Severity::error);
    return std::pair(right, found);
  };
  EXPECT_EQ(run(false, Mode::friendly, 0), std::pair(true, true));
  int late = 0;
  for (const Mode mode : {Mode::random, Mode::adversarial})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto [right, found] = run(false, mode, seed);
      EXPECT_TRUE(found) << "seed " << seed;
      late += !right;
      EXPECT_EQ(run(true, mode, seed), std::pair(true, false)) << "seed " << seed;
    }
  EXPECT_GT(late, 0);
  EXPECT_EQ(run(true, Mode::friendly, 0), std::pair(true, false));
}

}  // namespace
}  // namespace wm::vgpu::testing
