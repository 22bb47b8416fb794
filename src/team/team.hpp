// A team is what Quadrille knows of a communicator: who is where, private traffic, inboxes, cached plans, and what was
// selected for its calls. It is an attribute of the communicator and is freed with it, or with the last that still
// needs it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "choose/asking.hpp"
#include "choose/registry.hpp"
#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "choose/tuning.hpp"
#include "memory/control_pool.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "plan/problem.hpp"
#include "run/bound_run.hpp"
#include "run/group.hpp"
#include "run/op.hpp"
#include "run/under_way.hpp"
#include "text/reason.hpp"

namespace quadrille::team {

struct QuietComm;  // team/processes.hpp
struct Neighbors;  // team/neighbors.hpp
struct Lanes;      // these four: team/areas.hpp
struct OwnChunks;
struct CachedLeaders;
struct LeadersMemory;
struct Config;  // team/config.hpp
struct Team;
struct Try;

// ---- What the MPI is asked of a communicator, and what is kept with one as an attribute ----

inline int rank_in(MpiComm comm) {
  int rank = 0;
  mpi().Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MpiComm comm) {
  int ranks = 1;
  mpi().Comm_size(comm, &ranks);
  return ranks;
}

// MPI_UNDEFINED also where the MPI cannot tell.
inline int topology_of(MpiComm comm) {
  int topology = mpi().undefined;
  return mpi().Topo_test(comm, &topology) == mpi_success ? topology : mpi().undefined;
}

using CopyAttribute = int (*)(MpiComm, int, void*, void* value, void* copied, int* flag);
using ForgetAttribute = int (*)(MpiComm, int, void* value, void*);

// Of attributes that a duplicate of the communicator lacks.
inline int copy_nothing(MpiComm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return mpi_success;
}

inline int make_keyval(ForgetAttribute forget, CopyAttribute copy = copy_nothing) {
  int made = mpi().keyval_invalid;
  mpi().Comm_create_keyval(copy, forget, &made, nullptr);
  return made;
}

// The key of attributes with these two functions, made on first use.
template <ForgetAttribute forget, CopyAttribute copy = copy_nothing>
int keyval_of() {
  static constinit FirstAnswer<int> keyval(no_keyval);
  return keyval.get([] { return make_keyval(forget, copy); });
}

// `value` becomes null where there is none. False if the MPI cannot tell.
template <class Value>
bool get_attribute(MpiComm comm, int keyval, Value*& value) {
  int found = 0;
  const bool told = mpi().Comm_get_attr(comm, keyval, &value, &found) == mpi_success;
  if (!told || found == 0) value = nullptr;
  return told;
}

// ---- What became of the calls, for the summary of QUADRILLE_EXPLAIN (team/init.cpp) ----
//
// Each communicator counts for itself; everything is added up once, in MPI_Finalize.

// Calls that went to the MPI, by counted_as() of the reason.
using PassedCounts = std::array<std::uint64_t, counted_reasons>;

struct Counters {
  std::uint64_t served = 0;
  PassedCounts passed{};

  std::uint64_t all_passed() const { return std::accumulate(passed.begin(), passed.end(), std::uint64_t{0}); }
  void add(const Counters& other);
};

// Of one communicator. `group` and `turn` name it on all of its ranks: its members, and its sequence number among the
// communicators with these members. Plain bytes: ranks send it to each other.
struct Tally {
  std::uint64_t group = 0;
  std::int32_t turn = 0;
  std::int32_t ranks = 0;          // 0: of several communicators
  std::int32_t communicators = 0;  // as counted by their first ranks
  std::int32_t told = 1;           // how many ranks have told their part
  std::uint64_t served = 0, passed = 0;
  char name[24] = {};

  std::uint64_t calls() const { return served + passed; }
  // Those of another one, or its part on another rank.
  void add(const Tally& other) {
    served += other.served;
    passed += other.passed;
    communicators += other.communicators;
  }
};

// Calls forwarded to the MPI that no team counts: nonblocking and persistent ones, by reason, of all communicators, if
// somebody wants to know; and those on communicators without a team.
struct Untaken {
  using Counts = std::array<std::atomic<std::uint64_t>, counted_reasons>;
  std::atomic<bool> wanted{false};
  Counts nonblocking{};
  Counts persistent{};  // requests made; their starts are not seen
  std::atomic<std::uint64_t> without_team{0};
};
inline Untaken untaken;

// ---- What was selected for the calls of a communicator ----
//
// Programs repeat some sizes in turn, so some are kept for each collective, with all that their calls run on: a call
// that comes again selects nothing, builds nothing, and looks no parameter up. The oldest makes way for a new one. What
// is kept on a rank says nothing of the others. To select anew gives the same, until a trial has decided: then calls go
// by that (api/serve.hpp).

// What the calls of a choice run on.
struct Prepared {
  const plan::Schedule* schedule = nullptr;  // null: its engine needs none
  CachedLeaders* leaders = nullptr;          // of its engine alone
  const plan::Schedule* direct = nullptr;    // of algorithms that pad: for what would be too large
  run::Moving moving;
};
// Builds a schedule when it is first needed. All ranks call it for the same choice.
Prepared prepare(Team& team, Collective collective, const choose::Choice& choice);
// By leaders: makes what nonblocking calls need, which may not wait. Collective when it is first called for a choice.
void prepare_lanes(Team& team, Collective collective, const choose::Choice& choice);

// May the data of a device's memory stay there in a call by this choice? All ranks say the same.
bool may_stay_on_device(const Team& team, const choose::Choice& choice);

// In the place of a CachedSelection's load: calls with a device's memory.
inline constexpr int on_devices = choose::load_on_devices;

struct CachedSelection {
  std::size_t bytes = 0;
  bool drop_in = false;  // neighbour collectives
  int load = 0;          // class of what moves in all, where all ranks know it and blocks differ (api/serve.hpp)
  choose::Selection selection;
  bool explained = false, device_explained = false;
  Try* trial = nullptr;                   // once it was needed for the rivals
  int decision = 0;                       // number of the trial's decision that the choice came from; 0: none
  bool follows_load = false;              // it has rivals, and its calls may move any amount
  std::optional<Prepared> prepared = {};  // for the choice, once it ran

  // This choice is made instead.
  void settle(choose::Choice choice) {
    selection.choice = std::move(choice);
    decision = 0;
    prepared.reset();
    explained = device_explained = false;
  }
};

// Of one collective.
class Selections {
 public:
  // Enough for all powers of two that a program may go through. To look at all takes less than to select one.
  static constexpr std::size_t most = 32;

  // Null if nothing is kept for such calls.
  CachedSelection* find(std::size_t bytes, bool drop_in, int load = 0);
  // Valid until the next.
  CachedSelection& keep(CachedSelection selected);
  // That of the last call; null if there is none.
  const CachedSelection* last() const { return last_; }
  void forget();

 private:
  std::list<CachedSelection> kept_;  // the oldest first; without any, no memory is taken for them
  CachedSelection* last_ = nullptr;
};

// What is known to all ranks about calls of a dense collective with blocks of `bytes`.
choose::GlobalKey key_of(Team& team, Collective collective, std::size_t bytes);
// What serves a call whose largest block has `bytes`, as all ranks know it; 0 if they do not (see choose::GlobalKey).
// Among neighbours the drop-in door leaves more to the MPI, and there is no load. Where the calls are with a device's
// memory the team is ready, and `load` is that of others like these.
CachedSelection& selection_of(Team& team, Collective collective, std::size_t bytes, int load = 0, bool drop_in = false,
                              bool with_devices = false);
// Nothing was to be tried, or a trial has decided.
bool is_decided(const CachedSelection& cached);
// Collective: the candidates without those whose plan is, on all ranks, that of one before which the same engine runs:
// a NUMA-aware order is the plain one where there is one NUMA domain.
std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates);
// What the selected choice runs on.
const Prepared& prepared_of(Team& team, Collective collective, CachedSelection& cached);

// Prints, once, what was selected and why, where the user wants to know.
void explain(Team& team, Collective collective, CachedSelection& cached);

// Forgets what was selected; after the forced algorithms have changed, or more is known.
void forget_selections(Team& team);

// ---- The state of a communicator ----

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

// What the first calls may try of which nothing is known (choose/trial.hpp).
enum class MayTry : std::uint8_t { nothing, between_nodes, everything };

// The switch points.
enum class Points : std::uint8_t {
  known,
  guessed,  // no table has them: they are to be measured (api/trials.cpp)
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
  bool follows_devices = false;  // some ranks may have such memory, and there is a choice (api/admission.cpp)
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
  // By whether the calls follow the load (CachedSelection::follows_load); by class of load or else of size; and that of
  // what moves in all (CachedSelection::load).
  std::map<std::tuple<Collective, bool, int, int>, Try> trials;
  choose::Asking load[collective_count], load_on_devices[collective_count];
  choose::Asking devices[collective_count];  // are some buffers in a device's memory? Of calls that wait
  // What the ranks have agreed upon, also for calls that no thread has cached: how many more go to the MPI before the
  // ranks ask each other again. Points to Asking::unasked in `asking` or `load`; null: each call finds that out. Equal
  // on all ranks, and forgotten with the selections.
  int* unasked_to_mpi[collective_count] = {};
  // Likewise of calls that the exchange by pairs serves. At most one of the two is there.
  int* unasked_by_pairs[collective_count] = {};

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
  memory::FailedCalls failed_calls;  // behind them; for failed copies and faults
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
  std::atomic<int> fault = 0;          // an MPI error code; this and the next: see "Faults"
  std::atomic<double> next_look = 0;   // by the MPI's clock
  std::vector<int> world_ranks;        // its ranks in MPI_COMM_WORLD; set by the first setup()
  std::atomic<bool> lost = false;      // this rank does not know what the others go by, ready or not: team/ask.cpp
  // What MPI's nonblocking calls need, which may not wait (api/taken.cpp).
  struct Taken {
    enum class Stage : std::uint8_t {
      none,         // no call has needed it
      wanted,       // some were forwarded for want of it
      unavailable,  // it cannot be made, or is being made
      ready,        // made where all ranks wait
      // By a broadcast of rank 0 (team/setup.hpp). All ranks start it at the same call, and forward no nonblocking call
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

// ---- What all ranks ask each other: collectives of our own (team/ask.cpp) ----

// The largest of each number, over all ranks. Without an answer the team is lost, and this throws.
void largest_of_all(Team& team, std::span<const double> mine, std::span<double> largest);
void largest_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> largest);

// The sum of each number over all ranks, likewise. Of whole numbers, so that it is the same on all of them.
void sum_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> sum);

// Is it true on all ranks? Likewise.
bool true_on_all(Team& team, bool mine);

// The MPI failed in a collective whose result all ranks go by. lose() throws.
void mark_lost(Team& team);
[[noreturn]] void lose(Team& team);

// Collective over `comm`: true on all ranks if all ranks gave the same value. Never raises an error. Each of
// `all_want`, three at most, on all ranks or none, becomes whether it is true on all of them.
bool all_agree(MpiComm comm, std::uint64_t value, std::initializer_list<bool*> all_want = {});

// The same: is it true on all ranks? False if the MPI cannot tell.
bool all_true(MpiComm comm, bool mine);

// The domain of each rank as a label (team/numa.hpp), the same on all. Collective when it is first called.
const std::vector<int>& domains_of(Team& team);

// ---- Faults: a rank has failed, or the communicator was revoked (team/team.cpp) ----

// Are calls served where faults are tolerated? Agreed upon in MPI_Init. False: nothing of this happens.
bool watches_faults();

// The MPI's error code for the fault of a communicator; MPI_SUCCESS if this rank knows of none. Waits for nobody. After
// a fault nothing more is served on the communicator.
int leave_if_faulty(Team& team);
// The same before a call begins, without the question whether a rank has failed: the call will find that out.
int leave_if_told(Team& team);
// In a wait of a call: throws if there is a fault.
void throw_if_faulty(Team& team);

// A call was carried out and ends with `error`: returns that or, if a rank has left it or an earlier one, the fault. If
// it is a fault of our own messages, waits a little for that of the communicator.
int error_after_call(Team& team, int error);
// The same of a request that goes on; does not wait.
int error_of_step(Team& team, int error);
// A call on `comm` has failed with `error`: returns that or, if there is one, the fault, for which it waits a little.
int error_of_thrown(MpiComm comm, int error);

// ---- Failed copies (team/ask.cpp) ----
//
// A rank that cannot bring its data from a device to the host takes part in the call all the same, so that nobody waits
// for it in vain; what it sends is wrong. The others hear of it, and return an error too.

// The number of the call that is being made, before it is counted or after: the same on all ranks, of which each makes
// its collective calls on a communicator in the same order. The first calls, which are forwarded before the
// communicator is ready, have none.
std::uint64_t number_of_call(const Team& team, bool is_counted);
// The number of a start of a request, from the request's sequence number on its communicator.
std::uint64_t number_of_start(unsigned request, std::uint64_t start);

// Before the call moves anything. The ranks of this node find it in shared memory; those of other nodes get a message,
// if there are messages of our own.
void tell_failed(Team& team, std::uint64_t number);
// When the call is done: has a rank told so? Surely, if it is of this node and sent this one anything. Of other nodes'
// ranks if the MPI has brought their message: `may_look`, for calls with data of a device, as a look takes a call of
// the MPI.
bool has_failed(Team& team, std::uint64_t number, bool may_look);

// ---- The program, and what the user is told ----

// What is done at the start of MPI_Finalize, in this order. Each has a place of its own, so that none is left out.
enum class AtEnd : std::uint8_t { record, progress_thread, requests, turns, staging };
inline constexpr std::size_t ends_count = static_cast<std::size_t>(AtEnd::staging) + 1;
// From now on MPI_Finalize does the work given to before_end(). Requires MPI_COMM_SELF.
void watch_finalize();
// MPI_Finalize calls `work` once.
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

// Of a new team; where nobody wants a summary, nothing.
Tally begin_tally(const Team& team);
// That with the counts of its team, and the name of its communicator.
Tally end_tally(const Team& team);
// Prints the summary, where the user wants to know: of all ranks, if QUADRILLE_EXPLAIN is set on all of them, which is
// collective over MPI_COMM_WORLD; else of rank 0 alone.
void print_summary(const Counters& all, std::vector<Tally> tallies);

// Called by the drop-in door right before MPI_Init: ends a program whose calls cannot even be forwarded.
void before_init();
// Why no call is served in this process; none if calls are. With fault tolerance: team/team.cpp.
Reason why_nothing_is_served();
// Says that no call is served because of fault tolerance, where the user wants to know.
void explain_fault_tolerance();
// Whether QUADRILLE_EXPLAIN is set on all ranks of the program; agreed on in MPI_Init.
bool every_rank_explains();

// Called by the drop-in door right after MPI_Init: agrees on the environment over all ranks, so that
// ranks with different settings do not choose differently. True the first time, if the MPI can be served.
bool after_init();

}  // namespace quadrille::team
