#include "choose/select.hpp"
#include "choose/select_neighbors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quadrille::choose {
namespace {

GlobalKey node_key(Collective collective, std::size_t bytes) { return {collective, 4, 1, bytes, true, 4096, 4096}; }

// What stands at first, and what is tried against it.
template <class Key>
std::string candidates(const Key& k, const char* host) {
  const Selection of = select_for_devices(k, plain(k.collective, host));
  std::string all = to_string(of.choice);
  for (const Choice& rival : of.rivals) all += " " + to_string(rival);
  return all;
}

// Where the MPI takes a device's memory its own comes first, if its collectives do; else what serves the host.
TEST(SelectForDevices, TriesBothFamilies) {
  GlobalKey k = node_key(Collective::alltoallv, 0);
  EXPECT_EQ(candidates(k, "inbox"), "inbox") << "nothing may be tried";
  k.tries = true;
  EXPECT_EQ(candidates(k, "inbox"), "inbox") << "nor is there anything to try";
  k.direct = true;
  EXPECT_EQ(candidates(k, "inbox"), "inbox ipc-pull:leader=0 ipc-pull:leader=1");
  k.direct = false, k.mpi_sends_devices = true;
  EXPECT_EQ(candidates(k, "inbox"), "inbox spread-out pairwise waitany-stride:stride=5");
  EXPECT_EQ(candidates(k, "spread-out"), "spread-out pairwise waitany-stride:stride=5");
  k.mpi_collects_devices = true;
  EXPECT_EQ(candidates(k, "inbox"), "cuda-aware-mpi inbox spread-out pairwise waitany-stride:stride=5");
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out pairwise waitany-stride:stride=5") << "the same";
  k.tries = false;
  EXPECT_EQ(candidates(k, "inbox"), "cuda-aware-mpi");
  k.nodes = 2, k.tries_between = k.direct = true;
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out pairwise waitany-stride:stride=5");
  k.collective = Collective::allgather;
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out ring");
}

// Among neighbours likewise. Where the MPI may be wrong its own does not come into question.
TEST(SelectForDevices, TriesBothFamiliesAmongNeighbors) {
  NeighborKey k{Collective::neighbor_alltoallv, false, false, true, true, true, false, 0, nullptr};
  EXPECT_EQ(candidates(k, "rings"), "rings");
  k.tries = k.mpi_sends_devices = true;
  EXPECT_EQ(candidates(k, "rings"), "rings direct") << "straightforward sends the same messages, one after the other";
  EXPECT_EQ(candidates(k, "direct"), "direct");
  k.mpi_collects_devices = true;
  EXPECT_EQ(candidates(k, "rings"), "cuda-aware-mpi rings direct");
  k.tries = false;
  EXPECT_EQ(candidates(k, "rings"), "cuda-aware-mpi");
  k.by_ourselves = true;
  EXPECT_EQ(candidates(k, "rings"), "rings");
}

TEST(SelectForDevices, ObeysWhatWasMeasured) {
  GlobalKey k = node_key(Collective::alltoall, 100);
  k.tries = k.mpi_collects_devices = k.mpi_sends_devices = true;
  const SizedChoices measured = {{64, plain(k.collective, "cuda-aware-mpi")}, {128, plain(k.collective, "pairwise")}, {256, {}}};
  const auto chosen = [&] {
    const Selection of = select_for_devices(k, plain(k.collective, "inbox"), &measured);
    return to_string(of.choice) + (of.rivals.empty() ? "" : " and others");
  };
  EXPECT_EQ(chosen(), to_string(plain(k.collective, "pairwise")));
  k.bytes = 200;
  EXPECT_EQ(chosen(), "cuda-aware-mpi and others") << "the default way was measured there";
  k.bytes = 300;
  EXPECT_EQ(chosen(), "cuda-aware-mpi and others") << "nothing was measured there";
  k.bytes = 64;
  EXPECT_EQ(chosen(), "cuda-aware-mpi");
  k.mpi_collects_devices = false;
  EXPECT_EQ(chosen(), "inbox and others") << "the MPI does not take such memory any more";
  k.collective = Collective::alltoallv, k.bytes = 0;
  EXPECT_EQ(chosen(), "inbox and others") << "no rank knows the size";
}

}  // namespace
}  // namespace quadrille::choose
