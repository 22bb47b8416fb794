// What a thread may remember of a call for others like it, it may as long as all this is still so.
#pragma once

#include <cstdint>

#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "team/team.hpp"

namespace quadrille::api {

struct RememberedFor {
  std::uint64_t generation = 0;   // of team::generation; 0: nothing is remembered
  std::uint64_t types_freed = 0;  // a freed type's handle may become another type's
  MPI_Comm comm{};
  MPI_Datatype type{};

  static RememberedFor now(MPI_Comm comm, MPI_Datatype type) {
    return {team::generation.load(std::memory_order_acquire), quadrille::types_freed.load(std::memory_order_acquire),
            comm, type};
  }
  bool is_for(MPI_Comm of_comm, MPI_Datatype of_type) const {
    return of_comm == comm && of_type == type && generation == team::generation.load(std::memory_order_acquire) &&
           types_freed == quadrille::types_freed.load(std::memory_order_acquire);
  }
  bool operator==(const RememberedFor&) const = default;
};

}  // namespace quadrille::api
