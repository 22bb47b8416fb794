// What the user asserts of communicators that he made with his MPI: then v and w calls are combined on them, too. The
// explicit door alone.
#include <quadrille.h>

#include "neighbors.hpp"
#include "plan/neighborhood.hpp"
#include "ring.hpp"
#include "served_by.hpp"
#include "team/neighbors.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr Collective irregular[] = {Collective::neighbor_alltoallv, Collective::neighbor_alltoallw,
                                    Collective::neighbor_allgatherv, Collective::neighbor_allgatherw};

MPI_Info asserting() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "quadrille_iso_sizes", "true");
  return info;
}

bool keeps_hint(MPI_Comm comm) {
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  char value[8];
  int found = 0;
  MPI_Info_get(info, "quadrille_iso_sizes", 7, value, &found);
  MPI_Info_free(&info);
  return found != 0;
}

class Assertions : public MpiTest {
 protected:
  // All v and w calls, which must be right, and be combined or not.
  void expect_combined(const Topology& t, bool combined, const char* algorithm = "torus") {
    for (const Collective c : irregular) {
      EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, algorithm));
      for (const std::size_t bytes : {8U, 3000U}) {
        expect_good(check({c, same("int"), bytes, true, ++seed_}, t, tested));
        EXPECT_EQ(served_by(t.where.comm, c) == algorithm, combined) << t.name << " " << algorithm;
      }
    }
  }
  // A graph of a ring whose ranks list the neighbour upwards first, or, of those that are told so, last.
  Topology ring(bool up_first, MPI_Info info) {
    const int size = world().size, me = world().rank;
    const int up = (me + 1) % size, down = (me + size - 1) % size;
    const int to[] = {up_first ? up : down, up_first ? down : up}, from[] = {down, up};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, info, 0, &graph);
    Topology t = around({{size}, {1}}, {{1}, {-1}}, graph);
    if (!up_first) std::swap(t.out[0], t.out[1]);
    return t;
  }
  std::uint64_t seed_ = 0;
};

TEST_F(Assertions, CombineOnCartesianCommunicators) {
  for (const TestGrid& grid : grids_of(world().size, 2)) {
    Topology t = cartesian(grid);
    bool torus = true;
    for (const int periodic : grid.periodic) torus = torus && periodic != 0;
    expect_combined(t, false);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(t.where.comm, 1));
    for (const char* algorithm : {"torus", "torus-direct", "basis"}) expect_combined(t, torus, algorithm);
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(t.where.comm, 0));
    expect_combined(t, false);
    release(t.where);
  }
}

TEST_F(Assertions, OfSomeRanksDoNotCount) {
  if (world().size < 2) return;
  Topology t = cartesian({{world().size}, {1}});
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(t.where.comm, world().rank == 0 ? 0 : 1));
  expect_combined(t, false);
  release(t.where);
}

TEST_F(Assertions, CombineOnGraphsThatAreTori) {
  if (world().size < 3) return;
  Topology t = ring(true, MPI_INFO_NULL);
  expect_combined(t, false);
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(t.where.comm, 1));
  expect_combined(t, true);
  release(t.where);
}

// Block 0 of one rank goes the way of block 1 of the others: nothing is asserted of blocks that go one way.
TEST_F(Assertions, OfBlocksInDifferentOrdersDoNotCount) {
  if (world().size < 3) return;
  Topology t = ring(world().rank != 0, MPI_INFO_NULL);
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(t.where.comm, 1));
  expect_combined(t, false);
  release(t.where);
}

// The info counts where the MPI keeps it, as docs/neighbours.md says.
TEST_F(Assertions, InTheInfoOfTheCommunicator) {
  if (world().size < 3) return;
  MPI_Info info = asserting();
  Topology t = cartesian({{world().size}, {1}});
  MPI_Comm with_info;
  MPI_Comm_dup_with_info(t.where.comm, info, &with_info);
  MPI_Comm_free(&t.where.comm);
  t.where.comm = with_info;
  expect_combined(t, keeps_hint(with_info));
  release(t.where);
  t = cartesian({{world().size}, {1}});
  MPI_Comm_set_info(t.where.comm, info);
  expect_combined(t, keeps_hint(t.where.comm));
  release(t.where);
  t = ring(true, info);
  expect_combined(t, keeps_hint(t.where.comm));
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION == 4
  EXPECT_TRUE(keeps_hint(t.where.comm));
#endif
  release(t.where);
  MPI_Info_free(&info);
}

// Calls whose blocks match in pairs of ranks, but are larger from rank 0 than from the others, or all equal.
class Ring {
 public:
  Ring(MPI_Comm comm, bool equal) : comm_(comm) {
    int size = 0, me = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    if (equal) return;
    if (me == 0) out_ = 40;
    if (me == 1 % size) in_ = 40;
  }
  int alltoallv() {
    return Quadrille_Neighbor_alltoallv(send_, &out_, &none_, MPI_INT, recv_, &in_, &none_, MPI_INT, comm_);
  }
  int alltoallw() {
    return Quadrille_Neighbor_alltoallw(send_, &out_, &start_, &type_, recv_, &in_, &start_, &type_, comm_);
  }
  int allgatherv() { return Quadrille_Neighbor_allgatherv(send_, out_, MPI_INT, recv_, &in_, &none_, MPI_INT, comm_); }
  int allgatherw() { return Quadrille_Neighbor_allgatherw(send_, out_, MPI_INT, recv_, &in_, &start_, &type_, comm_); }
  int persistent() {
    Quadrille_Request request;
    const int error = Quadrille_Neighbor_alltoallv_init(send_, &out_, &none_, MPI_INT, recv_, &in_, &none_, MPI_INT,
                                                        comm_, MPI_INFO_NULL, &request);
    Quadrille_Request_free(&request);
    return error;
  }
  // What none of them gives, or all.
  void expect(int kind) {
    for (int (Ring::*call)() :
         {&Ring::alltoallv, &Ring::alltoallw, &Ring::allgatherv, &Ring::allgatherw, &Ring::persistent}) {
      int found = MPI_SUCCESS;
      MPI_Error_class((this->*call)(), &found);
      EXPECT_EQ(found, kind);
    }
  }

 private:
  MPI_Comm comm_;
  int send_[40] = {}, recv_[40] = {};
  int out_ = 2, in_ = 2, none_ = 0;
  MPI_Aint start_ = 0;
  MPI_Datatype type_ = MPI_INT;
};

// A ring in which it is asserted that all sizes are the same.
MPI_Comm asserted_ring(bool checked) {
  const int offset = 1;
  MPI_Comm cart = ring_of_world(), iso;
  MPI_Info info = asserting();
  if (checked) MPI_Info_set(info, "quadrille_check", "yes");
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Iso_neighborhood_create(cart, 1, &offset, info, &iso));
  MPI_Comm_set_errhandler(iso, MPI_ERRORS_RETURN);
  MPI_Info_free(&info);
  MPI_Comm_free(&cart);
  return iso;
}

TEST_F(Assertions, ThatAreNotTrueAreFoundIfChecked) {
  if (world().size < 3) return;
  MPI_Comm iso = asserted_ring(true);
  for (const Collective c : irregular) EXPECT_EQ(MPI_SUCCESS, force(iso, c, "torus"));
  Ring(iso, true).expect(MPI_SUCCESS);
  Ring(iso, false).expect(MPI_ERR_ARG);
  Ring(iso, true).expect(MPI_SUCCESS);  // nothing is left of the bad calls
  // Whatever serves them.
  for (const Collective c : irregular) EXPECT_EQ(MPI_SUCCESS, force(iso, c, ""));
  Ring(iso, false).expect(MPI_ERR_ARG);
  // Nothing is asserted any more.
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_iso_sizes(iso, 0));
  Ring(iso, false).expect(MPI_SUCCESS);
  MPI_Comm_free(&iso);
}

TEST_F(Assertions, NeedATopology) {
  MPI_Comm plain;
  MPI_Comm_dup(MPI_COMM_WORLD, &plain);
  MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN);
  int code = Quadrille_Set_iso_sizes(plain, 1), kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  EXPECT_EQ(kind, MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&plain);
}

}  // namespace
}  // namespace quadrille::test
