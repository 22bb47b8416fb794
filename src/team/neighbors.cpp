#include "team/neighbors.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "mpi/mpi.hpp"
#include "plan/cost.hpp"
#include "team/config.hpp"
#include "team/processes.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

// ---- The attribute of isomorphic communicators ----

struct Kept {
  std::shared_ptr<const Isomorphic> isomorphic;
  // Open MPI 5 copies attributes also to a graph that MPI_Dist_graph_create_adjacent makes from the communicator.
  bool copied = false;
};

int copy_kept(MpiComm, int, void*, void* value, void* copied, int* flag) {
  *flag = 1;
  return thrown_by([&] { *static_cast<void**>(copied) = new Kept{static_cast<Kept*>(value)->isomorphic, true}; });
}

int free_kept(MpiComm, int, void* value, void*) {
  delete static_cast<Kept*>(value);
  return mpi_success;
}

int kept_keyval() { return keyval_of<free_kept, copy_kept>(); }

Kept kept_on(MpiComm comm) {
  Kept* kept = nullptr;
  get_attribute(comm, kept_keyval(), kept);
  return kept != nullptr ? *kept : Kept();
}

// ---- The topologies ----

// Adds neighbour i of an isomorphic neighbourhood: `to` gets send block `send`, and recv block `recv` comes
// from `from`; -1 for a process that is not there.
void add_edge(Neighbors& n, int from, int recv, int to, int send) {
  n.iso_send.push_back(to < 0 ? -1 : send);
  n.iso_recv.push_back(from < 0 ? -1 : recv);
  if (to >= 0) n.destinations.add(to, send);
  if (from >= 0) n.sources.add(from, recv);
}

// The two neighbours in each dimension, first the negative one. What goes to the negative neighbour arrives
// there as the block of its positive one: also where both are the same process, or the process itself.
Neighbors of_cart(MpiComm comm, int me) {
  Neighbors n;
  plan::Grid grid;
  if (!grid_of(comm, grid)) return n;
  const std::size_t dimensions = grid.extents.size();
  n.send_blocks = n.recv_blocks = static_cast<int>(2 * dimensions);
  plan::Neighborhood around{static_cast<int>(dimensions), std::vector<int>(2 * dimensions * dimensions, 0)};
  for (std::size_t i = 0; i < 2 * dimensions; ++i) around.offsets[i * dimensions + i / 2] = i % 2 == 0 ? -1 : 1;
  for (std::size_t d = 0; d < dimensions; ++d) n.doubtful = n.doubtful || (grid.periodic[d] && grid.extents[d] <= 2);
  const plan::RanksAround ranks = plan::ranks_around(grid, around, me);
  for (int i = 0; i < n.send_blocks; ++i) {
    const auto offset = static_cast<std::size_t>(i);
    add_edge(n, ranks.sources[offset], i ^ 1, ranks.destinations[offset], i);
  }
  n.isomorphic = isomorphic_around(std::move(grid), std::move(around));
  return n;
}

// The user's blocks are those of MPI's lists: absent processes are not counted.
Neighbors of_isomorphic(std::shared_ptr<const Isomorphic> kept, int me) {
  Neighbors n;
  const plan::RanksAround ranks = plan::ranks_around(kept->grid, kept->neighborhood, me);
  const std::size_t s = ranks.sources.size();
  for (plan::EdgeEnds* ends : {&n.sources, &n.destinations}) ends->peers.reserve(s), ends->blocks.reserve(s);
  n.iso_send.reserve(s), n.iso_recv.reserve(s);
  for (std::size_t i = 0; i < s; ++i) {
    const int from = ranks.sources[i], to = ranks.destinations[i];
    add_edge(n, from, n.recv_blocks, to, n.send_blocks);
    n.recv_blocks += from >= 0 ? 1 : 0;
    n.send_blocks += to >= 0 ? 1 : 0;
  }
  n.doubtful = plan::has_double_edges(kept->grid, kept->neighborhood);
  n.asserted = kept->asserted;
  n.checked = kept->checked;
  n.asked = true;
  n.isomorphic = std::move(kept);
  return n;
}

// With at least one element: some MPIs look at the address.
std::vector<int> room_for(int count) { return std::vector<int>(static_cast<std::size_t>(std::max(count, 1))); }

// Numbers the blocks of one side. MPI_PROC_NULL, which the MPIs allow here, has a block and is no neighbour.
void number_blocks(plan::EdgeEnds& ends) {
  ends.blocks.resize(ends.peers.size());
  std::iota(ends.blocks.begin(), ends.blocks.end(), 0);
  std::erase_if(ends.blocks, [&](int block) { return ends.peers[static_cast<std::size_t>(block)] == mpi().proc_null; });
  std::erase(ends.peers, mpi().proc_null);
}

void number_edges(Neighbors& n) {
  n.doubtful = true;
  n.recv_blocks = static_cast<int>(n.sources.peers.size());
  n.send_blocks = static_cast<int>(n.destinations.peers.size());
  number_blocks(n.sources);
  number_blocks(n.destinations);
}

Neighbors of_graph(MpiComm comm, int me) {
  Neighbors n;
  int count = 0;
  if (mpi().Graph_neighbors_count(comm, me, &count) != mpi_success) return n;
  std::vector<int>& peers = n.sources.peers;
  peers = room_for(count);
  if (mpi().Graph_neighbors(comm, me, count, peers.data()) != mpi_success) count = 0;
  peers.resize(static_cast<std::size_t>(count));
  n.destinations = n.sources;
  number_edges(n);
  return n;
}

Neighbors of_dist_graph(MpiComm comm) {
  Neighbors n;
  int in = 0, out = 0, weighted = 0;
  if (mpi().Dist_graph_neighbors_count(comm, &in, &out, &weighted) != mpi_success) return n;
  std::vector<int>&sources = n.sources.peers, &destinations = n.destinations.peers;
  sources = room_for(in), destinations = room_for(out);
  std::vector<int> in_weights = room_for(in), out_weights = room_for(out);
  mpi().Dist_graph_neighbors(comm, in, sources.data(), weighted ? in_weights.data() : mpi().unweighted, out,
                             destinations.data(), weighted ? out_weights.data() : mpi().unweighted);
  sources.resize(static_cast<std::size_t>(in));
  destinations.resize(static_cast<std::size_t>(out));
  number_edges(n);
  return n;
}

// ---- What combining costs ----

// A grid in whose middle a process has all neighbours that anybody has.
plan::Grid without_border(const plan::Grid& grid, const plan::Neighborhood& ways) {
  plan::Grid wide = grid;
  for (std::size_t d = 0; d < grid.extents.size(); ++d) {
    int reach = 0;
    for (int i = 0; i < ways.size(); ++i) reach = std::max(reach, std::abs(ways.offset(i)[d]));
    if (!grid.periodic[d]) wide.extents[d] = 2 * reach + 1;
  }
  return wide;
}

choose::CombiningCosts costs_of(const plan::NeighborProblem& problem, Collective collective) {
  const plan::Neighborhood ways = plan::travelled(*problem.grid, *problem.neighborhood);
  const plan::Grid wide = without_border(*problem.grid, ways);
  int middle = 0;
  for (const int extent : wide.extents) middle = middle * extent + extent / 2;
  choose::CombiningCosts costs;
  for (int i = 0; i < ways.size(); ++i) {
    const std::span<const int> way = ways.offset(i);
    costs.neighbors += std::any_of(way.begin(), way.end(), [](int c) { return c != 0; }) ? 1 : 0;
  }
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (!choose::serves(algorithm, collective) || !algorithm.needs.equal_sizes) continue;
    const plan::Counts counts = plan::count(algorithm.build_neighbors({&wide, &ways, middle, {}, problem.last_basis}));
    costs.algorithms.push_back(
        {&algorithm, static_cast<std::int64_t>(counts.messages), static_cast<std::int64_t>(counts.blocks_sent)});
  }
  return costs;
}

bool is_whole(const plan::Grid& grid, const plan::Neighborhood& around) {
  if (grid.is_torus()) return true;
  for (std::size_t k = 0; k < around.offsets.size(); ++k) {
    if (around.offsets[k] != 0 && !grid.periodic[k % grid.extents.size()]) return false;
  }
  return true;
}

// Before a communicator is ready, what is known of all ranks has to do. Null if nothing is.
const Team* who_knows(const Team& team) {
  if (team.ready()) return &team;
  const Team* world = team_of(mpi().comm_world);
  return world != nullptr && world->ready() ? world : nullptr;
}

// Do all ranks share a node and have rings? Before a communicator is ready it is guessed, by what MPI_Init found;
// after that it is looked up again.
bool is_in_node(const Team& team) {
  if (team.ready()) return team.nodes.nodes == 1 && team.group.reach().rings;
  return team.eligible() && world_has_met() && world()->nodes.nodes == 1;
}

}  // namespace

const choose::CombiningCosts& Isomorphic::costs(bool gather) const {
  const Collective collective = gather ? Collective::neighbor_allgather : Collective::neighbor_alltoall;
  return (gather ? allgather_ : alltoall_).get([&] { return costs_of(problem(0, {}), collective); });
}

bool Isomorphic::nobody_alone() const {
  return nobody_alone_.get([&] {
    const auto nobody = [](const std::vector<int>& there) {
      return std::ranges::none_of(there, [](int other) { return other >= 0; });
    };
    for (int r = 0; r < grid.ranks(); ++r) {
      const plan::RanksAround there = plan::ranks_around(grid, neighborhood, r);
      if (nobody(there.sources) || nobody(there.destinations)) return false;
    }
    return true;
  });
}

bool forces(const Team& team, bool choose::Needs::*need) {
  return std::ranges::any_of(team.agreed().forced.by_collective, [&](const choose::Choice& choice) {
    return choice.algorithm != nullptr && choice.algorithm->needs.*need;
  });
}

bool may_choose_inside(const Team& team) {
  return !team.agreed().by_size.inside.empty() && !watches_faults() && is_in_node(team) &&
         team.group.reach().load_store;
}

bool may_combine(const Team& team) {
  const Team* known = who_knows(team);
  if (known == nullptr || known->nodes.nodes == 1) return false;
  return !known->crowded || known->agreed().model.quadrille != plan::Machine{} || !known->agreed().measured.empty();
}

std::shared_ptr<Isomorphic> isomorphic_around(plan::Grid grid, plan::Neighborhood neighborhood) {
  auto made = std::make_shared<Isomorphic>();
  made->grid = std::move(grid);
  made->neighborhood = std::move(neighborhood);
  made->whole = is_whole(made->grid, made->neighborhood);
  return made;
}

bool grid_of(MpiComm cart, plan::Grid& grid) {
  int dimensions = 0;
  if (topology_of(cart) != mpi().cart) return false;
  if (mpi().Cartdim_get(cart, &dimensions) != mpi_success) return false;
  const auto count = static_cast<std::size_t>(dimensions);
  grid.extents.resize(count);
  grid.periodic.resize(count);
  std::vector<int> rest(2 * count);  // whether it is periodic, and the coordinates
  if (dimensions > 0 &&
      mpi().Cart_get(cart, dimensions, grid.extents.data(), rest.data(), rest.data() + dimensions) != mpi_success) {
    return false;
  }
  for (std::size_t d = 0; d < count; ++d) grid.periodic[d] = rest[d] != 0;
  return true;
}

int keep_isomorphic(MpiComm comm, std::shared_ptr<const Isomorphic> isomorphic) {
  return mpi().Comm_set_attr(comm, kept_keyval(), new Kept{std::move(isomorphic)});
}

bool has_topology(const Team& team) { return topology_of(team.user) != mpi().undefined; }

std::shared_ptr<Neighbors> read_neighbors(MpiComm comm) {
  const int topology = topology_of(comm), me = rank_in(comm);
  const Kept kept = kept_on(comm);
  if (kept.isomorphic != nullptr && !kept.copied) {
    return std::make_shared<Neighbors>(of_isomorphic(kept.isomorphic, me));
  }
  if (topology == mpi().dist_graph) {
    auto made = std::make_shared<Neighbors>(of_dist_graph(comm));
    made->of_original = kept.isomorphic;
    return made;
  }
  if (topology == mpi().cart) return std::make_shared<Neighbors>(of_cart(comm, me));
  if (topology == mpi().graph) return std::make_shared<Neighbors>(of_graph(comm, me));
  return nullptr;
}

int ask_original(Team& team) {
  Neighbors& n = *team.neighbors;
  const std::shared_ptr<const Isomorphic> kept = std::exchange(n.of_original, nullptr);
  Neighbors original = of_isomorphic(kept, rank_in(team.user));
  const int same = original.sources == n.sources && original.destinations == n.destinations ? 1 : 0;
  int all = 0;
  const int error = ours::allreduce(&same, &all, 1, mpi().int_type, mpi().op_min, team.user);
  if (error != mpi_success || all == 0) return error;
  n.iso_send = std::move(original.iso_send);
  n.iso_recv = std::move(original.iso_recv);
  n.isomorphic = kept;
  n.doubtful = original.doubtful;
  n.checked = original.checked;
  if (!n.wish.has_value()) n.asserted = original.asserted, n.asked = true;
  forget_selections(team);
  return mpi_success;
}

const Neighbors* neighbors_of(Team& team) {
  if (team.neighbors == nullptr) team.neighbors = read_neighbors(team.user);
  return team.neighbors.get();
}

const run::NodeEdges& node_edges_of(Team& team) {
  Neighbors& n = *team.neighbors;
  if (!n.node_edges) {
    n.node_edges = run::node_edges(team.group.me, team.group.ranks, n.sources, n.destinations);
  }
  return *n.node_edges;
}

const plan::Schedule& neighbor_plan_of(Team& team, const choose::Choice& choice) {
  return cached_plan(team, choice, [&] {
    const plan::BuildNeighbors build = choice.algorithm->build_neighbors;
    const Neighbors& n = *neighbors_of(team);
    const int me = rank_in(team.user);
    return build == nullptr ? plan::neighbor_direct(me, n.sources.peers, n.destinations.peers)
                            : build(n.isomorphic->problem(me, choice.parameters));
  });
}

run::NeighborSlots slots_of(const Team& team, const choose::Choice& choice) {
  const Neighbors& n = *team.neighbors;
  if (choice.algorithm->build_neighbors == nullptr) return {n.destinations.blocks, n.sources.blocks};
  return {n.iso_send, n.iso_recv};
}

choose::NeighborKey neighbor_key_of(Team& team, Collective collective, std::size_t bytes, bool drop_in) {
  const Isomorphic* around = team.neighbors->isomorphic.get();
  const bool uniform = is_regular(collective);
  const bool in_node = is_in_node(team);
  choose::NeighborKey key{
      .collective = collective,
      .by_ourselves = !drop_in && team.neighbors->doubtful,
      .rounds_are_cheap = false,
      .in_node = in_node,
      .load_store = in_node && !watches_faults() && (!team.ready() || team.group.reach().load_store),
      .isomorphic = around != nullptr,
      .sizes_known = around != nullptr && (uniform || team.neighbors->sizes_known()),
      .bytes = bytes,
      .costs = nullptr};
  if (around != nullptr && may_choose_inside(team) && (!uniform || around->nobody_alone())) {
    key.costs = &around->costs(is_allgather(collective));
    key.inside = team.agreed().by_size.inside;
  }
  key.mpi_collects_devices = team.agreed().mpi_device == DeviceUse::all;
  key.mpi_sends_devices = team.agreed().mpi_device != DeviceUse::none && !mpi().device_lacks_gaps;
  key.tries = team.agreed().may_try >= (team.nodes.nodes == 1 ? MayTry::everything : MayTry::between_nodes);
  return key;
}

choose::Selection select_among_neighbors(Team& team, Collective collective, std::size_t bytes, bool drop_in) {
  choose::NeighborKey key = neighbor_key_of(team, collective, bytes, drop_in);
  const choose::Choice& forced = team.agreed().forced.of(collective);
  // Counting what combining costs takes longer than all the rest of a first call, so only if it may decide.
  if (key.sizes_known && may_combine(team) && !choose::is_obeyed(key, forced)) {
    const Team& known = *who_knows(team);
    key.costs = &team.neighbors->isomorphic->costs(is_allgather(collective));
    key.rounds_are_cheap = !known.crowded;
    key.machine = plan::flat(known.agreed().model.quadrille, known.nodes.ranks_on_fullest_node());
    key.measured = known.agreed().measured;
  }
  return choose::select_neighbors(key, forced);
}

// ---- Block sizes ----
//
// What the user asserts of a communicator that he made himself: by the info that the MPI keeps with it, or by
// Quadrille_Set_iso_sizes. All ranks must have said so, and mean the same by block i.

namespace {

Hints hints_of(MpiComm comm) {
  MpiInfo info = mpi().info_null;
  if (mpi().Comm_get_info(comm, &info) != mpi_success || info == mpi().info_null) return {};
  Hints hints = read_hints(info);
  mpi().Info_free(&info);
  return hints;
}

}  // namespace

bool may_be_asserted(Team& team) {
  const Neighbors* n = neighbors_of(team);
  if (n == nullptr || n->asked || n->isomorphic == nullptr || !n->isomorphic->whole) return false;
  if (n->wish.has_value()) return true;
  return team.eligible() &&
         (config().check || forces(team, &choose::Needs::equal_sizes) || may_combine(team) || may_choose_inside(team));
}

void ask_assertion(Team& team) {
  Neighbors& n = *team.neighbors;
  n.asked = true;
  const Hints hints = hints_of(team.user);
  if (rank_in(team.user) == 0 && team.counted.explains) say_problems(hints, "the info of a communicator");
  const bool asserted = n.wish.value_or(hints.iso_sizes);
  n.checked = n.checked || hints.check || config().check;
  // Equal on ranks whose blocks go to the same offsets of the grid in the same order. Behind a graph each rank may list
  // its neighbours in an order of its own: then block i of one rank is not block i of another. Nor may some ranks check
  // alone.
  const std::uint64_t mine = text::Hash().add(n.checked ? 1 : 0).add_all(n.iso_send).value();
  // Who does not assert it agrees with nobody who does.
  n.asserted = all_agree(team.user, asserted ? mine : ~mine) && asserted;
  forget_selections(team);
}

// ---- The graph of a communicator whose ranks share a node, brought together once ----

namespace {

// As a list: how many there are, then the peers, then the blocks.
void write_ends(const plan::EdgeEnds& ends, std::vector<int>& list) {
  list.push_back(static_cast<int>(ends.peers.size()));
  for (const std::vector<int>* part : {&ends.peers, &ends.blocks}) list.insert(list.end(), part->begin(), part->end());
}

const int* read_ends(const int* list, plan::EdgeEnds& ends) {
  const int *const peers = list + 1, *const blocks = peers + *list, *const end = blocks + *list;
  ends = {{peers, blocks}, {blocks, end}};
  return end;
}

// What all ranks wrote, one behind the other. Returns an MPI error code.
int gather(const run::Group& group, const std::vector<int>& mine, std::vector<int>& all) {
  const auto ranks = static_cast<std::size_t>(group.ranks);
  std::vector<int> counts(ranks);
  const int count = static_cast<int>(mine.size());
  int error = ours::allgather(&count, 1, mpi().int_type, counts.data(), 1, mpi().int_type, group.messages().comm);
  if (error != mpi_success) return error;
  // Each as long as the longest: Intel MPI's nonblocking Allgatherv may hang.
  const int most = *std::ranges::max_element(counts);
  const auto length = static_cast<std::size_t>(most);
  std::vector<int> padded = mine, all_padded(ranks * length);
  padded.resize(length);
  error = ours::allgather(padded.data(), most, mpi().int_type, all_padded.data(), most, mpi().int_type,
                          group.messages().comm);
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto from = all_padded.begin() + static_cast<std::ptrdiff_t>(r * length);
    all.insert(all.end(), from, from + counts[r]);
  }
  return error;
}

int bring_together(Team& team, NodeGraph& graph) {
  const Neighbors& n = *team.neighbors;
  std::vector<int> mine, all;
  write_ends(n.destinations, mine);
  write_ends(n.sources, mine);
  if (const int error = gather(team.group, mine, all); error != mpi_success) return error;
  const auto ranks = static_cast<std::size_t>(team.group.ranks);
  std::vector<plan::EdgeEnds> destinations(ranks), sources(ranks);
  const int* at = all.data();
  for (std::size_t r = 0; r < ranks; ++r) at = read_ends(read_ends(at, destinations[r]), sources[r]);
  graph.edges = plan::join_edges(destinations, sources);
  graph.here = run::edges_here(team.group.me, n.send_blocks, n.recv_blocks, graph.edges);
  return mpi_success;
}

}  // namespace

const plan::Schedule* copy_plan_of(Team& team, const choose::Choice& choice, int& error) {
  error = mpi_success;
  std::optional<NodeGraph>& graph = team.neighbors->node_graph;
  if (!graph) {
    NodeGraph made;
    error = bring_together(team, made);
    if (error != mpi_success) return nullptr;
    graph = std::move(made);
  }
  return &cached_plan(team, choice, [&] {
    return choice.algorithm->build_edges({team.group.ranks, team.group.me, graph->edges, domains_of(team)});
  });
}

}  // namespace quadrille::team
