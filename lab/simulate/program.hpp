// What a rank does in a collective, reduced from its schedule to what takes time: how many messages of how many blocks
// to whom, and how many copies. Whose blocks they are is forgotten, so that the programs of many ranks fit into memory,
// and one program serves blocks of all sizes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plan/leaders.hpp"
#include "plan/schedule.hpp"

namespace quadrille::simulate {

// A message as one of its two ranks sees it. Of no blocks: there is none, it keeps its place in the window.
struct Note {
  std::int32_t peer = 0;
  std::uint32_t blocks = 0;
  std::uint32_t told = 0;  // blocks whose sizes travel
  friend bool operator==(const Note&, const Note&) = default;
};

// Copies in a rank's own memory, of a block each, and in the memory that a node's ranks share.
struct Copies {
  std::uint64_t own = 0;
  std::uint64_t shared = 0, shared_blocks = 0;  // those that lie side by side are copied together
  friend bool operator==(const Copies&, const Copies&) = default;
};

// A round of the schedule.
struct Stage {
  Copies before;
  plan::Range sends, receives;  // into Program::notes
  plan::Window window;
  Copies after;
  bool fence = false;   // at its end the ranks of a node wait for each other
  bool beside = false;  // its messages may be in flight from the start on
  // Only for blocks of at most so many bytes.
  double up_to = std::numeric_limits<double>::infinity();
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Program {
  std::vector<Stage> stages;
  std::vector<Note> notes;
  std::vector<bool> scattered;  // [note] its blocks are not one run: they are packed, or unpacked; empty: all are
  plan::Sizes sizes = plan::Sizes::known;
  double with_sizes = 0;                 // bytes of data that travel with their sizes
  double size_beside = 0;                // bytes that each block has beside its data
  double piece = 0;                      // bytes of a block that move in a turn; the whole is repeated. 0: all of it
  double scattered_copies = 1;           // how often a scattered block is copied on each side
  int fence_first = 0, fence_ranks = 1;  // who waits for each other
  friend bool operator==(const Program&, const Program&) = default;
};

// Of a schedule of rank `me`.
Program reduce(const plan::Schedule& schedule, int me);
// Through leaders: as the engine goes, which packs in shared memory, exchanges, and unpacks.
Program reduce(const plan::LeadersPlan& plan);

// A rank copies `blocks` blocks to or from each of the ranks of its node: straight, or, up to `most_of_inbox` bytes, by
// writing them to the others' inboxes and reading its own.
inline constexpr double most_of_inbox = 1024;
std::vector<Stage> pairs_in_node(int ranks_on_node);

std::size_t memory_bytes(const Program& program);

}  // namespace quadrille::simulate
