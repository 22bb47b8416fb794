// The way of a neighbour collective from a door through the rooms.
#pragma once

#include "api/serve.hpp"
#include "run/call.hpp"
#include "run/engines.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {

// Serves a call, or returns false, as serve().
bool serve_neighbors(const run::Call& call, Door door, int& error);

// ---- For requests ----

// Collective: makes the communicator ready for messages. Communicators that other collectives leave to the MPI,
// of one rank or with ranks of several worlds, are made ready, too. Returns an MPI error code.
int prepare_neighbors(team::Team& team);

// Empty if Quadrille may serve neighbour collectives on it, else why not.
std::string why_no_neighbors(team::Team& team);

// False for a mistake in the arguments that the MPI reports.
bool is_sound(const run::Call& call, const team::Neighbors& neighbors);

// Collective, where the user asserts the sizes of the blocks of a v or w call and wants that checked: MPI_ERR_ARG on
// all ranks if block i has not one size everywhere, or if the call of some rank is not `sound`. MPI_SUCCESS otherwise.
int check_sizes(const run::Call& call, team::Team& team, bool sound);

// What serves a call, and, of messages, by which schedule and between which blocks.
struct NeighborService {
  enum class By : std::uint8_t { mpi, messages, rings, copies };
  By by;
  const plan::Schedule* schedule = nullptr;
  run::NeighborSlots slots{};
  run::Moving moving{};
  plan::BuildEdges build_edges = nullptr;  // of copies
};
NeighborService service_for(const run::Call& call, team::Team& team, bool drop_in);
// The same for a request, in which no rank can wait for all others in the middle. A `persistent` one is not for the MPI.
NeighborService service_of_request(const run::Call& call, team::Team& team, bool persistent);
// By one message an edge: serves any request. `why` not otherwise.
NeighborService direct_service(const run::Call& call, team::Team& team, bool persistent, const std::string& why);

}  // namespace quadrille::api
