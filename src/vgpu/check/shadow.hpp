// Shadow memory: who last wrote each byte and who has read it since.
//
// Memory is kept in pages of 64 grains of 16 bytes. What asynchronous work touches is kept as records that hold for
// many grains at once; what threads touch is kept grain by grain, in parts where its bytes differ.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/check/readers.hpp"
#include "vgpu/machine/footprint.hpp"

namespace wm::vgpu::check {

struct Cell {
  Stamp write;
  Stamp read;
  Readers more;  // further ones, not ordered with the first
  bool written = false;
};

// Grains that one access touched.
struct Record {
  u64 grains = 0;
  Stamp stamp;
};

struct ShadowPage {
  static constexpr u64 grain = Footprint::grain, bytes = Footprint::page_bytes;

  template <u64 size>
  struct Node {
    Cell cell;
    std::unique_ptr<std::array<Node<size / 4>, 4>> parts;
  };

  u64 single = 0;   // grains that are kept one by one; the others by records
  u64 written = 0;  // of the others
  std::vector<Record> writes, reads;
  std::size_t most_reads = 16;  // before those that need not be kept are looked for
  std::unique_ptr<std::array<Node<grain>, 64>> nodes;

  Node<grain>& node(u64 index) {
    if ((single >> index & 1) == 0) separate(index);
    return (*nodes)[index];
  }
  // A write of asynchronous work: these grains are kept by records again.
  void overwrite(u64 grains, const Stamp& by);

 private:
  void separate(u64 index);
  static void clear(std::vector<Record>& records, u64 grains);
};

template <>
struct ShadowPage::Node<1> {
  Cell cell;
};

// Bytes of one address space.
class Shadow {
 public:
  Shadow() = default;
  // Of this range alone, which is found without a search.
  Shadow(u64 address, u64 bytes)
      : first_(address / ShadowPage::bytes), near_((bytes + ShadowPage::bytes - 1) / ShadowPage::bytes) {}

  // The page that holds `address`.
  ShadowPage& page(u64 address) {
    const u64 number = address / ShadowPage::bytes;
    if (number - first_ < near_.size()) return near_[number - first_];
    if (recent_ == nullptr || number != recent_number_) {
      auto& page = pages_[number];
      if (!page) page = std::make_unique<ShadowPage>();
      recent_ = page.get();
      recent_number_ = number;
    }
    return *recent_;
  }

  // Which bytes of the grain that holds `address` somebody has written: a bit each.
  u32 written(u64 address) const;

  // Drops the pages of memory that shares none with other memory and will not be touched again.
  void forget(u64 address, u64 bytes) {
    for (u64 page = address / ShadowPage::bytes; page * ShadowPage::bytes < address + bytes; ++page) pages_.erase(page);
    recent_ = nullptr;
  }

  // Calls visit(Cell&, address, bytes) for the cells of [address, address + bytes). After a write all of a cell's bytes
  // are alike again.
  template <class Visit>
  void for_each(u64 address, u64 bytes, bool writes, Visit&& visit) {
    const u64 end = address + bytes;
    while (address < end) {
      const u64 begin = address / ShadowPage::grain * ShadowPage::grain;
      const u64 stop = end < begin + ShadowPage::grain ? end : begin + ShadowPage::grain;
      walk(page(address).node(address % ShadowPage::bytes / ShadowPage::grain), begin, address, stop, writes, visit);
      address = stop;
    }
  }

 private:
  template <u64 size, class Visit>
  static void walk(ShadowPage::Node<size>& node, u64 begin, u64 first, u64 end, bool writes, Visit& visit) {
    if constexpr (size == 1) {
      visit(node.cell, begin, u64{1});
    } else {
      const bool whole = first <= begin && begin + size <= end;
      if (whole && !node.parts) return visit(node.cell, begin, size);
      if (!node.parts) {
        node.parts = std::make_unique<std::array<ShadowPage::Node<size / 4>, 4>>();
        for (auto& part : *node.parts) part.cell = node.cell;
      }
      for (u64 i = 0; i < 4; ++i) {
        const u64 at = begin + i * (size / 4);
        if (at < end && first < at + size / 4) walk((*node.parts)[i], at, first, end, writes, visit);
      }
      if (whole && writes) {
        node.cell = std::move((*node.parts)[0].cell);
        node.parts.reset();
      }
    }
  }

  u64 first_ = 0;
  std::vector<ShadowPage> near_;
  std::unordered_map<u64, std::unique_ptr<ShadowPage>> pages_;
  u64 recent_number_ = 0;
  ShadowPage* recent_ = nullptr;
};

}  // namespace wm::vgpu::check
