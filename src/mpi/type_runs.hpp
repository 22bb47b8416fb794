// Where the bytes of a datatype are.
//
// MPI_Pack and MPI_Unpack of a few bytes cost more than a whole exchange through inboxes. So the layout
// of a datatype with gaps is read once, and its bytes are then copied by us.
#pragma once

#include "mpi/types.hpp"

namespace quadrille {

// Reads the layout of one element of `type`, a committed type of `size` bytes of data that lie within
// [true_lower, true_lower + true_extent). False if it is too large or the MPI does not pack it byte by
// byte; then `runs` is empty.
bool find_runs(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
               std::vector<TypeRun>& runs);

// The same for elements of any size that the MPI can unpack (2 GiB), in order of addresses: for who has to know what is
// not theirs. It takes as much memory as the element and as much time as unpacking it, and is not kept.
bool find_bytes(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
                std::vector<TypeRun>& runs);

// Copies `count` elements of a type with info.runs to and from consecutive bytes.
void pack_runs(const void* from, std::size_t count, const TypeInfo& info, std::byte* bytes);
void unpack_runs(const std::byte* bytes, void* to, std::size_t count, const TypeInfo& info);

}  // namespace quadrille
