// What a launcher of MPI programs told this process, for when MPI cannot be asked: before MPI_Init, or without any MPI.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

namespace quadrille::sys {

// The rank in MPI_COMM_WORLD; empty if no launcher says it.
inline std::string launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr && *rank != '\0') return rank;
  }
  return {};
}

// How many ranks of this program are on this machine; 0 if no launcher says it.
inline int launched_here() {
  int ranks = 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* text = std::getenv(name)) ranks = std::max(ranks, std::atoi(text));
  }
  return ranks;
}

// Is this process rank 0, as far as can be told?
inline bool launched_as_first() {
  const std::string rank = launched_rank();
  return rank.empty() || rank == "0";
}

}  // namespace quadrille::sys
