// What a neighbour collective needs before anything is selected.
#pragma once

#include "api/serve.hpp"
#include "run/call.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {

// Collective if it is eligible: false if a call goes to the MPI whatever would be selected, and that was counted. Makes
// the communicator ready, unless the call is not worth it.
bool admit_neighbors(const run::Call& call, team::Team& team, Door door, CountedAhead& ahead);

// As global_bytes().
std::size_t neighbor_bytes(const run::Call& call, const team::Neighbors& neighbors);

// Collective: makes the communicator ready for messages. Communicators that other collectives leave to the MPI,
// of one rank or with ranks of several worlds, are made ready, too. Returns an MPI error code.
int prepare_neighbors(team::Team& team);

// None if Quadrille may serve neighbour collectives on it, else why not.
Reason why_no_neighbors(team::Team& team);

// False for a mistake in the arguments that the MPI reports.
bool is_sound(const run::Call& call, const team::Neighbors& neighbors);

// Collective, where the user asserts the sizes of the blocks of a v or w call and wants that checked: MPI_ERR_ARG on
// all ranks if block i has not one size everywhere. MPI_SUCCESS otherwise.
int check_sizes(const run::Call& call, team::Team& team);

}  // namespace quadrille::api
