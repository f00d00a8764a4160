// Kernels by name, and seeded numbers.
#include "lab.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <thread>

#include "warpmill/jit.hpp"
#include "warpmill/virtual.hpp"

namespace wm::golden {

namespace {

struct DeviceSource {
  std::string file, before;
  std::vector<std::string> expressions;
  std::optional<jit::Program> program;
  std::optional<Module> module;
};
std::vector<DeviceSource> sources;  // filled before the first case runs, and never from two threads

jit::Program compile(const DeviceSource& source, DeviceKind kind) {
  jit::Options options;
  options.arch = Architecture::parse("sm_90a");
  options.name_expressions = source.expressions;
  // The virtual GPU wants PTX with lines; without a cubin it is also compiled in half the time.
  options.line_table = kind == DeviceKind::virtual_gpu;
  return jit::compile({source.file, source.before + std::string(device_source(source.file))}, options);
}

}  // namespace

KernelName declare(std::string_view file, std::string expression, std::string_view before) {
  const auto same = [&](const DeviceSource& s) { return s.file == file && s.before == before; };
  auto found = std::find_if(sources.begin(), sources.end(), same);
  if (found == sources.end()) {
    sources.emplace_back();
    found = sources.end() - 1;
    found->file = file;
    found->before = before;
  }
  auto& expressions = found->expressions;
  if (std::find(expressions.begin(), expressions.end(), expression) == expressions.end())
    expressions.push_back(expression);
  return {static_cast<std::size_t>(found - sources.begin()), std::move(expression)};
}

Kernel kernel(const Device& device, const KernelName& name) {
  DeviceSource& source = sources.at(name.source);
  if (!source.module) {
    source.program = compile(source, device.info().kind);
    source.module = Module::load(device, *source.program);
  }
  return source.module->kernel(source.program->lowered.at(name.expression));
}

void compile_all(DeviceKind kind) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        compile(sources[i], kind);
      } catch (const Error& error) {
        fmt::print(stderr, "{}: {}\n", sources[i].file, error.what());
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

void add_as_chip(const Device& device, bool wanted) {
  if (device.info().kind != DeviceKind::virtual_gpu) return;
  vgpu::RunOptions options = vgpu::run_options(device);
  options.chip_sums = wanted;
  vgpu::set_run_options(device, options);
}

std::uint64_t seed_of(std::string_view name) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t Random::bits() {  // splitmix64
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
}

double Random::normal() {  // the sum of twelve uniform numbers: the same to the last bit on every machine
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits() >> 11) * 0x1p-53;
  return sum;
}

}  // namespace wm::golden
