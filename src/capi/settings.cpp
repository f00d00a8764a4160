// The log, the compiler and the cache for C.
#include "capi/boundary.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/log.hpp"

using namespace wm;
using namespace wm::capi;

static_assert(static_cast<int>(LogSeverity::note) == WM_LOG_NOTE &&
              static_cast<int>(LogSeverity::warning) == WM_LOG_WARNING);

wm_status wm_set_log(wm_log_function function, void* user) {
  return guarded([&] {
    if (!function) return set_log({});
    set_log([function, user](LogSeverity severity, std::string_view text) {
      function(user, static_cast<wm_log_severity>(severity), std::string(text).c_str());
    });
  });
}

wm_status wm_compiler_info_of(wm_compiler_info* info) {
  return guarded([&] {
    const jit::CompilerInfo own = jit::compiler_info();
    write(info, {0, own.found, thread_text(own.path), thread_text(own.version), thread_text(own.problem)}, "info");
  });
}

wm_status wm_cache_info_of(wm_cache_info* info) {
  return guarded([&] {
    const jit::CacheInfo own = jit::cache_info();
    write(info, {0, thread_text(own.folder.string()), thread_text(own.problem), own.entries, own.bytes}, "info");
  });
}

wm_status wm_cache_clear(std::size_t* removed) {
  return guarded([&] {
    const std::size_t count = jit::clear_cache();
    if (removed) *removed = count;
  });
}
