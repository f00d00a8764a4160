// Lists of readers that many cells share.
#include "vgpu/check/readers.hpp"

namespace wm::vgpu::check {
namespace {

u64 id_of(const ReaderList* list) { return list != nullptr ? list->id : 0; }

u64 hash_of(u64 base, const std::vector<Stamp>& added) {
  u64 hash = base;
  const auto mix = [&](u64 value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15 ^ hash >> 29; };
  for (const Stamp& stamp : added) {
    mix(u64{stamp.warp} << 32 | stamp.lanes);
    mix(u64{stamp.time} << 32 | stamp.site);
    mix(u64{stamp.async} << 1 | static_cast<u64>(stamp.strong));
  }
  return hash;
}

}  // namespace

std::shared_ptr<const ReaderList> ReaderLists::find(const ReaderList* base, const std::vector<Stamp>& added) const {
  const auto [first, end] = known_.equal_range(hash_of(id_of(base), added));
  for (auto known = first; known != end; ++known)
    if (known->second.base == id_of(base) && known->second.added == added) return known->second.list.lock();
  return nullptr;
}

std::shared_ptr<const ReaderList> ReaderLists::keep(const ReaderList* base, std::vector<Stamp> added, ReaderList list) {
  if (known_.size() >= limit_) {
    std::erase_if(known_, [](const auto& known) { return known.second.list.expired(); });
    limit_ = std::max<std::size_t>(1024, 2 * known_.size());
  }
  list.id = ++ids_;
  auto kept = std::make_shared<const ReaderList>(std::move(list));
  const u64 hash = hash_of(id_of(base), added);
  known_.emplace(hash, Known{id_of(base), std::move(added), kept});
  return kept;
}

}  // namespace wm::vgpu::check
