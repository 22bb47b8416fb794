// Quadrille_Neighbor_allgatherw, which no MPI has: what it becomes at the MPI, its errors, and a call whose arguments
// are written by hand. That it delivers on all topologies is tested with the other neighbour collectives. The
// explicit door alone.
#include <quadrille.h>

#include <array>
#include <vector>

#include "collective/collective.hpp"
#include "mpi/mpi.hpp"
#include "neighbors.hpp"
#include "ring.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr Collective allgatherw = Collective::neighbor_allgatherw;

const Mpi& table_before() {
  static const Mpi table = mpi();  // first used before the spy is in place
  return table;
}

int calls_of_alltoallw = 0;
int noted_alltoallw(QUADRILLE_WORDS_TYPED(int, MpiAint)) {
  ++calls_of_alltoallw;
  return table_before().Neighbor_alltoallw(QUADRILLE_ARGUMENTS_TYPED);
}

class Allgatherw : public MpiTest {
 protected:
  void TearDown() override {
    detail::mpi_table.store(&table_before());
    MpiTest::TearDown();
  }
  // From now on the calls that the MPI gets are counted.
  static void watch() {
    static Mpi spied = table_before();
    spied.Neighbor_alltoallw = &noted_alltoallw;
    detail::mpi_table.store(&spied);
    calls_of_alltoallw = 0;
  }
};

void expect_through_the_mpi(Topology t, std::uint64_t seed) {
  EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, allgatherw, "mpi"));
  for (const Kinds& kinds : {same("byte"), between("record", "two-records"), mixed(Base::integer)}) {
    calls_of_alltoallw = 0;
    expect_good(check({allgatherw, kinds, 300, false, ++seed}, t, tested));
    EXPECT_EQ(calls_of_alltoallw, 1) << t.name;
  }
  release(t.where);
}

TEST_F(Allgatherw, GoesToTheMpiAsAlltoallw) {
  watch();
  std::uint64_t seed = 0;
  for (const TestGrid& grid : grids_of(world().size)) expect_through_the_mpi(cartesian(grid), seed += 10);
  for (std::uint64_t graph = 0; graph < 12; ++graph) {
    expect_through_the_mpi(random_graph(static_cast<int>(graph % 2), graph), seed += 10);
  }
}

// A column of a 4 x 4 matrix from below, a row of another, in reverse order, from above.
struct Matrices {
  static constexpr int edge = 4;
  std::array<int, edge * edge> column, row;
};

MPI_Datatype every(int stride) {
  MPI_Datatype type;
  MPI_Type_vector(Matrices::edge, 1, stride, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

MPI_Comm two_neighbours(MPI_Comm cart) {
  const int offsets[] = {1, -1};
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "quadrille_iso_sizes", "true");
  MPI_Comm iso = MPI_COMM_NULL;
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Iso_neighborhood_create(cart, 2, offsets, info, &iso));
  MPI_Info_free(&info);
  return iso;
}

void expect_gathered(const Matrices& got, int below, int above) {
  for (int i = 0; i < Matrices::edge; ++i) {
    for (int j = 0; j < Matrices::edge; ++j) {
      const auto at = static_cast<std::size_t>(i * Matrices::edge + j);
      EXPECT_EQ(got.column[at], j == 2 ? below * 10 + i : -1);
      EXPECT_EQ(got.row[at], i == 1 ? above * 10 + (Matrices::edge - 1 - j) : -1);
    }
  }
}

TEST_F(Allgatherw, EachBlockHasCountPlaceAndTypeOfItsOwn) {
  const int me = world().rank, size = world().size;
  MPI_Comm cart = ring_of_world();
  MPI_Comm iso = two_neighbours(cart);
  MPI_Datatype column = every(Matrices::edge), backwards = every(-1);
  Matrices got;
  std::array<int, Matrices::edge> sent;
  // From sendbuf to the buffers of the two blocks: addresses may be far apart.
  const auto place = [&](const int& element) {
    return reinterpret_cast<const char*>(&element) - reinterpret_cast<const char*>(&got);
  };
  const int counts[] = {1, 1};
  const MPI_Aint places[] = {place(got.column[2]), place(got.row[7])};
  const MPI_Datatype types[] = {column, backwards};
  const auto prepare = [&](int turn) {
    got.column.fill(-1), got.row.fill(-1);
    for (int i = 0; i < Matrices::edge; ++i) sent[static_cast<std::size_t>(i)] = (me + turn * size) * 10 + i;
  };
  int turn = 0;
  for (const char* name :
       {"", "direct", "rings", "sh-co", "straightforward", "torus", "torus-direct", "basis", "mpi"}) {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(iso, "neighbor_allgatherw", name));
    prepare(++turn);
    EXPECT_EQ(MPI_SUCCESS,
              Quadrille_Neighbor_allgatherw(sent.data(), Matrices::edge, MPI_INT, &got, counts, places, types, iso));
    const int below = (me + size - 1) % size + turn * size, above = (me + 1) % size + turn * size;
    SCOPED_TRACE(name);
    expect_gathered(got, below, above);

    Quadrille_Request request;
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Neighbor_allgatherw_init(sent.data(), Matrices::edge, MPI_INT, &got, counts,
                                                              places, types, iso, MPI_INFO_NULL, &request));
    prepare(turn);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Start(&request));
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request));
    expect_gathered(got, below, above);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Request_free(&request));
  }
  MPI_Type_free(&column);
  MPI_Type_free(&backwards);
  MPI_Comm_free(&iso);
  MPI_Comm_free(&cart);
}

// Rank 0 sends to all others and receives nothing.
TEST_F(Allgatherw, ArraysMayBeNullWithoutSources) {
  const int me = world().rank, zero = 0;
  std::vector<int> others;
  for (int rank = 1; rank < world().size; ++rank) others.push_back(rank);
  others.reserve(1);  // some MPIs refuse a null array
  MPI_Comm star;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 0 ? 0 : 1, &zero, MPI_UNWEIGHTED,
                                 me == 0 ? static_cast<int>(others.size()) : 0, others.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &star);
  const int sent = 4711, one = 1;
  const MPI_Aint place = sizeof(int);
  const MPI_Datatype type = MPI_INT;
  for (const char* name : {"", "direct", "rings", "sh-naive"}) {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(star, "neighbor_allgatherw", name));
    int got[] = {-1, -1};
    EXPECT_EQ(MPI_SUCCESS,
              me == 0 ? Quadrille_Neighbor_allgatherw(&sent, 1, MPI_INT, nullptr, nullptr, nullptr, nullptr, star)
                      : Quadrille_Neighbor_allgatherw(nullptr, 0, MPI_INT, got, &one, &place, &type, star));
    EXPECT_EQ(got[0], -1) << name;
    EXPECT_EQ(got[1], me == 0 ? -1 : sent) << name;
  }
  MPI_Comm_free(&star);
}

// The arguments of a call on a grid of one dimension; each test spoils one of them.
struct Arguments {
  Arguments() = default;
  Arguments(const Arguments&) = delete;  // points into itself
  int buffer[8] = {};
  const void* sendbuf = buffer;
  int sendcount = 1;
  MPI_Datatype sendtype = MPI_INT;
  void* recvbuf = buffer + 4;
  std::array<int, 2> recvcounts = {1, 1};
  std::array<MPI_Aint, 2> rdispls = {0, sizeof(int)};
  std::array<MPI_Datatype, 2> recvtypes = {MPI_INT, MPI_INT};
  const int* counts = recvcounts.data();
  const MPI_Aint* displacements = rdispls.data();
  const MPI_Datatype* types = recvtypes.data();

  int blocking(MPI_Comm comm) const {
    return error_class(
        Quadrille_Neighbor_allgatherw(sendbuf, sendcount, sendtype, recvbuf, counts, displacements, types, comm));
  }
  int persistent(MPI_Comm comm) const {
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    const int code = Quadrille_Neighbor_allgatherw_init(sendbuf, sendcount, sendtype, recvbuf, counts, displacements,
                                                        types, comm, MPI_INFO_NULL, &request);
    EXPECT_EQ(request, QUADRILLE_REQUEST_NULL);
    return error_class(code);
  }
  int alltoallw(MPI_Comm comm) const {
    const int sendcounts[] = {sendcount, sendcount};
    const MPI_Aint sdispls[] = {0, 0};
    const MPI_Datatype sendtypes[] = {sendtype, sendtype};
    return error_class(
        PMPI_Neighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, counts, displacements, types, comm));
  }
};

TEST_F(Allgatherw, Errors) {
  Communicator plain = duplicate("plain");
  MPI_Comm ring = ring_of_world();
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(plain.comm, MPI_ERRORS_RETURN);
  const auto expect_as_alltoallw = [](const Arguments& a, MPI_Comm comm, const char* what) {
    const int theirs = a.alltoallw(comm);
    EXPECT_NE(theirs, MPI_SUCCESS) << what << ": the MPI reports no error, the test is blind";
    EXPECT_EQ(a.blocking(comm), theirs) << what;
  };
  expect_as_alltoallw({}, plain.comm, "no topology");
  EXPECT_EQ(Arguments().persistent(plain.comm), MPI_ERR_TOPOLOGY);
  expect_as_alltoallw({}, MPI_COMM_NULL, "null communicator");
  EXPECT_EQ(Arguments().persistent(MPI_COMM_NULL), MPI_ERR_COMM);
  constexpr struct {
    const char* what;
    void (*spoil)(Arguments& a);
    bool as_alltoallw;
  } mistakes[] = {
      {"negative send count", [](Arguments& a) { a.sendcount = -1; }, true},
      {"negative receive count", [](Arguments& a) { a.recvcounts[1] = -1; }, true},
      {"null send type", [](Arguments& a) { a.sendtype = MPI_DATATYPE_NULL; }, true},
      {"null receive type", [](Arguments& a) { a.recvtypes[1] = MPI_DATATYPE_NULL; }, true},
      {"no counts", [](Arguments& a) { a.counts = nullptr; }, false},
      {"no displacements", [](Arguments& a) { a.displacements = nullptr; }, false},
      {"no types", [](Arguments& a) { a.types = nullptr; }, false},
      {"MPI_IN_PLACE", [](Arguments& a) { a.sendbuf = MPI_IN_PLACE; }, false},
      {"MPI_IN_PLACE to receive", [](Arguments& a) { a.recvbuf = MPI_IN_PLACE; }, false},
  };
  for (const auto& [what, spoil, as_alltoallw] : mistakes) {
    Arguments a;
    spoil(a);
    if (as_alltoallw) {
      expect_as_alltoallw(a, ring, what);
    } else {
      EXPECT_EQ(a.blocking(ring), MPI_ERR_ARG) << what;
    }
    EXPECT_EQ(a.persistent(ring), MPI_ERR_ARG) << what;
  }
  EXPECT_EQ(Arguments().blocking(ring), MPI_SUCCESS);  // nothing is left of all that
  MPI_Comm_free(&ring);
  release(plain);
}

}  // namespace
}  // namespace quadrille::test
