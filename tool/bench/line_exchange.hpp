// Exchanges of cache lines between two processes: the least time of a call with small blocks inside a node.
//
// Each rank writes its block into lines that both map, then reads the lines of the other. Every line has a sequence
// number. Two slots, used in turn, are enough: a rank writes turn n + 1 after it has read turn n, so the other has read
// turn n - 1 (memory/control_memory.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sys/sys.hpp"

namespace quadrille::tools {

struct LineExchange {
  static constexpr std::size_t most_bytes = 512;     // of a block
  static constexpr std::size_t memory_bytes = 8192;  // a page for each rank

  std::byte* memory = nullptr;  // shared by both ranks, whole pages of zeros at first
  int me = 0;                   // 0 or 1
  sys::Waiter waiter;
  std::uint32_t turn = 0;
};

// Both ranks call it with the same number of bytes. Returns with the other's block of the same turn in `received`.
void exchange_lines(LineExchange& exchange, const std::byte* sent, std::byte* received, std::size_t bytes);

}  // namespace quadrille::tools
