// Memory inside a node that may be read when the communicator is set up, and then not: such blocks must come another
// way. The kernel's call is replaced by one that fails when it is told to.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "abi/native.hpp"
#include "neighbors.hpp"
#include "team/team.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

// Of every so many calls one fails; 0: none.
std::atomic<unsigned> fails_every = 0;
std::atomic<unsigned> calls = 0, failed = 0;

}  // namespace
}  // namespace quadrille::test

extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                                    unsigned long there_count, unsigned long flags) noexcept {
  using namespace quadrille::test;
  const unsigned every = fails_every;
  if (++calls; every != 0 && calls % every == 0) {
    ++failed;
    errno = EFAULT;
    return -1;
  }
  return syscall(SYS_process_vm_readv, process, here, here_count, there, there_count, flags);
}

namespace quadrille::test {
namespace {

class RefusedMemory : public MpiTest {};

unsigned sum(unsigned mine) {
  unsigned all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// Large blocks and small ones, which are not offered, with calls that fail on all ranks or on one.
void expect_right(Topology& t) {
  for (const Collective c : neighbor_collectives) EXPECT_EQ(force(t.where.comm, c, "rings"), MPI_SUCCESS);
  std::uint64_t seed = 0;
  for (const unsigned every : {0U, 1U, 2U, 3U}) {
    for (const bool one_rank : {false, true}) {
      fails_every = one_rank && world().rank != 0 ? 0 : every;
      for (const Collective c : neighbor_collectives) {
        for (const Kinds& kinds : {same("int"), between("vector", "contiguous")}) {
          expect_good(check({c, kinds, 400'000, false, ++seed}, t, tested));
          expect_good(check({c, kinds, 24, false, ++seed}, t, tested));
        }
      }
      fails_every = 0;
    }
  }
}

// Dense calls one after the other: in some a block is refused, in the next it is not, for a pair of ranks or for all.
// An ask for the ring holds for its call alone.
TEST_F(RefusedMemory, OfDenseCallsComesThroughTheRing) {
  if (world().size < 2 || !on_one_node()) return;
  Communicator comm = duplicate("refused");
  for (const Collective c : {Collective::alltoall, Collective::alltoallv, Collective::allgather}) {
    EXPECT_EQ(force(comm.comm, c, "single-copy"), MPI_SUCCESS);
  }
  calls = failed = 0;
  std::uint64_t seed = 0;
  for (int turn = 0; turn < 24; ++turn) {
    const bool refuses = turn % 2 == 0 || turn % 5 == world().rank;
    for (const Collective c : {Collective::alltoall, Collective::alltoallv, Collective::allgather}) {
      fails_every = refuses ? static_cast<unsigned>(turn / 2 % 3 + 1) : 0;
      Shape shape{c, turn % 4 < 2 ? same("int") : between("vector", "contiguous"), 300'000};
      shape.in_place = turn % 3 == 2 && turn % 4 < 2;
      shape.seed = ++seed;
      expect_good(check(shape, comm, false));
      fails_every = 0;
    }
  }
  const auto& peers = team::team_of(abi::comm(comm.comm))->group.reach().peers;
  const bool reads = std::any_of(peers.begin(), peers.end(), [](const memory::Peer& p) { return p.i_can.read; });
  const bool all_read = sum(reads ? 1 : 0) == static_cast<unsigned>(world().size);
  EXPECT_EQ(sum(failed) > 0, all_read) << "nothing failed: the test is blind";
  EXPECT_GT(sum(calls), sum(failed));
  release(comm);
}

TEST_F(RefusedMemory, ComesThroughTheRing) {
  if (world().size < 2 || !on_one_node()) return;
  calls = failed = 0;
  Topology t = cartesian(grids_of(world().size).back());
  expect_right(t);
  const auto& peers = team::team_of(abi::comm(t.where.comm))->group.reach().peers;
  const bool reads = std::any_of(peers.begin(), peers.end(), [](const memory::Peer& p) { return p.i_can.read; });
  release(t.where);
  // With several edges between two ranks, of which some fail.
  for (const std::uint64_t graph : {1U, 2U, 3U}) {
    t = random_graph(0, graph);
    expect_right(t);
    release(t.where);
  }
  const bool all_read = sum(reads ? 1 : 0) == static_cast<unsigned>(world().size);
  EXPECT_EQ(sum(failed) > 0, all_read) << "nothing failed: the test is blind";
  EXPECT_GT(sum(calls), sum(failed));
}

}  // namespace
}  // namespace quadrille::test
