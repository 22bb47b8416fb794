// What served the last call on a communicator, for programs into which Quadrille is linked.
#pragma once

#include <mpi.h>

#include <string>

#include "abi/native.hpp"
#include "team/team.hpp"

namespace quadrille::test {

inline std::string served_by(MPI_Comm comm, Collective c) {
  const auto& choice =
      team::team_of(abi::comm(comm))->chosen.selections[static_cast<std::size_t>(c)].last()->selection.choice;
  return choice.algorithm != nullptr ? std::string(choice.algorithm->name) : "nothing";
}

}  // namespace quadrille::test
