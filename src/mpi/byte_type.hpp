// The layout of a datatype, with bytes in it.
//
// A block that other ranks pass on lies there as plain bytes: only its size is known to them. But both sides of a
// message must have one type signature. And MPICH cuts large messages anywhere and then refuses to unpack a part of an
// element of several basic types. So messages of such blocks are bytes at both ends, and where the user's data have
// gaps a type says so that is made as the user's, with as many bytes in place of each basic type.
#pragma once

#include <unordered_map>

#include "mpi/mpi.hpp"

namespace quadrille {

// A committed type, to be freed by the caller. `type` may then be freed, too. False for distributed arrays
// (MPI_Type_create_darray), types made with large counts, and those whose construction the MPI does not reveal.
bool make_byte_type(MpiType type, MpiType& made);

// Byte types that are made once each, and freed together. The types they are of must stay meanwhile.
class ByteTypes {
 public:
  ByteTypes& operator=(ByteTypes&&) = delete;
  ~ByteTypes();
  // False if there is none.
  bool find(MpiType type, MpiType& found);

 private:
  std::unordered_map<MpiType, MpiType> made_;
};

}  // namespace quadrille
