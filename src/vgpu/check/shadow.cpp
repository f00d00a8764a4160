// Shadow memory: between records of many grains and single ones.
#include "vgpu/check/shadow.hpp"

#include <algorithm>

namespace wm::vgpu::check {

void ShadowPage::clear(std::vector<Record>& records, u64 grains) {
  for (Record& record : records) record.grains &= ~grains;
  std::erase_if(records, [](const Record& record) { return record.grains == 0; });
}

void ShadowPage::separate(u64 index) {
  if (!nodes) nodes = std::make_unique<std::array<Node<grain>, 64>>();
  const u64 bit = u64{1} << index;
  Node<grain>& node = (*nodes)[index];
  node.parts.reset();
  node.cell = {};
  node.cell.written = (written & bit) != 0;
  for (const Record& record : writes)
    if (record.grains & bit) node.cell.write = record.stamp;
  for (const Record& record : reads) {
    if ((record.grains & bit) == 0) continue;
    if (!node.cell.read.exists())
      node.cell.read = record.stamp;
    else
      node.cell.more.push(record.stamp);
  }
  clear(writes, bit);
  clear(reads, bit);
  single |= bit;
}

void ShadowPage::overwrite(u64 grains, const Stamp& by) {
  clear(writes, grains);
  clear(reads, grains);
  single &= ~grains;
  written |= grains;
  writes.push_back({grains, by});
}

namespace {
template <u64 size>
u32 written_bytes(const ShadowPage::Node<size>& node) {
  if constexpr (size > 1)
    if (node.parts) {
      u32 bytes = 0;
      for (u64 i = 0; i < 4; ++i) bytes |= written_bytes((*node.parts)[i]) << (i * (size / 4));
      return bytes;
    }
  return node.cell.written ? (1u << size) - 1 : 0;
}
}  // namespace

u32 Shadow::written(u64 address) const {
  const u64 number = address / ShadowPage::bytes, grain = address % ShadowPage::bytes / ShadowPage::grain;
  const ShadowPage* page = number - first_ < near_.size() ? &near_[number - first_] : nullptr;
  if (page == nullptr) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) return 0;
    page = found->second.get();
  }
  if (page->single >> grain & 1) return written_bytes((*page->nodes)[grain]);
  return page->written >> grain & 1 ? (1u << ShadowPage::grain) - 1 : 0;
}

}  // namespace wm::vgpu::check
