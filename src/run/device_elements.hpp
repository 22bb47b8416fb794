// Blocks in a device's memory: where those of a call are, and copies of blocks with gaps between there and consecutive
// bytes.
//
// Idea    Equal runs at equal distances are one copy of rows. Where a kernel or a graph makes the copies, each run is a
//         piece of its batch instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"
#include "run/blocks.hpp"

namespace quadrille::run {

inline std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
inline std::byte* pointer(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

inline bool is_laid_out(const Block& block) { return block.info.dense || block.info.runs != nullptr; }

inline std::ptrdiff_t first_byte(const Block& block) { return block.info.dense ? 0 : block.info.runs->front().at; }

// What of one side of a call is on a device.
struct DeviceEnd {
  bool has_bytes = false, on_device = false, has_gaps = false;
  memory::DevicePlace place;
  std::uintptr_t address = 0;  // of some byte
};
// The blocks of a side are memory of one place, so the first that has bytes tells, unless nobody knows where its bytes
// lie. Memory of which the driver says nothing counts as one with gaps, so that nothing of it is touched here.
template <class BlockAt>
DeviceEnd look_at_end(const BlockAt& block_at, int count) {
  DeviceEnd end;
  for (int b = 0; b < count; ++b) {
    const Block block = block_at(b);
    if (block.bytes() == 0) continue;
    end.has_gaps = end.has_gaps || !block.info.dense;
    if (end.has_bytes) continue;
    end.has_bytes = true;
    if (!is_laid_out(block) || memory::device_driver() == nullptr) continue;
    end.address = number(block.address + first_byte(block));
    const memory::Where where = memory::find_memory(pointer(end.address), end.place);
    end.on_device = where == memory::Where::device;
    end.has_gaps = end.has_gaps || where == memory::Where::unknown;
  }
  return end;
}

// Waits for what the program has put into the NULL streams of both sides, with which the lanes' streams do not go
// along. False if the driver refuses.
bool settle(const DeviceEnd& sent, const DeviceEnd& received);

// What blocks reach over; nothing if they have no bytes.
struct Extent {
  std::uintptr_t first = UINTPTR_MAX, last = 0;
  bool has_gaps = false;  // then the numbers mean nothing
};
template <class BlockAt>
Extent extent_of(const BlockAt& block_at, int count) {
  Extent extent;
  for (int b = 0; b < count; ++b) {
    const Block block = block_at(b);
    if (block.bytes() == 0) continue;
    extent.first = std::min(extent.first, number(block.address));
    extent.last = std::max(extent.last, number(block.address) + block.bytes());
    extent.has_gaps = extent.has_gaps || !block.info.dense;
  }
  return extent;
}

// The first elements of a block with gaps, to or from consecutive bytes: element by element, or the same run of all
// elements at once, whichever is less.
void copy_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs,
                   memory::DeviceCopies& copies);

// The same, piece by piece, so that a kernel or a graph can make all.
void add_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs, memory::DeviceBatch& batch);
inline std::size_t pieces_of(const Block& block, std::size_t count) {
  return block.info.dense ? 1 : block.info.runs->size() * count;
}
constexpr std::size_t most_pieces = std::size_t{1} << 16;  // of a launch: what tells a kernel of them takes 3 MiB

}  // namespace quadrille::run
