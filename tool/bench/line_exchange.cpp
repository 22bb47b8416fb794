#include "tool/bench/line_exchange.hpp"

#include <atomic>
#include <cstring>

#include "memory/copy_kernels.hpp"
#include "sys/sys.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t bytes_a_line = sys::cache_line - sizeof(std::uint32_t);
struct CacheLine {
  std::atomic<std::uint32_t> sequence;  // written last, with release
  std::byte data[bytes_a_line];
};
static_assert(sizeof(CacheLine) == sys::cache_line);

constexpr std::size_t lines_for(std::size_t bytes) { return (bytes + bytes_a_line - 1) / bytes_a_line; }
constexpr std::size_t slot_lines = lines_for(LineExchange::most_bytes);
constexpr std::size_t region_bytes = LineExchange::memory_bytes / 2;
static_assert(2 * slot_lines * sizeof(CacheLine) <= region_bytes);

// Where the block of this turn for `rank` lies.
CacheLine* slot_of_turn(const LineExchange& exchange, int rank) {
  std::byte* const region = exchange.memory + region_bytes * static_cast<std::size_t>(rank);
  return reinterpret_cast<CacheLine*>(region) + slot_lines * (exchange.turn % 2);
}

// Full lines have a size that the compiler knows: a call of memcpy would cost more than the copy.
void copy_a_line(std::byte* to, const std::byte* from, std::size_t left) {
  if (left >= bytes_a_line) {
    std::memcpy(to, from, bytes_a_line);
  } else {
    memory::copy_bytes(to, from, left);
  }
}

// The other rank waits for the first line, so that line is written last.
void write_lines(CacheLine* lines, std::uint32_t turn, const std::byte* from, std::size_t bytes) {
  const std::size_t count = lines_for(bytes);
  for (std::size_t i = 1; i < count; ++i) sys::prefetch_for_write(&lines[i]);
  for (std::size_t i = count; i-- > 0;) {
    copy_a_line(lines[i].data, from + i * bytes_a_line, bytes - i * bytes_a_line);
    lines[i].sequence.store(turn, std::memory_order_release);
  }
}

void await_lines(const sys::Waiter& waiter, const CacheLine* lines, std::uint32_t turn, std::byte* to,
                 std::size_t bytes) {
  for (std::size_t i = 0; i < lines_for(bytes); ++i) {
    waiter.until([&] { return lines[i].sequence.load(std::memory_order_acquire) == turn; });
    copy_a_line(to + i * bytes_a_line, lines[i].data, bytes - i * bytes_a_line);
  }
}

}  // namespace

void exchange_lines(LineExchange& exchange, const std::byte* sent, std::byte* received, std::size_t bytes) {
  ++exchange.turn;
  write_lines(slot_of_turn(exchange, 1 - exchange.me), exchange.turn, sent, bytes);
  await_lines(exchange.waiter, slot_of_turn(exchange, exchange.me), exchange.turn, received, bytes);
}

}  // namespace quadrille::tools
