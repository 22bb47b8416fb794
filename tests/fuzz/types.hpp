// Random datatypes, and where their data lies, apart from any MPI.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "draw.hpp"

namespace quadrille::fuzz {

using test::Run;

// A datatype. Its signature is `units` times that of its base.
struct Type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::string name;
  bool owned = false;  // to be freed
  std::size_t units = 1;
  std::size_t size = 0;  // bytes of data
  std::ptrdiff_t lower = 0, extent = 0;
  std::ptrdiff_t first = 0, last = 0;  // bytes with data lie in [first, last)
  std::vector<Run> runs;               // in the order in which the data travels
  bool dense() const { return runs.size() == 1 && runs[0].at == 0 && static_cast<std::ptrdiff_t>(size) == extent; }
};

// The basic types that messages are made of.
const std::vector<Type>& bases();

// A type of `units` elements of the base. A slim one takes little more memory than its data.
Type draw_type(Draw& draw, const Type& base, std::size_t units, bool slim);
// Such a type whose elements lie `stride` bases apart, so that up to `stride` of them interleave.
Type column_type(const Type& base, std::size_t units, std::size_t stride);
// Does the MPI itself pack and unpack such elements as the definition of the type says?
bool is_right(const Type& type, std::size_t count);
// A type without data.
Type empty_type(Draw& draw);
// The same type, whose data lie `by` bytes further on.
Type moved(const Type& type, MPI_Aint by);
void free_type(Type& type);

}  // namespace quadrille::fuzz
