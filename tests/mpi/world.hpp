// What every test with real ranks shares: communicators, sampling, and the fixture that keeps the
// ranks together.
//
// All ranks run the same tests in the same order. A test must not leave early on one rank alone:
// use EXPECT_, never ASSERT_, wherever a collective call follows.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exchange.hpp"

namespace quadrille::test {

// Facts about the run, set before the first test.
struct World {
  int rank = 0;
  int size = 1;
  int thread_level = MPI_THREAD_SINGLE;
};
World& world();

// The communicators that this rank is in, always in the same order: world, self, reversed, odd,
// duplicated, half. Made at the first call, which is collective.
const std::vector<Communicator>& communicators();
const Communicator& communicator_named(const std::string& name);
// Makes a communicator for one test; release() frees it. Both are collective over the communicator.
Communicator duplicate(const std::string& name, MPI_Comm of = MPI_COMM_WORLD);
void release(Communicator& communicator);
void free_communicators();

// Do all ranks share a node, also as QUADRILLE_NODES tells Quadrille? Collective.
bool on_one_node();

// Does Quadrille make each call on this communicator itself, in shared memory: on one node, from the first call on, and
// with no algorithm forced by the environment? Elsewhere the MPI may see the call, and does as it likes. Collective.
bool is_served_by_default(const Communicator& communicator);

// The host that each rank of MPI_COMM_WORLD really is on, named by the lowest rank there. Collective.
const std::vector<int>& hosts_of_ranks();
// On how many hosts the ranks really are. Collective.
int count_hosts();

// How often a test repeats something that it would do `full` times at one or two ranks. Falls with
// the number of ranks, as all of them share a few cores; never below `least`. Depends on the number
// of ranks alone. QUADRILLE_TEST_EFFORT, a percentage, scales it.
int repeats(int full, int least = 1);

// Keeps the ranks together: a test fails on all ranks if it failed on one.
class MpiTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

// With a duplicate of MPI_COMM_WORLD, which a test may free itself.
class DuplicateTest : public MpiTest {
 protected:
  void SetUp() override;
  void TearDown() override;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Reports a problem, if there is one; after a few in one test, only counts them.
void expect_good(const std::string& problem);

int error_class(int code);

// Sends a message to all ranks of MPI_COMM_WORLD and back, not through the door.
void meet(MPI_Comm comm = MPI_COMM_WORLD);

}  // namespace quadrille::test
