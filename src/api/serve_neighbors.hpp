// The way of a neighbour collective from a door through the rooms.
#pragma once

#include "api/serve.hpp"
#include "run/call.hpp"
#include "run/neighbors.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {

// Serves a call, or returns false, as serve().
bool serve_neighbors(const run::Call& call, Door door, int& error);

// ---- For the persistent forms ----

// Collective: makes the communicator ready for messages. Communicators that other collectives leave to the MPI,
// of one rank or with ranks of several worlds, are made ready, too. Returns an MPI error code.
int prepare_neighbors(team::Team& team);

// Empty if Quadrille may serve neighbour collectives on it, else why not.
std::string why_no_neighbors(team::Team& team);

// False for a mistake in the arguments that the MPI reports.
bool is_sound(const run::Call& call, const team::Neighbors& neighbors);

// The schedule that serves a call, and the blocks for it.
struct NeighborService {
  const plan::Schedule* schedule;  // null if the MPI serves it, or shared memory
  run::NeighborSlots slots;
  bool as_bytes;
  bool in_node = false;  // run/node_neighbors.hpp serves it
};
NeighborService service_for(const run::Call& call, team::Team& team, bool drop_in);
// The same where the MPI cannot be asked.
NeighborService own_service_for(const run::Call& call, team::Team& team);

}  // namespace quadrille::api
