// Clocks: what a thread is ordered after, and by which means. docs/memory-model.md has the rules.
//
// Every warp counts time; a thread's access is stamped with its warp, its lane and that time. A clock holds, for other
// threads and for completed asynchronous work, up to which time this thread is ordered after them.
#pragma once

#include <array>
#include <vector>

#include "vgpu/machine/effect.hpp"

namespace wm::vgpu::check {

// The ways in which an earlier action can be known. An order that carries data carries the others too.
enum class Known : u8 {
  data,          // ordered: what was written may be read
  reads,         // what was read may be overwritten
  control,       // it has happened, no more
  init,          // mbarrier initialisations passed on by fence.mbarrier_init
  fenced_block,  // went through a fence of this scope, so that a relaxed flag passes it on
  fenced_cluster,
  fenced_device,
  shared_proxy,  // went through a proxy fence for shared memory: asynchronous work may follow
  global_proxy,
  map_released,  // changes of tensor maps, released to their proxy; of tcgen05's work, fenced before a synchronisation
  map_acquired,  // and acquired from it; fenced after one
  met,           // read by lanes that then exchanged or used registers together with others of their warp
  told,          // written, as lanes knew that then did so; brought by a message, for who waits at block scope
  told_proxy,    // the same where a proxy fence for shared memory stood before the exchange or behind it
  peer,          // written, as arrivals of block scope tell another block, or waits of block scope hear
  peer_proxy,    // the same where a proxy fence for shared memory stood on either side
  relied,        // ordered if wgmma brings the lanes and warps of its warpgroup together, which PTX does not promise
};
inline constexpr std::size_t ways = 17;
using Times = std::array<u32, ways>;

// Through a fence that reaches this far.
constexpr Known fenced_at(Scope scope) {
  return scope == Scope::block     ? Known::fenced_block
         : scope == Scope::cluster ? Known::fenced_cluster
                                   : Known::fenced_device;
}
constexpr bool reaches_a_scope(Known way) { return way >= Known::fenced_block && way <= Known::fenced_device; }

inline u32& of(Times& times, Known way) { return times[static_cast<std::size_t>(way)]; }
inline u32 of(const Times& times, Known way) { return times[static_cast<std::size_t>(way)]; }

inline Times in_every_way(u32 time) {
  Times times;
  times.fill(time);
  return times;
}
inline Times only_as(Known way, u32 time) {
  Times times{};
  of(times, way) = time;
  return times;
}
// As ordinary actions are known before any fence.
inline Times plainly(u32 time) {
  Times times{};
  of(times, Known::data) = of(times, Known::reads) = of(times, Known::control) = time;
  return times;
}

// Whose time it is: all lanes of a warp, one lane, or a line of asynchronous work.
using Component = u64;
inline Component whole_warp(u32 warp) { return Component{warp} << 6; }
inline Component lane_of(u32 warp, u32 lane) { return Component{warp} << 6 | (lane + 1); }
inline Component async_line(u64 id) { return Component{1} << 63 | id; }
inline constexpr u64 tensor_line = u64{1} << 62;  // in the id of lines of tcgen05

class Clock {
 public:
  u32 time(Component component, Known way) const;
  // Whether all of `lanes` of a warp are known up to `time`.
  bool covers(u32 warp, u32 lanes, u32 time, Known way) const;
  bool covers_any(u32 warp, u32 lanes, u32 time, Known way) const;

  void learn(Component component, const Times& times);
  void join(const Clock& other);
  // What a fence does: everything known as `from` is now also known as `to`.
  void promote(Known from, Known to);
  // The same for lines of tcgen05 alone: its fences.
  void promote_tensor(Known from, Known to);
  // Of lines of tcgen05, all that is known in this way as done.
  Clock tensor_done(Known way) const;
  // Only what is known in these ways.
  Clock only(std::initializer_list<Known> kept) const;
  // What a relaxed write passes on after a fence of the scope `fenced`.
  Clock fenced(Known fenced) const;
  // Of lines of tcgen05, what it passes on after their fence before a synchronisation.
  Clock tensor_fenced() const;

  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Component component;
    Times times;
    bool of_tensor() const { return component >> 63 != 0 && (component & tensor_line) != 0; }
    // As far as it is known in this way.
    Entry until(Known way) const;
  };
  std::vector<Entry> entries_;  // by component
};

}  // namespace wm::vgpu::check
