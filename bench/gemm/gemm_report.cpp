// The benchmark's tables as text, JSON and a picture.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gemm/gemm_bench.hpp"
#include "gemm/rotation.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/dtype.hpp"

namespace wm::bench {
namespace {

std::string name(const Shape& s) { return fmt::format("{} x {} x {}", s.m, s.n, s.k); }

// Few rows: memory is the limit, and bytes a second are what counts.
constexpr std::int64_t few_rows = 128;

std::string types(const GemmTable& table) {
  return table.operands == table.d ? std::string(name_of(table.operands))
                                   : fmt::format("{} to {}", name_of(table.operands), name_of(table.d));
}

// Of the library's own choices where there is a peer.
struct Summary {
  double all = 0, many_rows = 0, few_rows = 0;  // geometric means of the ratio; 0 where there is no such shape
  double fifth_percentile = 0;
  const GemmRow* lowest = nullptr;
};

Summary summary_of(const GemmTable& table) {
  Summary summary;
  const auto mean = [&](auto&& counts) {
    double sum = 0;
    int count = 0;
    for (const GemmRow& row : table.rows)
      if (row.chosen && row.ratio > 0 && counts(row)) sum += std::log(row.ratio), ++count;
    return count == 0 ? 0 : std::exp(sum / count);
  };
  summary.all = mean([&](const GemmRow& row) {
    if (!summary.lowest || row.ratio < summary.lowest->ratio) summary.lowest = &row;
    return true;
  });
  summary.many_rows = mean([](const GemmRow& row) { return row.shape.m > few_rows; });
  summary.few_rows = mean([](const GemmRow& row) { return row.shape.m <= few_rows; });
  std::vector<double> ratios;
  for (const GemmRow& row : table.rows)
    if (row.chosen && row.ratio > 0) ratios.push_back(row.ratio);
  if (!ratios.empty()) summary.fifth_percentile = quantile(ratios, 0.05);
  return summary;
}

std::string text_of(const GemmTable& table) {
  std::string text =
      fmt::format("{}, {}{} against {}, random data, graph replay, interleaved{}\n\n", table.device, types(table),
                  table.promote ? " with promoted sums" : "", table.peer,
                  table.behind ? ", each behind an elementwise kernel that writes A, without its time" : "");
  text +=
      "| m x n x k | plan | band | path | us | TFLOP/s | TB/s | peer TFLOP/s | ratio (quartiles) | of the ceiling | "
      "error |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const GemmRow& r : table.rows) {
    const std::string ratio = r.ratio > 0 ? fmt::format("{:.0f} | {:.3f} ({:.3f} to {:.3f})", r.peer_tflops(), r.ratio,
                                                        r.ratio_low, r.ratio_high)
                              : r.peer_error > 0 ? fmt::format("off by {:.3g} | ", r.peer_error)
                                                 : "does not serve it | ";
    text += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.0f} | {} | {} | {:.0f}% | {:.2f} |\n", name(r.shape),
                        plan::text_of(r.plan), r.band, r.path, r.ours_us, r.tflops(),
                        r.shape.m <= few_rows ? fmt::format("{:.2f}", r.terabytes()) : "", ratio,
                        r.ceiling_share() * 100, r.error);
  }
  const Summary s = summary_of(table);
  if (!s.lowest) return text;
  text += fmt::format("\ngeometric mean of the ratios {:.3f}", s.all);
  if (s.many_rows > 0) text += fmt::format("; m above {} {:.3f}", few_rows, s.many_rows);
  if (s.few_rows > 0) text += fmt::format("; m up to {} {:.3f}", few_rows, s.few_rows);
  return text + fmt::format("; fifth percentile {:.3f}; the lowest {:.3f}, {}\n", s.fifth_percentile, s.lowest->ratio,
                            name(s.lowest->shape));
}

}  // namespace

std::string to_text(std::span<const GemmTable> tables) {
  std::string text;
  for (const GemmTable& table : tables) {
    if (!text.empty()) text += '\n';
    text += text_of(table);
  }
  return text;
}

std::string to_json(std::span<const GemmTable> tables) {
  nlohmann::json all = nlohmann::json::array();
  for (const GemmTable& table : tables) {
    nlohmann::json rows = nlohmann::json::array();
    for (const GemmRow& r : table.rows)
      rows.push_back({{"m", r.shape.m},
                      {"n", r.shape.n},
                      {"k", r.shape.k},
                      {"plan", plan::text_of(r.plan)},
                      {"band", r.band},
                      {"path", r.path},
                      {"chosen", r.chosen},
                      {"tuned", r.tuned},
                      {"estimate_us", r.estimate_us},
                      {"us", r.ours_us},
                      {"peer_us", r.peer_us},
                      {"tflops", r.tflops()},
                      {"peer_tflops", r.peer_tflops()},
                      {"bytes_per_second", r.terabytes() * 1e12},
                      {"ratio", r.ratio},
                      {"ratio_quartiles", {r.ratio_low, r.ratio_high}},
                      {"ceiling_share", r.ceiling_share()},
                      {"error", r.error},
                      {"peer_error", r.peer_error}});
    const Summary s = summary_of(table);
    all.push_back({{"device", table.device},
                   {"multiprocessors", table.multiprocessors},
                   {"peer", table.peer},
                   {"behind", table.behind},
                   {"promote", table.promote},
                   {"dtype", name_of(table.operands)},
                   {"d", name_of(table.d)},
                   {"geometric_mean", s.all},
                   {"geometric_mean_many_rows", s.many_rows},
                   {"geometric_mean_few_rows", s.few_rows},
                   {"fifth_percentile", s.fifth_percentile},
                   {"lowest_ratio", s.lowest ? s.lowest->ratio : 0},
                   {"rows", rows}});
  }
  return all.dump(1);
}

std::string to_svg(std::span<const GemmTable> tables) {
  static constexpr int left = 170, width = 560, bar = 16, gap = 6, head = 46, foot = 24;
  static constexpr double most = 1.5;  // the ratio at the right edge
  const auto x = [](double ratio) { return left + std::min(ratio, most) / most * width; };
  std::string svg;
  double y = 0;
  for (const GemmTable& table : tables) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"15\">{} GEMM on {}: speed as a multiple of {}</text>\n",
                       left, y + 20, types(table), table.device, table.peer);
    const double top = y += head;
    for (const GemmRow& r : table.rows) {
      if (!r.chosen || r.ratio <= 0) continue;
      const double label = (r.ratio > 0.8 ? std::max(x(r.ratio), x(1.0)) : x(r.ratio)) + 6;  // clear of the line at 1
      svg += fmt::format(
          "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
          "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{}\">{:.2f}  ({})</text>\n",
          left - 8, y + 12, name(r.shape), left, y, x(r.ratio) - left, bar, r.ratio >= 1 ? "#2a7f62" : "#8fb8a8", label,
          y + 12, r.ratio,
          r.shape.m <= few_rows ? fmt::format("{:.2f} TB/s", r.terabytes())
                                : fmt::format("{:.0f} TFLOP/s", r.tflops()));
      y += bar + gap;
    }
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#c0392b\"/>\n", x(1.0),
                       top - 8, y);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#c0392b\">1.0</text>\n", x(1.0),
                       top - 12);
    y += foot;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             left + width + 150, y) +
         svg + "</svg>\n";
}

}  // namespace wm::bench
