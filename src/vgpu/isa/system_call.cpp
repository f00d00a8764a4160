// Functions that a module declares and the system provides.
#include "vgpu/isa/system_call.hpp"

#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/machine/access.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

namespace {

u64 word(const std::byte* bytes) {
  u64 value;
  std::memcpy(&value, bytes, 8);
  return value;
}

// A string of the kernel's, however it may lie in memory.
std::string text_at(Warp& warp, u32 lane, u64 address) {
  constexpr std::size_t longest = 1 << 16;
  std::string text;
  while (text.size() < longest) {
    const auto c = static_cast<char>(
        *resolve_one(warp, AddressSpace::generic, address + text.size(), 1, 1, AccessKind::read, lane));
    if (c == 0) break;
    text.push_back(c);
  }
  return text;
}

// Formats one conversion such as "%-8.3f" with the host's printf; the specification has been checked to be of a known
// form, so it cannot make printf read what is not there.
template <class Value>
std::string formatted(const std::string& specification, Value value) {
  const int length = std::snprintf(nullptr, 0, specification.c_str(), value);
  if (length < 0) return {};
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), specification.c_str(), value);
  text.pop_back();
  return text;
}

// The arguments of printf as the compiler lays them out: each aligned to its size.
class PrintArguments {
 public:
  PrintArguments(Warp& warp, u32 lane, u64 address) : warp_(warp), lane_(lane), address_(address) {}
  u64 next(u32 bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    u64 value = 0;
    std::memcpy(&value,
                resolve_one(warp_, AddressSpace::generic, address_ + offset_, bytes, 1, AccessKind::read, lane_),
                bytes);
    offset_ += bytes;
    return value;
  }

 private:
  Warp& warp_;
  u32 lane_;
  u64 address_, offset_ = 0;
};

std::string format_print(Warp& warp, u32 lane, const std::string& format, PrintArguments& arguments) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    std::string specification = "%";
    std::size_t j = i + 1;
    const auto take_while = [&](std::string_view set) {
      while (j < format.size() && set.find(format[j]) != std::string_view::npos) specification.push_back(format[j++]);
    };
    const auto take_number = [&] {
      if (j < format.size() && format[j] == '*') {
        ++j;
        specification += std::to_string(static_cast<i32>(arguments.next(4)) % 4096);
      } else {
        std::size_t digits = 0;
        while (j < format.size() && format[j] >= '0' && format[j] <= '9' && digits++ < 3)
          specification.push_back(format[j++]);
      }
    };
    take_while("-+ #0");
    take_number();
    if (j < format.size() && format[j] == '.') {
      specification.push_back(format[j++]);
      take_number();
    }
    bool wide = false;
    for (; j < format.size() && std::string_view("hlLjzt").find(format[j]) != std::string_view::npos; ++j)
      wide |= format[j] != 'h';
    const char kind = j < format.size() ? format[j] : '\0';
    switch (kind) {
      case '%': out.push_back('%'); break;
      case 'd':
      case 'i': {
        const u64 value = arguments.next(wide ? 8 : 4);
        out += formatted(specification + "lld",
                         wide ? static_cast<long long>(value) : static_cast<long long>(static_cast<i32>(value)));
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        out += formatted(specification + "ll" + kind, static_cast<unsigned long long>(arguments.next(wide ? 8 : 4)));
        break;
      case 'c': out += formatted(specification + "c", static_cast<int>(arguments.next(4))); break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': out += formatted(specification + kind, std::bit_cast<double>(arguments.next(8))); break;
      case 'p': out += fmt::format("{:#x}", arguments.next(8)); break;
      case 's': out += formatted(specification + "s", text_at(warp, lane, arguments.next(8)).c_str()); break;
      default:  // not a conversion: as it stands
        out.append(format, i, j - i + (kind != '\0'));
        break;
    }
    i = j;
  }
  return out;
}

u64 print(Warp& warp, u32 lane, const std::vector<std::byte*>& arguments) {
  const std::string format = text_at(warp, lane, word(arguments[0]));
  PrintArguments values(warp, lane, word(arguments[1]));
  warp.launch().print(format_print(warp, lane, format, values));
  return 1;
}

// __assertfail(message, file, line, function, character size)
u64 assertion(Warp& warp, u32 lane, const std::vector<std::byte*>& arguments) {
  u32 line = 0;
  std::memcpy(&line, arguments[2], 4);
  warp.fault(fmt::format("assertion `{}` failed at {}:{} in {}", text_at(warp, lane, word(arguments[0])),
                         text_at(warp, lane, word(arguments[1])), line, text_at(warp, lane, word(arguments[3]))),
             lane);
}

u64 allocate(Warp& warp, u32, const std::vector<std::byte*>& arguments) {
  const u64 bytes = word(arguments[0]), address = warp.launch().memory.allocate_heap(bytes);
  if (Observer* observer = warp.launch().observer; observer != nullptr && address != 0)
    observer->unwritten({address, bytes});
  return address;
}
u64 release(Warp& warp, u32 lane, const std::vector<std::byte*>& arguments) {
  const u64 address = word(arguments[0]);
  if (address == 0) return 0;
  if (const u64 bytes = warp.launch().memory.free_heap(address); bytes > 0) {
    if (Observer* observer = warp.launch().observer) observer->freed({address, bytes});
    return 0;
  }
  if (warp.launch().memory.was_freed(address))
    warp.fault(fmt::format("free of {:#x}, which has been freed before", address), lane, fault::use_after_free);
  warp.fault(fmt::format("free of {:#x}, which malloc did not give", address), lane);
}

struct Entry {
  std::string_view name;
  SystemCall call;
  std::vector<u32> parameters;  // bytes of each
};
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {{"vprintf", &print, {8, 8}},
                                             {"__assertfail", &assertion, {8, 8, 4, 8, 8}},
                                             {"malloc", &allocate, {8}},
                                             {"free", &release, {8}}};
  return entries;
}

}  // namespace

SystemCall system_call(std::string_view name) {
  for (const Entry& e : table())
    if (e.name == name) return e.call;
  return nullptr;
}

bool system_call_fits(std::string_view name, const ptx::Function& declaration) {
  for (const Entry& e : table()) {
    if (e.name != name || e.parameters.size() != declaration.parameters.size()) continue;
    for (std::size_t k = 0; k < e.parameters.size(); ++k)
      if (e.parameters[k] != declaration.parameters[k].bytes) return false;
    return true;
  }
  return false;
}

}  // namespace wm::vgpu
