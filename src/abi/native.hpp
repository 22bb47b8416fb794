// Handles of this ABI's MPI as words of our own.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "mpi/mpi.hpp"

namespace quadrille::abi {

template <class Word, class Native>
Word word_of(Native native) {
  if constexpr (std::is_pointer_v<Native>) {
    return {reinterpret_cast<std::uintptr_t>(native)};
  } else {
    return {static_cast<std::uint32_t>(native)};
  }
}

inline MpiComm comm(MPI_Comm native) { return word_of<MpiComm>(native); }
inline MpiType type(MPI_Datatype native) { return word_of<MpiType>(native); }

}  // namespace quadrille::abi
