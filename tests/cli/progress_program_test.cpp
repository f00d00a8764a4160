// Long work: a line on a terminal that says how far it is, and a clean end by a signal.
#include <chrono>
#include <csignal>
#include <functional>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/program.hpp"
#include "pattern.hpp"

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

namespace {

// The program with its standard error on a terminal of ours.
class OnTerminal {
 public:
  OnTerminal(const TemporaryFolder& folder, const std::vector<std::string>& arguments) : out_(folder / "out") {
    terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_TRUE(terminal_ >= 0 && ::grantpt(terminal_) == 0 && ::unlockpt(terminal_) == 0);
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(terminal_, TIOCSWINSZ, &size);
    const std::string name = ::ptsname(terminal_), cache = (folder / "cache").string();
    std::vector<char*> words{const_cast<char*>("warpmill")};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    process_ = ::fork();
    if (process_ != 0) return;
    ::setenv("WARPMILL_CACHE_DIR", cache.c_str(), 1);
    ::dup2(::open(name.c_str(), O_RDWR | O_NOCTTY), STDERR_FILENO);
    ::dup2(::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::execv(WARPMILL_PROGRAM, words.data());
    ::_exit(127);
  }
  ~OnTerminal() { ::close(terminal_); }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // What it has written to the terminal; true when that holds `words`, false when it has ended without.
  bool wait_for(const std::string& words) {
    const auto start = std::chrono::steady_clock::now();
    while (shown.find(words) == shown.npos && std::chrono::steady_clock::now() - start < 120s)
      if (!read()) return false;
    return shown.find(words) != shown.npos;
  }
  void signal(int number) const {
    ASSERT_GT(process_, 0) << "there is no process, and -1 would be all of them";
    ::kill(process_, number);
  }
  Ended wait() {
    while (read()) {
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, wm::cases::read_text(out_), shown};
  }

  std::string shown;

 private:
  bool read() {
    char piece[4096];
    pollfd waiting{terminal_, POLLIN, 0};
    if (::poll(&waiting, 1, 100) == 0) return true;
    const ssize_t got = ::read(terminal_, piece, sizeof piece);  // EIO once the other end is closed
    if (got > 0) shown.append(piece, static_cast<std::size_t>(got));
    return got > 0;
  }

  std::filesystem::path out_;
  int terminal_ = -1;
  pid_t process_ = -1;
};

constexpr std::string_view erased = "\r\x1b[K";  // back to the start of the line, and nothing on it

class LongWork : public Program {
 protected:
  // All blocks end but the last. In the first, warps read what others have written without a barrier.
  std::string endless() {
    folder_.write("endless.cu", R"(extern "C" __global__ void endless(volatile int* x) {
  __shared__ int y[64];
  if (blockIdx.x == 0) {
    y[threadIdx.x] = threadIdx.x;
    x[1 + threadIdx.x] = y[63 - threadIdx.x];
  }
  if (blockIdx.x == gridDim.x - 1) while (*x == 0);
})");
    return folder_
        .write("endless.json", R"({"module": "endless.cu", "entry": "endless", "grid": [5], "block": [64],
      "buffers": {"x": {"dtype": "i32", "shape": [65], "fill": "zeros"}}, "arguments": [{"buffer": "x"}],
      "outputs": {"x": {"write": "x.npy"}}})")
        .string();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

}  // namespace

TEST_F(LongWork, ShowsHowFarItIsAndEndsCleanlyByASignal) {
  OnTerminal program(folder_, {"run", "--device", "virtual", endless()});
  ASSERT_TRUE(program.wait_for("4 of 5 blocks")) << program.shown;
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_THAT(ended.err, HasSubstr(std::string(erased) + "endless: "));
  EXPECT_THAT(ended.err, HasSubstr(" s left, 4 of 5 blocks"));
  // What is left on the terminal: one line, after the last one was erased.
  const std::string left = ended.err.substr(ended.err.rfind(erased) + erased.size());
  EXPECT_TRUE(wm::test::Pattern("warpmill: interrupted: `endless` was stopped by its caller after 4 of 5 blocks and "
                                "[0-9]+ warp instructions\r\n")
                  .is_all_of(left))
      << left;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(files(), testing::UnorderedElementsAre("endless.cu", "endless.json", "cache", "out"));
}

TEST_F(LongWork, CheckTellsWhatItFoundUntilTheSignal) {
  OnTerminal program(folder_, {"check", endless(), "--max-instructions", "0"});
  ASSERT_TRUE(program.wait_for("friendly, seed 0 (run 1 of 7)")) << program.shown;
  program.signal(SIGTERM);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.status, 143);
  EXPECT_THAT(ended.err, EndsWith(std::string(erased) +
                                  "warpmill: ended by a signal: 0 of 7 runs were made; what they found is above\r\n"));
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("error[shared-race]"), HasSubstr(" of advice; 0 of 7 runs, no results compared\n")));
}

TEST_F(LongWork, OfTheHostIsShownAndEndsToo) {
  folder_.write("fill.cu", "extern \"C\" __global__ void k() {}");
  const auto file = folder_.write("fill.json", R"({"module": "fill.cu", "entry": "k", "grid": [1], "block": [1],
    "buffers": {"x": {"dtype": "f32", "shape": [150000000], "strides": [0], "fill": {"normal": {}}}}})");
  OnTerminal program(folder_, {"run", "--device", "virtual", file.string()});
  ASSERT_TRUE(program.wait_for("elements filled: ")) << program.shown;
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_THAT(ended.err, HasSubstr(std::string(erased) + "warpmill: interrupted: "));
}

TEST_F(LongWork, AProductSaysHowMuchIsLeft) {
  OnTerminal program(folder_, {"gemm", "8192x8192x8192", "--device", "virtual"});
  ASSERT_TRUE(program.wait_for("making the operands: ")) << program.shown;
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().status, 130);
}

TEST_F(LongWork, ShowsNothingWhereNobodySeesIt) {
  const Ended ended = start("run --device virtual " + endless() + " --max-instructions 150000000");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(Not(HasSubstr("blocks,")), Not(HasSubstr("\r"))));
}
