// The readers of a cell beyond the first. Cells that the same threads read in the same order share one list of them: an
// array that every block reads would take a list for each element otherwise.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/check/stamp.hpp"

namespace wm::vgpu::check {

struct ReaderList {
  u64 id = 0;
  std::vector<Stamp> stamps;
  std::size_t tidied = 0;  // how many were left when those that need not be kept were last looked for
};

// Lists by what they were made of: a list and the readers added to it.
class ReaderLists {
 public:
  std::shared_ptr<const ReaderList> find(const ReaderList* base, const std::vector<Stamp>& added) const;
  std::shared_ptr<const ReaderList> keep(const ReaderList* base, std::vector<Stamp> added, ReaderList list);

 private:
  struct Known {
    u64 base;
    std::vector<Stamp> added;
    std::weak_ptr<const ReaderList> list;
  };
  std::unordered_multimap<u64, Known> known_;  // by hash
  std::size_t limit_ = 1024;                   // before what nobody has any more is forgotten
  u64 ids_ = 0;
};

class Readers {
 public:
  Readers() = default;
  Readers(Readers&&) = default;
  Readers& operator=(Readers&&) = default;
  Readers(const Readers& other) : many_(other.many_ ? std::make_unique<Many>(*other.many_) : nullptr) {}
  Readers& operator=(const Readers& other) { return *this = Readers(other); }

  void clear() { many_.reset(); }
  void push(const Stamp& stamp) {
    if (!many_) {
      many_ = std::make_unique<Many>();
      many_->added.reserve(most_added);  // growing would leave a hole for every cell
    }
    many_->added.push_back(stamp);
  }
  // Now and then drops what outlasted(Stamp) says, and all but the last action of each thread.
  template <class Outlasted>
  void add(const Stamp& stamp, ReaderLists& lists, Outlasted&& outlasted) {
    if (many_ && !many_->added.empty()) {
      if (Stamp& last = many_->added.back(); last.together(stamp)) {
        last.lanes |= stamp.lanes;
        return;
      }
      if (many_->added.size() >= most_added) share(lists, outlasted);
    }
    push(stamp);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!many_) return;
    if (many_->base)
      for (const Stamp& stamp : many_->base->stamps) visit(stamp);
    for (const Stamp& stamp : many_->added) visit(stamp);
  }

 private:
  static constexpr std::size_t most_added = 4, least_tidied = 16;
  struct Many {
    std::shared_ptr<const ReaderList> base;
    std::vector<Stamp> added;
  };

  template <class Outlasted>
  void share(ReaderLists& lists, Outlasted&& outlasted) {
    const ReaderList* const base = many_->base.get();
    auto list = lists.find(base, many_->added);
    if (!list) {
      ReaderList next;
      if (base != nullptr) next = *base;
      next.stamps.insert(next.stamps.end(), many_->added.begin(), many_->added.end());
      if (next.stamps.size() >= std::max(least_tidied, 2 * next.tidied)) {
        std::erase_if(next.stamps, outlasted);
        keep_last(next.stamps);
        next.tidied = next.stamps.size();
      }
      list = lists.keep(base, many_->added, std::move(next));
    }
    many_->base = std::move(list);
    many_->added.clear();
  }
  std::unique_ptr<Many> many_;
};

}  // namespace wm::vgpu::check
