// The pure part of the sparse exchange by store and forward: who passes what on, to whom, when, and
// how parcels lie in a message. No MPI. The idea and an example are at the head of
// sparse.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrille::run {

// One block on its way.
struct Parcel {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  const std::byte* data = nullptr;  // owned by somebody else
};

// One round: a rank sends a message to each of the ranks `weight`, 2 * weight, ..., hops * weight
// above it, and gets one from each of those as far below.
struct SparseRound {
  int weight;
  int hops;
};

// The rounds for `ranks` ranks; radix >= 2. No two messages of a rank, in all rounds together, go
// to the same rank.
std::vector<SparseRound> sparse_rounds(int ranks, int radix);

// The rank `distance` above `rank`, 0 <= distance < ranks; below it.
int rank_above(int rank, int distance, int ranks);
int rank_below(int rank, int distance, int ranks);

// Sorts what rank `holder` holds at the beginning of a round by the hop that it takes: [0] stays
// where it is, [z] goes to the rank z * weight above. The order of parcels of one hop is kept.
std::vector<std::vector<Parcel>> sort_by_hop(std::span<const Parcel> held, int holder, int ranks,
                                             const SparseRound& round, int radix);

// ---- A message: a head, and for each parcel its own head and its data ----

std::size_t message_bytes(std::span<const Parcel> parcels);

// Writes the message to `to`, which has room for message_bytes() bytes. `error` is 0, or what some
// rank reported.
void write_message(std::span<const Parcel> parcels, int error, std::byte* to);

// Appends the parcels of a message to `parcels`; their data stay where they are. `error` becomes
// the larger one of itself and the message's. False if this is no message.
bool read_message(const std::byte* from, std::size_t bytes, std::vector<Parcel>& parcels, int& error);

}  // namespace quadrille::run
