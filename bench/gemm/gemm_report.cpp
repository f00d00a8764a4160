// The benchmark's table as text, JSON and a picture.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gemm/gemm_bench.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::bench {
namespace {

std::string name(const Shape& s) { return fmt::format("{} x {} x {}", s.m, s.n, s.k); }

// The plans that the library would take, for the shapes with at least so many rows.
std::vector<GemmRow> chosen(const std::vector<GemmRow>& rows, std::int64_t least_m) {
  std::vector<GemmRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const GemmRow& r) { return r.rank == 0 && r.shape.m >= least_m; });
  return kept;
}

}  // namespace

std::string to_text(const GemmTable& table) {
  std::string text =
      fmt::format("{} against {}, bf16, random data, graph replay, interleaved\n\n", table.device, table.peer);
  text += "| m x n x k | plan | band | us | TFLOP/s | peer TFLOP/s | ratio (quartiles) | of the ceiling | error |\n";
  text += "|---|---|---|---|---|---|---|---|---|\n";
  for (const GemmRow& r : table.rows)
    text += fmt::format("| {} | {} | {} | {:.1f} | {:.0f} | {:.0f} | {:.3f} ({:.3f} to {:.3f}) | {:.0f}% | {:.2f} |\n",
                        name(r.shape), plan::text_of(r.plan), r.band, r.ours_us, r.tflops, r.peer_tflops, r.ratio, r.ratio_low,
                        r.ratio_high, r.ceiling_share * 100, r.error);
  text += fmt::format("\ngeometric mean of the ratios: {:.3f}; of the shapes with m of 256 and more: {:.3f}\n",
                      geometric_mean_ratio(chosen(table.rows, 0)), geometric_mean_ratio(chosen(table.rows, 256)));
  return text;
}

std::string to_json(const GemmTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const GemmRow& r : table.rows)
    rows.push_back({{"m", r.shape.m},
                    {"n", r.shape.n},
                    {"k", r.shape.k},
                    {"plan", plan::text_of(r.plan)},
                    {"band", r.band},
                    {"rank", r.rank},
                    {"estimate_us", r.estimate_us},
                    {"us", r.ours_us},
                    {"peer_us", r.peer_us},
                    {"tflops", r.tflops},
                    {"peer_tflops", r.peer_tflops},
                    {"ratio", r.ratio},
                    {"ratio_quartiles", {r.ratio_low, r.ratio_high}},
                    {"ceiling_share", r.ceiling_share},
                    {"error", r.error}});
  return nlohmann::json{{"device", table.device},
                        {"peer", table.peer},
                        {"geometric_mean", geometric_mean_ratio(chosen(table.rows, 0))},
                        {"geometric_mean_large_m", geometric_mean_ratio(chosen(table.rows, 256))},
                        {"rows", rows}}
      .dump(1);
}

std::string to_svg(const GemmTable& table) {
  static constexpr int left = 170, width = 560, bar = 16, gap = 6, top = 46;
  static constexpr double most = 1.5;  // the ratio at the right edge
  const auto rows = chosen(table.rows, 0);
  const int height = top + int(rows.size()) * (bar + gap) + 24;
  const auto x = [](double ratio) { return left + std::min(ratio, most) / most * width; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"20\" font-size=\"15\">bf16 GEMM on {}: speed as a multiple of {}</text>\n",
      left + width + 150, height, left, table.device, table.peer);
  double y = top;
  for (const GemmRow& r : rows) {
    const double label = (r.ratio > 0.8 ? std::max(x(r.ratio), x(1.0)) : x(r.ratio)) + 6;  // clear of the line at 1
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\">{:.2f}  ({:.0f} TFLOP/s)</text>\n",
        left - 8, y + 12, name(r.shape), left, y, x(r.ratio) - left, bar, r.ratio >= 1 ? "#2a7f62" : "#8fb8a8", label,
        y + 12, r.ratio, r.tflops);
    y += bar + gap;
  }
  svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#c0392b\"/>\n", x(1.0),
                     top - 8, y);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#c0392b\">1.0</text>\n</svg>\n", x(1.0),
                     top - 12);
  return svg;
}

}  // namespace wm::bench
