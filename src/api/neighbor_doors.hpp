// Other names for the sides of a call.
#pragma once

#include "api/doors.hpp"

namespace quadrille::api {

inline run::Side uniform(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return side_of(buffer, count, type);
}

template <class Count, class Displacement>
run::Side neighbor_vector(const void* buffer, const Count* counts, const Displacement* displacements,
                          MPI_Datatype type) {
  return side_of(buffer, counts, displacements, type);
}

template <class Count, class Displacement>
run::Side neighbor_typed(const void* buffer, const Count* counts, const Displacement* displacements,
                         const MPI_Datatype* types) {
  return side_of(buffer, counts, displacements, types);
}

template <class Count, class Displacement>
run::Side typed_vector(const void* buffer, const Count* counts, const Displacement* displacements,
                       const MPI_Datatype* types) {
  return side_of(buffer, counts, displacements, types);
}

}  // namespace quadrille::api
