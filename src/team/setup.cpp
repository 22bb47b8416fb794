#include "team/setup.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/control_memory.hpp"
#include "memory/heap.hpp"
#include "memory/reach.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"
#include "mpi/progress.hpp"
#include "mpi/tags.hpp"
#include "run/under_way.hpp"
#include "sys/sys.hpp"
#include "team/areas.hpp"
#include "team/config.hpp"
#include "team/processes.hpp"
#include "team/switch_points.hpp"
#include "text/reason.hpp"

namespace quadrille::team {
namespace {

// A peer may wait for a call that this rank has started and left. And on a quiet communicator there is nothing that
// could be found, so the MPI looks at what else arrives. Once a rank has failed, a look for any source makes no
// progress.
void drive_others(void* data) {
  Team& team = *static_cast<Team*>(data);
  run::UnderWay::here().help();
  const run::Messages& messages = team.group.messages();
  const bool watches = watches_faults();
  const int source = watches ? messages.quiet_me : mpi().any_source;
  int flag = 0;
  mpi().Iprobe(source, mpi().any_tag, messages.quiet, &flag, mpi().status_ignore);
  if (watches) throw_if_faulty(team);
}

void set_waiting(Team& team) {
  run::Group& group = team.group;
  if (team.crowded) {
    group.waiter.spins = sys::Waiter::spins_if_crowded;
    // A look at MPICH's messages takes long, so ranks that only give their processor away are in the leaders' way. On
    // Open MPI they are not, and to wake them takes longer: 1.1 to 1.6 times as long for small blocks, as measured.
    if (!mpi().is_openmpi()) group.waiter.longest_sleep_us = sys::Waiter::longest_sleep_us_if_crowded;
  }
  group.waiter.progress = drive_others;
  group.waiter.progress_data = &team;
}

// What all ranks of a communicator go by.
struct Found {
  Config settings;
  Processes processes;
};

// The settings of this process if all ranks have the same, else none; and what is known of the ranks.
Found agree(Team& team) {
  Found found;
  if (team.world_ranks.empty()) team.world_ranks = ranks_in_world(team.user);  // once: calls in flight read them
  const std::shared_ptr<const Processes> all = world();
  bool all_know = all != nullptr;
  if (world_has_met() || all_agree(team.user, fingerprint(config()), {&all_know})) {
    found.settings = config();
  } else if (team.group.me == 0) {
    say("QUADRILLE_* variables differ among the ranks and are ignored");
  }
  found.processes =
      all_know ? pick(*all, team.world_ranks) : meet_here(team.user, found.settings.ways, team.world_ranks);
  return found;
}

// "ranks 0 1 4 5 of MPI_COMM_WORLD are on nodes 0 0 1 1"; of a large communicator the first ones.
std::string node_map_line(const plan::NodeMap& nodes, std::span<const int> world_ranks) {
  constexpr std::size_t most = 32;
  const std::size_t shown = std::min(world_ranks.size(), most);
  const char* const more = shown < world_ranks.size() ? " ..." : "";
  return fmt::format("ranks {}{} of MPI_COMM_WORLD are on nodes {}{}", fmt::join(world_ranks.first(shown), " "), more,
                     fmt::join(std::span(nodes.node_of).first(shown), " "), more);
}

// The user's map is of MPI_COMM_WORLD; a communicator has that of its members.
void apply_node_map(Team& team, const Config& settings, plan::NodeMap real) {
  team.nodes = std::move(real);
  if (settings.nodes.empty()) return;
  plan::NodeMap asked;
  const std::string why = plan::parse_node_map(settings.nodes, size_of(mpi().comm_world), asked);
  if (why.empty()) {
    team.nodes = plan::nodes_of(asked, team.world_ranks);
    if (team.counted.explains && team.group.me == 0) {
      say_once(fmt::format("QUADRILLE_NODES=\"{}\": {}", settings.nodes, node_map_line(team.nodes, team.world_ranks)));
    }
  } else if (team.group.me == 0) {
    say_once(fmt::format("QUADRILLE_NODES={}: {}; ignored", settings.nodes, why));
  }
}

// May the ranks of each node of `map` share memory? Known to all ranks alike.
bool lies_within(const plan::NodeMap& map, const plan::NodeMap& real) {
  std::vector<int> real_of(static_cast<std::size_t>(map.nodes), -1);
  for (std::size_t r = 0; r < map.node_of.size(); ++r) {
    int& known = real_of[static_cast<std::size_t>(map.node_of[r])];
    if (known >= 0 && known != real.node_of[r]) return false;
    known = real.node_of[r];
  }
  return true;
}

// What the first rank of a node took out of its pool instead of a number of a chunk.
constexpr std::int64_t no_room = -1, too_many_ranks = -2, not_first = -3;

// Does each of the `here` ranks of this node reach the blocks of the others by load and store? The same on all of them.
// Without rings nothing is attached.
bool loads_and_stores(const Processes& processes, const Config& settings, int here) {
  const bool rings = settings.ways.ring && memory::pairs_layout(here).ring_bytes > 0;
  return here == 1 || processes.heaps_mapped || (processes.reached && rings);
}

// Rank 0 tells the others `bytes` of text, which says what was measured to be best.
void tell_choices(Team& team, Telling& telling, std::string text, std::int64_t bytes) {
  text.resize(static_cast<std::size_t>(bytes));
  telling.tell(text.data(), text.size());
  team.change_agreed().by_size = choose::choices_from(text);
}

// Collective: the first rank of each node takes control memory, and rank 0 looks into its tuning table.
// `chunk` becomes that of this rank's node, or what went wrong on some node: the same on all ranks.
void take_areas(Team& team, const Processes& processes, std::span<const int> members, std::int64_t& chunk,
                const Config& settings, Telling& telling) {
  run::Group& group = team.group;
  const int here = static_cast<int>(members.size());
  struct {
    std::int64_t chunk;
    choose::SwitchPoints points;
    std::int64_t choices;  // bytes of text about them
    bool known;
    MayTry may_try;
  } mine{not_first, {}, 0, true, MayTry::nothing};
  if (members[0] == group.me) {
    mine.chunk = memory::inbox_layout(here).capacity() == 0 ? too_many_ranks : no_room;
    if (mine.chunk == no_room && processes.pool != nullptr) {
      const auto taken = processes.pool->take(control_bytes(here), here);
      if (taken.has_value()) mine.chunk = static_cast<std::int64_t>(*taken);
    }
  }
  struct Area {
    std::int64_t chunk;
    std::int64_t load_store;
  } const own{mine.chunk, loads_and_stores(processes, settings, here) ? 1 : 0};
  std::vector<Area> areas;
  if (team.nodes.nodes > 1) {
    areas.resize(static_cast<std::size_t>(group.ranks));
    if (ours::allgather(&own, 2, mpi().uint64, areas.data(), 2, mpi().uint64, team.user) != mpi_success) lose(team);
  }
  std::string choices;
  if (group.me == 0) {
    mine.points = look_up_switch_points(group.ranks, team.crowded, mine.known);
    // What is gained between nodes is more than what ranks that share processors disturb each other.
    if (watches_faults())
      mine.may_try = MayTry::nothing;
    else if (settings.trials == Trials::on)
      mine.may_try = MayTry::everything;
    else if (settings.trials != Trials::off && may_measure())
      mine.may_try = team.crowded ? MayTry::between_nodes : MayTry::everything;
    // Of several nodes: agree_on_messages().
    if (team.nodes.nodes == 1 && !watches_faults()) choices = look_up_algorithms(team.nodes, team.crowded);
    if (choices.size() > telling.most_bytes()) choices.clear();  // nothing is told if not all of it can be
    mine.choices = static_cast<std::int64_t>(choices.size());
  }
  telling.tell(&mine, sizeof mine);
  tell_choices(team, telling, std::move(choices), mine.choices);
  group.change_reach().points = mine.points;
  team.change_agreed().points = mine.known || watches_faults() ? Points::known : Points::guessed;
  team.change_agreed().may_try = mine.may_try;
  chunk = areas.empty() ? mine.chunk : areas[static_cast<std::size_t>(members[0])].chunk;
  if (chunk >= 0) {
    team.area = memory::ControlArea(processes.pool, static_cast<std::size_t>(chunk), control_bytes(here));
  }
  group.change_reach().load_store = own.load_store != 0;
  for (const Area& other : areas) {
    if (other.chunk == no_room || other.chunk == too_many_ranks) chunk = std::min(chunk, other.chunk);
    group.change_reach().load_store = group.reach().load_store && other.load_store != 0;
  }
  if (chunk < 0) team.area = {};
}

// Where the ranks `members` of this node run.
std::vector<sys::Place> places_of(const Processes& processes, std::span<const int> members) {
  std::vector<sys::Place> places;
  places.reserve(members.size());
  for (const int member : members) places.push_back(processes.ranks[static_cast<std::size_t>(member)].card.place);
  return places;
}

// Prepares what the ranks of each node share. Returns none, or why there is nothing.
Reason share_nodes(Team& team, const Config& settings, Processes& processes, Telling& telling) {
  run::Group& group = team.group;
  const std::vector<int> members = members_of(team.nodes, group.me);
  if (team.nodes.nodes > 1) {
    group.change_reach().local.assign(static_cast<std::size_t>(group.ranks), -1);
    for (std::size_t m = 0; m < members.size(); ++m) {
      group.change_reach().local[static_cast<std::size_t>(members[m])] = static_cast<int>(m);
    }
    group.change_reach().members = members;
  }
  std::int64_t chunk = no_room;
  take_areas(team, processes, members, chunk, settings, telling);
  if (chunk == no_room && telling.may_meet()) {  // too many communicators for the pool: this one gets its own
    Processes own = meet(team.user, settings.ways, areas_of_one, processes.quiet);
    if (own.quiet == nullptr) return Reason::no_communicator_to_meet;
    processes = std::move(own);
    take_areas(team, processes, members, chunk, settings, telling);
  }
  if (chunk == too_many_ranks) return Reason::too_many_for_inboxes;
  if (chunk < 0) return processes.pool != nullptr ? Reason::no_memory_for_inboxes : Reason::memory_not_reached;
  const int here = static_cast<int>(members.size());
  const memory::InboxLayout layout = memory::inbox_layout(here);
  std::byte* base = team.area.base();
  group.inbox = memory::Inbox(base, layout, group.local_of(group.me));
  team.meeting_tree = memory::meeting_tree(places_of(processes, members), group.local_of(group.me),
                                           settings.node_tree.value_or(memory::Meeting::radix_for(here, team.crowded)));
  group.pairs = memory::Pairs(base + layout.segment_bytes(), memory::pairs_layout(here), group.local_of(group.me),
                              team.meeting_tree);
  std::byte* const behind = base + layout.segment_bytes() + memory::pairs_layout(here).segment_bytes();
  team.failed_calls = memory::FailedCalls(behind);
  if (team.nodes.nodes == 1) {
    group.sharing = std::make_unique<memory::DeviceSharing>(behind + memory::FailedCalls::bytes, here, group.me);
  }
  set_reach(group, processes, members, settings.ways);
  // Over several nodes not all ranks reach all heaps.
  group.change_reach().heaps_mapped = processes.heaps_mapped && team.nodes.nodes == 1;
  return Reason::none;
}

// Collective: what is known of messages between the nodes. Another rank may have another table: one looks and tells the
// others.
void agree_on_messages(Team& team, Telling& telling) {
  struct {
    choose::Model model;
    choose::DeviceModel devices;
    std::int64_t neighbors;  // how many entries
    std::int64_t choices;    // bytes of text about them
  } told{};
  std::string choices;
  if (team.group.me == 0) {
    team.change_agreed().measured = choose::nearest_of_each(table_of_this_process().neighbors, team.nodes.ranks(),
                                                            team.nodes.ranks_on_fullest_node(), team.crowded);
    choices = look_up_algorithms(team.nodes, team.crowded);
    told = {look_up_model(team.nodes, team.crowded, false).straight, look_up_model(team.nodes, team.crowded, true),
            static_cast<std::int64_t>(team.agreed().measured.size()), static_cast<std::int64_t>(choices.size())};
  }
  telling.tell(&told, sizeof told);
  team.change_agreed().model = told.model;
  team.change_agreed().device_model = told.devices;
  std::vector<choose::NeighborEntry>& measured = team.change_agreed().measured;
  measured.resize(static_cast<std::size_t>(told.neighbors));
  telling.tell(measured.data(), measured.size() * sizeof measured[0]);
  tell_choices(team, telling, std::move(choices), told.choices);
}

// ---- What QUADRILLE_EXPLAIN=1 says of the ways that large blocks have between the ranks of a node ----

// One way to the peers.
struct Way {
  const char* name;
  bool allowed;
  Reason missing;
  std::optional<std::size_t> from = {};  // bytes from which blocks take it, if that is known
  int peers = 0;                         // to how many of them
  Why why_not = {};                      // to the others

  template <class Ask>
  void count(bool there, const Ask& why) {
    if (there) {
      ++peers;
    } else if (allowed && why_not.reason == Reason::none) {
      why_not = why();
    }
  }
  // "cma-read (to 2 of 3 ranks) from 10240 bytes on"
  std::string words(int of_peers) const {
    return name + (peers < of_peers ? fmt::format(" (to {} of {} ranks)", peers, of_peers) : "") +
           (from ? fmt::format(" from {} bytes on", *from) : "");
  }
};

Why or_else(const Why& why, Reason otherwise) { return why.reason == Reason::none ? Why{otherwise} : why; }

// Says of this rank and its peers on the node, whose numbers in `processes` are `members` with its own, what no other
// communicator of this process has said. `ways` are those that the user allows. Not collective.
void explain_reach(const Team& team, const Processes& processes, std::span<const int> members,
                   const memory::Ways& ways) {
  const std::string where =
      fmt::format("{} ranks, {} node{}: ", team.group.ranks, team.nodes.nodes, team.nodes.nodes == 1 ? "" : "s");
  const auto say_ways = [&where](const std::string& ways_there) {
    const std::string what = "large blocks inside a node go by " + ways_there;
    say_once(where + what, what);
  };
  if (team.inbox_obstacle != Reason::none) {
    return say_ways("messages only: " + text::words_of({team.inbox_obstacle}));
  }
  if (members.size() == 1) return;
  const run::Reach& reach = team.group.reach();
  std::optional<std::size_t> cma_from;  // unless the switch points are still to be measured
  if (reach.rings && team.agreed().points != Points::guessed) cma_from = reach.points.cma_from;
  // In the order in which they are preferred.
  Way all[] = {{"heap", ways.heap, Reason::no_heap},
               {"xpmem", ways.xpmem, Reason::no_xpmem},
               {"cma-read", ways.cma_read, Reason::no_cma_read, cma_from},
               {"cma-write", ways.cma_write, Reason::no_cma_write, cma_from},
               {"ring", ways.ring, Reason::no_ring}};
  auto& [heap, xpmem, cma_read, cma_write, ring] = all;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m] == team.group.me) continue;
    const memory::Peer& peer = reach.peers[m];
    const Card& card = processes.ranks[static_cast<std::size_t>(members[m])].card;
    heap.count(peer.can.map && peer.heap != nullptr, [] {
      if (memory::heap_active()) return Why{Reason::heaps_not_mapped};
      return or_else(memory::heap_why_not(), Reason::no_heap_here);
    });
    xpmem.count(peer.can.attach, [&] {
      if (!ways.ring || !reach.rings) return Why{Reason::xpmem_requires_ring};
      return or_else(memory::xpmem_here().why_not, Reason::memory_not_attached);
    });
    // Tried once more.
    cma_read.count(peer.can.read, [&] { return or_else(why_no_cma(card, false), Reason::failed_at_setup); });
    cma_write.count(peer.i_can.write, [&] { return or_else(why_no_cma(card, true), Reason::failed_at_setup); });
    ring.count(reach.rings, [] { return Why{Reason::too_many_for_rings}; });
  }
  const int peers = static_cast<int>(members.size()) - 1;
  const bool forced = !(ways.heap && ways.xpmem && ways.cma_read && ways.cma_write && ways.ring);
  std::vector<std::string> had;
  for (const Way& way : all) {
    if (way.peers > 0) had.push_back(way.words(peers));
  }
  say_ways(had.empty() ? "messages only" : fmt::format("{}", fmt::join(had, ", ")));
  for (const Way& way : all) {
    if (!way.allowed || way.peers == peers) continue;
    say_once((forced ? "QUADRILLE_REACH: " : "") + text::words_of({.reason = way.missing, .then = {way.why_not}}));
  }
}

}  // namespace

void Telling::tell(void* data, std::size_t bytes) {
  if (bytes == 0) return;
  if (team_ != nullptr) {
    if (ours::bcast(data, static_cast<int>(bytes), mpi().byte, 0, team_->user) != mpi_success) lose(*team_);
    return;
  }
  if (bytes > rest_.size()) throw std::bad_alloc();
  std::memcpy(writes_ ? rest_.data() : data, writes_ ? data : rest_.data(), bytes);
  rest_ = rest_.subspan(bytes);
}

// To meet takes sockets, too, and no watch ends a wait there.
bool Telling::may_meet() const { return team_ != nullptr && !watches_faults(); }

void share_processors(const Config& settings, bool speaks) {
  static std::atomic<bool> done{false};
  if (settings.keep_mpi_waits || done.exchange(true)) return;
  if (let_waits_give_way() && speaks) {
    say("oversubscribed: the MPI's own waits are asked to let other ranks run");
  }
}

namespace {

// setup(), where rank 0 tells its decisions by `telling`.
int setup_by(Team& team, Telling& telling) {
  run::Group& group = team.group;
  const ErrorsReturned guard(team.user);
  print_warnings(config(), group.me);
  auto [settings, processes] = agree(team);
  if (processes.quiet == nullptr) {
    team.change_standing(Standing::ineligible);
    team.why_not = Reason::no_communicator;
    return mpi().err_other;
  }
  team.quiet = processes.quiet;
  group.change_messages().quiet = team.quiet->comm;
  group.change_messages().quiet_me = team.quiet->me;
  team.crowded = std::ranges::any_of(processes.facts, &Facts::crowded);
  const DeviceUse use = std::ranges::min(processes.facts, {}, &Facts::device_use).device_use;
  const bool expects = std::ranges::any_of(processes.facts, &Facts::expects_devices);
  team.change_agreed().mpi_device = use;
  set_waiting(team);
  if (processes.facts[static_cast<std::size_t>(group.me)].crowded) {
    share_processors(settings, settings.explain && group.me == 0);
  }
  apply_node_map(team, settings, processes.nodes);

  if (settings.inbox_limit == 0) {
    team.inbox_obstacle = Reason::inboxes_off;
  } else if (!lies_within(team.nodes, processes.nodes)) {
    team.inbox_obstacle = Reason::no_shared_node;
  } else {
    const int node_ranks = static_cast<int>(members_of(processes.nodes, group.me).size());
    team.inbox_obstacle = share_nodes(team, settings, processes, telling);
    static const std::size_t second_cache = sys::cache_bytes(2);  // read from files: once a process
    static const memory::LastCaches last_caches{sys::last_cache_bytes(sys::allowed_processors()),
                                                sys::last_cache_bytes(sys::every_processor())};
    group.copying =
        memory::copy_plan(settings.stream, second_cache, last_caches, node_ranks, group.reach().points.stream_from);
  }
  // There is something to choose whatever the MPI takes: between nodes, and on one where memory can be shared.
  const bool has_ways = use != DeviceUse::none || team.nodes.nodes > 1 || group.inbox.usable();
  team.change_agreed().follows_devices = expects && has_ways;
  group.change_reach().slot_limit = std::min(settings.inbox_limit, group.inbox.capacity());
  // What the user set comes before the table.
  if (settings.inbox_limit != SIZE_MAX) {
    group.change_reach().points.inbox_limit.fill(settings.inbox_limit);
    team.change_agreed().points = Points::given;
    for (choose::SizedChoices& choices : team.change_agreed().by_size.on_host)
      choose::keep_default(choices, group.reach().slot_limit);
  }
  if (team.counted.explains && group.me == 0) {
    explain_reach(team, processes, members_of(team.nodes, group.me), settings.ways);
  }
  if (team.nodes.nodes > 1) agree_on_messages(team, telling);
  team.change_agreed().away_steps = settings.away_steps;
  team.change_agreed().forced = settings.forced;
  team.change_standing(Standing::ready);
  return mpi_success;
}

}  // namespace

int setup(Team& team) {
  await_told(team);
  if (team.lost) return mpi().err_other;
  if (team.ready()) return mpi_success;
  Telling telling(team);
  return setup_by(team, telling);
}

int prepare_messages(Team& team) {
  run::Messages& messages = team.group.change_messages();
  if (messages.comm != mpi().comm_null) return mpi_success;
  if (team.no_messages) return mpi().err_other;
  // A fault of the user's communicator must end the wait.
  int error = make_private(watches_faults() ? team.user : team.own(), messages.comm);
  team.no_messages = error != mpi_success;
  if (error != mpi_success) error = error_of_thrown(team.user, error);
  if (team.eligible() || error != mpi_success) return error;
  // Nobody sends to another on it but we, and only with the tags of exchanges that are awaited.
  messages.quiet = messages.comm;
  team.group.me = rank_in(team.user);
  team.group.ranks = size_of(team.user);
  return error;
}

// ---- Without waiting ----

namespace {

// Tags for messages of communicators: each process of MPI_COMM_WORLD gives away some of its own.
constexpr std::int64_t tags_below = tags::count;  // those of MPI_COMM_WORLD's own messages

// Communicators that each process can give tags to.
std::int64_t tags_of_process() {
  int found = 0;
  const int* largest = nullptr;
  if (mpi().Comm_get_attr(mpi().comm_world, mpi().tag_ub, &largest, &found) != mpi_success || !found) return 0;
  const std::int64_t count = (std::int64_t{*largest} - tags_below) / tags_apart / size_of(mpi().comm_world);
  return std::max<std::int64_t>(count, 0);
}

// In turn; that one is still in use after all others is not to be expected.
int next_first_tag() {
  static constinit std::atomic<std::int64_t> given{0};
  const std::int64_t count = tags_of_process();
  const std::int64_t first = tags_below + count * tags_apart * rank_in(mpi().comm_world);
  return static_cast<int>(first + given++ % count * tags_apart);
}
constexpr std::int64_t enough_tags = 1024;

}  // namespace

bool may_be_told(Team& team) {
  const Config& settings = config();
  // A failed broadcast would call the program's error handler under a lock, and the messages of a communicator without
  // one of its own could be ended only with those of all others.
  if (watches_faults()) return false;
  if (!team.eligible() || !world_has_met() || settings.any_forced || settings.inbox_limit == 0 || settings.check)
    return false;
  if (!settings.nodes.empty() || tags_of_process() < enough_tags) return false;
  const Team* const all = team_of(mpi().comm_world);
  if (all == nullptr || !all->taken.ready() || all->lanes == nullptr || all->lanes->lanes.empty()) return false;
  if (all->group.messages().comm == mpi().comm_null || all == &team) return false;
  const std::shared_ptr<const Processes> known = world();
  return known != nullptr && plan::nodes_of(known->nodes, ranks_in_world(team.user)).nodes == 1;
}

void prepare_apart(Team& team, Telling telling) {
  if (!team.ready()) setup_by(team, telling);
  int first_tag = team.group.me == 0 ? next_first_tag() : 0;
  telling.tell(&first_tag, sizeof first_tag);
  LanesMemory lanes{};
  if (team.lanes == nullptr && team.area.is_there() && team.group.reach().rings) {
    if (team.group.me == 0) lanes = take_lanes(team);
    telling.tell(lanes.data(), sizeof lanes);
    lay_lanes(team, lanes_without_memory(team), lanes);
  }
  // The resources of blocking calls may still become available where ranks may wait.
  if (team.ready() && !team.area.is_there()) team.change_standing(Standing::eligible);
  if (team.lanes == nullptr || team.lanes->lanes.empty()) team.taken.first_tag = first_tag;
}

void await_told(Team& team) {
  constexpr int turns_before_yield = 100;
  for (int turn = 0; team.taken.in_flight(); ++turn) {
    run::UnderWay::here().advance();
    turn < turns_before_yield ? sys::pause() : sys::yield();
  }
}

void end_told(Team& team) {
  if (mpi().is_openmpi()) return await_told(team);
  if (!team.taken.in_flight()) return;
  const run::UnderWay::Held held(run::UnderWay::here());
  if (team.taken.coming != nullptr) team.taken.coming->arrive();
}

}  // namespace quadrille::team
