// The bytes of a device's memory that a call describes, as few regions, and the kernel that brings many small pieces of
// them to the host or back.
//
// A copy that the driver makes costs as much to submit as some KiB take on the bus, so blocks with gaps and types with
// gaps would take a time that grows with the number of their pieces. The kernel reads a list of pieces and moves them
// all: it packs on the device, straight into pinned memory of the host, which it reaches as its own, or out of it. Only
// CUDA has it. Namugwanya et al. copy whole buffers and have no such case.
//
// The kernel is text that the driver translates for its device. Before it is used in a context it has to move a pattern
// there, and what it gets wrong keeps it from being used at all: then the driver's copies serve, as they do for few
// pieces and large ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/held_memory.hpp"

namespace quadrille::memory {

// `rows` times `bytes` consecutive bytes, `pitch` bytes from one row to the next. With one row the pitch means nothing.
// Addresses are numbers: a block may lie before the address that the user gave.
struct Region {
  std::intptr_t begin = 0;
  std::size_t bytes = 0, rows = 1, pitch = 0;
  std::intptr_t end() const { return begin + static_cast<std::intptr_t>((rows - 1) * pitch + bytes); }
};

// A set of bytes. What is adjacent becomes one region, and so do equal rows at equal distances.
class Regions {
 public:
  void add(std::intptr_t begin, std::size_t bytes) { add(begin, bytes, 1, 0); }
  // `rows` times, at distances of `stride`, which may be of any sign and less than `bytes`.
  void add(std::intptr_t begin, std::size_t bytes, std::size_t rows, std::ptrdiff_t stride);
  // Joins also what was not added in the order of addresses.
  void put_in_order();

  bool empty() const { return list_.empty(); }
  std::vector<Region>::const_iterator begin() const { return list_.begin(); }
  std::vector<Region>::const_iterator end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }
  // The first address, and the one behind the last. Not of an empty set.
  std::intptr_t first() const;
  std::intptr_t last() const;
  // Counts bytes twice that are described twice.
  std::size_t bytes() const;

 private:
  void push(Region region);
  std::vector<Region> list_;
};

// `count` units of `unit` bytes (1, 4, 8 or 16), `units` in a row. Both addresses and the pitch are multiples of the
// unit. The kernel knows this layout.
struct Piece {
  std::uint64_t to = 0, from = 0, pitch = 0;
  std::uint32_t units = 0, count = 0, unit = 0, unused = 0;
};
static_assert(sizeof(Piece) == 40);

// The pieces that move `regions` of a device's memory, which lie `moved` bytes further on the host. What is not aligned
// at its ends is split. Of many rows each piece has some, so that the threads have about as much to do.
std::vector<Piece> pieces_of(const Regions& regions, std::ptrdiff_t moved, bool to_host);

// So many pieces that a kernel is better than copies.
bool are_many(const Regions& regions);

// Copies of plain bytes that are to be made together.
struct CopiesTogether {
  std::size_t copies = 0, bytes = 0;
  std::size_t unit = 16;       // the largest that all of them can be moved in, but for their ends
  bool in_one_device = false;  // or over a bus
  bool many_times = false;     // a graph can make them
};
// The largest unit for a copy from here to there.
std::size_t unit_between(std::uint64_t to, std::uint64_t from);
// Is a kernel better than copies? Over a bus that is an estimate. Inside a device it was measured: what a copy costs,
// beside its bytes, and what a kernel costs that moves them in its units.
bool is_for_kernel(const CopiesTogether& together);
// How many bytes the pieces of copies should have at most that move so many in all.
std::size_t bytes_of_piece(std::size_t total);
// Of a row, as units are counted in 32 bits.
inline constexpr std::size_t most_of_row = std::size_t{1} << 30;
// The pieces of one copy, of at most `most` bytes, a multiple of all units.
void add_pieces(std::vector<Piece>& pieces, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                std::size_t most = most_of_row);

class DevicePieces {
 public:
  enum class When : std::uint8_t {
    now,      // the kernel is loaded if it was not, where this thread may wait for the device
    if_there  // nothing waits: it is used if another call has loaded it
  };
  // Keeps the list of what moves these regions, to or from `moved` bytes further on the host, if there are many and the
  // kernel is available. While AtDevice of the place lives. Throws std::bad_alloc.
  void take(const DevicePlace& place, const Regions& regions, std::ptrdiff_t moved, bool to_host, When when);
  // The same of any pieces, without asking whether they are many.
  void take(const DevicePlace& place, const std::vector<Piece>& pieces, When when);
  void forget() { function_ = nullptr; }
  // The context that the kernel was loaded in is still there.
  bool are_good(const DevicePlace& place) const;
  // Else the regions have to be copied.
  bool are_there() const { return function_ != nullptr; }
  // Puts the kernel into a stream, once or many times. False if the driver refuses: then nothing has been put there.
  bool submit(void* stream) const;

 private:
  Staging list_;
  void* function_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t largest_ = 0;  // units of a piece
};

// For the end of MPI.
void free_kernels();

}  // namespace quadrille::memory
