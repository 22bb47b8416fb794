// So much of an MPI as the engines of a node need, for tests in which ranks are threads: datatypes, packing them, and
// messages, also of pieces of bytes, which are complete when both sides have begun. Nobody may wait for one in the MPI:
// others have to go on.
#pragma once

#include <cstddef>

#include "mpi/mpi.hpp"

namespace quadrille::test {

// Makes mpi() this one. Once, before any thread asks for a type.
void use_fake_mpi();

// The communicator of all ranks as this one knows it.
MpiComm fake_comm(int rank);

// How many messages a rank has begun, to send or to receive, in all tests.
std::size_t messages_begun(int rank);

// A committed type whose elements are the bytes 0, 1, 4 and 5 of 8.
MpiType gapped_type();
inline constexpr int gapped_data[] = {0, 1, 4, 5};
inline constexpr int gapped_extent = 8;

}  // namespace quadrille::test
