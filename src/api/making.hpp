// How requests are made, and what engines do for them.
#pragma once

#include "api/admission.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// A request that is being made.
struct Making {
  run::Call call;
  const Entry entry;
  team::Team& team;
  Quadrille_Request_state& made;
  int tag = 0;                  // 0: none
  bool may_come_again = false;  // so would all that are like it
  bool passes_on = false;       // all ranks call the MPI's own function: under its own name alone

  const choose::Choice* choice = nullptr;  // if something was selected
  bool has_mistake = false;                // that the MPI is to find
  CountedAhead ahead{};                    // if the MPI's nonblocking function carries it out

  // Right before what carries the call out is made: brings it to the host if it has to do with a device's memory.
  void bring_to_host();
  // The same of messages that go straight between the buffers of ranks by what was selected: where they can, they do.
  void bring_to_host_or_stay();
  // The messages of two requests must not meet. All ranks count all requests.
  void take_tag();
  // What the MPI's own function carries out on all ranks has no messages of ours, and may be refused on some.
  void give_tag_back();
  // Is a tag left that no other request has? A persistent one may be open as long as the communicator, and only its own
  // rank knows when it is freed. The same on all ranks.
  bool has_tag() const;
  bool is_ours() const { return entry.is_ours(call); }
  bool never_waits() const { return entry.never_waits(); }
  bool must_serve() const { return entry.must_serve(team); }
  // Whether its messages use the private communicator of MPI_COMM_WORLD, as its own communicator has none.
  bool goes_apart() const { return must_serve() && team.taken.first_tag >= 0; }
  run::Traffic traffic() const;
  // `why()` says why; it is not asked where nobody wants to know.
  template <class Ask>
  void explain(const char* algorithm, Ask why) const {
    if (team.counted.explains) explain_request(team, call, entry.form, algorithm, why());
  }
};

// Makes `call` refer to copies of its datatypes and arrays, which the program may free once the call is made. Returns
// an MPI error code.
int keep_arguments(run::Call& call, team::Team& team, Quadrille_Request_state& made);
// Finds what carries it out, or that the MPI does. Returns an MPI error code, also of what is thrown.
int find_carrier(Making& m);

// ---- By an engine; see EngineWork ----

int make_schedule(Making& m, team::CachedSelection& selected);
// What inboxes, the exchange by pairs and the orders of copies do in blocking calls: rings, which a rank can leave at
// any point, or, for small blocks, an inbox of its own.
int make_in_node(Making& m, team::CachedSelection& selected);
// An order of copies, where it is forced. Every rank waits for all, so where it was only chosen rings stand in.
int make_copies(Making& m, team::CachedSelection& selected);
// From the memory of a device, where all ranks can; else what make_in_node() does (api/pull.hpp).
int make_pull(Making& m, team::CachedSelection& selected);
// Inside a node what make_in_node() does; between nodes by the inner algorithm, over the host as a whole.
int make_pipeline(Making& m, team::CachedSelection& selected);
// Through leaders; without memory for them, or with fault tolerance, what make_in_node() does.
int make_leaders(Making& m, team::CachedSelection& selected);
int make_rings(Making& m, team::CachedSelection& selected);
int make_rings_instead(Making& m, team::CachedSelection& selected);
// The MPI's nonblocking function; a persistent call goes by shared memory or messages instead, as the ranks may start
// several in different orders.
int make_of_the_mpi(Making& m, team::CachedSelection& selected);

// By the function of the MPI, for that reason.
int make_native(Making& m, const Why& why);

}  // namespace quadrille::api
