// What a thread may remember of a call for others like it, it may as long as all this is still so.
#pragma once

#include <cstdint>

#include "mpi/generation.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::api {

struct RememberedFor {
  std::uint64_t generation = 0;  // 0: nothing is remembered
  MPI_Comm comm{};
  MPI_Datatype type{};

  static RememberedFor now(MPI_Comm comm, MPI_Datatype type) { return {generation_now(), comm, type}; }
  bool is_for(MPI_Comm of_comm) const { return of_comm == comm && generation == generation_now(); }
  bool is_for(MPI_Comm of_comm, MPI_Datatype of_type) const { return of_type == type && is_for(of_comm); }
  bool operator==(const RememberedFor&) const = default;
};

}  // namespace quadrille::api
