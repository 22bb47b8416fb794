// Blocks whose sizes travel, for the executor: two-phase Bruck, SLOAV, mn-co of uneven blocks.
//
// The messages of a round go in steps. First the sizes, at the head of a message, one number of 4 bytes for each block;
// then the data. If the data of a message are at most `eager` bytes, they go behind the sizes in one message: the
// receiver sees by the sizes that they are there. A number too large for 4 bytes is replaced by a mark, and all sizes
// of that message follow once more in 8 bytes, in a step between. With `coupled`, the length of the first message goes
// ahead in one more step, so data of any length go behind its sizes, but those of a message with a mark. A receiver
// takes all sizes from its sender, also those of its own blocks: where a program expects other sizes than are sent,
// only its own block is cut, when it is copied out.
//
// A block of scratch is nothing but an address and a size. What arrives stays where it arrived until it is
// sent on or copied out.
//
// Working memory of a rank, where N is the largest block and b the bytes that a round brings it:
//   by need      what a round sends, and the sum of b over the rounds; for even data about N/2 * P/2 * log2 P.
//                For each message up to `eager` bytes more
//   monolithic   what a round sends and brings, and N for each slot of blocks that wait; N is agreed first. Bounded
//                whatever the data are, and wasteful if N is far above the mean
// By need is the standard: it never takes more than the data that pass through the rank.
//
// A rank that finds no memory for what a round brings drops that, but for sizes without data behind them, which say
// what else comes. It goes on, as the others wait for it. A message that was to hold a block that was dropped comes
// with its sizes alone, and then its blocks count as dropped there, too. Who misses a block of its own returns
// MPI_ERR_NO_MEM, and so does who dropped one. It is the same with a message that could not be started, or that failed
// on its way. Of one that could not be started the sizes are sent once more, without data. If sizes failed on their
// way, or with `coupled` their length, nobody knows how long the blocks were: what moves on of them comes empty from
// the first step on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/pool.hpp"
#include "memory/spare.hpp"
#include "run/call.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// Room for the blocks of calls whose sizes all ranks know.
//
// A rank without memory may not be the only one to know. So room is taken by all ranks in the same call, which then ask
// each other whether all have got it (run/agreement.hpp). Calls that need no more than they have do not ask.
struct SureRoom {
  memory::Pool scratch, send, recv;
  std::size_t bytes = 0;  // all ranks have so many in each of the three
  // Small blocks need no question: there is always room for them (memory/spare.hpp).
  bool is_enough(std::size_t wanted) const { return wanted <= std::max(bytes, memory::most_spare_bytes); }
  // After all ranks have got `wanted`; then trim() leaves as much on all of them.
  void note(std::size_t wanted) { bytes = wanted <= memory::Pool::most_kept ? wanted : 0; }
  // What is to be taken for less than `wanted` of it, so that all three have as much.
  std::size_t each(std::size_t needed, std::size_t wanted) const {
    return wanted <= memory::Pool::most_kept ? wanted : needed;
  }
  void trim() { scratch.trim(), send.trim(), recv.trim(); }
};

// Memory that is kept between calls.
struct CarriedMemory {
  struct Held {
    std::byte* at;
    std::size_t bytes;
  };
  std::vector<Held> held;                        // [scratch block]
  std::vector<std::byte*> heads_out, heads_in;   // [message of the round] its sizes, and data behind them
  std::vector<std::uint64_t> wide_out, wide_in;  // sizes of a round, one message after the other
  // [message of the round] Bytes for its sizes and the data behind them; of what came, as many as came. 0: its sizes
  // are not known, and nothing follows.
  std::vector<std::uint64_t> lengths_out, lengths_in;
  std::vector<Place> coming;  // [message of the round] where the data that do not come with sizes go
  std::vector<Place> going;   // the places of a message that is started
  memory::Pool staging;       // what a round sends
  memory::Pool sent_heads;
  std::vector<std::unique_ptr<memory::Pool>> heads, landing;  // [round] what it brings
  std::vector<std::unique_ptr<memory::Pool>> single;          // of a head each, where there is no memory for a round's
  SureRoom monolithic;  // instead: P * N bytes, what a round sends, what it brings
  // Gives large memory back.
  void trim() {
    staging.trim();
    sent_heads.trim();
    monolithic.trim();
    std::size_t kept = 0;
    for (const auto& pool : heads) kept += pool->size();
    for (const auto& pool : landing) kept += pool->size();
    if (kept > memory::Pool::most_kept) heads.clear(), landing.clear();
    single.clear();
  }
};

// What a call consists of that is bound to a schedule, [block of the schedule].
struct RunLists {
  std::vector<Block> send, recv;
  std::vector<Place> send_places, recv_places;
};

// What a call by messages (run/bound_run.hpp) packs in and is bound with. Not shared by calls in flight together.
struct RunMemory {
  SureRoom sure;
  memory::Packing packing;  // of calls whose sizes a rank alone knows
  CarriedMemory carried;
  RunLists lists;
  void trim() { sure.trim(), packing.send.trim(), packing.recv.trim(), carried.trim(); }
};

// The same on all ranks.
struct CarriedLimits {
  std::size_t eager = 0;               // data of a message up to here travel with their sizes
  std::size_t wide_from = UINT32_MAX;  // sizes from here on take 8 bytes; for tests
};

}  // namespace quadrille::run
