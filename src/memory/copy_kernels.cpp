// The kernel of copy_kernels.hpp. Highway compiles the first part of this file once for each
// instruction set, into a namespace of its own; the second part chooses among them at run time.
//
// In the first part no function of the standard library may be called that the compiler might not
// inline: the linker keeps one copy of it for all, maybe the one with instructions that the machine
// lacks.
#include "memory/copy_kernels.hpp"

#include <algorithm>
#include <vector>

#include "sys/sys.hpp"

// Instruction sets that Highway would ask for beside the vectors; copies need none of them, and
// without them the check at run time is the plain one of supports().
#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_BMI2_FMA
#define HWY_DISABLE_F16C
// On AArch64 the baseline's vectors copy as fast as the longer ones, and need no check at run time.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memory/copy_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quadrille::memory {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// A machine without vectors that Highway knows (x86 before SSSE3): libc knows it better.
void streaming(std::byte* to, const std::byte* from, std::size_t bytes) { __builtin_memcpy(to, from, bytes); }

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t line = sys::cache_line;
// Lines that one turn of the main loop copies, so that several loads are in flight.
constexpr std::size_t lines_a_turn = 4;
// Loads are prefetched so far ahead of the streaming stores.
constexpr std::size_t prefetch_bytes = 16 * line;

using Vector = hn::CappedTag<std::uint8_t, line>;
constexpr std::size_t vector_bytes = hn::MaxLanes(Vector());
constexpr std::size_t vectors_a_line = line / vector_bytes;
static_assert(line % vector_bytes == 0);

// Bytes from `address` to the first line that begins at or after it.
HWY_INLINE std::size_t bytes_to_line(const std::uint8_t* address) {
  return (line - reinterpret_cast<std::uintptr_t>(address) % line) % line;
}

// Copies `count` lines to where a line begins.
template <std::size_t count>
HWY_INLINE void stream_lines(std::uint8_t* to, const std::uint8_t* from) {
  const Vector d;
#pragma GCC unroll 16
  for (std::size_t v = 0; v < count * vectors_a_line; ++v) {
    hn::Stream(hn::LoadU(d, from + v * vector_bytes), d, to + v * vector_bytes);
  }
}

void streaming(std::byte* to_bytes, const std::byte* from_bytes, std::size_t bytes) {
  if (bytes < 2 * line) {
    __builtin_memcpy(to_bytes, from_bytes, bytes);
    return;
  }
  auto* to = reinterpret_cast<std::uint8_t*>(to_bytes);
  const auto* from = reinterpret_cast<const std::uint8_t*>(from_bytes);
  // Exactly the bytes before the first line: an ordinary store into a line that is streamed next
  // would bring that line into the cache.
  std::size_t done = bytes_to_line(to);
  __builtin_memcpy(to, from, done);
  constexpr std::size_t turn = lines_a_turn * line;
  for (; done + prefetch_bytes + turn <= bytes; done += turn) {
#pragma GCC unroll 16
    for (std::size_t l = 0; l < lines_a_turn; ++l) {
      hwy::Prefetch(from + done + prefetch_bytes + l * line);
    }
    stream_lines<lines_a_turn>(to + done, from + done);
  }
  for (; done + line <= bytes; done += line) stream_lines<1>(to + done, from + done);
  __builtin_memcpy(to + done, from + done, bytes - done);
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace quadrille::memory
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrille::memory {
namespace {

// May this machine's processor, and its system, use the vectors of a Highway target? Highway's own
// answer is in its library, which Debian has as a shared one only; a preload library should bring
// nothing along that the program does not have.
bool supports([[maybe_unused]] std::int64_t target) {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before the constructors of libgcc
  switch (target) {
    case HWY_AVX3:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx2");
    case HWY_AVX2:
      return __builtin_cpu_supports("avx2");
    case HWY_SSE4:
      return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
    case HWY_SSSE3:
      return __builtin_cpu_supports("ssse3");
  }
#endif
  return false;
}

struct Target {
  std::int64_t number;
  decltype(CopyKernels::streaming) streaming;  // null: this target is not in the build
};

std::vector<CopyKernels> find_supported() {
  const Target targets[] = {{HWY_AVX3, HWY_CHOOSE_AVX3(streaming)},
                            {HWY_AVX2, HWY_CHOOSE_AVX2(streaming)},
                            {HWY_SSE4, HWY_CHOOSE_SSE4(streaming)},
                            {HWY_SSSE3, HWY_CHOOSE_SSSE3(streaming)}};
  std::vector<CopyKernels> found;
  for (const Target& one : targets) {
    if (one.streaming == nullptr || one.number == HWY_STATIC_TARGET || !supports(one.number)) continue;
    found.push_back({hwy::TargetName(one.number), one.streaming});
  }
  // What the whole program is compiled for runs everywhere that the program does.
  found.push_back({hwy::TargetName(HWY_STATIC_TARGET), &HWY_STATIC_DISPATCH(streaming)});
  return found;
}

}  // namespace

std::span<const CopyKernels> all_supported_kernels() {
  static const auto* const supported = new std::vector(find_supported());  // outlives all destructors
  return *supported;
}

const CopyKernels& copy_kernels() { return all_supported_kernels().front(); }

Fenced stream_fence() {
  hwy::FlushStream();
  return {};
}

void hybrid_copy(const CopyKernels& kernels, std::byte* to, const std::byte* from, std::size_t bytes,
                 std::size_t threshold) {
  threshold = std::min(threshold, bytes);
  // The line in which the threshold lies is written by one kind of store only.
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to + threshold) % sys::cache_line;
  const std::size_t rounding = past == 0 ? 0 : sys::cache_line - past;
  const std::size_t head = std::min(threshold + rounding, bytes);
  std::memcpy(to, from, head);
  if (head < bytes) kernels.streaming(to + head, from + head, bytes - head);
}

}  // namespace quadrille::memory
#endif  // HWY_ONCE
