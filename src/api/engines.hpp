// What carries a call out: a table with a row an engine, for blocking calls (serve.cpp) and for requests (making.cpp).
// What there is to know of an engine without running it stands in choose/engines.hpp. The table itself is in serve.cpp;
// the engines for data in devices' memory are in device_engines.cpp.
#pragma once

#include <memory>

#include "api/requests.hpp"
#include "api/serve.hpp"
#include "choose/engines.hpp"
#include "choose/registry.hpp"
#include "memory/device.hpp"
#include "run/call.hpp"
#include "run/device_pull.hpp"
#include "run/group.hpp"
#include "run/op.hpp"
#include "team/areas.hpp"
#include "team/neighbors.hpp"
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

// ---- The table ----

// What serves a call.
struct Service {
  const choose::Choice& choice;
  const team::Prepared& on;
};

struct EngineWork {
  choose::Engine engine;
  // May a rank need messages among the ranks of the communicator? All ranks say the same.
  bool (*may_send)(Collective, const run::Group&);
  // Carries a blocking call out, and returns an MPI error code. Null: no calls of collectives that the MPI has too come
  // here; they are the MPI's own, or there is a door for the engine alone (exchange.cpp).
  int (*run)(const run::Call&, const Service&, team::Team&);
  // Makes the run that carries a request out, and returns an MPI error code. A blocking call may wait for all ranks in
  // its middle; a request may not, since its rank does something else meanwhile. So another engine may stand in, and
  // says so. The selection is that of the call. Null: there are no requests.
  int (*make)(Making&, team::CachedSelection&);
  // Whether a rank can leave a call in the middle. Orders of copies among neighbours, in which others write to its
  // memory, and engines for devices do not allow that. Pairs stand in for other orders. Calls that the MPI carries out
  // end by themselves.
  bool can_be_left = true;
  // Before the first blocking call by a choice: collective, and returns the same on all ranks. False: the call goes to
  // the MPI. Null: nothing is to be made ready.
  bool (*prepare)(team::Team&, Collective, const choose::Choice&) = nullptr;
};

const EngineWork& work_of(const choose::Choice& choice);
// Whether a rank can leave a call of this engine where fault tolerance asks for that (team/team.hpp). Always true
// without fault tolerance.
bool can_be_left(const EngineWork& engine);

// Calls `use` with the plan of a choice: the arguments of run::BoundRun between the call and the traffic.
template <class Use>
auto with_plan(Collective collective, const Service& by, const team::Team& team, const Use& use) {
  const team::Prepared& on = by.on;
  if (on.direct != nullptr) return use(on.schedule, *on.direct);
  if (is_neighbor(collective)) return use(*on.schedule, team::slots_of(team, by.choice), on.moving);
  return use(*on.schedule, on.moving);
}

// ---- How requests are made (making.cpp) ----

// Makes `call` refer to copies of its datatypes and arrays, which the program may free once the call is made. Returns
// an MPI error code.
int keep_arguments(run::Call& call, team::Team& team, Quadrille_Request_state& made);
// Finds what carries it out, or that the MPI does. Returns an MPI error code, also of what is thrown.
int find_carrier(Making& m);

// By an engine: see EngineWork::make.
int make_schedule(Making& m, team::CachedSelection& selected);
// What inboxes, the exchange by pairs and the orders of copies do in blocking calls: rings, which a rank can leave at
// any point, or, for small blocks, an inbox of its own.
int make_in_node(Making& m, team::CachedSelection& selected);
// An order of copies, where it is forced. Every rank waits for all, so where it was only chosen rings stand in.
int make_copies(Making& m, team::CachedSelection& selected);
// From the memory of a device, where all ranks can; else what make_in_node() does (PullRequest).
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

// ---- Engines for data in devices' memory (device_engines.cpp) ----

// Carries out a dense call by copies between the ranks' own buffers. All ranks are on one node and share memory. If
// some rank cannot copy so, all ranks exchange the data in the memory of the host. Returns an MPI error code.
int pull(const run::Call& call, const Service& by, team::Team& team);

// Carries out a dense call over memory of the host, in chunks: inside a node through the memory that all ranks share,
// between nodes in rounds, which the inner algorithm of the choice exchanges. If some rank cannot do that, all ranks
// exchange the data in the memory of the host as a whole. Returns an MPI error code.
int pipeline(const run::Call& call, const Service& by, team::Team& team);
// Prepares the inner algorithm: see EngineWork::prepare.
bool prepare_pipeline(team::Team& team, Collective collective, const choose::Choice& choice);

// What `pull` does in a request: copies between the ranks' own buffers in devices' memory of one node
// (run/device_pull.hpp).
//
// A persistent one has what it needs of its own, so that ranks may start several in different orders, and is made only
// if all ranks can take part. A nonblocking one takes its turn on a lane, and finds out in its start. If it cannot be
// done so, or a copy fails, all ranks go through rings over the host instead; a persistent one from then on. If some
// rank has no memory for that, the start returns MPI_ERR_NO_MEM on all of them, before data move.
class PullRequest {
 public:
  // The request, the team, the arrays of the call, and the lane, which has what it needs to pull, must outlive it. It
  // goes through the lane's rings instead.
  PullRequest(const run::Call& call, Quadrille_Request_state& request, team::Team& team, team::Lane& lane,
              const choose::Choice& choice);
  PullRequest& operator=(PullRequest&&) = delete;

  // Of a persistent one, right after it is made. Collective, and waits. False, on all ranks: it must not be started.
  bool prepare();

  // Neither waits, as long as it pulls. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return phase_ == Phase::over; }

  // ---- In the order of a stream (enqueue.cpp); of a persistent one ----

  // Nothing: its starts can be in a stream of that place.
  Reason why_not_in_stream(const memory::DevicePlace& place) const;
  // Where it has data; no place if it has none.
  memory::DevicePlace place() const { return pull_.has_place() ? pull_.place() : memory::DevicePlace(); }
  // Put into the stream what comes before the write of `ready`, and what comes behind it. False if the driver refuses.
  bool pack_in(void* stream) { return pull_.pack_in(stream); }
  bool copy_in(void* stream);

 private:
  enum class Phase : std::uint8_t { over, pulling, agreeing, agreed, fetching, by_rings };
  bool goes_on();
  int go_through_rings(bool begins);
  void prepare_instead();
  int agree();

  const run::Call call_;
  Quadrille_Request_state& request_;
  team::Team& team_;
  team::Lane& lane_;
  const memory::CopyPlan copying_;
  run::DevicePull pull_;
  const choose::Choice choice_;
  std::unique_ptr<OnHost> staged_;  // the data of `instead_`, until all ranks have memory
  std::unique_ptr<run::Op> instead_;
  Phase phase_ = Phase::over;
};

using PullOp = run::OpOf<run::Carrier::pull, PullRequest>;

}  // namespace quadrille::api
