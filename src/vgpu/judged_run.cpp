// A run under the judge's eyes, and the same once more.
#include "vgpu/judged_run.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "vgpu/check/judge.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/grid.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
using check::Images;
using check::Judge;

void watch(Run& run, Judge& judge, RunReport& report, std::exception_ptr& refusal) {
  run.options.deterministic = true;
  for (const Region& region : run.memory.unwritten()) judge.unwritten({region.address, region.bytes});
  run.observer = &judge;
  try {
    run_grid(run, report);
  } catch (const Fault& fault) {
    report.ended_by = std::current_exception();
    judge.faulted(fault);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::launch || error.code() == ErrorCode::stopped)
      refusal = std::current_exception();
    else
      judge.faulted(Fault(error.what(), fault::other));
    report.ended_by = std::current_exception();
  } catch (const std::exception& error) {
    report.ended_by = std::current_exception();
    judge.faulted(Fault(error.what(), fault::other));
  }
  run.observer = nullptr;
}

std::byte* at(const Memory& memory, u64 address) {
  const Region region = memory.find(address);
  return region.host + (address - region.address);
}

void put_back(const Memory& memory, const Images& images) {
  for (const auto& [address, bytes] : images) std::memcpy(at(memory, address), bytes.data(), bytes.size());
}

Images now(const Memory& memory, const Images& pages) {
  Images images;
  for (const auto& [address, bytes] : pages) {
    const std::byte* const host = at(memory, address);
    images[address].assign(host, host + bytes.size());
  }
  return images;
}

// The same launch from the same memory, except for what nobody has written. Memory is left as the first run did.
class SecondLook {
 public:
  SecondLook(Run& first, const ProgramKernel& kernel, const Judge& judge)
      : first_(first),
        kernel_(kernel),
        memory_(first.memory),
        judge_(judge),
        before_(judge.overwritten().pages()),
        after_(now(memory_, before_)) {
    for (const Region& region : memory_.unwritten()) unwritten_.push_back(region);
  }

  bool gives_the_same(std::byte contents) {
    put_back(memory_, before_);
    Images fresh;
    for (const Region& region : unwritten_) {
      fresh[region.address].assign(region.host, region.host + region.bytes);
      std::memset(region.host, static_cast<int>(contents), region.bytes);
    }
    Run run(first_.chip, memory_, first_.program, first_.entry);
    run.shape = first_.shape;
    run.options = first_.options;
    run.parameters = first_.parameters;
    run.fresh = contents;
    run.options.max_instructions = 2 * first_.instructions + 1'000'000;
    check_shape(run, kernel_);
    Judge judge(run);
    RunReport report;
    std::exception_ptr refusal;
    watch(run, judge, report, refusal);
    const bool same = !report.ended_by && report.printed.empty() && judge.only_unwritten_reads() &&
                      judge.overwritten().whole() && same_results(judge);
    put_back(memory_, judge.overwritten().pages());
    put_back(memory_, fresh);
    put_back(memory_, after_);
    return same;
  }

  u64 bytes_to_fill() const {
    u64 bytes = 0;
    for (const Region& region : unwritten_) bytes += region.bytes;
    return bytes;
  }

 private:
  // Of the second run, whose memory this still is.
  bool same_results(const Judge& second) const {
    const Images& overwritten = second.overwritten().pages();
    return std::all_of(after_.begin(), after_.end(), [&](const auto& page) { return same(page, second); }) &&
           std::all_of(overwritten.begin(), overwritten.end(),
                       [&](const auto& page) { return after_.contains(page.first) || same(page, second); });
  }
  // Of a page of one allocation. Where nobody had written the runs must write the same bytes; what neither of them has
  // written is no result.
  bool same(const Images::value_type& page, const Judge& second) const {
    const auto& [address, bytes] = page;
    const std::byte* const now = at(memory_, address);
    if (!judge_.is_unwritten(address)) return std::equal(bytes.begin(), bytes.end(), now);
    u32 written = 0, written_now = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const u64 in_grain = (address + i) % check::ShadowPage::grain;
      if (i == 0 || in_grain == 0) {
        written = judge_.written(address + i);
        written_now = second.written(address + i);
      }
      if (((written ^ written_now) >> in_grain & 1) != 0) return false;
      if ((written >> in_grain & 1) != 0 && bytes[i] != now[i]) return false;
    }
    return true;
  }

  Run& first_;
  const ProgramKernel& kernel_;
  Memory& memory_;
  const Judge& judge_;  // of the first run
  const Images& before_;
  const Images after_;
  std::vector<Region> unwritten_;
};

bool results_depend_on_unwritten(Run& run, const ProgramKernel& kernel, const Judge& judge) {
  constexpr u64 most_to_fill = u64{256} << 20;
  if (!judge.overwritten().whole()) return true;
  const Memory::Alone alone(run.memory);  // nobody else may see memory put back
  if (!alone.granted()) return true;
  SecondLook look(run, kernel, judge);
  if (look.bytes_to_fill() > most_to_fill) return true;
  // A number above and one below what a comparison may meet, in every type of float (the first run's NaN is neither);
  // and each bit is set in one of the three and not in another, whatever the first run had.
  for (const std::byte contents : {std::byte{0}, std::byte{0x7b}, std::byte{0xf7}})
    if (!look.gives_the_same(contents)) return true;
  return false;
}
}  // namespace

void run_judged(Run& run, const ProgramKernel& kernel, RunReport& report) {
  Judge judge(run);
  std::exception_ptr refusal;
  watch(run, judge, report, refusal);
  if (!report.ended_by && report.printed.empty() && judge.only_unwritten_reads() &&
      !results_depend_on_unwritten(run, kernel, judge))
    judge.no_result_depends_on_unwritten();
  report.check = judge.take_report();
  if (refusal) std::rethrow_exception(refusal);
}

}  // namespace wm::vgpu
