// The exchange of ghost points.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <string>

#include "decomposition.hpp"
#include "neighbor_call.hpp"
#include "neighbors.hpp"
#include "packed.hpp"

namespace heat {

// An array of doubles, and a part of it as one element. To be freed by the caller.
MPI_Datatype part_type(const Extents& array, const Box& part, int dimensions);

struct ExchangeKind {
  int stencil;
  std::string how;        // alltoallw, persistent, sendrecv, quadrille, quadrille-persistent, or one of packed.hpp
  std::string algorithm;  // of Quadrille; empty: as it chooses
  bool equal_blocks;      // at all ranks
};

// Does Quadrille do it, when it is called `how`?
bool calls_quadrille(const std::string& how);

// Fills the ghost points of two arrays that take turns. Every block is one element of a datatype
// that tells where its points lie in the array, so all displacements are 0; or the program packs.
class Exchange {
 public:
  // Throws std::runtime_error, on all ranks alike, if the MPI cannot do it.
  Exchange(const ProcessGrid& grid, const Layout& layout, const ExchangeKind& kind, std::array<double*, 2> arrays);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Fills those of arrays[which].
  void operator()(int which);

 private:
  void shift(double* array) const;

  const ProcessGrid& grid_;
  std::array<double*, 2> arrays_;
  Neighborhood neighborhood_;
  Blocks sends_, receives_;
  std::unique_ptr<NeighborCall> calls_[2];  // none for sendrecv and what is packed
  std::unique_ptr<PackedCall> packed_;      // only for that
};

}  // namespace heat
