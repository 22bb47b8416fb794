// A forced algorithm is the one that runs, and its messages use Quadrille's private communicator.
//
// Quadrille reaches the MPI through a table of functions (mpi/mpi.hpp). This program has Quadrille
// linked into it and puts a table with spies in that place: they note every message that is started
// and every all-to-all or allgather that is handed to the MPI. The messages of a call must be those
// of the forced algorithm's schedule, in its order, and waited for as it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <vector>

#include "abi/native.hpp"
#include "choices.hpp"
#include "exchange.hpp"
#include "mpi/mpi.hpp"
#include "plan/leaders.hpp"
#include "team/processes.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

// How a rank waited: by which function, for how many requests at a time.
struct Wait {
  plan::Window::Wait how;
  std::size_t requests;
  friend bool operator==(const Wait&, const Wait&) = default;
};

// The messages of a call, in the order in which they were started, and the waits for them.
struct Steps {
  std::vector<int> sends, receives;
  std::vector<Wait> waits;

  // A window that is refilled is waited for again and again: that is noted once.
  void wait(plan::Window::Wait how, std::size_t requests) {
    const Wait next = {how, requests};
    const bool again = !waits.empty() && waits.back() == next && how != plan::Window::Wait::all;
    if (!again) waits.push_back(next);
  }
};

void PrintTo(const Wait& wait, std::ostream* out) {
  constexpr const char* names[] = {"all", "any", "test"};
  *out << names[static_cast<int>(wait.how)] << " of " << wait.requests;
}

// What this rank handed to the MPI since it was last cleared.
struct Traffic {
  Steps steps;
  std::vector<MpiComm> comms;  // of all messages
  int collectives = 0;
};
Traffic traffic;

const Mpi& real() {
  static const Mpi table = mpi();  // first used before the spies are in place
  return table;
}

int noted_isend(const void* buffer, int count, MpiType type, int peer, int tag, MpiComm comm, MpiRequest* request) {
  traffic.steps.sends.push_back(peer);
  traffic.comms.push_back(comm);
  return real().Isend(buffer, count, type, peer, tag, comm, request);
}

int noted_irecv(void* buffer, int count, MpiType type, int peer, int tag, MpiComm comm, MpiRequest* request) {
  traffic.steps.receives.push_back(peer);
  traffic.comms.push_back(comm);
  return real().Irecv(buffer, count, type, peer, tag, comm, request);
}

int noted_waitall(int count, MpiRequests requests, MpiStatus* statuses) {
  traffic.steps.wait(plan::Window::Wait::all, static_cast<std::size_t>(count));
  return real().Waitall(count, requests, statuses);
}

// Asked again and again: only that all are complete is noted.
int noted_testall(int count, MpiRequests requests, int* flag, MpiStatus* statuses) {
  const int error = real().Testall(count, requests, flag, statuses);
  if (*flag != 0) traffic.steps.wait(plan::Window::Wait::all, static_cast<std::size_t>(count));
  return error;
}

int noted_waitany(int count, MpiRequests requests, int* index, MpiStatus* status) {
  traffic.steps.wait(plan::Window::Wait::any, static_cast<std::size_t>(count));
  return real().Waitany(count, requests, index, status);
}

int noted_testany(int count, MpiRequests requests, int* index, int* flag, MpiStatus* status) {
  traffic.steps.wait(plan::Window::Wait::test, static_cast<std::size_t>(count));
  return real().Testany(count, requests, index, flag, status);
}

// Counts a call of the function at `member` of the table and hands it on.
template <auto member>
struct Counted;
template <class... Arguments, int (*Mpi::*member)(Arguments...)>
struct Counted<member> {
  static int call(Arguments... arguments) {
    ++traffic.collectives;
    return (real().*member)(arguments...);
  }
};

void place_spies() {
  static const Mpi spied = [] {
    Mpi table = real();
    table.Isend = &noted_isend;
    table.Irecv = &noted_irecv;
    table.Waitall = &noted_waitall;
    table.Testall = &noted_testall;
    table.Waitany = &noted_waitany;
    table.Testany = &noted_testany;
#define QUADRILLE_COUNT(collective, Name, ...) table.Name = &Counted<&Mpi::Name>::call;
    QUADRILLE_DENSE_COLLECTIVES(QUADRILLE_COUNT)
    return table;
  }();
  detail::mpi_table.store(&spied);
}

// Each rank sends `count` ints to each other one and looks at what it gets.
void call(Collective collective, int count, const Communicator& on) {
  const auto ranks = static_cast<std::size_t>(on.size);
  const std::size_t block = static_cast<std::size_t>(count);
  const bool gathers = is_allgather(collective);
  std::vector<int> send(ranks * block), receive(ranks * block, -1);
  std::vector<int> counts(ranks, count), places(ranks), byte_places(ranks);
  const std::vector<MPI_Datatype> types(ranks, MPI_INT);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    places[peer] = static_cast<int>(peer * block);
    byte_places[peer] = places[peer] * static_cast<int>(sizeof(int));
    const int to = gathers ? 0 : static_cast<int>(peer);
    for (std::size_t i = 0; i < block; ++i) {
      send[peer * block + i] = on.rank * 1000 + to;
    }
  }
  const auto side = [&](std::vector<int>& buffer) {
    return CallSide{buffer.data(),      count,   MPI_INT,     counts.data(), places.data(),
                    byte_places.data(), nullptr, types.data()};
  };
  const int error = test::call(tested, collective, side(send), side(receive), on.comm);
  EXPECT_EQ(error, MPI_SUCCESS);
  int wrong = 0;
  for (std::size_t at = 0; at < receive.size(); ++at) {
    const int from = static_cast<int>(at / block);
    wrong += receive[at] != from * 1000 + (gathers ? 0 : on.rank);
  }
  EXPECT_EQ(wrong, 0);
}

// Has a pair of a round any message? A step whose peers are on the own node keeps its place, and has none.
bool has_message(const plan::Schedule& schedule, const plan::Round& round, std::size_t pair) {
  const auto is_there = [&](plan::Range range) {
    return pair < range.count && !is_none(schedule.messages[range.first + pair]);
  };
  return is_there(round.sends) || is_there(round.receives);
}

// The waits of a round: a send and a receive make a pair, and each pair two requests. Nobody waits for pairs that have
// no message between them.
void add_waits(const plan::Schedule& schedule, const plan::Round& round, Steps& steps) {
  const std::size_t pairs = std::max(round.sends.count, round.receives.count);
  const std::size_t asked = round.window.pairs;
  const std::size_t window = asked == 0 ? pairs : std::min(asked, pairs);
  const bool batches = round.window.wait == plan::Window::Wait::all;
  const std::size_t together = batches ? window : pairs;
  for (std::size_t done = 0; done < pairs; done += together) {
    const std::size_t end = std::min(pairs, done + together);
    bool some = false;
    for (std::size_t pair = done; pair < end; ++pair) some = some || has_message(schedule, round, pair);
    if (some) steps.wait(round.window.wait, 2 * (batches ? end - done : window));
  }
}

// The same where nobody waits inside the MPI: ranks of a node may need this one meanwhile.
Steps looked_for(Steps steps) {
  for (Wait& wait : steps.waits) {
    if (wait.how == plan::Window::Wait::any) wait.how = plan::Window::Wait::test;
  }
  return steps;
}

// What a schedule asks for.
Steps steps_of(const plan::Schedule& schedule) {
  Steps steps;
  for (const plan::Round& round : schedule.rounds) {
    const auto add = [&](plan::Range range, std::vector<int>& peers) {
      for (std::uint32_t i = 0; i < range.count; ++i) {
        const plan::Message& message = schedule.messages[range.first + i];
        if (!is_none(message)) peers.push_back(message.peer);
      }
    };
    add(round.sends, steps.sends);
    add(round.receives, steps.receives);
    add_waits(schedule, round, steps);
  }
  return steps;
}

// The messages if sizes travel: those of sizes, of equal blocks of `block` bytes behind them as far as `eager`
// allows, then those of data; in combined messages, those of lengths first.
Steps carried_steps_of(const plan::Schedule& schedule, std::size_t block, std::size_t eager) {
  Steps steps;
  const bool coupled = schedule.sizes == plan::Sizes::coupled;
  const auto add = [&](plan::Range range, std::vector<int>& peers) {
    for (const bool data : {false, true}) {
      for (std::uint32_t i = 0; i < range.count; ++i) {
        const plan::Message& message = schedule.messages[range.first + i];
        const bool apart = coupled || message.spans.count * block > eager;
        if (!data || apart) peers.push_back(message.peer);
      }
    }
  };
  for (const plan::Round& round : schedule.rounds) {
    add(round.sends, steps.sends);
    add(round.receives, steps.receives);
  }
  return steps;
}

// The messages by which the ranks find the largest block: in round k to the rank 2^k after it.
Steps agreement_on(const Communicator& on) {
  Steps steps;
  for (int distance = 1; distance < on.size; distance *= 2) {
    steps.sends.push_back((on.rank + distance) % on.size);
    steps.receives.push_back((on.rank - distance + on.size) % on.size);
  }
  return steps;
}
Steps joined(Steps first, const Steps& then) {
  first.sends.insert(first.sends.end(), then.sends.begin(), then.sends.end());
  first.receives.insert(first.receives.end(), then.receives.begin(), then.receives.end());
  return first;
}

// That the traffic was that of a call by this schedule with equal blocks of so many ints: `known` if all ranks know the
// sizes; else sizes and data, after what the ranks agree on. How often one waits for these is not said.
void expect_steps(const plan::Schedule& schedule, const choose::Choice& choice, int count, const Steps& agreement,
                  const Steps& known) {
  if (schedule.sizes == plan::Sizes::known) {
    EXPECT_EQ(traffic.steps.sends, known.sends);
    EXPECT_EQ(traffic.steps.receives, known.receives);
    EXPECT_EQ(traffic.steps.waits, known.waits);
    return;
  }
  const auto eager = static_cast<std::size_t>(plan::value_of(choice.parameters, "eager", 0));
  const std::size_t block = static_cast<std::size_t>(count) * sizeof(int);
  const Steps expected = joined(agreement, carried_steps_of(schedule, block, eager));
  EXPECT_EQ(traffic.steps.sends, expected.sends);
  EXPECT_EQ(traffic.steps.receives, expected.receives);
}

// As the library is told, or where the ranks really are.
plan::NodeMap nodes_of(const Communicator& on) {
  plan::NodeMap all = plan::node_map_from_labels(hosts_of_ranks());
  if (const char* const text = std::getenv("QUADRILLE_NODES")) {
    EXPECT_EQ(plan::parse_node_map(text, world().size, all), "");
  }
  return plan::nodes_of(all, team::ranks_in_world(abi::comm(on.comm)));
}
int steps_at_a_time() {
  const char* const text = std::getenv("QUADRILLE_AWAY_STEPS");
  return text == nullptr ? plan::standard_away_steps : std::atoi(text);
}

// Native handles are as long as a word or its lower half.
MPI_Comm native_comm(MpiComm comm) {
  MPI_Comm native;
  std::memcpy(&native, &comm, sizeof native);
  return native;
}

void expect_private(const Communicator& user) {
  for (const MpiComm comm : traffic.comms) {
    EXPECT_EQ(comm, traffic.comms.front());
    EXPECT_NE(comm, abi::comm(MPI_COMM_WORLD));
    int relation = MPI_UNEQUAL;
    MPI_Comm_compare(native_comm(comm), user.comm, &relation);
    EXPECT_EQ(relation, MPI_CONGRUENT);  // the same ranks in the same order, not the same comm
  }
}

std::vector<Forced> all_forced() {
  std::vector<Forced> all = forced_choices(dense_collectives, true);
  std::erase_if(all, [](const Forced& forced) { return forced.algorithm.empty(); });
  return all;
}

class RoomTest : public MpiTest {};
class ForcedTest : public MpiTest, public testing::WithParamInterface<Forced> {};
INSTANTIATE_TEST_SUITE_P(All, ForcedTest, testing::ValuesIn(all_forced()),
                         [](const auto& info) { return test_name(info.param); });

// By itself Quadrille takes the inboxes for the small block and a single copy for the large one.
constexpr int kSmall = 16;
constexpr int kLarge = 4096;

// Whether all ranks have room is asked when blocks are larger than any before.
TEST_F(RoomTest, ACallThatNeedsMoreRoomAsksOnce) {
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(Collective::alltoall, "basic-bruck", choice), "");
  place_spies();
  Communicator on = duplicate("room");
  EXPECT_EQ(force(on.comm, Collective::alltoall, "basic-bruck"), MPI_SUCCESS);
  call(Collective::alltoall, kSmall, on);
  const plan::NodeMap nodes = plan::one_node(on.size);
  const Steps moves = steps_of(choice.algorithm->build({on.size, on.rank, &nodes, choice.parameters}));
  constexpr int larger = 1 << 15, largest = 1 << 16;
  bool asks = true;
  for (const int count : {larger, larger, kLarge, largest, larger}) {
    traffic = {};
    call(Collective::alltoall, count, on);
    asks = asks || count == largest;
    const Steps expected = asks ? joined(agreement_on(on), moves) : moves;
    EXPECT_EQ(traffic.steps.sends, expected.sends) << count;
    EXPECT_EQ(traffic.steps.receives, expected.receives) << count;
    asks = false;
  }
}

TEST_P(ForcedTest, IsTheOneThatRuns) {
  const auto [collective, text] = GetParam();
  choose::Choice choice;
  EXPECT_EQ(choose::parse_choice(collective, text, choice), "");
  place_spies();
  Communicator on = duplicate("forced");
  EXPECT_EQ(force(on.comm, collective, text), MPI_SUCCESS);
  call(collective, kSmall, on);  // the first call may also set the communicator up

  for (const int count : {kSmall, kLarge}) {
    call(collective, count, on);  // with larger blocks than before the ranks may ask each other whether all have room
    traffic = {};
    call(collective, count, on);
    switch (choice.algorithm->engine) {
      case choose::Engine::schedule: {
        const plan::NodeMap nodes = nodes_of(on);
        const plan::Schedule schedule = choice.algorithm->build({on.size, on.rank, &nodes, choice.parameters});
        const bool agrees = plan::value_of(choice.parameters, "monolithic", 0) != 0;
        EXPECT_FALSE(traffic.comms.empty());
        expect_steps(schedule, choice, count, agrees ? agreement_on(on) : Steps{}, steps_of(schedule));
        EXPECT_EQ(traffic.collectives, 0);
        expect_private(on);
        break;
      }
      case choose::Engine::node:  // memory alone, and messages between nodes
      case choose::Engine::exchange: {
        const plan::NodeMap nodes = nodes_of(on);
        const plan::Schedule schedule =
            choice.algorithm->build({on.size, on.rank, &nodes, choice.parameters, {}, steps_at_a_time()});
        expect_steps(schedule, choice, count, Steps{}, looked_for(steps_of(schedule)));
        EXPECT_EQ(traffic.comms.empty(), nodes.nodes == 1);
        EXPECT_EQ(traffic.collectives, 0);
        if (nodes.nodes > 1) expect_private(on);
        break;
      }
      case choose::Engine::leaders:  // a large block of uneven ones goes straight to its rank
        EXPECT_EQ(traffic.collectives, 0);
        if (is_sized(collective) || count == kSmall) {
          const plan::NodeMap nodes = nodes_of(on);
          const plan::LeadersPlan plan = plan::leaders_plan({on.size, on.rank, &nodes, choice.parameters, {}},
                                                            choose::leaders_kind_of(collective));
          // Before blocks that go in several turns all ranks ask each other whether all have room.
          const auto bytes = static_cast<std::int64_t>(static_cast<std::size_t>(count) * sizeof(int));
          const bool in_turns = is_sized(collective) && bytes > plan::value_of(choice.parameters, "piece", INT64_MAX);
          const bool asks = in_turns && nodes.nodes > 1;
          EXPECT_EQ(traffic.comms.empty(), plan.streams.size() < 2 && !asks) << "leaders alone send";
        }
        break;
      case choose::Engine::pipeline:  // between nodes its inner algorithm, the MPI's own
        if (nodes_of(on).nodes > 1) {
          EXPECT_TRUE(traffic.comms.empty());
          EXPECT_EQ(traffic.collectives, 1);
          break;
        }
        [[fallthrough]];
      case choose::Engine::pull:  // these two, of the host: shared memory alone
        EXPECT_EQ(traffic.comms.empty(), nodes_of(on).nodes == 1);
        EXPECT_EQ(traffic.collectives, 0);
        break;
      case choose::Engine::inbox:  // a large block does not fit: then anything but a wrong result
        if (count == kLarge) break;
        EXPECT_TRUE(traffic.comms.empty());
        EXPECT_EQ(traffic.collectives, 0);
        break;
      case choose::Engine::padded:  // the largest block is agreed upon, then a uniform schedule or the MPI's
        EXPECT_FALSE(traffic.comms.empty());
        EXPECT_EQ(traffic.collectives, choice.algorithm->build == nullptr ? 1 : 0);
        if (choice.algorithm->build == nullptr) {
          EXPECT_EQ(traffic.steps.sends, agreement_on(on).sends);
          EXPECT_EQ(traffic.steps.receives, agreement_on(on).receives);
        }
        break;
      case choose::Engine::staged:  // its inner algorithm is what runs
      case choose::Engine::sparse:  // not one of all_forced()
      case choose::Engine::neighbors:
      case choose::Engine::node_neighbors:
      case choose::Engine::neighbor_copies:
        FAIL();
      case choose::Engine::mpi:
        EXPECT_TRUE(traffic.comms.empty());
        EXPECT_EQ(traffic.collectives, 1);
        break;
    }
  }
  release(on);
}

}  // namespace
}  // namespace quadrille::test
