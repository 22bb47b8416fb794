// The sparse exchange: every rank knows whom it sends to, and nobody knows from whom blocks come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "plan/problem.hpp"
#include "run/sparse_route.hpp"

namespace quadrille::run {

// Who takes part, and how a rank waits.
struct SparseGroup {
  MpiComm comm{};  // private
  int me = 0;
  int ranks = 0;
  unsigned spins = 0;        // looks without success before the core is given away
  unsigned* turn = nullptr;  // calls by consensus on this communicator; the same on all ranks
};

// What a rank found when all is over.
struct Mail {
  std::vector<Parcel> parcels;  // that arrived; those of one source in the order in which it gave them
  std::vector<std::unique_ptr<std::byte[]>> memory;  // where their data are
  int reported = mpi_success;                        // class of the error of some rank; the same on all ranks
};

// Carry parcels to other ranks. `reported` is the class of this rank's error, which all ranks then
// find in their mail; a rank with an error sends nothing. Return an error of the messages or of
// memory.
int sparse_consensus(const SparseGroup& group, std::span<const Parcel> out, int reported, Mail& mail);
int sparse_bruck(const SparseGroup& group, std::span<const Parcel> out, int radix, int reported, Mail& mail);

// ---- Messages of any number of bytes ----

using StartSend = decltype(Mpi::Isend);
int start_bytes(StartSend send, const std::byte* from, std::size_t bytes, int to, int tag, MpiComm comm,
                MpiRequest& request);
// The message of which a probe gave `status`. Its memory goes to `mail`. If there is none, the
// message is taken all the same, so that its sender can end; `error` says so.
Parcel start_receive(const MpiStatus& status, MpiComm comm, Mail& mail, MpiRequest& request, int& error);
// Waits for all; the error of the first that failed.
int wait_for_all(MpiArray<MpiRequest>& requests);

// ---- The blocks of a call ----

struct SparseSend {
  const std::byte* base;
  std::span<const int> destinations;
  const MpiCount* counts;
  const MpiAint* displacements;
  MpiType type;
};

// Bytes that must be packed before they are sent.
std::size_t bytes_to_pack(const SparseSend& send);
// The parcels of a call: dense blocks where they are, others packed into `room`.
int make_parcels(const SparseSend& send, int me, std::byte* room, MpiComm comm, std::vector<Parcel>& parcels);

}  // namespace quadrille::run
