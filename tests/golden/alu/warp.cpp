// Instructions that pass values between the lanes of a full warp.
#include <fmt/format.h>

#include "golden/alu/variant.hpp"

namespace wm::golden {

std::vector<Variant> warp_variants() {
  std::vector<Variant> out;
  const auto add = [&](const std::string& family, const std::string& name, const std::string& body,
                       std::vector<Kind> inputs) {
    out.push_back({family + "/" + name, body, DType::u32, std::move(inputs), {}});
  };
  // The lane or distance differs between lanes; segments of 32, 16 and 8 lanes.
  for (const char* mode : {"idx", "up", "down", "bfly"})
    for (int segment : {32, 16, 8}) {
      const int clamp = (32 - segment) << 8 | (std::string(mode) == "up" ? 0 : 31);
      const std::string shuffle = fmt::format("shfl.sync.{}.b32 %x|%p, %a, %b, {:#x}, 0xffffffff;", mode, clamp);
      add("shuffle", fmt::format("shfl.{} segment {}", mode, segment),
          ".reg .b32 %x;\n" + shuffle + "\nmov.b32 %d, %x;", {Kind::b32, Kind::selector});
      add("shuffle", fmt::format("shfl.{} segment {} in range", mode, segment),
          ".reg .b32 %x;\n" + shuffle + "\nselp.u32 %d, 1, 0, %p;", {Kind::b32, Kind::selector});
    }
  for (const char* mode : {"all", "any", "uni"})
    for (int bit : {0, 31})  // the last is often the same in all lanes
      add("vote", fmt::format("vote.{} bit {}", mode, bit),
          fmt::format(
              ".reg .pred %q;\n.reg .b32 %x;\nbfe.u32 %x, %a, {}, 1;\nsetp.ne.u32 %p, %x, 0;\nvote.sync.{}.pred %q, "
              "%p, 0xffffffff;\nselp.u32 %d, 1, 0, %q;",
              bit, mode),
          {Kind::b32});
  add("vote", "vote.ballot", "setp.gt.s32 %p, %a, 100;\nvote.sync.ballot.b32 %d, %p, 0xffffffff;", {Kind::b32});
  add("match", "match.any.b32", ".reg .b32 %x;\nand.b32 %x, %a, 7;\nmatch.any.sync.b32 %d, %x, 0xffffffff;",
      {Kind::b32});
  add("match", "match.any.b64", ".reg .b64 %x;\nand.b64 %x, %a, 3;\nmatch.any.sync.b64 %d, %x, 0xffffffff;",
      {Kind::b64});
  add("match", "match.all.b32",
      ".reg .b32 %x;\nshr.u32 %x, %a, 31;\nmatch.all.sync.b32 %d|%p, %x, 0xffffffff;\n@%p add.u32 %d, %d, 1;",
      {Kind::b32});
  for (const char* operation : {"add", "min", "max"})
    for (const char* type : {"u32", "s32"})
      add("redux", fmt::format("redux.{}.{}", operation, type),
          fmt::format("redux.sync.{}.{} %d, %a, 0xffffffff;", operation, type), {Kind::b32});
  for (const char* operation : {"and", "or", "xor"})
    add("redux", fmt::format("redux.{}.b32", operation),
        fmt::format("redux.sync.{}.b32 %d, %a, 0xffffffff;", operation), {Kind::b32});
  add("elect", "elect.sync",
      ".reg .b32 %lane;\nmov.u32 %lane, %laneid;\nmov.u32 %d, 0;\nsetp.ge.u32 %p, %lane, 4;\n@!%p bra "
      "DONE;\nelect.sync %d|%p, 0xfffffff0;\n@%p add.u32 %d, %d, 0x100;\nDONE:",
      {Kind::b32});
  return out;
}

}  // namespace wm::golden
