// The exchange of ghost points with one send buffer and one receive buffer, in the order of the neighbours: the calls
// of the heat programs of Li, Zhang and Hoefler, section 5.4 ("ordered buffers", figure 8).
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "decomposition.hpp"
#include "neighbors.hpp"

namespace heat {

enum class PackedCaller {
  mpi_alltoall,        // MPI_Neighbor_alltoall: all blocks of all ranks have one size
  mpi_alltoallv,       // MPI_Neighbor_alltoallv
  quadrille_alltoall,  // Quadrille_Neighbor_alltoall
  quadrille_alltoallv,
};

// Whether `how` is a packed exchange, and its kind.
bool is_packed(const std::string& how);
PackedCaller packed_caller(const std::string& how);
// "neighbor_alltoall" or "neighbor_alltoallv".
const char* collective_of(const std::string& how);

class PackedCall {
 public:
  PackedCall(const Neighborhood& neighborhood, const Layout& layout, PackedCaller caller);
  ~PackedCall();
  PackedCall(const PackedCall&) = delete;
  PackedCall& operator=(const PackedCall&) = delete;

  // Packs, exchanges, unpacks.
  void operator()(double* array);

 private:
  // One side of the exchange.
  struct Side {
    std::vector<Box> boxes;
    std::vector<int> counts, places;
    double* buffer = nullptr;  // from MPI_Alloc_mem
  };
  Side side_of(const std::vector<Offset>& offsets, Box (*points_of)(const Layout&, const Offset&)) const;

  MPI_Comm comm_;
  Layout layout_;
  PackedCaller caller_;
  Side sends_, receives_;
};

// Throws std::runtime_error on all ranks unless all blocks have one size. `evenly`: the fields of all ranks have one
// size.
void check_one_size(const Layout& layout, const std::vector<Offset>& offsets, bool evenly);

// Like receives_as_matched (neighbor_call.hpp), with the function of the exchange.
std::vector<Offset> receives_as_matched(const Neighborhood& neighborhood, PackedCaller caller);

}  // namespace heat
