// The ranks that measure, and what they agree upon before they do.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/mpi.hpp"
#include "tool/bench/distribution.hpp"
#include "tool/machine/quiet.hpp"

namespace quadrille::tools {

// Loads an MPI's library, as the tool is linked to none. `name` is a file, or empty for QUADRILLE_LIBMPI in the
// environment, else the usual names. Returns an empty string, or one line that says why no MPI can be used.
std::string load_mpi(const std::string& name);

struct World {
  MpiComm comm{};
  int rank = 0, ranks = 1;
  int ranks_here = 1;  // on this machine, whatever node map Quadrille believes in
  int processors = 1;  // of this machine, that any of its ranks may use
};

// All are collective.
World make_world(MpiComm comm);

// All ranks look at the same time; the worst of what they see.
Quietness check_quiet(const World& world);

std::uint64_t sum_over_ranks(std::uint64_t value, const World& world);

// Only rank 0 reads the file, so that it need not be on every machine; the others get the numbers,
// or learn that there is a problem, not which.
std::string share_matrix(Traffic& traffic, const World& world);

// A communicator of all ranks, for one implementation.
MpiComm make_comm(const World& world);

}  // namespace quadrille::tools
