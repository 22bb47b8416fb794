#include "tool/bench/stack.hpp"

#include <alloca.h>
#include <sys/resource.h>

#include <cstdint>

namespace quadrille::tools {
namespace {

constexpr std::size_t page = 4096, for_calls = std::size_t{8} << 20;

}  // namespace

bool stack_holds(std::size_t bytes) {
  rlimit limit{};
  if (bytes == 0) return true;
  if (bytes > most_on_stack || getrlimit(RLIMIT_STACK, &limit) != 0) return false;
  if (limit.rlim_cur >= bytes + for_calls) return true;
  limit.rlim_cur = bytes + for_calls;
  return limit.rlim_cur <= limit.rlim_max && setrlimit(RLIMIT_STACK, &limit) == 0;
}

// Inlined into a loop, it would keep the frames of all rounds.
[[gnu::noinline]] void on_stack(std::size_t bytes, const std::function<void(std::byte* frame)>& body) {
  auto* const frame = static_cast<std::byte*>(alloca(bytes + page));
  body(frame + (page - reinterpret_cast<std::uintptr_t>(frame) % page) % page);
}

}  // namespace quadrille::tools
