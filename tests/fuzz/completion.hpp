// The functions of MPI that complete requests.
#pragma once

#include <mpi.h>

#include <span>

#include "draw.hpp"

namespace quadrille::fuzz {

struct Completed {
  int error = MPI_SUCCESS;
  const char* by = "";  // the function that said so
};

// Completes all that are active, in one or several calls of a function that is drawn. What is null or not active may be
// among them. Where the MPI is known to get MPI_Testall wrong it waits for all instead.
Completed complete(Draw& draw, std::span<MPI_Request> requests, bool without_testall);

}  // namespace quadrille::fuzz
