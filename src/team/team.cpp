#include "team/team.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "memory/heap.hpp"
#include "mpi/device_support.hpp"
#include "mpi/fault_tolerance.hpp"
#include "mpi/generation.hpp"
#include "mpi/mpi.hpp"
#include "mpi/phase.hpp"
#include "mpi/thrown.hpp"
#include "mpi/types.hpp"
#include "sys/launched.hpp"
#include "sys/sys.hpp"
#include "team/apart.hpp"
#include "team/ask.hpp"
#include "team/communicator.hpp"
#include "team/config.hpp"
#include "team/leaders.hpp"
#include "team/numa.hpp"
#include "team/processes.hpp"
#include "team/switch_points.hpp"

namespace quadrille::team {
namespace {

// All teams, in the order in which they were made. Communicators with common ranks are made in the
// same order on these ranks, so releasing in this order cannot deadlock.
struct Teams {
  std::mutex mutex;
  std::vector<Team*> all;
  Counters freed;              // of teams that are gone
  std::vector<Tally> tallies;  // of them, as many as there is room for
  std::atomic<std::uint64_t> passed_without_team{0};
};
Teams& teams() { return sys::immortal<Teams>(); }

// Frees what a team holds outside its own memory.
void release(Team& team) {
  team.change_standing(Standing::ineligible);
  team.group.inbox = {};
  team.lanes.reset();
  team.chunks.reset();
  team.leaders.clear();
  team.area = {};
  team.quiet.reset();
  team.group.attached.clear();
  // After a fault another rank may still wait for messages there.
  if (team.fault == mpi_success) free_private(team.group.change_messages().comm);
}

// Of many communicators that are gone the last place is of all that are too many.
void keep_tally(const Tally& tally) {
  constexpr std::size_t most = 256;
  std::vector<Tally>& kept = teams().tallies;
  if (kept.size() < most) return kept.push_back(tally);
  kept.resize(most + 1);
  kept.back().add(tally);
}

// Each nonblocking call comes here twice.
std::unique_lock<std::mutex> held(Teams& list) { return run::UnderWay::here().locked(list.mutex); }

// Frees a team that neither its communicator nor a request keeps any more.
void free_team(Team* team) {
  Teams& list = teams();
  {
    const std::unique_lock lock = held(list);
    list.freed.add(team->counted.counters);
    std::erase(list.all, team);
  }
  release(*team);
  delete team;
}

int forget_team(MpiComm, int, void* value, void*) {
  auto* team = static_cast<Team*>(value);
  return thrown_by([team] {
    end_told(*team);      // which may make requests
    drop_cached_calls();  // of this team
    const bool explains = team->counted.explains;
    const Tally tally = explains ? end_tally(*team) : Tally();  // while it has a name, for which the MPI is asked
    const KeptTeam last = std::move(team->self);
    const std::unique_lock lock = held(teams());
    if (explains) keep_tally(tally);
    team->user = mpi().comm_null;
  });
}

int forget_nothing(MpiComm, int, void*, void*) { return mpi_success; }

// All ranks want a summary, and will come to MPI_Finalize with that.
bool all_explain = false;

Part own_part() {
  Teams& list = teams();
  Counters all = list.freed;
  std::vector<Tally> tallies = list.tallies;
  for (const Team* team : list.all) {
    all.add(team->counted.counters);
    if (team->counted.explains && team->user != mpi().comm_null) tallies.push_back(end_tally(*team));
  }
  all.passed[counted_as(Reason::other)] += list.passed_without_team.load();
  Part part = make_part(all, std::move(tallies));
  std::copy(untaken.nonblocking.begin(), untaken.nonblocking.end(), part.nonblocking.passed.begin());
  std::copy(untaken.persistent.begin(), untaken.persistent.end(), part.persistent.passed.begin());
  return part;
}

// Collective over MPI_COMM_WORLD if all ranks want it. Uses a communicator of our own, on which no call of the program
// is pending; if Quadrille is switched off, there is no such communicator.
void print_summary(int rank) {
  const Part mine = own_part();
  const int ranks = size_of(mpi().comm_world);
  std::vector<Part> parts = {mine};
  if (all_explain && ranks > 1) {
    const std::shared_ptr<const Processes> known = world();
    const bool own = known != nullptr && known->quiet != nullptr && known->quiet->as_world;
    if (rank == 0) parts.resize(static_cast<std::size_t>(ranks));
    mpi().Gather(&mine, sizeof mine, mpi().byte, parts.data(), sizeof mine, mpi().byte, 0,
                 own ? known->quiet->comm : mpi().comm_world);
  }
  if (rank != 0) return;
  for (const std::string& line : summary_lines(parts, !all_explain && ranks > 1)) say(line);
}

std::array<std::atomic<void (*)()>, ends_count> works_before_end{};

// Runs at the start of MPI_Finalize, when MPI still works: MPI_COMM_SELF loses its attributes first.
int at_finalize(MpiComm, int, void*, void*) {
  for (auto& slot : works_before_end) {
    if (void (*const work)() = slot.exchange(nullptr)) work();
  }
  const int rank = rank_in(mpi().comm_world);
  if (config().trials == Trials::learn && rank == 0) static_cast<void>(thrown_by(learn_verdicts));
  // What cannot be said is not said.
  static_cast<void>(thrown_by([&] {
    if (all_explain || (config().explain && rank == 0)) print_summary(rank);
  }));
  drop_cached_calls();
  return thrown_by([] {
    for (Team* team : teams().all) release(*team);
    forget_processes();
  });
}

// Only once it is known has a communicator a team.
constinit FirstAnswer<int> key_of_teams(no_keyval);

int team_keyval() {
  return key_of_teams.get([] {
    static constinit std::atomic<bool> is_set{false};
    if (!is_set.exchange(true)) mpi().Comm_set_attr(mpi().comm_self, make_keyval(at_finalize), nullptr);
    return make_keyval(forget_team);
  });
}

// Agreed upon in MPI_Init where that is ours, else as this process knows it.
bool is_fault_tolerant() { return config().fault_tolerant || (tolerates_faults() && !config().watches_faults); }

std::string not_used(Why why) { return text::words_of({.reason = Reason::not_used, .then = {std::move(why)}}); }

Reason why_not_eligible(MpiComm comm, run::Group& group) {
  if (const Reason why = why_nothing_is_served(); why != Reason::none) return why;
  if (is_inter(comm)) return Reason::intercommunicator;
  group.ranks = size_of(comm);
  group.me = rank_in(comm);
  if (group.ranks == 1) return Reason::one_rank;
  // If a rank is of another world, every rank finds one that is.
  const std::vector<int> there = ranks_in_world(comm);
  const bool are_all_here = std::find(there.begin(), there.end(), mpi().undefined) == there.end();
  return are_all_here ? Reason::none : Reason::several_worlds;
}

void explain_fault_tolerance() {
  if (config().explain && rank_in(mpi().comm_world) == 0) say_once(not_used({Reason::fault_tolerant}));
}

// The calls that were forwarded before there was a team: a number, kept without any memory of ours.
int early_keyval() {
  static constinit FirstAnswer<int> keyval(no_keyval);
  return keyval.get([] { return make_keyval(forget_nothing); });
}

// False if the MPI cannot tell.
bool early_calls(MpiComm comm, int& calls) {
  void* value = nullptr;
  const bool told = get_attribute(comm, early_keyval(), value);
  calls = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return told;
}

Team* make_team(MpiComm comm) {
  auto team = std::make_unique<Team>();
  team->user = comm;
  early_calls(comm, team->calls);
  team->group.change_messages().comm = mpi().comm_null;
  team->why_not = why_not_eligible(comm, team->group);
  if (team->why_not == Reason::none) team->change_standing(Standing::eligible);
  if (why_nothing_is_served() == Reason::fault_tolerant) explain_fault_tolerance();
  team->counted.explains = config().explain;
  team->counted.tally = begin_tally(*team);
  Teams& list = teams();
  {
    const std::lock_guard lock(list.mutex);
    list.all.push_back(team.get());
  }
  Team* const made = team.release();
  made->self.reset(made, free_team);
  if (mpi().Comm_set_attr(comm, team_keyval(), made) == mpi_success) return made;
  const KeptTeam last = std::move(made->self);
  return nullptr;
}

struct LastTeam {
  std::uint64_t generation = 0;
  MpiComm comm{};
  Team* team = nullptr;
};
thread_local LastTeam last_team;

// Which rank of its node this process is, of all that there are if the world is known: another number of it in another
// communicator does not move it to another processor.
int rank_on_node(const Team& team) {
  const int mine = team.world_ranks[static_cast<std::size_t>(team.group.me)];
  if (const std::shared_ptr<const Processes> all = world(); all != nullptr) {
    const std::vector<int>& nodes = all->nodes.node_of;
    const auto me = nodes.begin() + mine;
    return static_cast<int>(std::count(nodes.begin(), me, *me));
  }
  return static_cast<int>(std::ranges::count_if(members_of(team.nodes, team.group.me), [&](int member) {
    return team.world_ranks[static_cast<std::size_t>(member)] < mine;
  }));
}

// The domain of every rank. Collective; asked only when an order of copies is first used, because
// reading the topology takes milliseconds.
std::vector<int> agree_on_domains(Team& team) {
  struct Domains {
    int mine;
    std::vector<int> all;
  };
  const auto domains = std::make_shared<Domains>();
  domains->mine = numa_domain(config().topology.empty() ? 0 : rank_on_node(team), config().topology);
  domains->all.resize(static_cast<std::size_t>(team.group.ranks));
  ask_all(team, domains, [&](MpiRequest* request) {
    return mpi().Iallgather(&domains->mine, 1, mpi().int_type, domains->all.data(), 1, mpi().int_type, team.own(),
                            request);
  });
  return std::move(domains->all);
}

// Says where sharing of the program's memory depends on another library.
void explain_mapping_watch(memory::MappingWatch watch) {
  if (watch == memory::MappingWatch::through_ucx) {
    say("UCX reports what the program maps: its memory is shared inside a node");
  } else if (watch == memory::MappingWatch::lost) {
    say("another library replaced mmap and does not report what the program maps: its memory is not shared "
        "inside a node");
  }
}

}  // namespace

void before_end(AtEnd whose, void (*work)()) { works_before_end[static_cast<std::size_t>(whose)] = work; }

MpiComm Team::own() const {
  return user == mpi().comm_world && quiet != nullptr && quiet->as_world ? quiet->comm : user;
}

Team* team_of(MpiComm comm) {
  bool early = false;
  return team_after(comm, 0, early);
}

Team* find_team(MpiComm comm) {
  Team* team = nullptr;
  // No key is made here: with MPI sessions alone there is no MPI_COMM_SELF, which the key needs.
  if (comm != mpi().comm_null && key_of_teams.is_known()) get_attribute(comm, team_keyval(), team);
  return team;
}

bool is_there(const Team& team, MpiComm comm) {
  Teams& list = teams();
  const std::unique_lock lock = held(list);
  return std::find(list.all.begin(), list.all.end(), &team) != list.all.end() && team.user == comm;
}

Team* team_after(MpiComm comm, int calls, bool& early) {
  early = false;
  const std::uint64_t now = cache_generation();
  if (last_team.team != nullptr && last_team.comm == comm && last_team.generation == now) {
    return last_team.team;
  }
  if (comm == mpi().comm_null || !may_call_mpi()) return nullptr;
  Team* team = nullptr;
  if (!get_attribute(comm, team_keyval(), team)) return nullptr;
  int before = 0;
  if (team == nullptr && calls > 0 && early_calls(comm, before) && before < calls) return early = true, nullptr;
  if (team == nullptr) team = make_team(comm);
  if (team != nullptr) last_team = {now, comm, team};
  return team;
}

void count_early(MpiComm comm) {
  if (Team* const team = find_team(comm)) {
    ++team->calls;
    return;
  }
  int before = 0;
  if (!early_calls(comm, before)) return;
  mpi().Comm_set_attr(comm, early_keyval(), reinterpret_cast<void*>(std::intptr_t{before} + 1));
}

const std::vector<int>& domains_of(Team& team) {
  if (!team.domains.empty()) return team.domains;
  team.domains = agree_on_domains(team);
  if (team.counted.explains && team.group.me == 0) {
    say_once(fmt::format("{} ranks, {}: {}", team.group.ranks,
                         team.nodes.nodes == 1 ? "1 node" : fmt::format("{} nodes, that of rank 0", team.nodes.nodes),
                         describe_domains(team.domains, members_of(team.nodes, 0))));
  }
  return team.domains;
}

const plan::Schedule& plan_of(Team& team, const choose::Choice& choice) {
  return cached_plan(team, choice, [&] {
    const bool looks = look_at_domains(row_of(choice.algorithm->engine).plans);
    const std::vector<int>& domains = looks ? domains_of(team) : team.domains;
    return choice.algorithm->build(
        {team.group.ranks, team.group.me, &team.nodes, choice.parameters, domains, team.agreed().away_steps});
  });
}

void explain(Team& team, Collective collective, std::size_t bytes, const std::string& algorithm, const Why& why) {
  const bool ready = team.ready();
  if ((ready ? team.group.me : rank_in(team.user)) != 0) return;
  const int ranks = ready ? team.group.ranks : size_of(team.user);
  const std::string nodes = ready ? fmt::format(", {} node{}", team.nodes.nodes, team.nodes.nodes == 1 ? "" : "s") : "";
  const std::string line =
      fmt::format("{} on {} ranks{}{} -> {}: {}", name_of(collective), ranks, nodes,
                  bytes > 0 ? fmt::format(", blocks of {} bytes", bytes) : "", algorithm, text::words_of(why));
  say_once(line);
}

void say_once(const std::string& line, const std::string& key) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (said->insert(key).second) say(line);
}

void count_passed() { teams().passed_without_team.fetch_add(1, std::memory_order_relaxed); }

bool all_true(MpiComm comm, bool mine) {
  all_agree(comm, 0, {&mine});
  return mine;
}

bool all_agree(MpiComm comm, std::uint64_t value, std::initializer_list<bool*> all_want) {
  // min(x) == max(x), and max(x) is ~min(~x): one reduction tells.
  std::uint64_t mine[5] = {value, ~value}, least[5] = {};
  std::transform(all_want.begin(), all_want.end(), mine + 2, [](const bool* wants) { return *wants ? 1U : 0U; });
  const bool told = mpi().Allreduce(mine, least, 5, mpi().uint64, mpi().op_min, comm) == mpi_success;
  const std::uint64_t* all = least + 2;
  for (bool* const wants : all_want) *wants = told && *all++ == 1;
  return told && least[0] == ~least[1];
}

DeviceUse mpi_device_use() {
  constexpr auto not_asked = static_cast<DeviceUse>(0xff);
  static constinit FirstAnswer<DeviceUse> use(not_asked);
  const DeviceUse told = use.get([] {
    // With MPI sessions alone there is no MPI_COMM_WORLD to ask, nor a team.
    if (!may_call_mpi()) return not_asked;
    return config().mpi_device.value_or(device_support().takes_devices ? DeviceUse::all : DeviceUse::none);
  });
  return told == not_asked ? DeviceUse::none : told;
}

bool every_rank_explains() { return all_explain; }

Reason why_nothing_is_served() {
  if (is_fault_tolerant()) return Reason::fault_tolerant;
  return config().off ? Reason::switched_off : Reason::none;
}

void before_init() {
  if (!mpi().foreign) return;
  if (sys::launched_as_first()) {
    say(mpi().problem + "; start the program without Quadrille");
  } else {
    // A launcher ends all ranks as soon as one has failed: the one that speaks must come first.
    sys::sleep_us(1'000'000);
  }
  std::_Exit(EXIT_FAILURE);
}

bool after_init() {
  // An MPI_Init may call PMPI_Init by that name, and a profiler's MPI_Init does: both come here.
  static bool done = false;
  if (std::exchange(done, true)) return false;
  const memory::MappingWatch watch = memory::mapping_watch(true);
  if (!mpi().usable) {
    if (sys::launched_as_first()) say(not_used({Reason::unusable_mpi, mpi().problem}));
    return false;
  }
  const int rank = rank_in(mpi().comm_world);
  Config& settings = config();
  const bool explains = settings.explain;
  // First of all: what follows waits a lot.
  if (!settings.off && crowded_by_launcher()) share_processors(settings, explains && rank == 0);
  all_explain = explains;
  untaken.wanted = explains;
  bool none_is_recorded = settings.record.empty(), told = true;
  if (!all_agree(mpi().comm_world, fingerprint(settings), {&all_explain, &none_is_recorded, &told})) {
    std::string record = std::move(settings.record);
    settings = {};
    settings.explain = explains;
    settings.record = std::move(record);
    settings.warnings = {
        "QUADRILLE_* variables differ among the ranks and are ignored; "
        "give all ranks the same (mpirun -x NAME, or -genv NAME VALUE)"};
  }
  settings.some_recorded = told && !none_is_recorded;
  print_warnings(settings, rank);
  team_keyval();
  // From now on large allocations can be shared. A program of one rank has nobody to share them with.
  if (size_of(mpi().comm_world) == 1 || settings.off) return false;
  // Later another thread's collective may keep the MPI from making one.
  if (thread_level(mpi().thread_single) == mpi().thread_multiple) own_comm();
  // One node may have other files of settings than another.
  if (!all_true(mpi().comm_world, !tolerates_faults())) {
    all_explain = false;  // a summary of all ranks would need all of them in MPI_Finalize
    settings.watches_faults = all_true(mpi().comm_world, reports_faults());
    settings.fault_tolerant = !settings.watches_faults;
    // A rank that has left a call uses its memory again, and gives it back: nobody may write there, or be ended by
    // reading there.
    settings.ways.cma_write = settings.ways.xpmem = false;
  }
  if (settings.fault_tolerant) {
    explain_fault_tolerance();
    return false;
  }
  if (settings.ways.heap) {
    memory::heap_start();
    if (explains && rank == 0) explain_mapping_watch(watch);
  }
  // What takes long is done here, where it is lost in the time that MPI_Init takes anyway, and not in a call
  // that the program may time.
  if (!meet_world(settings.ways)) {
    if (rank == 0) say(not_used({Reason::no_communicator}));
    settings.off = true;
    return false;
  }
  Team* team = team_of(mpi().comm_world);
  if (team != nullptr && team->eligible()) setup(*team);
  return true;
}

}  // namespace quadrille::team
