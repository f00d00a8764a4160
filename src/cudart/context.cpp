// Contexts.
#include "cudart/context.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cudart/platform.hpp"

namespace wm::cudart {
namespace {

constexpr int most_devices = 64;

struct Contexts {
  std::mutex mutex;
  std::array<Context, most_devices> primary;
  std::vector<std::unique_ptr<Context>> created;  // for good: a destroyed one may be in some thread's stack
  std::set<Context*> known;                       // but for destroyed ones
};
Contexts& contexts() {
  static auto* const all = [] {
    auto* made = new Contexts;
    for (int i = 0; i < most_devices; ++i) {
      made->primary[static_cast<std::size_t>(i)] = {.device = i, .primary = true};
      made->known.insert(&made->primary[static_cast<std::size_t>(i)]);
    }
    return made;
  }();
  return *all;
}

std::atomic<bool> initialised = false;
thread_local std::vector<Context*> stack;
thread_local bool of_runtime = false;

}  // namespace

Context& primary_context(int device) {
  require_device(device);
  return contexts().primary[static_cast<std::size_t>(device)];
}

Context* create_context(int device, unsigned flags) {
  require_device(device);
  auto created = std::make_unique<Context>(Context{.device = device, .flags = flags});
  const std::lock_guard lock(contexts().mutex);
  Context* const context = contexts().created.emplace_back(std::move(created)).get();
  contexts().known.insert(context);
  return context;
}

void destroy_context(CUcontext handle) {
  Context* const context = &known_context(handle);
  require(!context->primary, cudaErrorDeviceUninitialized);
  if (!stack.empty() && stack.back() == context) pop_context();
  const std::lock_guard lock(contexts().mutex);
  contexts().known.erase(context);
}

Context& known_context(CUcontext handle) {
  auto* const context = reinterpret_cast<Context*>(handle);
  const std::lock_guard lock(contexts().mutex);
  require(contexts().known.contains(context), cudaErrorDeviceUninitialized);
  return *context;
}

Context* current_context() {
  if (stack.empty()) return of_runtime ? &primary_context(current_device()) : nullptr;
  Context* const top = stack.back();
  if (!top->primary) {
    const std::lock_guard lock(contexts().mutex);
    require(contexts().known.contains(top), cudaErrorContextIsDestroyed);
  }
  return top;
}

void set_current_context(Context* context) {
  if (!stack.empty()) stack.pop_back();
  if (context == nullptr) {
    of_runtime = false;
    return;
  }
  push_context(*context);
}

void push_context(Context& context) {
  stack.push_back(&context);
  set_current_device(context.device);
}

Context* pop_context() {
  Context* const top = stack.empty() ? current_context() : stack.back();  // which may be destroyed
  require(top != nullptr, cudaErrorDeviceUninitialized);
  if (stack.empty())
    of_runtime = false;
  else
    stack.pop_back();
  if (!stack.empty()) set_current_device(stack.back()->device);
  return top;
}

void note_initialised() { initialised = true; }

void note_runtime_thread() {
  initialised = true;
  of_runtime = true;
}

void require_initialised() { require(initialised, cudaErrorInitializationError); }
void require_context() { require(current_context() != nullptr, cudaErrorDeviceUninitialized); }

}  // namespace wm::cudart
