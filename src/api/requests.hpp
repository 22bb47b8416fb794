// Requests: calls that are started and completed apart, nonblocking and persistent ones. A request keeps its bound run and
// its memory. Its messages have a tag of their own; inside a node a persistent one has rings of its own, and a
// nonblocking one takes its turn on a lane (team/own_rings.hpp). So ranks may start persistent requests in different
// orders, and a request's starts do not meet those of another.
#pragma once

#include <atomic>
#include <deque>
#include <variant>

#include "quadrille.h"
#include "run/bound_run.hpp"
#include "run/call.hpp"
#include "run/inbox_run.hpp"
#include "run/kept_types.hpp"
#include "run/leaders.hpp"
#include "run/native_run.hpp"
#include "run/node_copies_run.hpp"
#include "run/node_dense_run.hpp"
#include "run/node_neighbors.hpp"
#include "run/padded_run.hpp"
#include "run/under_way.hpp"
#include "team/leaders.hpp"
#include "team/own_rings.hpp"
#include "team/team.hpp"

struct Quadrille_Request_state final : quadrille::run::Pending {
  // What carries the call out. Nothing: no data move.
  using Run = std::variant<std::monostate, quadrille::run::NativeRun, quadrille::run::BoundRun,
                           quadrille::run::PaddedRun, quadrille::run::NodeNeighborRun, quadrille::run::NodeDenseRun,
                           quadrille::run::InboxRun, quadrille::run::NodeCopiesRun,
                           quadrille::run::LeadersRequest>;

  quadrille::team::KeptTeam team;  // first: all else is gone before it
  quadrille::run::KeptTypes types;
  quadrille::run::SureRoom sure;
  quadrille::memory::Pool send, recv;
  quadrille::run::CarriedMemory carried;
  quadrille::run::OwnRings rings;
  quadrille::team::OwnInbox inbox;
  quadrille::team::OwnPairs pairs;
  quadrille::team::OwnLeaders leaders;
  quadrille::team::Lane* lane = nullptr;  // of a nonblocking call, until it is complete
  std::deque<const quadrille::run::Pending*>* queue = nullptr;  // in which it takes its turn there, or on a lane of leaders
  Run run;
  bool persistent = false;
  bool crowded = false;  // ranks share processors: who looks in vain must let others run
  bool begun = false;    // since the last start
  bool needs_mpi = true;  // to go on with what has begun
  // Peers need no more of this rank than its start, and no thread goes on with it: so it is in no list, and goes on when
  // it is asked for.
  bool alone = false;
  // All of the last start is done; it may be so long before somebody asks. Set last: then it may be freed.
  std::atomic<bool> complete = true;
  bool active = false;   // from a start until the user was told that it is complete
  int error = MPI_SUCCESS;

  // Where run::UnderWay is held, unless it is alone.
  void start();
  bool go_on(quadrille::run::With with) override;
  bool can_go_on(quadrille::run::With with) const override {
    return with == quadrille::run::With::mpi || (begun && !needs_mpi);
  }
  // When it is known what carries it out.
  void look_what_it_needs();

  // Nonblocking calls come and go by the thousand: what one leaves the next takes.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory);

  quadrille::run::RunMemory memory() { return {sure, send, recv, carried}; }

 private:
  int step();
  bool is_run_done() const;
};

namespace quadrille::api {

// Makes a request for a call, and starts it if it is not `persistent`. Collective. What is wrong is raised.
int make_request(const run::Call& call, bool persistent, Quadrille_Request* request);

// Starts a request that is not active.
int start(Quadrille_Request_state& request);

}  // namespace quadrille::api
