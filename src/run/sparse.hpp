// The sparse exchange: every rank knows whom it sends to, and nobody knows from whom blocks come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "run/group.hpp"

namespace quadrille::run {

// One block on its way.
struct Parcel {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  const std::byte* data = nullptr;  // owned by somebody else
};

// What a rank found when all is over.
struct Mail {
  std::vector<Parcel> parcels;  // that arrived; those of one source in the order in which it gave them
  std::vector<std::unique_ptr<std::byte[]>> memory;  // where their data are
  int reported = mpi_success;                        // class of the error of some rank; the same on all ranks
};

// Carry parcels to other ranks. `reported` is the class of this rank's error, which all ranks then
// find in their mail; a rank with an error sends nothing. Return an error of the messages or of
// memory. `turn`: calls by consensus on this communicator before; the same on all ranks.
int sparse_consensus(const Group& group, unsigned turn, std::span<const Parcel> out, int reported, Mail& mail);
int sparse_bruck(const Group& group, std::span<const Parcel> out, int radix, int reported, Mail& mail);

// ---- The blocks of a call ----

struct SparseSend {
  const std::byte* base;
  std::span<const int> destinations;
  const MpiCount* counts;
  const MpiAint* displacements;
  MpiType type;
};

// The parcels of a call: dense blocks where they are, others packed into memory that goes to `packed`. Throws
// std::bad_alloc.
int make_parcels(const SparseSend& send, int me, MpiComm comm, std::unique_ptr<std::byte[]>& packed,
                 std::vector<Parcel>& parcels);

// ---- By store and forward: who passes what on, to whom, when, and how parcels lie in a message. No MPI ----

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

// A message: a head, and for each parcel its own head and its data.

std::size_t message_bytes(std::span<const Parcel> parcels);

// Writes the message to `to`, which has room for message_bytes() bytes. `error` is 0, or what some
// rank reported.
void write_message(std::span<const Parcel> parcels, int error, std::byte* to);

// Appends the parcels of a message to `parcels`; their data stay where they are. `error` becomes
// the larger one of itself and the message's. False if this is no message.
bool read_message(const std::byte* from, std::size_t bytes, std::vector<Parcel>& parcels, int& error);

}  // namespace quadrille::run
