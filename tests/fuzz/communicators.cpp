#include "communicators.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "doors.hpp"

namespace quadrille::fuzz {
namespace {

void check(int error, const char* what) {
  if (error != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

std::vector<int> world_ranks(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), result(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (size > 0) MPI_Group_translate_ranks(group, size, ranks.data(), world, result.data());
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  return result;
}

std::vector<int> world_ranks(MPI_Comm comm, bool remote) {
  MPI_Group group = MPI_GROUP_NULL;
  if (remote) {
    MPI_Comm_remote_group(comm, &group);
  } else {
    MPI_Comm_group(comm, &group);
  }
  return world_ranks(group);
}

// The k-th edge to a rank is its k-th edge from us.
std::vector<Edge> in_order(const std::vector<int>& peers, const Communicator& c) {
  std::map<int, int> seen;
  std::vector<Edge> edges;
  for (const int peer : peers)
    edges.push_back({peer < 0 ? -1 : c.world[static_cast<std::size_t>(peer)], seen[peer]++, 0});
  return edges;
}

// The neighbours by the definition of the standard: a block sent down arrives as the one from above.
void learn_grid(Communicator& c) {
  int dimensions = 0;
  MPI_Cartdim_get(c.comm, &dimensions);
  for (int d = 0; d < dimensions; ++d) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    MPI_Cart_shift(c.comm, d, 1, &below, &above);
    const auto world = [&c](int rank) { return rank < 0 ? -1 : c.world[static_cast<std::size_t>(rank)]; };
    c.from.push_back({world(below), 2 * d, d});
    c.from.push_back({world(above), 2 * d + 1, d});
    c.to.push_back({world(below), 2 * d + 1, d});
    c.to.push_back({world(above), 2 * d, d});
  }
}

void learn_neighbors(Communicator& c) {
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(c.comm, &kind);
  c.topology = kind != MPI_UNDEFINED;
  if (kind == MPI_CART) learn_grid(c);
  if (kind == MPI_GRAPH) {
    int count = 0;
    MPI_Graph_neighbors_count(c.comm, c.rank, &count);
    std::vector<int> peers(static_cast<std::size_t>(count));
    MPI_Graph_neighbors(c.comm, c.rank, count, peers.data());
    c.to = c.from = in_order(peers, c);
  }
  if (kind == MPI_DIST_GRAPH) {
    int in = 0, out = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(c.comm, &in, &out, &weighted);
    // One more than needed, so that no array is null.
    std::vector<int> sources(static_cast<std::size_t>(in) + 1), destinations(static_cast<std::size_t>(out) + 1);
    std::vector<int> in_weights(sources.size()), out_weights(destinations.size());
    MPI_Dist_graph_neighbors(c.comm, in, sources.data(), weighted != 0 ? in_weights.data() : MPI_UNWEIGHTED, out,
                             destinations.data(), weighted != 0 ? out_weights.data() : MPI_UNWEIGHTED);
    sources.pop_back(), destinations.pop_back();
    c.from = in_order(sources, c);
    c.to = in_order(destinations, c);
  }
}

void learn(Communicator& c) {
  int inter = 0;
  MPI_Comm_test_inter(c.comm, &inter);
  c.inter = inter != 0;
  c.rank = rank_of(c.comm), c.size = size_of(c.comm);
  c.world = world_ranks(c.comm, false);
  // MPICH 5.0 gives all ranks of the parent as the group of a grid that leaves some of them out.
  c.world.resize(static_cast<std::size_t>(c.size));
  for (const int peer : c.inter ? world_ranks(c.comm, true) : c.world) c.everybody.push_back({peer, 0, 0});
  if (!c.inter) learn_neighbors(c);
}

// ---- Making them. `draw` gives the same numbers on all ranks of `parent` ----

std::vector<int> extents_of(Draw& draw, int ranks) {
  std::vector<int> extents;
  while (ranks > 1) {
    std::vector<int> divisors;
    for (int d = 2; d <= ranks; ++d) {
      if (ranks % d == 0) divisors.push_back(d);
    }
    extents.push_back(draw.pick(divisors));
    ranks /= extents.back();
  }
  while (extents.empty() || (extents.size() < 4 && draw.one_in(3))) extents.push_back(1);
  draw.shuffle(extents);
  return extents;
}

MPI_Comm make_grid(Draw& draw, MPI_Comm parent, bool reorder, std::string& name) {
  const int ranks = size_of(parent);
  // Sometimes the last ranks are left out.
  const int used = ranks > 2 && draw.one_in(5) ? ranks - 1 : ranks;
  const std::vector<int> extents = extents_of(draw, used);
  std::vector<int> periodic;
  for (std::size_t d = 0; d < extents.size(); ++d) periodic.push_back(draw.one_in(3) ? 0 : 1);
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Cart_create(parent, static_cast<int>(extents.size()), extents.data(), periodic.data(), reorder ? 1 : 0,
                        &comm),
        "MPI_Cart_create");
  name = "grid";
  for (std::size_t d = 0; d < extents.size(); ++d) {
    name += (d > 0 ? "x" : " ") + std::to_string(extents[d]) + (periodic[d] != 0 ? "p" : "");
  }
  if (extents.size() < 2 || !draw.one_in(6) || comm == MPI_COMM_NULL) return comm;
  std::vector<int> remain;
  for (std::size_t d = 0; d < extents.size(); ++d) remain.push_back(draw.one_in(2) ? 1 : 0);
  if (std::count(remain.begin(), remain.end(), 1) == 0) remain[0] = 1;
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Cart_sub(comm, remain.data(), &part), "MPI_Cart_sub");
  MPI_Comm_free(&comm);
  name += ", part of it";
  return part;
}

// How many edges lead from one rank to another.
std::size_t edges_between(std::uint64_t seed, int from, int to) {
  Draw draw(seed_of({seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)}));
  Draw density(seed);
  const std::size_t some = density.between(1, 4);
  return draw.one_in(some) ? draw.pick({1, 1, 1, 2, 3}) : 0;
}

// A rank without neighbours now and then.
bool is_lonely(std::uint64_t seed, int rank) {
  return Draw(seed_of({seed, 77, static_cast<std::uint64_t>(rank)})).one_in(6);
}

std::vector<int> peers_of(std::uint64_t seed, int rank, int ranks, bool incoming) {
  std::vector<int> peers;
  if (is_lonely(seed, rank)) return peers;
  for (int peer = 0; peer < ranks; ++peer) {
    if (is_lonely(seed, peer)) continue;
    const std::size_t edges = incoming ? edges_between(seed, peer, rank) : edges_between(seed, rank, peer);
    peers.insert(peers.end(), edges, peer);
  }
  Draw order(seed_of({seed, 78, static_cast<std::uint64_t>(rank), incoming ? 1U : 0U}));
  order.shuffle(peers);
  return peers;
}

MPI_Comm make_graph(Draw& draw, MPI_Comm parent, bool reorder) {
  const int ranks = size_of(parent);
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(ranks));
  const std::uint64_t seed = draw.next();
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b <= a; ++b) {
      for (std::size_t e = edges_between(seed, a, b); e > 0; --e) {
        lists[static_cast<std::size_t>(a)].push_back(b);
        if (a != b) lists[static_cast<std::size_t>(b)].push_back(a);
      }
    }
  }
  std::vector<int> ends, edges;
  for (auto& list : lists) {
    draw.shuffle(list);
    edges.insert(edges.end(), list.begin(), list.end());
    ends.push_back(static_cast<int>(edges.size()));
  }
  edges.reserve(1);
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Graph_create(parent, ranks, ends.data(), edges.data(), reorder ? 1 : 0, &comm), "MPI_Graph_create");
  return comm;
}

MPI_Comm make_dist_graph(Draw& draw, MPI_Comm parent, bool reorder) {
  const std::uint64_t seed = draw.next();
  const int me = rank_of(parent), ranks = size_of(parent);
  std::vector<int> sources = peers_of(seed, me, ranks, true), destinations = peers_of(seed, me, ranks, false);
  const auto in = static_cast<int>(sources.size()), out = static_cast<int>(destinations.size());
  sources.push_back(0), destinations.push_back(0);
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Dist_graph_create_adjacent(parent, in, sources.data(), MPI_UNWEIGHTED, out, destinations.data(),
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, reorder ? 1 : 0, &comm),
        "MPI_Dist_graph_create_adjacent");
  return comm;
}

// Each rank names the edges of another.
MPI_Comm make_general_graph(Draw& draw, MPI_Comm parent) {
  const std::uint64_t seed = draw.next();
  const int ranks = size_of(parent), source = (rank_of(parent) + 1) % ranks;
  std::vector<int> destinations = peers_of(seed, source, ranks, false);
  const int degree = static_cast<int>(destinations.size()), sources = degree > 0 ? 1 : 0;
  destinations.push_back(0);
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Dist_graph_create(parent, sources, &source, &degree, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                              &comm),
        "MPI_Dist_graph_create");
  return comm;
}

MPI_Comm make_inter(Draw& draw, MPI_Comm parent) {
  const int ranks = size_of(parent), me = rank_of(parent);
  const int cut = static_cast<int>(draw.between(1, static_cast<std::size_t>(ranks) - 1));
  MPI_Comm part = MPI_COMM_NULL, comm = MPI_COMM_NULL;
  check(MPI_Comm_split(parent, me < cut ? 0 : 1, me, &part), "MPI_Comm_split");
  check(MPI_Intercomm_create(part, 0, parent, me < cut ? cut : 0, 4711, &comm), "MPI_Intercomm_create");
  MPI_Comm_free(&part);
  return comm;
}

MPI_Comm make_subset(Draw& draw, MPI_Comm parent, bool by_group_alone) {
  const int ranks = size_of(parent);
  std::vector<int> members;
  for (int r = 0; r < ranks; ++r) {
    if (!draw.one_in(4)) members.push_back(r);
  }
  if (members.empty()) members.push_back(0);
  draw.shuffle(members);
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
  MPI_Comm comm = MPI_COMM_NULL;
  const bool in = std::find(members.begin(), members.end(), rank_of(parent)) != members.end();
  if (!by_group_alone) {
    check(MPI_Comm_create(parent, some, &comm), "MPI_Comm_create");
  } else if (in) {
    check(MPI_Comm_create_group(parent, some, 17, &comm), "MPI_Comm_create_group");
  }
  MPI_Group_free(&all), MPI_Group_free(&some);
  return comm;
}

MPI_Comm duplicate(Draw& draw, MPI_Comm of) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (draw.one_in(4)) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Comm_idup(of, &comm, &request), "MPI_Comm_idup");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    check(MPI_Comm_dup(of, &comm), "MPI_Comm_dup");
  }
  return comm;
}

// One colour may be nobody's: those ranks get no communicator.
MPI_Comm split(Draw& draw, MPI_Comm parent, bool some_none, std::uint64_t& color_of_mine) {
  const std::size_t colors = draw.between(1, 3);
  const std::uint64_t seed = draw.next();
  Draw own(seed_of({seed, static_cast<std::uint64_t>(rank_of(parent))}));
  int color = static_cast<int>(own.below(colors));
  if (some_none && own.one_in(6)) color = MPI_UNDEFINED;
  color_of_mine = static_cast<std::uint64_t>(color + 100);
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_split(parent, color, static_cast<int>(own.below(5)), &comm), "MPI_Comm_split");
  return comm;
}

MPI_Comm make(Draw& draw, MPI_Comm parent, const Skips& skips, Communicator& c) {
  const bool alone = size_of(parent) < 2;
  const bool reorder = !skips.reorder && draw.one_in(4);
  std::uint64_t color = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  switch (draw.below(16)) {
    case 0:
    case 1:
      c.name = "split";
      comm = split(draw, parent, true, color);
      break;
    case 2:
      c.name = "split by type";
      check(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, size_of(parent) - rank_of(parent), MPI_INFO_NULL, &comm),
            "MPI_Comm_split_type");
      break;
    case 3:
      c.name = "subset";
      return make_subset(draw, parent, false);
    case 4:
      c.name = "subset by its group";
      return make_subset(draw, parent, true);
    case 5:
    case 6:
    case 7:
    case 8:
      return make_grid(draw, parent, reorder, c.name);
    case 9:
    case 10:
      c.name = "graph";
      return make_graph(draw, parent, reorder);
    case 11:
    case 12:
      c.name = "distributed graph";
      return make_dist_graph(draw, parent, reorder);
    case 13:
      if (skips.general_graphs) break;
      c.name = "general graph";
      return make_general_graph(draw, parent);
    case 14:
      if (skips.inter || alone) break;
      c.name = "intercommunicator";
      return make_inter(draw, parent);
    default:
      break;
  }
  if (comm == MPI_COMM_NULL && color == 0) {
    c.name = "duplicate";
    comm = duplicate(draw, parent);
  }
  c.number = seed_of({c.number, color});
  return comm;
}

Communicator make(std::uint64_t seed, std::size_t slot, const Skips& skips) {
  Communicator c;
  c.number = seed;
  if (slot < 2) {
    c.comm = slot == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;
    c.name = slot == 0 ? "world" : "self";
    if (slot == 1) c.number = seed_of({seed, static_cast<std::uint64_t>(rank_of(MPI_COMM_WORLD))});
    learn(c);
    return c;
  }
  Draw draw(seed);
  MPI_Comm parent = MPI_COMM_WORLD;
  if (draw.one_in(3)) {
    std::uint64_t color = 0;
    parent = split(draw, parent, false, color);
    c.number = seed_of({seed, color});
  }
  Draw own(c.number);
  c.comm = make(own, parent, skips, c);
  if (c.comm != MPI_COMM_NULL && own.one_in(5)) {
    MPI_Comm second = duplicate(own, c.comm);
    MPI_Comm_free(&c.comm);
    c.comm = second;
    c.name += ", duplicated";
  }
  if (parent != MPI_COMM_WORLD) MPI_Comm_free(&parent);
  c.owned = c.comm != MPI_COMM_NULL;
  if (c.owned) learn(c);
  return c;
}

// What nonblocking calls on the communicator need is made when a persistent request is (docs/requests.md). Not on all:
// on the others the first ones are the MPI's, and the next blocking call makes it.
void get_ready(Communicator& c, const Skips& skips) {
  if (c.comm == MPI_COMM_NULL || c.inter || c.size < 2 || !is_there(Collective::alltoall, Form::persistent)) return;
  if (!skips.nonblocking && Draw(seed_of({c.number, 8})).one_in(2)) return;
  std::vector<int> sent(static_cast<std::size_t>(c.size)), received(sent.size());
  Small arguments;
  arguments.send.buffer = sent.data(), arguments.receive.buffer = received.data();
  arguments.send.count = arguments.receive.count = 1;
  arguments.send.type = arguments.receive.type = MPI_INT;
  MPI_Request request = MPI_REQUEST_NULL;
  check(call(Collective::alltoall, Form::persistent, arguments, c.comm, &request), "making a persistent request");
  check(MPI_Request_free(&request), "MPI_Request_free");
  c.ready = true;
}

}  // namespace

const Communicator& Communicators::at(std::uint64_t step, std::size_t slot) {
  Draw of_slot(seed_of({seed_, 1001, slot}));
  const std::uint64_t life = slot < 2 ? UINT64_MAX : of_slot.pick({8U, 40U, 100U, 250U, 600U});
  const std::uint64_t generation = slot < 2 ? 1 : (step + of_slot.below(100)) / life + 1;
  Slot& here = live_[slot];
  if (here.made && here.generation == generation) return here.communicator;
  if (here.made && here.communicator.owned) MPI_Comm_free(&here.communicator.comm);
  here.communicator = make(seed_of({seed_, 1002, slot, generation}), slot, skips_);
  if (served_requests_) get_ready(here.communicator, skips_);
  here.generation = generation;
  here.made = true;
  return here.communicator;
}

void Communicators::free_all() {
  for (Slot& slot : live_) {
    if (slot.made && slot.communicator.owned) MPI_Comm_free(&slot.communicator.comm);
    slot.made = false;
  }
}

std::string Skips::read(const std::string& names) {
  const std::map<std::string, bool*> known = {{"pairs", &pairs},
                                              {"general-graphs", &general_graphs},
                                              {"reorder", &reorder},
                                              {"empty-types", &empty_types},
                                              {"in-place-lower", &in_place_lower},
                                              {"gaps", &gaps},
                                              {"absolute", &absolute},
                                              {"overlap", &overlap},
                                              {"dropped", &dropped},
                                              {"forks", &forks},
                                              {"inter", &inter},
                                              {"nonblocking", &nonblocking},
                                              {"uneven-types", &uneven_types},
                                              {"in-place", &in_place},
                                              {"persistent", &persistent},
                                              {"topology-overlap", &topology_overlap},
                                              {"lone-started", &lone_started},
                                              {"started-in-place", &started_in_place},
                                              {"lone-w", &lone_w},
                                              {"gatherv-types", &gatherv_types},
                                              {"uniform-types", &uniform_types},
                                              {"testall", &testall}};
  std::stringstream words(names);
  for (std::string word; std::getline(words, word, ',');) {
    const auto at = known.find(word);
    if (at == known.end()) return word;
    *at->second = true;
  }
  return {};
}

}  // namespace quadrille::fuzz
