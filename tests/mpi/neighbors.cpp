#include "neighbors.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>

#include "placed.hpp"

namespace quadrille::test {
namespace {

// ---- The blocks of a call ----

// How many common units the edge from s to d carries.
std::size_t units_of(const NeighborShape& shape, int s, int d, int id, std::size_t most) {
  if (is_regular(shape.collective)) return most;
  const bool gather = is_allgather(shape.collective);
  if (gather && shape.sizes_by_id) return most;
  const std::uint64_t edge =
      gather ? static_cast<std::uint64_t>(s)
             : (shape.sizes_by_id ? 0 : static_cast<std::uint64_t>(s * 100 + d) << 20) + static_cast<std::uint64_t>(id);
  const std::uint64_t chance = mix(shape.seed * 7919 + edge + 1);
  return chance % 4 == 0 ? 0 : chance / 4 % (most + 1);
}

const Type* pick(const std::vector<const Type*>& list, const NeighborShape& shape, int me, int place) {
  const int other = is_typed(shape.collective) ? place : 0;
  return list[mix(shape.seed * 104729 + static_cast<std::uint64_t>(me * 1009 + other) + 17) % list.size()];
}

std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t unit) { return (value + unit - 1) / unit * unit; }

// Places the blocks; v and w in reverse order with gaps. Displacements of w are whole 16 bytes.
void place(std::vector<Block>& blocks, bool bytes, bool in_order) {
  std::ptrdiff_t cursor = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    Block& block = blocks[in_order ? k : blocks.size() - 1 - k];
    const std::ptrdiff_t extent = block.type->extent;
    block.at = bytes ? round_up(cursor - block.type->lower, 16) : cursor;
    cursor = block.at + static_cast<std::ptrdiff_t>(block.count) * extent;
    if (bytes) cursor += block.type->lower;
    if (!in_order) cursor += static_cast<std::ptrdiff_t>(k % 3) * (bytes ? 16 : extent);
  }
}

struct Part {
  std::vector<Block> send, receive;
  std::size_t destinations;
  Block one_send, one_receive;  // count and type where there is one for all blocks, or none at all
};

Part part_of(const NeighborShape& shape, const Topology& t) {
  const int unit = common_units(shape.kinds), me = t.where.rank;
  const Type& first = *shape.kinds.send.front();
  const std::size_t unit_bytes = first.size / static_cast<std::size_t>(first.units) * static_cast<std::size_t>(unit);
  const std::size_t most = (shape.bytes + unit_bytes - 1) / unit_bytes;
  const auto block = [&](const std::vector<const Type*>& list, int place, std::size_t units) {
    const Type* type = pick(list, shape, me, place);
    return Block{type, units * static_cast<std::size_t>(unit / type->units), 0};
  };
  Part part;
  part.one_send = block(shape.kinds.send, 0, most);
  part.one_receive = block(shape.kinds.receive, 0, most);
  for (std::size_t k = 0; k < t.in.size(); ++k) {
    const Edge& e = t.in[k];
    part.receive.push_back(block(shape.kinds.receive, static_cast<int>(k), units_of(shape, e.peer, me, e.id, most)));
  }
  for (std::size_t k = 0; k < (is_allgather(shape.collective) ? 1 : t.out.size()); ++k) {
    const Edge e = k < t.out.size() ? t.out[k] : Edge{me, 0};
    part.send.push_back(block(shape.kinds.send, static_cast<int>(k), units_of(shape, me, e.peer, e.id, most)));
  }
  if (is_allgather(shape.collective)) part.one_send = part.send.front();
  part.destinations = t.out.size();
  // The one block of a gather is at the address of the buffer.
  place(part.send, is_typed(shape.collective) && !is_allgather(shape.collective), is_regular(shape.collective));
  place(part.receive, is_typed(shape.collective), is_regular(shape.collective));
  return part;
}

// ---- The call ----

int call(const Door& door, const NeighborShape& shape, const Part& part, const void* from, void* to, MPI_Comm comm) {
  const Arguments send(part.send), receive(part.receive);
  const CallSide recv_side = receive.of(to, part.one_receive);
  // MPI's alltoallw makes the call of an allgatherw, with the same block for each destination.
  if (shape.collective == Collective::neighbor_allgatherw && door.neighbor_allgatherw == nullptr) {
    const Arguments same(std::vector<Block>(part.destinations, part.one_send));
    return test::call(door, Collective::neighbor_alltoallw, same.of(from, part.one_send), recv_side, comm);
  }
  return test::call(door, shape.collective, send.of(from, part.one_send), recv_side, comm);
}

}  // namespace

std::string to_string(const NeighborShape& shape) {
  std::ostringstream text;
  text << name_of(shape.collective) << ' ' << shape.kinds.name << ' ' << shape.bytes << " B, seed " << shape.seed
       << (shape.sizes_by_id ? ", sizes by edge" : "");
  return text.str();
}

std::string check(const NeighborShape& shape, const Topology& t, const Door& door) {
  const std::uint64_t number = t.where.number << 40 | ++t.where.calls << 16;
  const Part part = part_of(shape, t);
  const int me = t.where.rank;
  const auto world = [&](int rank) { return t.where.world[static_cast<std::size_t>(rank)]; };
  const auto key = [&](int s, int d, int id) {
    if (is_allgather(shape.collective)) return Key{world(s), -2, number};
    return Key{world(s), world(d), number + static_cast<std::uint64_t>(id) + 1};
  };
  const std::size_t shift = shape.kinds.receive.front()->base == Base::byte ? number / 65536 % 16 : 0;
  Image send(part.send, number * 2, shift), receive(part.receive, number * 2 + 1, shift);
  Image expected = receive;
  for (std::size_t k = 0; k < part.send.size(); ++k) {
    const Edge e = is_allgather(shape.collective) ? Edge{me, 0} : t.out[k];
    if (e.peer >= 0) send.write(part.send[k], key(me, e.peer, e.id));
  }
  for (std::size_t k = 0; k < part.receive.size(); ++k) {
    if (t.in[k].peer >= 0) expected.write(part.receive[k], key(t.in[k].peer, me, t.in[k].id));
  }
  const Image sent = send;
  Placed send_place(send, part.send), receive_place(receive, part.receive);
  const int code = call(door, shape, part, send_place.address(), receive_place.address(), t.where.comm);
  send_place.bring_back();
  receive_place.bring_back();
  std::ostringstream problem;
  problem << to_string(shape) << ", " << t.name << ", rank " << me << " of " << t.where.size << ": ";
  if (code != MPI_SUCCESS) {
    problem << "it returned the error " << code;
    return problem.str();
  }
  std::string wrong = receive.difference(expected);
  if (!wrong.empty()) return problem.str() + "receive buffer: " + wrong;
  wrong = send.difference(sent);
  return wrong.empty() ? wrong : problem.str() + "send buffer was changed: " + wrong;
}

// ---- Topologies ----

std::string TestGrid::name() const {
  std::ostringstream text;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    text << (d > 0 ? "x" : "") << extents[d] << (periodic[d] ? "p" : "");
  }
  return text.str();
}

int TestGrid::at(int rank, const std::vector<int>& offset, int sign) const {
  int result = 0, stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const int extent = extents[d];
    int place = rank % extent + sign * offset[d];
    rank /= extent;
    if (periodic[d]) place = (place % extent + extent) % extent;
    if (place < 0 || place >= extent) return -1;
    result += place * stride;
    stride *= extent;
  }
  return result;
}

std::vector<TestGrid> grids_of(int ranks, int most_dimensions) {
  std::vector<std::vector<int>> shapes = {{ranks}};
  int count = 4;  // of the shapes with so many dimensions, each extent a digit of a number
  for (int dimensions = 2; dimensions <= most_dimensions; ++dimensions) {
    count *= 4;
    for (int number = 0; number < count; ++number) {
      std::vector<int> extents;
      for (int left = count / 4; left > 0; left /= 4) extents.push_back(number / left % 4 + 1);
      const int processes = std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>());
      if (processes == ranks) shapes.push_back(extents);
    }
  }
  std::vector<TestGrid> grids;
  for (const auto& extents : shapes) {
    for (int bits = 0; bits < 1 << extents.size(); ++bits) {
      std::vector<int> periodic;
      for (std::size_t d = 0; d < extents.size(); ++d) periodic.push_back(bits >> d & 1);
      grids.push_back({extents, periodic});
    }
  }
  return grids;
}

Topology cartesian(const TestGrid& grid, MPI_Comm of) {
  MPI_Comm comm;
  const auto dimensions = static_cast<int>(grid.extents.size());
  MPI_Cart_create(of, dimensions, grid.extents.data(), grid.periodic.data(), 0, &comm);
  Topology t{"cart " + grid.name(), describe(grid.name(), comm), {}, {}};
  for (int d = 0; d < dimensions; ++d) {
    std::vector<int> one(grid.extents.size(), 0);
    one[static_cast<std::size_t>(d)] = 1;
    const int down = grid.at(t.where.rank, one, -1), up = grid.at(t.where.rank, one, 1);
    // What goes down comes from above.
    t.out.push_back({down, 2 * d});
    t.out.push_back({up, 2 * d + 1});
    t.in.push_back({down, 2 * d + 1});
    t.in.push_back({up, 2 * d});
  }
  return t;
}

Topology around(const TestGrid& grid, const std::vector<std::vector<int>>& offsets, MPI_Comm isocomm) {
  Topology t{"iso " + grid.name(), describe(grid.name(), isocomm), {}, {}};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const int to = grid.at(t.where.rank, offsets[i], 1), from = grid.at(t.where.rank, offsets[i], -1);
    if (to >= 0) t.out.push_back({to, static_cast<int>(i)});
    if (from >= 0) t.in.push_back({from, static_cast<int>(i)});
  }
  return t;
}

namespace {

// [rank] whom it names, in order.
using Graph = std::vector<std::vector<int>>;

Topology of_graph(std::string name, MPI_Comm comm, const Graph& out, const Graph& in) {
  Topology t{std::move(name), describe("graph", comm), {}, {}};
  const auto me = static_cast<std::size_t>(t.where.rank);
  const auto ends = [](const std::vector<int>& peers) {
    std::map<int, int> seen;
    std::vector<Edge> edges;
    for (const int peer : peers) edges.push_back({peer, seen[peer]++});
    return edges;
  };
  t.out = ends(out[me]), t.in = ends(in[me]);
  return t;
}

// A list that begins somewhere else on each rank, so that the two ends of an edge differ in their places.
void turn(std::vector<int>& list, std::uint64_t by) {
  if (!list.empty()) std::rotate(list.begin(), list.begin() + static_cast<long>(by % list.size()), list.end());
}

}  // namespace

Topology random_graph(int shape, std::uint64_t seed) {
  int ranks = 0, me = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  Graph out(static_cast<std::size_t>(ranks)), in = out;
  Random random(seed);
  const int edges = seed % 5 == 0 ? 0 : random.below(3 * ranks + 2);
  for (int e = 0; e < edges; ++e) {
    const int s = random.below(ranks), d = random.below(ranks);
    for (int again = random.below(4) == 0 ? 2 : 1; again > 0; --again) {
      out[static_cast<std::size_t>(s)].push_back(d);
      in[static_cast<std::size_t>(d)].push_back(s);
      if (shape == 1 && s != d) {
        out[static_cast<std::size_t>(d)].push_back(s);
        in[static_cast<std::size_t>(s)].push_back(d);
      }
    }
  }
  MPI_Comm comm;
  const std::string name = (shape == 0 ? "dist-graph " : "graph ") + std::to_string(seed);
  if (shape == 1) {
    for (auto& list : out) turn(list, random.next());
    std::vector<int> index, all;
    for (const auto& list : out) {
      all.insert(all.end(), list.begin(), list.end());
      index.push_back(static_cast<int>(all.size()));
    }
    all.reserve(1);
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), all.data(), 0, &comm);
    return of_graph(name, comm, out, out);
  }
  for (auto& list : in) turn(list, random.next());
  for (auto& list : out) turn(list, random.next());
  auto& sources = in[static_cast<std::size_t>(me)];
  auto& destinations = out[static_cast<std::size_t>(me)];
  sources.reserve(1), destinations.reserve(1);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  return of_graph(name, comm, out, in);
}

}  // namespace quadrille::test
