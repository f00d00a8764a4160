// The line, and the signals.
#include "progress.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "case/printable.hpp"
#include "commands/words.hpp"
#include "warpmill/error.hpp"

namespace wm::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds silent_for = 2s, between_lines = 100ms;
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t received = 0;
bool line_shown = false;

void receive(int signal) { received = signal; }
void set_handlers(void (*handler)(int), SecondSignal second) {
  for (const int signal : signals) {
    struct sigaction action {};
    action.sa_handler = handler;
    // Another signal finds the handler gone, and ends the program.
    action.sa_flags = second == SecondSignal::ends_us ? static_cast<int>(SA_RESETHAND) : 0;
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // nohup keeps its promise
  }
}

void throw_if_stopped() {
  if (received != 0) throw Error(ErrorCode::stopped, "stopped by a signal");
}

std::size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string seconds_in_words(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 100) return fmt::format("{} s", whole);
  return whole < 6000 ? fmt::format("{} min", (whole + 30) / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

double share_of(std::uint64_t done, std::uint64_t total) {
  return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
}

}  // namespace

int stopping_signal() { return received; }

void clear_progress_line() {
  if (!line_shown) return;
  line_shown = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

Progress::Progress(SecondSignal second) { set_handlers(receive, second); }

Progress::~Progress() {
  clear_progress_line();
  if (watched_) {
    vgpu::RunOptions options = vgpu::run_options(*watched_);
    options.progress = {};
    vgpu::set_run_options(*watched_, options);
  }
  set_handlers(SIG_DFL, SecondSignal::ends_us);
}

void Progress::begin(std::string what, std::uint64_t instructions) {
  part_ = std::move(what);
  expected_ = instructions;
  count_begin_ = Clock::now();
  throw_if_stopped();
}

void Progress::tell(std::string_view what, std::uint64_t done, std::uint64_t total) {
  throw_if_stopped();
  if (done < std::exchange(told_, done)) count_begin_ = Clock::now();  // another buffer, the next piece
  draw(fmt::format("{}: {} of {}", what, count_in_words(done), count_in_words(total)), share_of(done, total),
       std::chrono::duration<double>(Clock::now() - count_begin_).count());
}

std::function<vgpu::Answer(const vgpu::RunProgress&)> Progress::of_runs() {
  return [this](const vgpu::RunProgress& run) {
    if (received != 0) return vgpu::Answer::stop;
    const std::string instructions = count_in_words(run.warp_instructions);
    if (expected_ > 0)
      draw(fmt::format("{} of about {} warp instructions", instructions, count_in_words(expected_)),
           std::min(share_of(run.warp_instructions, expected_), 0.999), run.seconds);
    else
      draw(fmt::format("{} of {} blocks, {} warp instructions", count_in_words(run.blocks_done),
                       count_in_words(run.blocks), instructions),
           share_of(run.blocks_done, run.blocks), run.seconds);
    return vgpu::Answer::go_on;
  };
}

void Progress::watch(const Device& device) {
  vgpu::RunOptions options = vgpu::run_options(device);
  options.progress = of_runs();
  vgpu::set_run_options(device, options);
  watched_ = device;
}

void Progress::draw(const std::string& text, double share, double seconds) {
  const auto now = Clock::now();
  if (now < begin_ + silent_for || now < next_ || !::isatty(STDERR_FILENO)) return;
  next_ = now + between_lines;
  // The time first: a narrow terminal cuts the rest.
  const std::string time =
      share > 0.01 ? seconds_in_words(seconds * (1 - share) / share) + " left" : seconds_in_words(seconds) + " so far";
  std::string line = fmt::format("{}{}{}, {}", part_, part_.empty() ? "" : ": ", time, text);
  line = cases::printable(line);
  line.resize(std::min(line.size(), columns() - 1));
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
  line_shown = true;
}

}  // namespace wm::cli
