// A run under the judge's eyes, and the same once more.
#include "vgpu/judged_run.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

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

void put_back(const Images& images) {
  for (const auto& [address, image] : images) std::copy(image.bytes.begin(), image.bytes.end(), image.place);
}

Images now(const Images& pages) {
  Images images;
  for (const auto& [address, page] : pages)
    images[address] = {page.place, {page.place, page.place + page.bytes.size()}};
  return images;
}

// The allocations of which what nobody has written was read. None where they are too much to be filled, or cannot be:
// one is gone, or the host may look at it.
std::optional<Images> read_unwritten(const Memory& memory, const Judge& judge) {
  constexpr u64 most_bytes = u64{256} << 20;
  Images images;
  u64 bytes = 0;
  for (const u64 address : judge.read_unwritten()) {
    const Region region = memory.find(address);
    bytes += region.bytes;
    if (region.host == nullptr || (region.of_host && !region.lent) || bytes > most_bytes) return std::nullopt;
    images[address] = {region.host, {region.host, region.host + region.bytes}};
  }
  return images;
}

// The same launch from the same memory, except for what nobody has written. Memory is left as the first run did.
class SecondLook {
 public:
  SecondLook(Run& first, const ProgramKernel& kernel, const Judge& judge, Images unwritten)
      : first_(first),
        kernel_(kernel),
        judge_(judge),
        before_(judge.overwritten().pages()),
        after_(now(before_)),
        unwritten_(std::move(unwritten)) {}

  // None where the caller wants no more, as `refusal` says.
  std::optional<bool> gives_the_same(std::byte contents, std::exception_ptr& refusal) {
    Run run(first_.chip, first_.memory, first_.program, first_.entry);
    run.shape = first_.shape;
    run.options = first_.options;
    run.parameters = first_.parameters;
    run.fresh = contents;
    run.options.max_instructions = 2 * first_.instructions + 1'000'000;
    check_shape(run, kernel_);
    Judge judge(run);
    const Restored restored{*this, judge};
    put_back(before_);
    for (const auto& [address, image] : unwritten_)
      std::memset(image.place, static_cast<int>(contents), image.bytes.size());
    RunReport report;
    watch(run, judge, report, refusal);
    if (refusal) {
      first_.caller_error = run.caller_error;
      return std::nullopt;
    }
    return !report.ended_by && report.printed.empty() && judge.only_unwritten_reads() && judge.can_be_repeated() &&
           std::includes(judge_.read_unwritten().begin(), judge_.read_unwritten().end(), judge.read_unwritten().begin(),
                         judge.read_unwritten().end()) &&
           same_results(judge);
  }

 private:
  // Memory is the first run's again when a look is over, however it ends.
  struct Restored {
    const SecondLook& look;
    const Judge& judge;
    ~Restored() {
      put_back(judge.overwritten().pages());
      put_back(look.unwritten_);
      put_back(look.after_);
    }
  };
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
    const u64 address = page.first;
    const auto& [now, bytes] = page.second;
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
  const Judge& judge_;  // of the first run
  const Images &before_, after_;
  const Images unwritten_;  // as the first run left it
};

// Where no further run can be made, or the caller wants none, some result may.
bool results_depend_on_unwritten(Run& run, const ProgramKernel& kernel, const Judge& judge,
                                 std::exception_ptr& refusal) {
  if (!judge.can_be_repeated()) return true;
  const Memory::Alone alone(run.memory);  // nobody else may see memory put back
  if (!alone.granted()) return true;
  auto unwritten = read_unwritten(run.memory, judge);
  if (!unwritten) return true;
  SecondLook look(run, kernel, judge, std::move(*unwritten));
  // A number above and one below what a comparison may meet, in every type of float (the first run's NaN is neither);
  // and each bit is set in one of the three and not in another, whatever the first run had.
  for (const std::byte contents : {std::byte{0}, std::byte{0x7b}, std::byte{0xf7}})
    if (!look.gives_the_same(contents, refusal).value_or(false)) return true;
  return false;
}
}  // namespace

void run_judged(Run& run, const ProgramKernel& kernel, RunReport& report) {
  Judge judge(run);
  std::exception_ptr refusal;
  watch(run, judge, report, refusal);
  if (!report.ended_by && report.printed.empty() && judge.only_unwritten_reads()) {
    bool matters = true;
    try {
      matters = results_depend_on_unwritten(run, kernel, judge, refusal);
    } catch (const std::exception&) {  // there is no room for it
    }
    if (!matters) judge.no_result_depends_on_unwritten();
    if (refusal) report.ended_by = refusal;
  }
  report.check = judge.take_report();
  if (refusal) std::rethrow_exception(refusal);
}

}  // namespace wm::vgpu
