// The sparse exchange: every rank knows whom it sends to, and nobody knows from whom blocks come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "plan/problem.hpp"
#include "run/group.hpp"
#include "run/sparse_route.hpp"

namespace quadrille::run {

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

}  // namespace quadrille::run
