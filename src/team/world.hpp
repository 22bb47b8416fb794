// What this process knows of all processes of MPI_COMM_WORLD.
#pragma once

#include <memory>
#include <vector>

#include "team/processes.hpp"

namespace quadrille::team {

// For how many communicators a meeting makes control memory, if it is known to have only one to serve.
inline constexpr std::size_t areas_of_one = 2;

// Collective over MPI_COMM_WORLD, in MPI_Init, whose ranks have the same settings: the ranks meet. From then on no
// communicator has to ask whether it happened. False on all ranks if the MPI has no communicator for that.
bool meet_world(const memory::Ways& ways);

// Collective over `comm`: its ranks, whose numbers in MPI_COMM_WORLD are `world_ranks`, meet. If these are
// all that there are, what they learned is kept for other communicators.
Processes meet_here(MpiComm comm, const memory::Ways& ways, const std::vector<int>& world_ranks);

// What is known; null if the world has not met.
std::shared_ptr<const Processes> world();
// The world met in meet_world(): all ranks know it, and agree on their settings.
bool world_has_met();
void forget_world();

// Are these ranks of MPI_COMM_WORLD on one node? False if nothing is known.
bool shares_a_node(const std::vector<int>& world_ranks);

// The numbers of the ranks of `comm` in MPI_COMM_WORLD; MPI_UNDEFINED for ranks of another world.
std::vector<int> ranks_in_world(MpiComm comm);

}  // namespace quadrille::team
