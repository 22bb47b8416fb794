// So much of an MPI as the engines of a node need, for tests in which ranks are threads: datatypes, and packing them.
// There are no messages: an engine that sends one fails.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille::test {

// Makes mpi() this one. Once, before any thread asks for a type.
void use_fake_mpi();

// A committed type whose elements are the bytes 0, 1, 4 and 5 of 8.
MPI_Datatype gapped_type();
inline constexpr int gapped_data[] = {0, 1, 4, 5};
inline constexpr int gapped_extent = 8;

}  // namespace quadrille::test
