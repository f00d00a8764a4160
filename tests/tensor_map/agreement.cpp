// The agreement run: asks the CUDA driver of this machine's GPU about random tensor maps and compares its answers with
// our rules.   tensor_map_agreement [--maps N] [--seed N] [--json FILE]
// Status 0: no disagreement; 1: some, listed; 2: it could not run.
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor_map/agreement_study.hpp"
#include "tensor_map/cuda_library.hpp"
#include "tensor_map/driver.hpp"
#include "tensor_map/rules.hpp"

using namespace wm;
using namespace wm::test;
using nlohmann::json;

namespace {

json print_probes(const Oracle& driver, const Architecture& arch, std::uint64_t address) {
  json table = json::array();
  fmt::print("Probes: what the driver says (+ accepts, - refuses), and ! where our rules say otherwise\n");
  std::string question;
  for (const Probe& probe : probes(address)) {
    const auto refusal = tensor_map::first_refusal(probe.spec, arch);
    const bool accepted = driver(probe.spec), disagree = accepted != !refusal;
    if (probe.question != question) fmt::print("\n  {:<52}", question = probe.question);
    fmt::print(" {}{}{}", probe.value, accepted ? '+' : '-', disagree ? "!" : "");
    table.push_back({{"question", probe.question},
                     {"value", probe.value},
                     {"driver_accepts", accepted},
                     {"our_rule", refusal ? json(refusal->rule->id) : json()}});
  }
  fmt::print("\n\n");
  return table;
}

json print_study(const Study& study) {
  fmt::print(
      "{} random maps ({} tiled, {} im2col): both accept {}, both refuse {}, only we refuse {}, only the driver "
      "refuses {}\n\n",
      study.maps, study.tiled, study.im2col, study.both_accept, study.both_refuse, study.we_refuse,
      study.driver_refuses);
  fmt::print("  {:<22}{:>12}{:>20}{:>16}\n", "first rule broken", "both refuse", "its only one broken",
             "driver accepts");
  json rules = json::object();
  for (const auto& rule : tensor_map::rules()) {
    const auto found = study.rules.find(std::string(rule.id));
    const RuleCount count = found == study.rules.end() ? RuleCount{} : found->second;
    fmt::print("  {:<22}{:>12}{:>20}{:>16}\n", rule.id, count.both_refuse, count.alone, count.driver_accepts);
    rules[std::string(rule.id)] = {{"standing", rule.standing == tensor_map::Standing::enforced ? "enforced" : "noted"},
                                   {"both_refuse", count.both_refuse},
                                   {"only_rule_broken", count.alone},
                                   {"driver_accepts", count.driver_accepts}};
  }
  json classes = json::array();
  for (const Disagreement& d : study.disagreements) {
    fmt::print("\n{} x {}: {}\n", d.count,
               d.rule.empty() ? "only the driver refuses" : fmt::format("only our rule {} refuses", d.rule), d.fields);
    json examples = json::array();
    for (const TensorMapSpec& spec : d.examples) {
      fmt::print("    {}\n", one_line(spec));
      examples.push_back(one_line(spec));
    }
    classes.push_back({{"our_rule", d.rule}, {"fields", d.fields}, {"count", d.count}, {"shrunk_examples", examples}});
  }
  return {{"maps", study.maps},
          {"tiled", study.tiled},
          {"im2col", study.im2col},
          {"both_accept", study.both_accept},
          {"both_refuse", study.both_refuse},
          {"only_we_refuse", study.we_refuse},
          {"only_driver_refuses", study.driver_refuses},
          {"rules", rules},
          {"disagreements", classes}};
}

}  // namespace

int main(int argc, char** argv) {
  int maps = 60000;
  std::uint64_t seed = 1;
  std::string json_file;
  CLI::App app("Do Warpmill's tensor-map rules and the CUDA driver accept the same maps?");
  app.add_option("--maps", maps, "random maps to ask about");
  app.add_option("--seed", seed, "of the random maps");
  app.add_option("--json", json_file, "write the results here");
  CLI11_PARSE(app, argc, argv);
  try {
    const CudaLibrary cuda;
    const tensor_map::DriverFunctions functions{
        cuda.find<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled"),
        cuda.find<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col")};
    fmt::print("{} ({}), driver {}.{}\n\n", cuda.name, cuda.arch.name(), cuda.driver_version / 1000,
               cuda.driver_version % 1000 / 10);
    CUdeviceptr memory = 0;
    cuda.call<decltype(&cuMemAlloc)>("cuMemAlloc_v2", &memory, std::size_t{1} << 20);
    const Oracle driver = [&](const TensorMapSpec& spec) {
      TensorMap map;
      return tensor_map::ask_driver(functions, spec, map) == CUDA_SUCCESS;
    };
    json result{{"device", cuda.name}, {"arch", cuda.arch.name()}, {"driver", cuda.driver_version}, {"seed", seed}};
    result["probes"] = print_probes(driver, cuda.arch, memory);
    const Study answers = study(driver, cuda.arch, maps, seed, memory);
    result["study"] = print_study(answers);
    if (!json_file.empty()) {
      std::ofstream file(json_file);
      file << result.dump(1) << '\n';
      if (!file.flush()) throw Error(ErrorCode::io, "could not write " + json_file);
    }
    return answers.we_refuse + answers.driver_refuses == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
