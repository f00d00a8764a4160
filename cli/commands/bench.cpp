// warpmill bench gemm: products against cuBLASLt.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "case/files.hpp"
#include "commands/commands.hpp"
#include "commands/shapes.hpp"
#include "gemm/gemm_bench.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

void check_files(const BenchGemmCommand& command) {
  std::set<std::filesystem::path> files;
  for (const auto* file : {&command.markdown, &command.json, &command.svg}) {
    if (file->empty()) continue;
    if (cases::is_replaced(*file) && !files.insert(cases::written_file(*file)).second)
      throw Error(ErrorCode::invalid_argument, fmt::format("two tables would go to {}", file->string()));
    cases::check_writable(*file);
  }
}

std::size_t rows_of(const std::vector<bench::GemmTable>& tables) {
  std::size_t rows = 0;
  for (const auto& table : tables) rows += table.rows.size();
  return rows;
}

}  // namespace

int bench_gemm(const BenchGemmCommand& command) {
  if (command.random > 0 && !command.shapes.empty())
    throw Error(ErrorCode::invalid_argument, "shapes are given or drawn (--random), not both");
  const bench::Variant variant{.promote = command.promote};
  std::vector<std::vector<bench::Shape>> shapes_by_type;
  std::size_t shapes = 0;
  for (const std::string& dtype : command.dtypes) {
    shapes_by_type.push_back(
        command.random > 0 ? bench::random_shapes(command.random, command.seed, command.odd, dtype_from_name(dtype))
                           : shapes_to_measure(command.shapes, dtype));
    check_shapes(shapes_by_type.back(), variant);
    check_plans(command.by_hand, shapes_by_type.back(), variant);
    shapes += shapes_by_type.back().size();
  }
  check_files(command);
  const Device device = command.device.empty() ? Device::best() : Device::open(command.device);
  std::vector<bench::GemmTable> tables;
  {
    Progress progress;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    bench::GemmOptions options;
    options.rounds = command.rounds;
    options.plans = command.plans;
    options.random_plans = command.random_plans;
    options.untuned = command.untuned;
    options.early = !command.late;
    options.behind = command.behind;
    options.promote = command.promote;
    options.by_hand = command.by_hand;
    std::size_t begun = 0;
    options.begin = [&](const bench::Shape& shape) { progress.tell(text_of(shape) + "; shapes", begun++, shapes); };
    options.measured = [&](const std::string& what) {
      if (!terminal) complain(what + "\n");  // where nobody sees a line change, each is kept
      progress.tell(what + "; shapes", begun, shapes);
    };
    for (const auto& of_type : shapes_by_type) {
      options.shapes = of_type;
      try {
        bench::measure_gemm(device, options, tables.emplace_back());
      } catch (const Error& error) {
        if (error.code() != ErrorCode::stopped) throw;
        std::erase_if(tables, [](const bench::GemmTable& table) { return table.rows.empty(); });
        say(bench::to_text(tables));
        throw Error(error.code(),
                    fmt::format("{} plans of {} shapes were measured; no file was written", rows_of(tables), shapes));
      }
    }
  }
  const std::string text = bench::to_text(tables);
  say(text);
  const auto write = [](const std::filesystem::path& file, const std::string& contents) {
    if (!file.empty()) cases::write_file(file, std::as_bytes(std::span(contents)));
  };
  write(command.markdown, text);
  write(command.json, bench::to_json(tables));
  write(command.svg, bench::to_svg(tables));
  const auto right = [](const bench::GemmTable& table) {
    return std::all_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return row.error < 1; });
  };
  return std::all_of(tables.begin(), tables.end(), right) ? success : wrong_result;
}

}  // namespace wm::cli
