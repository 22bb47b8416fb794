// A prepared neighbour collective with a datatype for each block.
#pragma once

#include <mpi.h>
#include <quadrille.h>

#include <vector>

#include "neighbors.hpp"

namespace heat {

// Where the blocks of one direction lie: one element of types[i] at displacements[i].
struct Blocks {
  std::vector<MPI_Aint> displacements;
  std::vector<MPI_Datatype> types;
};

enum class Caller {
  mpi,                   // MPI_Neighbor_alltoallw
  mpi_persistent,        // MPI_Neighbor_alltoallw_init
  quadrille,             // Quadrille_Neighbor_alltoallw
  quadrille_persistent,  // Quadrille_Neighbor_alltoallw_init
};

class NeighborCall {
 public:
  // Throws std::runtime_error on all ranks if the MPI lacks the persistent function.
  NeighborCall(MPI_Comm comm, Caller caller, const void* send, const Blocks& sends, void* receive,
               const Blocks& receives);
  ~NeighborCall();
  NeighborCall(const NeighborCall&) = delete;
  NeighborCall& operator=(const NeighborCall&) = delete;

  void operator()();

 private:
  MPI_Comm comm_;
  Caller caller_;
  const void* send_;
  void* receive_;
  Blocks sends_, receives_;
  std::vector<int> ones_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Quadrille_Request own_request_ = QUADRILLE_REQUEST_NULL;
};

// Offsets as numbers, to be sent; with `turned` the opposite offsets.
std::vector<int> codes_of(const std::vector<Offset>& sides, bool turned = false);
// The offsets of the senders of such numbers.
std::vector<Offset> sides_of(const std::vector<int>& arrived);

// The receives of a neighbourhood in the order of this MPI. In a periodic dimension of one or two
// processes one process is the neighbour on several sides. The standard defines which of its blocks
// arrives where, but MPIs before MPI 4.0, and the persistent calls of some later ones, match such blocks
// in other orders. So every process sends the side to which it sends, and sees which side arrives where.
std::vector<Offset> receives_as_matched(const Neighborhood& neighborhood, Caller caller);

}  // namespace heat
