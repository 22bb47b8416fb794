// The collectives in all of their forms, as the MPI has them.
#pragma once

#include <mpi.h>

#include "plan.hpp"

namespace quadrille::fuzz {

// Arguments of any of them. int and int, or MPI_Count and MPI_Aint; int and MPI_Aint in MPI_Neighbor_alltoallw.
template <class Count, class Place>
struct Arguments {
  struct Side {
    void* buffer = nullptr;
    Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::vector<Count> counts;
    std::vector<Place> places;
    std::vector<MPI_Datatype> types;
    bool operator==(const Side&) const = default;
  };
  Side send, receive;
  bool operator==(const Arguments&) const = default;
};
using Small = Arguments<int, int>;
using Mixed = Arguments<int, MPI_Aint>;
using Large = Arguments<MPI_Count, MPI_Aint>;

// Null where the MPI has none.
void* function_of(Collective collective, Form form);

// Calls it. A persistent one is only made.
int call(Collective collective, Form form, const Small& a, MPI_Comm comm, MPI_Request* request);
int call(Collective collective, Form form, const Mixed& a, MPI_Comm comm, MPI_Request* request);
int call(Collective collective, Form form, const Large& a, MPI_Comm comm, MPI_Request* request);

}  // namespace quadrille::fuzz
