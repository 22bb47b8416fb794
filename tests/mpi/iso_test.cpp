// Isomorphic neighbourhoods: every algorithm, on every grid, with offsets of all kinds. The explicit door alone.
#include <quadrille.h>

#include "abi/native.hpp"
#include "mpi/mpi.hpp"
#include "neighbors.hpp"
#include "ring.hpp"
#include "served_by.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using Offsets = std::vector<std::vector<int>>;

// A neighbourhood of some kind in `dimensions` dimensions.
Offsets offsets_of(int kind, std::size_t dimensions) {
  Offsets all;
  Random random(static_cast<std::uint64_t>(kind) * 977 + dimensions);
  if (kind == 0) {  // all that touch, the process itself among them
    std::vector<int> one(dimensions, -1);
    while (true) {
      all.push_back(one);
      std::size_t d = 0;
      while (d < dimensions && one[d] == 1) one[d++] = -1;
      if (d == dimensions) return all;
      ++one[d];
    }
  }
  if (kind == 1) return all;                                                                 // none
  if (kind == 2) return {std::vector<int>(dimensions, 1), std::vector<int>(dimensions, 1)};  // one corner, twice
  const int reach = kind == 3 ? 2 : 9;
  for (int i = 0; i < 3 + kind; ++i) {
    std::vector<int> one;
    for (std::size_t d = 0; d < dimensions; ++d) one.push_back(random.below(2 * reach + 1) - reach);
    all.push_back(one);
    if (random.below(3) == 0) all.push_back(all[static_cast<std::size_t>(random.below(i + 1))]);
    if (random.below(4) == 0) all.push_back(std::vector<int>(dimensions, 0));
  }
  return all;
}
constexpr int offset_kinds = 6;

MPI_Info info_with(const char* key, const char* value = "true") {
  MPI_Info info = MPI_INFO_NULL;
  if (key == nullptr) return info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

MPI_Comm create(MPI_Comm cart, const Offsets& offsets, MPI_Info info) {
  std::vector<int> flat;
  for (const auto& one : offsets) flat.insert(flat.end(), one.begin(), one.end());
  flat.reserve(1);
  MPI_Comm iso = MPI_COMM_NULL;
  EXPECT_EQ(MPI_SUCCESS,
            Quadrille_Iso_neighborhood_create(cart, static_cast<int>(offsets.size()), flat.data(), info, &iso));
  return iso;
}

Topology isomorphic(const TestGrid& grid, const Offsets& offsets, const char* key) {
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(grid.extents.size()), grid.extents.data(), grid.periodic.data(), 0,
                  &cart);
  MPI_Info info = info_with(key);
  Topology t = around(grid, offsets, create(cart, offsets, info));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Comm_free(&cart);  // nothing of it is needed any more
  return t;
}

bool combines(const std::string& name) {
  return name != "rings" && name != "direct" && name != "straightforward" && name != "mpi";
}

// Parameters in turn: of an algorithm that has rounds, of one that combines, and of the one that has shared ways.
std::string parameters_of(const std::string& name, Collective c, std::uint64_t turn) {
  std::string text;
  const auto add = [&text](const char* one) { text += (text.empty() ? ":" : ",") + std::string(one); };
  if (turn % 3 == 0 && name != "direct") add("ports=2");
  if (name == "torus" && is_allgather(c) && turn % 2 == 0) add("share=0");
  if (combines(name) && turn / 6 % 2 == 0) add("pack=0");
  return text;
}

bool lacks_none(const TestGrid& grid, const Offsets& offsets) {
  for (const auto& one : offsets) {
    for (std::size_t d = 0; d < one.size(); ++d) {
      if (one[d] != 0 && !grid.periodic[d]) return false;
    }
  }
  return true;
}

class Isomorphic : public MpiTest {
 protected:
  void expect_each_algorithm(const TestGrid& grid, const Offsets& offsets, bool asserted, int kind) {
    Topology t = isomorphic(grid, offsets, asserted ? "quadrille_iso_sizes" : nullptr);
    t.name += " offsets " + std::to_string(kind);
    for (const std::string name : {"direct", "straightforward", "torus", "torus-direct", "basis"}) {
      for (const Collective c : neighbor_collectives) {
        ++seed_;
        EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, name + parameters_of(name, c, mix(seed_ + 9))));
        const Kinds kinds[] = {same("byte"), between("two-records", "record"), same("double"),
                               is_typed(c) ? mixed(Base::integer) : between("vector", "contiguous")};
        const std::size_t bytes[] = {8, 1, 700, 9000};
        const NeighborShape shape = {c, kinds[mix(seed_) % 4], bytes[mix(seed_ + 5) % 4], asserted, seed_};
        expect_good(check(shape, t, tested));
        const bool known = is_regular(c) || (asserted && lacks_none(grid, offsets));
        if (known || !combines(name)) {
          EXPECT_EQ(served_by(t.where.comm, c), name) << t.name;
        } else {
          EXPECT_FALSE(combines(served_by(t.where.comm, c))) << t.name;
        }
      }
    }
    release(t.where);
  }
  std::uint64_t seed_ = 0;
};

TEST_F(Isomorphic, EveryAlgorithmOnEveryGrid) {
  int turn = 0;
  for (const TestGrid& grid : grids_of(world().size)) {
    for (int kind = 0; kind < offset_kinds; ++kind) {
      // With many ranks a part of the pairs of grids and offsets: every seventh, so that each kind has its turn.
      static_assert(offset_kinds % 7 != 0);
      if (world().size > 4 && (turn++ % 7) != 0) continue;
      expect_each_algorithm(grid, offsets_of(kind, grid.extents.size()), kind % 2 == 0, kind);
    }
  }
}

// Without force: combined where it saves messages between nodes and blocks are small.
TEST_F(Isomorphic, CombinesSmallBlocks) {
  const TestGrid grid{{1, world().size}, {1, 1}};
  Topology t = isomorphic(grid, offsets_of(0, 2), nullptr);
  const auto c = Collective::neighbor_alltoall;
  expect_good(check({c, same("byte"), 1, false, 1}, t, tested));
  const bool nodes = team::team_of(abi::comm(t.where.comm))->nodes.nodes > 1;
  if (world().size >= 3) {
    EXPECT_EQ(combines(served_by(t.where.comm, c)), nodes && !team::team_of(abi::comm(t.where.comm))->crowded);
  }
  expect_good(check({c, same("byte"), 1 << 20, false, 1}, t, tested));
  if (world().size >= 4) {
    EXPECT_FALSE(combines(served_by(t.where.comm, c)));
  }
  release(t.where);
}

const Mpi& real() {
  static const Mpi table = mpi();  // first used before the spies are in place
  return table;
}

int types_made = 0, types_freed = 0;
int noted_type_free(MpiType* type) {
  ++types_freed;
  return real().Type_free(type);
}
int noted_type_create_struct(int count, const int lengths[], const MpiAint places[], MpiTypes types, MpiType* made) {
  ++types_made;
  return real().Type_create_struct(count, lengths, places, types, made);
}

// Up to `pack` bytes the blocks of a message are copied together; else a derived datatype says where they lie.
TEST_F(Isomorphic, PacksMessagesOrSendsThemWithoutACopy) {
  if (world().size < 3) return;  // fewer messages, of more blocks
  // The blocks of a message are the third, the sixth and the ninth of the user.
  const TestGrid grid{{world().size, 1}, {1, 1}};
  Topology t = isomorphic(grid, offsets_of(0, 2), nullptr);
  const auto c = Collective::neighbor_alltoall;
  static Mpi spied = real();
  spied.Type_create_struct = &noted_type_create_struct;
  detail::mpi_table.store(&spied);
  const auto types_made_by = [&](const char* algorithm) {
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, algorithm));
    types_made = 0;
    expect_good(check({c, same("byte"), 100, false, 1}, t, tested));
    return types_made;
  };
  EXPECT_EQ(types_made_by("torus:pack=300"), 0);
  EXPECT_GT(types_made_by("torus:pack=299"), 0);
  EXPECT_GT(types_made_by("torus:pack=0"), 0);
  detail::mpi_table.store(&real());
  release(t.where);
}

// A request makes its derived types at the first start and has them until it is freed.
TEST_F(Isomorphic, RequestsKeepTheirTypes) {
  if (world().size < 3) return;
  const TestGrid grid{{world().size, 1}, {1, 1}};
  Topology t = isomorphic(grid, offsets_of(0, 2), nullptr);
  static Mpi spied = real();
  spied.Type_create_struct = &noted_type_create_struct;
  spied.Type_free = &noted_type_free;
  detail::mpi_table.store(&spied);
  for (const char* const algorithm : {"torus:pack=0", "basis:pack=0,ports=1", "torus-direct:pack=0,ports=2"}) {
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, Collective::neighbor_alltoall, algorithm));
    int send[9] = {}, recv[9] = {};
    Quadrille_Request request;
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Neighbor_alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, t.where.comm,
                                                            MPI_INFO_NULL, &request));
    types_made = types_freed = 0;
    int made_by_first = 0;
    for (int turn = 0; turn < 10; ++turn) {
      for (int i = 0; i < 9; ++i) send[i] = turn * 1000 + world().rank * 10 + i;
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&request));
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request));
      for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(recv[i], turn * 1000 + t.in[i].peer * 10 + static_cast<int>(i)) << algorithm;
      }
      if (turn == 0) made_by_first = types_made;
    }
    EXPECT_GT(made_by_first, 0) << algorithm;
    EXPECT_EQ(types_made, made_by_first) << algorithm;
    EXPECT_EQ(types_freed, 0) << algorithm;
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&request));
    EXPECT_EQ(types_freed, types_made) << algorithm;
  }
  detail::mpi_table.store(&real());
  release(t.where);
}

int packed_by_mpi = 0;
int noted_pack(const void* from, int count, MpiType type, void* to, int room, int* position, MpiComm comm) {
  ++packed_by_mpi;
  return real().Pack(from, count, type, to, room, position, comm);
}
int noted_unpack(const void* from, int room, int* position, void* to, int count, MpiType type, MpiComm comm) {
  ++packed_by_mpi;
  return real().Unpack(from, room, position, to, count, type, comm);
}

// Columns of a matrix, so far apart that only the MPI packs them: the send blocks to the left of the receive blocks.
class Columns {
 public:
  Columns(MPI_Comm comm, int rows) : rows_(rows), matrix_(static_cast<std::size_t>(rows * width)) {
    MPI_Type_vector(rows, 1, width, MPI_DOUBLE, &column_);
    MPI_Type_commit(&column_);
    MPI_Aint from[9], to[9];
    for (int i = 0; i < 9; ++i) from[i] = 8 * i, to[i] = 8 * (i + 10);
    const std::vector<MPI_Datatype> types(9, column_);
    const std::vector<int> ones(9, 1);
    EXPECT_EQ(MPI_SUCCESS,
              Quadrille_Neighbor_alltoallw_init(matrix_.data(), ones.data(), from, types.data(), matrix_.data(),
                                                ones.data(), to, types.data(), comm, MPI_INFO_NULL, &request_));
  }
  void exchange(const Topology& t, int turn) {
    for (int row = 0; row < rows_; ++row) {
      for (int i = 0; i < 9; ++i) at(row, i) = value(world().rank, i, row, turn), at(row, i + 10) = -1;
    }
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&request_));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request_));
    for (int row = 0; row < rows_; ++row) {
      for (int i = 0; i < 9; ++i) {
        ASSERT_EQ(at(row, i), value(world().rank, i, row, turn));
        ASSERT_EQ(at(row, i + 10), value(t.in[static_cast<std::size_t>(i)].peer, i, row, turn)) << row << " " << i;
      }
      ASSERT_EQ(at(row, 9), 0);
      ASSERT_EQ(at(row, 19), 0);
    }
  }
  ~Columns() {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&request_));
    MPI_Type_free(&column_);
  }

 private:
  static constexpr int width = 100;
  static double value(int rank, int block, int row, int turn) { return rank * 1e6 + block * 1e5 + row + turn * 0.25; }
  double& at(int row, int column) { return matrix_[static_cast<std::size_t>(row * width + column)]; }

  int rows_;
  std::vector<double> matrix_;
  MPI_Datatype column_;
  Quadrille_Request request_ = QUADRILLE_REQUEST_NULL;
};

// Without packing, blocks with gaps go from and to where they lie.
TEST_F(Isomorphic, BlocksWithGapsNeedNoCopyEither) {
  const TestGrid grid{{world().size, 1}, {1, 1}};
  Topology t = isomorphic(grid, offsets_of(0, 2), "quadrille_iso_sizes");
  static Mpi spied = real();
  spied.Pack = &noted_pack, spied.Unpack = &noted_unpack;
  detail::mpi_table.store(&spied);
  const auto packed_with = [&](const char* algorithm) {
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, Collective::neighbor_alltoallw, algorithm));
    Columns columns(t.where.comm, 3000);
    packed_by_mpi = 0;
    for (int turn = 0; turn < 3; ++turn) columns.exchange(t, turn);
    return packed_by_mpi;
  };
  for (const std::string algorithm : {"torus", "torus-direct", "basis"}) {
    EXPECT_GT(packed_with(algorithm.c_str()), 0);
    EXPECT_EQ(packed_with((algorithm + ":pack=0").c_str()), 0);
  }
  detail::mpi_table.store(&real());
  release(t.where);
}

// Larger than what an MPI sends in one piece, with types that have gaps and elements of several basic types. From
// four ranks on blocks that are bytes on their way arrive together; MPICH could not receive them as such elements.
TEST_F(Isomorphic, LargeBlocksWithoutACopy) {
  const TestGrid grid{{world().size}, {1}};
  Topology t = isomorphic(grid, {{2}, {1}, {2}, {-1}, {-2}, {3}, {0}}, "quadrille_iso_sizes");
  std::uint64_t seed = 0;
  for (const Collective c : neighbor_collectives) {
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, "torus:pack=0"));
    for (const std::size_t bytes : {70'001U, 300'000U}) {
      expect_good(check({c, between("two-records", "record"), bytes, true, ++seed}, t, tested));
      expect_good(check({c, is_typed(c) ? mixed(Base::integer) : between("vector", "contiguous"), bytes, true, ++seed},
                        t, tested));
      EXPECT_EQ(served_by(t.where.comm, c), "torus");
    }
  }
  release(t.where);
}

TEST_F(Isomorphic, DuplicatesAreIsomorphicToo) {
  const TestGrid grid{{world().size}, {1}};
  const Offsets offsets = offsets_of(4, 1);
  Topology t = isomorphic(grid, offsets, nullptr);
  MPI_Comm copy;
  MPI_Comm_dup(t.where.comm, &copy);
  release(t.where);
  Topology other = around(grid, offsets, copy);
  const auto c = Collective::neighbor_allgather;
  EXPECT_EQ(MPI_SUCCESS, force(copy, c, "torus"));
  expect_good(check({c, same("int"), 12, false, 3}, other, tested));
  EXPECT_EQ(served_by(copy, c), "torus");
  release(other.where);
}

// Some MPIs copy attributes to a graph that is made from a communicator. Its neighbours are its own: all others, or
// those of the ring and one edge more, which two ranks see.
TEST_F(Isomorphic, AGraphMadeFromOneHasItsOwnNeighbours) {
  const int size = world().size, me = world().rank;
  const TestGrid grid{{size}, {1}};
  for (const bool nearly : {false, true}) {
    if (nearly && size < 4) continue;
    Topology ring = isomorphic(grid, {{1}}, nullptr);
    std::vector<int> sources{(me + size - 1) % size}, destinations{(me + 1) % size};
    if (!nearly) std::swap(sources, destinations);
    if (nearly && me == 0) destinations.push_back(2);
    if (nearly && me == 2) sources.push_back(0);
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(ring.where.comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    Topology t = around(grid, {{nearly ? 1 : -1}}, graph);
    if (nearly && me == 0) t.out.push_back({2, 1});
    if (nearly && me == 2) t.in.push_back({0, 1});
    for (const Collective c : {Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
      EXPECT_EQ(MPI_SUCCESS, force(graph, c, "torus"));
      expect_good(check({c, same("int"), 12, false, 3}, t, tested));
    }
    release(ring.where);
    release(t.where);
  }
}

// The MPI's own functions work on it, as its topology says.
TEST_F(Isomorphic, IsAnOrdinaryGraphForTheMpi) {
  for (const TestGrid& grid : grids_of(world().size)) {
    Topology t = isomorphic(grid, offsets_of(4, grid.extents.size()), nullptr);
    int topology = 0, in = 0, out = 0, weighted = 1;
    MPI_Topo_test(t.where.comm, &topology);
    EXPECT_EQ(topology, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(t.where.comm, &in, &out, &weighted);
    EXPECT_EQ(in, static_cast<int>(t.in.size()));
    EXPECT_EQ(out, static_cast<int>(t.out.size()));
    EXPECT_EQ(weighted, 0);
#if defined(OPEN_MPI)  // MPICH mixes up several edges between two ranks
    for (const Collective c : neighbor_collectives) {
      expect_good(check({c, same("int"), 40, false, 9}, t, native()));
    }
#endif
    release(t.where);
  }
}

TEST_F(Isomorphic, WrongArguments) {
  MPI_Comm cart = ring_of_world(), iso = MPI_COMM_WORLD;
  const int offset = 1;
  MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
  const auto create_on = [&](MPI_Comm comm, int s, const int* offsets) {
    return error_class(Quadrille_Iso_neighborhood_create(comm, s, offsets, MPI_INFO_NULL, &iso));
  };
  EXPECT_EQ(create_on(MPI_COMM_WORLD, 1, &offset), MPI_ERR_TOPOLOGY);
  EXPECT_EQ(iso, MPI_COMM_NULL);
  EXPECT_EQ(create_on(cart, -1, &offset), MPI_ERR_ARG);
  EXPECT_EQ(create_on(cart, 1, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(create_on(MPI_COMM_NULL, 1, &offset), MPI_ERR_COMM);
  EXPECT_EQ(error_class(Quadrille_Iso_neighborhood_create(cart, 1, &offset, MPI_INFO_NULL, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(create_on(cart, 0, nullptr), MPI_SUCCESS);
  MPI_Comm_free(&iso);
  MPI_Comm_free(&cart);
}

TEST_F(Isomorphic, DifferentListsAreFoundIfChecked) {
  const int extent = world().size, me = world().rank;
  MPI_Comm cart = ring_of_world(), iso;
  MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
  MPI_Info info = info_with("quadrille_check");
  const int same_offset = 2, last = me == extent - 1 ? 3 : 2;
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Iso_neighborhood_create(cart, 1, &same_offset, info, &iso));
  MPI_Comm_free(&iso);
  const int alone = extent == 1 ? MPI_SUCCESS : MPI_ERR_ARG;
  EXPECT_EQ(alone, error_class(Quadrille_Iso_neighborhood_create(cart, 1, &last, info, &iso)));
  if (extent == 1) MPI_Comm_free(&iso);
  // A mistake of one rank alone.
  EXPECT_EQ(MPI_ERR_ARG,
            error_class(Quadrille_Iso_neighborhood_create(cart, me == extent - 1 ? -1 : 1, &last, info, &iso)));
  EXPECT_EQ(iso, MPI_COMM_NULL);
  MPI_Info_free(&info);
  MPI_Comm_free(&cart);
}

TEST_F(Isomorphic, HintsAreOnOrOff) {
  const int extent = world().size, last = world().rank == extent - 1 ? 3 : 2;
  if (extent == 1) return;
  MPI_Comm cart = ring_of_world(), iso;
  MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
  for (const char* value : {"true", "1", "yes", "on"}) {
    MPI_Info info = info_with("quadrille_check", value);
    EXPECT_EQ(MPI_ERR_ARG, error_class(Quadrille_Iso_neighborhood_create(cart, 1, &last, info, &iso))) << value;
    MPI_Info_free(&info);
  }
  for (const char* value : {"false", "0", "no", "off", "perhaps"}) {
    MPI_Info info = info_with("quadrille_check", value);
    const int same_offset = 1;
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Iso_neighborhood_create(cart, 1, &same_offset, info, &iso)) << value;
    MPI_Info_free(&info);
    MPI_Comm_free(&iso);
  }
  MPI_Comm_free(&cart);
}

}  // namespace
}  // namespace quadrille::test
