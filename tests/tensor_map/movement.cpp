// The movement run: makes random tensor copies on this machine's GPU and compares every byte with the virtual GPU's
// copy engine.   tensor_map_movement [--cases N] [--seed N] [--json FILE] Each batch runs in a child process (--batch
// NAME) with a time limit: a copy that the chip refuses costs its batch only. Status 0: all equal; 1: differences,
// listed; 2: it could not run.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "tensor_map/agreement_study.hpp"
#include "tensor_map/cuda_library.hpp"
#include "tensor_map/driver.hpp"
#include "tensor_map/movement_kernels.hpp"
#include "tensor_map/random_copies.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::vgpu::copy;

namespace {

enum class Direction { load, store, reduce };

struct Batch {
  std::string name;
  Direction direction;
  std::function<TensorMapSpec(Random&)> map;
  std::optional<Reduction> reduction = {};
  bool inside_only = false;  // PTX allows stores only from coordinates that are not negative
  bool misaligned = false;   // an innermost coordinate off by one: both must refuse
};

// Random maps until one has the property.
std::function<TensorMapSpec(Random&)> maps(MapMode mode, std::function<bool(const TensorMapSpec&)> wanted) {
  return [mode, wanted = std::move(wanted)](Random& random) {
    for (;;) {
      TensorMapSpec spec = random_map(random, mode, Size::small);
      if (wanted(spec)) return spec;
    }
  };
}

std::int64_t inner_bytes(const TensorMapSpec& spec) {
  return (spec.mode == MapMode::tiled ? spec.box.back() : spec.channels_per_pixel) *
         static_cast<std::int64_t>(bits_of(spec.element)) / 8;
}
bool converted(const TensorMapSpec& spec) {
  return spec.element == MapElement::tf32 || spec.element == MapElement::tf32_ftz ||
         spec.element == MapElement::f32_ftz;
}
bool simple(const TensorMapSpec& spec) {
  return spec.interleave == Interleave::none && spec.element_strides.empty() && spec.fill == OutOfBounds::zeros &&
         !converted(spec);
}
bool full(const TensorMapSpec& spec) {
  return spec.swizzle == Swizzle::none || inner_bytes(spec) == static_cast<std::int64_t>(span_of(spec.swizzle));
}

constexpr std::array<std::string_view, 8> operations{"add", "min", "max", "inc", "dec", "and", "or", "xor"};

// Two dimensions, nothing special, elements of one type.
std::function<TensorMapSpec(Random&)> plain_maps(MapElement element) {
  return [element](Random& random) {
    TensorMapSpec spec{.element = element, .dims = {between(random, 1, 30), between(random, 1, 60)}, .box = {8, 32}};
    const std::int64_t bytes = static_cast<std::int64_t>(bits_of(element)) / 8;
    spec.strides = {multiple_above(spec.dims[1] * bytes, 16)};
    return spec;
  };
}

std::vector<Batch> batches() {
  using enum Interleave;
  std::vector<Batch> all;
  for (const Direction direction : {Direction::load, Direction::store}) {
    const std::string verb = direction == Direction::load ? "load" : "store";
    const auto add = [&](const std::string& name, MapMode mode, std::function<bool(const TensorMapSpec&)> wanted) {
      all.push_back({verb + " " + name, direction, maps(mode, std::move(wanted)), {}, direction == Direction::store});
    };
    const auto tiled = MapMode::tiled, im2col = MapMode::im2col;
    add("plain", tiled, [](auto& s) { return simple(s) && s.swizzle == Swizzle::none; });
    add("swizzled", tiled, [](auto& s) { return simple(s) && s.swizzle != Swizzle::none && full(s); });
    add("narrower than swizzle", tiled, [](auto& s) { return simple(s) && !full(s); });
    add("element strides", tiled,
        [](auto& s) { return s.interleave == none && !s.element_strides.empty() && full(s) && !converted(s); });
    add("nan fill", tiled, [](auto& s) { return s.fill == OutOfBounds::nan && s.interleave == none && full(s); });
    add("tf32 and ftz", tiled, [](auto& s) { return converted(s) && s.interleave == none && full(s); });
    add("interleave 16B", tiled,
        [](auto& s) { return s.interleave == b16 && s.element_strides.empty() && s.swizzle == Swizzle::none; });
    add("interleave 16B swizzled", tiled,
        [](auto& s) { return s.interleave == b16 && s.element_strides.empty() && s.swizzle != Swizzle::none; });
    add("interleave 32B", tiled, [](auto& s) { return s.interleave == b32 && s.element_strides.empty(); });
    add("interleave, element strides", tiled,
        [](auto& s) { return s.interleave != none && !s.element_strides.empty(); });
    add("im2col", im2col, [](auto& s) { return simple(s) && full(s); });
    add("im2col element strides", im2col,
        [](auto& s) { return s.interleave == none && !s.element_strides.empty() && full(s); });
    add("im2col narrower than swizzle", im2col, [](auto& s) { return simple(s) && !full(s); });
    add("im2col without corners", im2col, [](auto& s) {
      const auto zero = [](std::int64_t offset) { return offset == 0; };
      return simple(s) && full(s) && std::ranges::all_of(s.lower_corner, zero) &&
             std::ranges::all_of(s.upper_corner, zero);
    });
    add("im2col interleave, element strides", im2col,
        [](auto& s) { return s.interleave != none && !s.element_strides.empty(); });
    add("im2col interleave", im2col, [](auto& s) { return s.interleave != none && s.element_strides.empty(); });
  }
  for (const auto& [name, direction] : {std::pair{"load", Direction::load}, {"store", Direction::store}})
    all.push_back(
        {fmt::format("{} from a misaligned coordinate", name), direction, plain_maps(MapElement::u32), {}, true, true});
  for (std::size_t o = 0; o < operations.size(); ++o) {
    const auto reduction = static_cast<Reduction>(o);
    std::vector<MapElement> elements;
    for (int e = 0; e <= static_cast<int>(MapElement::tf32_ftz); ++e)
      if (has_reduction(reduction, static_cast<MapElement>(e))) elements.push_back(static_cast<MapElement>(e));
    const auto add = [&](std::string_view element, std::function<TensorMapSpec(Random&)> map) {
      all.push_back(
          {fmt::format("reduce {} {}", operations[o], element), Direction::reduce, std::move(map), reduction, true});
    };
    if (reduction == Reduction::add)
      for (const MapElement element : elements) add(name_of(element), plain_maps(element));
    else
      add("all its types", [elements](Random& random) {
        return plain_maps(elements[between(random, 0, static_cast<std::int64_t>(elements.size()) - 1)])(random);
      });
  }
  return all;
}

// ---- on the chip

class Chip {
 public:
  Chip()
      : functions_{cuda_.find<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled"),
                   cuda_.find<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col")} {
    cuda_.call<decltype(&cuModuleLoadData)>("cuModuleLoadData", &module_,
                                            static_cast<const void*>(movement_ptx().c_str()));
    cuda_.call<decltype(&cuMemAlloc)>("cuMemAlloc_v2", &memory, memory_size);
    cuda_.call<decltype(&cuMemAlloc)>("cuMemAlloc_v2", &out_, std::size_t{1} << 20);
  }

  void upload(const std::vector<std::byte>& bytes) const {
    cuda_.call<decltype(&cuMemcpyHtoD)>("cuMemcpyHtoD_v2", memory, static_cast<const void*>(bytes.data()),
                                        bytes.size());
  }
  void download(std::vector<std::byte>& bytes) const {
    cuda_.call<decltype(&cuMemcpyDtoH)>("cuMemcpyDtoH_v2", static_cast<void*>(bytes.data()), memory, bytes.size());
  }

  // Runs an entry of movement_ptx with `shared` before and after; false where the mbarrier did not complete.
  bool run(const std::string& entry, const RandomCopy& copy, std::vector<std::byte>& shared) const {
    alignas(128) TensorMap map;
    if (tensor_map::ask_driver(functions_, copy.spec, map) != CUDA_SUCCESS)
      throw Error(ErrorCode::execution, "the driver refuses " + one_line(copy.spec));
    CUfunction function = nullptr;
    cuda_.call<decltype(&cuModuleGetFunction)>("cuModuleGetFunction", &function, module_, entry.c_str());
    cuda_.call<decltype(&cuFuncSetAttribute)>("cuFuncSetAttribute", function,
                                              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 * 1024);
    std::vector<std::byte> out = shared;
    out.resize(shared.size() + 4);
    cuda_.call<decltype(&cuMemcpyHtoD)>("cuMemcpyHtoD_v2", out_, static_cast<const void*>(out.data()), out.size());
    std::uint64_t out_address = out_;
    std::uint32_t bytes = tile_bytes(copy.map), tile = copy.tile, words = static_cast<std::uint32_t>(shared.size() / 4);
    auto at = copy.coordinates.at;
    std::array<std::uint32_t, 3> offsets{};
    std::copy(copy.coordinates.offsets.begin(), copy.coordinates.offsets.end(), offsets.begin());
    std::array<void*, 13> parameters{&map,   &out_address, &bytes, &tile,       &words,      &at[0],     &at[1],
                                     &at[2], &at[3],       &at[4], &offsets[0], &offsets[1], &offsets[2]};
    cuda_.call<decltype(&cuLaunchKernel)>("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u,
                                          static_cast<unsigned>(shared.size() + 1024), static_cast<CUstream>(nullptr),
                                          parameters.data(), static_cast<void**>(nullptr));
    cuda_.call<decltype(&cuCtxSynchronize)>("cuCtxSynchronize");
    cuda_.call<decltype(&cuMemcpyDtoH)>("cuMemcpyDtoH_v2", static_cast<void*>(out.data()), out_, out.size());
    std::uint32_t completed = 0;
    std::memcpy(&completed, out.data() + shared.size(), 4);
    std::copy_n(out.begin(), shared.size(), shared.begin());
    return completed == 1;
  }

  static constexpr std::size_t memory_size = std::size_t{64} << 20;
  CUdeviceptr memory = 0;

 private:
  CudaLibrary cuda_;
  tensor_map::DriverFunctions functions_;
  CUmodule module_ = nullptr;
  CUdeviceptr out_ = 0;
};

// ---- comparison

struct Difference {
  std::uint32_t size;  // of the tile: the smallest are shown
  std::string text;
};

// The words that differ, as byte offsets into memory where memory was filled with its own word numbers.
std::string show(const std::vector<std::byte>& got, const std::vector<std::byte>& expected, bool numbered) {
  std::string text;
  int shown = 0, differing = 0;
  for (std::size_t at = 0; at + 4 <= got.size(); at += 4) {
    std::uint32_t a, b;
    std::memcpy(&a, &got[at], 4);
    std::memcpy(&b, &expected[at], 4);
    if (a == b) continue;
    ++differing;
    const auto word = [&](std::uint32_t value) {
      return numbered && value < (1u << 28) ? fmt::format("@{}", value * 4) : fmt::format("{:08x}", value);
    };
    if (++shown <= 40) text += fmt::format(" {}:{}/{}", at, word(a), word(b));
  }
  return fmt::format("      {} of {} words differ, place:chip/ours{}\n", differing, got.size() / 4, text);
}

std::string describe(const RandomCopy& copy) {
  return fmt::format("    {}\n      coordinates {} offsets {} tile at {}\n", one_line(copy.spec),
                     fmt::join(copy.coordinates.at, ","), fmt::join(copy.coordinates.offsets, ","), copy.tile);
}

// Room for the tile whatever the chip takes for one: every count of an interleaved map as a number of slices.
std::size_t most_bytes(const TensorMapSpec& spec) {
  if (spec.interleave == Interleave::none) return spec.tile_bytes();
  std::size_t bytes = 32;
  if (spec.mode == MapMode::im2col) return bytes * spec.channels_per_pixel * spec.pixels_per_column;
  for (const std::int64_t count : spec.box) bytes *= static_cast<std::size_t>(count);
  return bytes;
}

std::optional<Difference> compare(const Chip& chip, const Batch& batch, const RandomCopy& copy, Random& random,
                                  bool numbered) {
  HostMemory global(chip.memory, memory_bytes(copy.map));
  const auto fill = [&](std::vector<std::byte>& bytes) {
    bytes.resize((bytes.size() + 3) / 4 * 4);
    if (!numbered) return fill_randomly(random, bytes);
    for (std::uint32_t word = 0; word < bytes.size() / 4; ++word) std::memcpy(&bytes[word * 4], &word, 4);
  };
  fill(global.bytes);
  std::vector<std::byte> shared(copy.tile + most_bytes(copy.spec) + 4096, std::byte{0xcd});
  if (batch.direction != Direction::load) fill(shared);
  chip.upload(global.bytes);
  std::vector<std::byte> chip_shared = shared, chip_global(global.bytes.size());

  const std::string mode = copy.map.mode == MapMode::im2col ? "im2col" : "tile";
  std::string entry =
      fmt::format("{}_{}_{}", batch.direction == Direction::load ? "load" : "store", mode, copy.map.rank);
  if (batch.reduction) entry = fmt::format("reduce_{}_tile_2", operations[static_cast<std::size_t>(*batch.reduction)]);
  const bool completed = chip.run(entry, copy, chip_shared);
  chip.download(chip_global);

  const SharedMemory ours{shared, 0};
  if (batch.direction == Direction::load)
    load(copy.map, copy.coordinates, global, ours, copy.tile);
  else if (batch.direction == Direction::store)
    store(copy.map, copy.coordinates, global, ours, copy.tile);
  else
    reduce(copy.map, copy.coordinates, *batch.reduction, global, ours, copy.tile);

  const bool late = batch.direction == Direction::load && !completed;
  const bool same = batch.direction == Direction::load ? chip_shared == shared : chip_global == global.bytes;
  if (same && !late) return std::nullopt;
  std::string text = describe(copy);
  if (late) text += fmt::format("      THE MBARRIER DID NOT COUNT {} BYTES\n", tile_bytes(copy.map));
  text +=
      fmt::format("      memory starts at 0x{:x}{}\n", chip.memory, numbered ? ", @n is the word at byte n of it" : "");
  if (!same)
    text += batch.direction == Direction::load ? show(chip_shared, shared, numbered)
                                               : show(chip_global, global.bytes, numbered);
  return Difference{tile_bytes(copy.map), text};
}

// One copy that the chip must refuse: it takes the context with it.
int run_misaligned(const Chip& chip, const Batch& batch, RandomCopy copy, Random& random) {
  copy.coordinates.at[0] = 1;
  bool refused = false;
  try {
    compare(chip, batch, copy, random, false);
  } catch (const Error& error) {
    refused = true;
    fmt::print("    {}\n", error.what());
  }
  fmt::print("RESULT 1 {}\n", refused ? 0 : 1);
  return 0;
}

int run_batch(const Batch& batch, int cases, std::uint64_t seed) {
  const Chip chip;
  Random random(seed);
  std::vector<Difference> differences;
  int done = 0, status = 0;
  while (done < cases && status == 0) {
    RandomCopy copy = random_copy(random, batch.map(random), chip.memory);
    if (most_bytes(copy.spec) > 180 * 1024 || memory_bytes(copy.map) > Chip::memory_size) continue;
    if (batch.misaligned) return run_misaligned(chip, batch, copy, random);
    if (batch.inside_only) {
      for (auto& at : copy.coordinates.at) at = std::max(at, 0);
      copy.coordinates.offsets = {};
    }
    ++done;
    try {
      if (auto difference = compare(chip, batch, copy, random, batch.direction != Direction::reduce && done % 2 == 0))
        differences.push_back(std::move(*difference));
    } catch (const Error& error) {  // the chip's context does not outlive a fault
      fmt::print("    copy {}: {}\n{}", done, error.what(), describe(copy));
      status = 2;
    }
  }
  std::sort(differences.begin(), differences.end(), [](auto& a, auto& b) { return a.size < b.size; });
  for (std::size_t i = 0; i < std::min<std::size_t>(3, differences.size()); ++i) fmt::print("{}", differences[i].text);
  fmt::print("RESULT {} {}\n", done, differences.size());
  return status;
}

// ---- the parent

struct Outcome {
  int cases = 0, differ = 0, status = 0;
  std::string text;
};

Outcome run_child(const std::string& program, const Batch& batch, int cases, std::uint64_t seed) {
  const std::string command =
      fmt::format("timeout 40 '{}' --batch '{}' --cases {} --seed {} 2>&1", program, batch.name, cases, seed);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw Error(ErrorCode::execution, "could not start " + command);
  Outcome outcome;
  char line[4096];
  while (std::fgets(line, sizeof(line), pipe) != nullptr)
    if (std::sscanf(line, "RESULT %d %d", &outcome.cases, &outcome.differ) != 2) outcome.text += line;
  outcome.status = pclose(pipe);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  int cases = 60;
  std::uint64_t seed = 1;
  std::string only, json_file;
  CLI::App app("Do the chip and the virtual GPU's copy engine move the same bytes?");
  app.add_option("--cases", cases, "random copies a batch");
  app.add_option("--seed", seed, "of the random copies");
  app.add_option("--batch", only, "run one batch, in this process");
  app.add_option("--json", json_file, "write the results here");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<Batch> all = batches();
    if (!only.empty()) {
      for (const Batch& batch : all)
        if (batch.name == only) return run_batch(batch, cases, seed);
      throw Error(ErrorCode::not_found, "there is no batch '" + only + "'");
    }
    nlohmann::json result = nlohmann::json::object();
    bool ran = true, equal = true;
    std::string details;
    for (const Batch& batch : all) {
      const Outcome outcome = run_child(argv[0], batch, cases, seed);
      const bool failed = outcome.cases == 0 || outcome.status != 0;
      fmt::print("  {:<36}{}\n", batch.name,
                 fmt::format("{:>6} copies {:>6} differ{}", outcome.cases, outcome.differ,
                             failed ? fmt::format(", then FAILED with status {}", outcome.status) : ""));
      std::fflush(stdout);
      if (!outcome.text.empty()) details += fmt::format("\n{}\n{}", batch.name, outcome.text);
      result[batch.name] = {{"copies", outcome.cases}, {"differ", outcome.differ}, {"details", outcome.text}};
      ran = ran && !failed;
      equal = equal && outcome.differ == 0;
    }
    fmt::print("{}", details);
    if (!json_file.empty()) {
      std::ofstream file(json_file);
      file << result.dump(1) << '\n';
      if (!file.flush()) throw Error(ErrorCode::io, "could not write " + json_file);
    }
    return !ran ? 2 : equal ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
