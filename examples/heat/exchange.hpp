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

// A datatype whose element is a part of an array of doubles. The caller frees it.
MPI_Datatype part_type(const Extents& array, const Box& part, int dimensions);

struct ExchangeKind {
  int stencil;
  std::string how;        // alltoallw, persistent, sendrecv, quadrille, quadrille-persistent, or one of packed.hpp
  std::string algorithm;  // of Quadrille; empty: automatic
  bool equal_blocks;      // at all ranks
};

// Whether `how` is an exchange by Quadrille's functions.
bool calls_quadrille(const std::string& how);

// Fills the ghost points of two alternating arrays. Every block is one element of a datatype with the
// positions of its points in the array, so all displacements are 0; or the program packs.
class Exchange {
 public:
  // Throws std::runtime_error on all ranks if the MPI lacks the function.
  Exchange(const ProcessGrid& grid, const Layout& layout, const ExchangeKind& kind, std::array<double*, 2> arrays);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Fills the ghost points of arrays[which].
  void operator()(int which);

 private:
  void shift(double* array) const;

  const ProcessGrid& grid_;
  std::array<double*, 2> arrays_;
  Neighborhood neighborhood_;
  Blocks sends_, receives_;
  std::unique_ptr<NeighborCall> calls_[2];  // null for sendrecv and packed exchanges
  std::unique_ptr<PackedCall> packed_;      // only for packed exchanges
};

}  // namespace heat
