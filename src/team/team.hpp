// A team is what Quadrille knows of a communicator: who is where, private traffic, inboxes, cached
// plans and choices. It is an attribute of the communicator and is freed with it,
// or with the last that still needs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "choose/asking.hpp"
#include "choose/registry.hpp"
#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "choose/tuning.hpp"
#include "memory/control_pool.hpp"
#include "memory/failed_calls.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "plan/problem.hpp"
#include "run/group.hpp"
#include "run/op.hpp"
#include "run/under_way.hpp"
#include "team/selections.hpp"
#include "team/tally.hpp"

namespace quadrille::team {

struct QuietComm;  // team/processes.hpp
struct Neighbors;  // team/neighbors.hpp
struct Lanes;      // these two: team/own_rings.hpp
struct OwnChunks;
struct CachedLeaders;  // these two: team/leaders.hpp
struct LeadersMemory;

// A broadcast in flight.
class Arrival : public run::Pending {
 public:
  // It has arrived, as the MPI says elsewhere. Where the lock of run::UnderWay is held.
  virtual void arrive() = 0;
};

struct CachedPlan {
  const choose::Algorithm* algorithm;
  plan::Parameters parameters;
  plan::Schedule schedule;
};

// A trial and what came of it; of calls of one collective with blocks of about one size.
struct Try {
  choose::Case of;
  choose::Trial trial;
  int waited = 0;        // calls, for the race of the kernels; more than `most_waiting`: no longer
  int decisions = 0;     // so often was it decided
  std::size_t best = 0;  // by the last decision
  Why why;
};

struct Config;

// What the first calls may try of which nothing is known (choose/trial.hpp).
enum class MayTry : std::uint8_t { nothing, between_nodes, everything };

// The switch points.
enum class Points : std::uint8_t {
  known,
  guessed,  // no table has them: they are to be measured (api/calibrate.hpp)
  given,    // by the user: up to the limit of the inboxes nothing is tried
};

// What all ranks go by when they choose: the same on all. Written by team/ alone.
struct Agreed {
  choose::Forced forced;                        // by the API or the environment
  choose::Model model;                          // all zero: none
  choose::DeviceModel device_model;             // likewise
  std::vector<choose::NeighborEntry> measured;  // of neighbour collectives between nodes
  choose::MeasuredChoices by_size;              // what was measured to be best at which block size
  int away_steps = plan::standard_away_steps;   // of plans
  MayTry may_try = MayTry::nothing;             // not while calls are rehearsed
  DeviceUse mpi_device = DeviceUse::none;       // what every rank's MPI takes pointers to a device's memory in
  bool follows_devices = false;  // some ranks may have such memory, and there is a choice (api/admission.hpp)
  Points points = Points::known;
};

// What was chosen, and built for it. Written by team/ alone; what calls run on is kept with it.
struct Chosen {
  std::vector<std::unique_ptr<CachedPlan>> plans;
  std::vector<std::shared_ptr<CachedLeaders>> leaders;
  Selections selections[collective_count];
  std::unique_ptr<choose::Costs> costs[dense_collective_count];  // for the model, if there is one
};

// What is found out while calls are made. Written by api/ alone: admission.cpp, serve.cpp, trials.cpp.
struct Asked {
  choose::Asking asking[collective_count];
  // By class of size, or of load where no rank knows all sizes; and that of what moves in all (CachedSelection::load).
  std::map<std::tuple<Collective, int, int>, Try> trials;
  choose::Asking load[collective_count], load_on_devices[collective_count];
  choose::Asking devices[collective_count];  // are some buffers in a device's memory? Of calls that wait
  // How many more calls go to the MPI before the ranks ask each other again: a number of `asking` or `load`. Null: each
  // call finds that out. The same on all ranks; forgotten with the selections.
  int* kept[collective_count] = {};
  // Likewise of calls that the exchange by pairs serves. At most one of the two is there.
  int* kept_by_pairs[collective_count] = {};

  // How the ranks ask about the load of such calls. Those with a device's memory have trials of their own.
  choose::Asking& load_of(Collective collective, const CachedSelection& cached) {
    return (cached.load == on_devices ? load_on_devices : load)[static_cast<std::size_t>(collective)];
  }
};

// What the user may want to know. Counted by api/, told by team/.
struct Counted {
  bool explains = false;       // the user wants to know
  std::set<Reason> explained;  // none: that it is not eligible
  // How the last call by an algorithm for data of devices was carried out: as its name says, or over the host as a
  // whole.
  Reason device_way = Reason::none;
  Counters counters;
  Tally tally;  // where the user wants to know
};

// What Quadrille may serve on a communicator.
enum class Standing : std::uint8_t {
  ineligible,  // Team::why_not says why
  eligible,    // an intracommunicator of more than one rank, all of this MPI_COMM_WORLD
  ready,       // setup() has been done, too
};

struct Team {
  MpiComm user{};                              // null when it is gone and the team is kept
  std::shared_ptr<Team> self;                  // held by the communicator; null when the communicator is gone
  std::atomic<Reason> why_not = Reason::none;  // why it is not eligible
  int calls = 0;                               // calls that the MPI took before it was ready
  bool no_messages = false;                    // the MPI has no communicator for them; the same on all ranks
  bool eligible() const { return standing_.load(std::memory_order_relaxed) != Standing::ineligible; }
  bool ready() const { return standing_.load(std::memory_order_relaxed) == Standing::ready; }

  run::Group group;  // valid when ready
  plan::NodeMap nodes;
  memory::ControlArea area;          // memory of the inboxes
  memory::FailedCalls failed_calls;  // behind them: team/failed_copies.hpp
  std::shared_ptr<QuietComm> quiet;
  bool crowded = false;                  // some node has more ranks than processors; the same on all ranks
  memory::MeetingTree meeting_tree;      // for copies between the ranks of a node
  std::vector<int> domains;              // label of each rank (team/numa.hpp); empty until first needed
  Reason inbox_obstacle = Reason::none;  // why there are no inboxes, for QUADRILLE_EXPLAIN
  std::shared_ptr<Neighbors> neighbors;  // null until first asked for, or without a topology
  std::shared_ptr<Lanes> lanes;          // null until the first nonblocking call
  std::shared_ptr<OwnChunks> chunks;     // null until the first call that needs them
  bool refuses_chunks = false;           // no call is made so any more; the same on all ranks
  std::vector<std::shared_ptr<LeadersMemory>> leaders;  // for each size of groups
  std::atomic<int> enqueue_error = 0;  // the first of calls that streams of a device ordered: an MPI error code
  std::atomic<int> fault = 0;          // an MPI error code; this and the next: team/faults.cpp
  std::atomic<double> next_look = 0;   // by the MPI's clock
  std::vector<int> world_ranks;        // its ranks in MPI_COMM_WORLD; set by the first setup()
  std::atomic<bool> lost = false;      // this rank does not know what the others go by, ready or not: team/ask.hpp
  // What MPI's nonblocking calls need, which may not wait (api/taken.hpp).
  struct Taken {
    enum class Stage : std::uint8_t {
      none,         // no call has needed it
      wanted,       // some were forwarded for want of it
      unavailable,  // it cannot be made, or is being made
      ready,        // made where all ranks wait
      // By a broadcast of rank 0 (team/apart.hpp). All ranks start it at the same call, and forward no nonblocking call
      // after that.
      broadcasting,  // in flight; this is rank 0, which has it
      awaiting,      // in flight; this rank has not received it yet
      received,
    };
    std::atomic<Stage> stage = Stage::none;
    Stage now() const { return stage.load(std::memory_order_acquire); }
    bool ready() const {
      const Stage here = now();
      return here >= Stage::ready && here != Stage::awaiting;
    }
    bool by_broadcast() const { return now() >= Stage::broadcasting; }
    bool in_flight() const {
      const Stage here = now();
      return here == Stage::broadcasting || here == Stage::awaiting;
    }
    std::shared_ptr<Arrival> coming;  // makes progress on the broadcast; under the lock of run::UnderWay
    // Nonblocking calls are messages on the private communicator of MPI_COMM_WORLD, with tags from this one on. -1:
    // not.
    int first_tag = -1;
  } taken;
  run::Carrier request_by = run::Carrier::nothing;  // of the last created request

  Chosen chosen;
  Asked asked;
  Counted counted;
  const Agreed& agreed() const { return agreed_; }
  // These two: for team/ (scripts/rooms.py).
  Agreed& change_agreed() { return agreed_; }
  // Also where a broadcast arrives, on another thread: then Taken::stage says when the rest can be read.
  void change_standing(Standing standing) { standing_.store(standing, std::memory_order_relaxed); }

  // What Quadrille's own collectives are called on: MPI_COMM_WORLD stays as the program left it. Where a revocation of
  // `user` must end the wait, they are called on `user`.
  MpiComm own() const;

 private:
  Agreed agreed_;
  std::atomic<Standing> standing_ = Standing::ineligible;
};

// In what may this process give its MPI pointers to a device's memory? By the user's word, else by the MPI's.
DeviceUse mpi_device_use();

// The team of a communicator, made on first use. Not collective. Null for the null communicator and
// when the MPI cannot keep the attribute.
Team* team_of(MpiComm comm);
// That which is there; null if there is none.
Team* find_team(MpiComm comm);
// Is it still that of this communicator? Asks the MPI nothing.
bool is_there(const Team& team, MpiComm comm);
// The same, but a call on a communicator without a team is `early`, and there is still none, until count_early() has
// counted `calls` of them. Programs make communicators for one call, and a team costs as much as some calls. All ranks
// give the same number.
Team* team_after(MpiComm comm, int calls, bool& early);
// Counts a call on a communicator that is not ready: one that the MPI has taken, so that all ranks count the same.
void count_early(MpiComm comm);

// On a node with more ranks than processors: asks the MPI to let others run while it waits. Once a process.
void share_processors(const Config& settings, bool speaks);

// Collective over the communicator of an eligible team: makes it ready. Returns an MPI error code, the same on all
// ranks; the team is not eligible any more then. Where the MPI fails in it the team is lost, and this throws.
int setup(Team& team);

// Collective: makes the communicator for messages unless it is there. All ranks come here before the first
// call that may need one. A team that is not eligible, but no intercommunicator, can have one, too. Returns an
// MPI error code, the same on all ranks, and does not try again then.
int prepare_messages(Team& team);

// All ranks call these alike. What was selected before is forgotten by the first alone.
void force(Team& team, Collective collective, const choose::Choice& choice);
void use_measured(Team& team, std::vector<choose::NeighborEntry> measured);
// Returns what the first calls might try before.
MayTry let_try(Team& team, MayTry may_try);

// The domain of each rank as a label (team/numa.hpp), the same on all. Collective when it is first called.
const std::vector<int>& domains_of(Team& team);

// The schedule that is kept for a choice or for one whose plan is the same, or else what make() returns.
template <class Make>
const plan::Schedule& cached_plan(Team& team, const choose::Choice& choice, const Make& make) {
  for (const auto& cached : team.chosen.plans) {
    if (have_one_plan(*cached->algorithm, *choice.algorithm) && cached->parameters == choice.parameters) {
      return cached->schedule;
    }
  }
  team.chosen.plans.push_back(std::make_unique<CachedPlan>(CachedPlan{choice.algorithm, choice.parameters, make()}));
  return team.chosen.plans.back()->schedule;
}

// The schedule of an algorithm on this team, built on first use. All ranks call it for the same choice.
const plan::Schedule& plan_of(Team& team, const choose::Choice& choice);

// Keeps a team while something needs it, even if its communicator is freed before. What goes last frees the team, as
// MPI_Comm_free would have: on all ranks.
using KeptTeam = std::shared_ptr<Team>;
inline KeptTeam keep(Team& team) { return team.self; }

// Collective over `comm`: true on all ranks if all ranks gave the same value. Never raises an error. Each of
// `all_want`, three at most, on all ranks or none, becomes whether it is true on all of them.
bool all_agree(MpiComm comm, std::uint64_t value, std::initializer_list<bool*> all_want = {});

// The same: is it true on all ranks? False if the MPI cannot tell.
bool all_true(MpiComm comm, bool mine);

// What is done at the start of MPI_Finalize, in this order. Each has a place of its own, so that none is left out.
enum class AtEnd : std::uint8_t { record, progress_thread, requests, turns, staging };
inline constexpr std::size_t ends_count = static_cast<std::size_t>(AtEnd::staging) + 1;
// Is done once.
void before_end(AtEnd whose, void (*work)());

// Whether this is to be printed now: where the user wants to know, once a communicator.
inline bool explains_now(Team& team, Reason way) {
  return team.counted.explains && team.counted.explained.insert(way).second;
}

// Prints a line, once a process; or only the first of those with the same `key`.
void say_once(const std::string& line, const std::string& key);
inline void say_once(const std::string& line) { say_once(line, line); }
// Prints, on rank 0 only, what serves a call and why.
void explain(Team& team, Collective collective, std::size_t bytes, const std::string& algorithm, const Why& why);

// Calls that no team counted (no communicator state).
void count_passed();

// Called by the drop-in door right before MPI_Init: ends a program whose calls cannot even be forwarded.
void before_init();
// Why no call is served in this process; none if calls are. With fault tolerance: team/faults.hpp.
Reason why_nothing_is_served();
// Whether QUADRILLE_EXPLAIN is set on all ranks of the program; agreed on in MPI_Init.
bool every_rank_explains();

// Called by the drop-in door right after MPI_Init: agrees on the environment over all ranks, so that
// ranks with different settings do not choose differently. True the first time, if the MPI can be served.
bool after_init();

}  // namespace quadrille::team
