// Every registered algorithm, executed for real: all ranks in one process, random order of delivery,
// every message a rendezvous, all memory checked.
#include "run/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>

#include "choose/registry.hpp"
#include "loopback.hpp"
#include "mpi/mpi.hpp"

namespace quadrille {
namespace {

using run::Binding;
using run::Execution;
using run::Place;

constexpr std::byte poison{0xA5};
constexpr std::size_t guard = 16;

std::byte expected(int source, int destination, std::size_t offset) {
  std::uint64_t h = static_cast<std::uint64_t>(source) * 0x9E3779B97F4A7C15ULL;
  h ^= (static_cast<std::uint64_t>(destination) + 1) * 0xC2B2AE3D27D4EB4FULL;
  h ^= (offset + 1) * 0x165667B19E3779F9ULL;
  h ^= h >> 29;
  return static_cast<std::byte>((h * 0xBF58476D1CE4E5B9ULL) >> 56);
}

// Sizes of blocks: uniform, or different for each pair.
using Sizes = std::size_t (*)(int source, int destination);

struct Rank {
  std::vector<std::byte> send, recv, scratch;
  std::vector<std::byte> send_before;
  std::vector<Place> send_places, recv_places;
  plan::Schedule schedule;
  Binding binding;
  run::CarriedMemory memory;
  std::unique_ptr<Execution> execution;
};

std::vector<Place> lay_out(std::vector<std::byte>& memory, const std::vector<std::size_t>& sizes) {
  std::size_t total = guard;
  for (const std::size_t s : sizes) total += s + guard;
  memory.assign(total, poison);
  std::vector<Place> places;
  std::byte* at = memory.data() + guard;
  for (const std::size_t s : sizes) {
    places.push_back({at, s, s, 0});
    at += s + guard;
  }
  return places;
}

// Which send or receive of rank 0 fails. All others go on, and who misses a block says so.
struct Settings {
  unsigned seed = 1;
  std::size_t wide_from = UINT32_MAX;
  const plan::Window* window = nullptr;  // instead of the schedule's
  test::Trouble trouble = {};
  // Bytes that a rank expects of another at least and at most, which may send fewer or more.
  std::size_t least_expected = 0, most_expected = SIZE_MAX;
  std::size_t lacking = 0;  // the first ranks, so many, have no memory for data behind sizes
};

bool is_whole(const Place& place, int source, int destination) {
  for (std::size_t i = 0; i < place.bytes; ++i) {
    if (place.address[i] != expected(source, destination, i)) return false;
  }
  return true;
}

// A rank that has all of its blocks has nothing to report, but for one where something failed: that is its own error.
void check_what_is_missing(const Rank& rank, int me, int error, int own_error, const std::string& what) {
  bool misses = false;
  for (std::size_t s = 0; s < rank.recv_places.size(); ++s) {
    misses = misses || !is_whole(rank.recv_places[s], static_cast<int>(s), me);
  }
  EXPECT_EQ(rank.send, rank.send_before) << what;
  const int error_of_missing = misses ? mpi().err_no_mem : mpi_success;
  EXPECT_EQ(error, own_error != mpi_success ? own_error : error_of_missing) << what << " rank " << me;
}

void check_recv(const Rank& rank, int me, bool gather, Sizes size, const std::string& what) {
  for (std::size_t s = 0; s < rank.recv_places.size(); ++s) {
    const Place& p = rank.recv_places[s];
    const int source = static_cast<int>(s), block = gather ? 0 : me;
    const std::size_t sent = size(source, block);
    for (std::size_t i = 0; i < p.bytes; ++i) {
      ASSERT_EQ(p.address[i], i < sent ? expected(source, block, i) : poison)
          << what << " rank " << me << " block " << s << " byte " << i;
    }
    for (std::size_t i = 0; i < guard; ++i) {
      ASSERT_EQ(p.address[p.bytes + i], poison) << what << ": written behind block " << s;
    }
  }
  ASSERT_EQ(rank.send, rank.send_before) << what << ": the send buffer was written to";
}

std::size_t largest_size(Sizes size, int ranks) {
  std::size_t largest = 0;
  for (int s = 0; s < ranks; ++s) {
    for (int d = 0; d < ranks; ++d) largest = std::max(largest, size(s, d));
  }
  return largest;
}

// The executor passes over fences, and knows no blocks of other ranks.
void check_that_it_is_for_the_executor(const plan::Schedule& schedule, int me) {
  for (const plan::Round& round : schedule.rounds) ASSERT_FALSE(round.node_fence);
  for (const plan::Copy& copy : schedule.copies) {
    ASSERT_EQ(copy.from.owner, me);
    ASSERT_EQ(copy.to.owner, me);
  }
}

// Makes the lengths of messages with data larger than any memory, for these ranks alone. Sizes take up to 64 bytes.
void lack_memory(std::span<Rank> ranks) {
  for (Rank& rank : ranks) {
    for (std::uint64_t& length : rank.memory.lengths_in) length |= length > 64 ? std::uint64_t{1} << 60 : 0;
  }
}

// Ranks advance and messages arrive in random order. Now and then all ranks advance: if no message can arrive then,
// nothing will ever move again. Returns the error of each rank.
std::vector<int> advance_all(test::Network& network, std::vector<Rank>& all, std::size_t lacking) {
  std::vector<int> errors(all.size());
  for (std::size_t step = 0;; ++step) {
    const bool sweep = step % (4 * all.size()) == 0;
    const std::size_t lucky = network.random()() % all.size();
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!sweep && r != lucky) continue;
      if (const int error = all[r].execution->advance(false); errors[r] == 0) errors[r] = error;
    }
    const bool delivered = (sweep || network.random()() % 2 == 0) && network.deliver_one();
    lack_memory(std::span(all).first(lacking));
    if (sweep && !delivered) return errors;
  }
}

void run_all(const choose::Algorithm& algorithm, Collective collective, const plan::Parameters& parameters,
             const plan::NodeMap& nodes, Sizes size, const Settings& settings) {
  const int ranks = nodes.ranks();
  const run::CarriedLimits limits{static_cast<std::size_t>(plan::value_of(parameters, "eager", 0)), settings.wide_from};
  const bool gather = collective == Collective::allgather || collective == Collective::allgatherv;
  const bool trouble = settings.trouble.send + settings.trouble.receive > 0;
  test::Network network(ranks, settings.seed);
  network.may_be_shorter = limits.eager > 0 || trouble || settings.lacking > 0;
  network.rank(0).trouble = settings.trouble;
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  for (int me = 0; me < ranks; ++me) {
    Rank& r = all[static_cast<std::size_t>(me)];
    std::vector<std::size_t> send_sizes, recv_sizes;
    for (int p = 0; p < ranks; ++p) {
      if (!gather) send_sizes.push_back(size(me, p));
      const std::size_t sent = size(p, gather ? 0 : me);
      recv_sizes.push_back(p == me ? sent : std::clamp(sent, settings.least_expected, settings.most_expected));
    }
    if (gather) send_sizes.push_back(size(me, 0));
    r.send_places = lay_out(r.send, send_sizes);
    r.recv_places = lay_out(r.recv, recv_sizes);
    for (std::size_t d = 0; d < r.send_places.size(); ++d) {
      for (std::size_t i = 0; i < r.send_places[d].bytes; ++i) {
        r.send_places[d].address[i] = expected(me, static_cast<int>(d), i);
      }
    }
    r.send_before = r.send;
    r.schedule = algorithm.build({ranks, me, &nodes, parameters});
    check_that_it_is_for_the_executor(r.schedule, me);
    for (plan::Round& round : r.schedule.rounds)
      round.window = settings.window != nullptr ? *settings.window : round.window;
    r.binding.send = r.send_places;
    r.binding.recv = r.recv_places;
    if (r.schedule.sizes != plan::Sizes::known) {
      if (plan::value_of(parameters, "monolithic", 0) != 0) {
        r.binding.block_bytes = largest_size(size, ranks);
        // A byte behind it, which must stay.
        r.scratch.assign(plan::waiting_slots(r.schedule) * r.binding.block_bytes + 1, poison);
        r.binding.scratch = r.scratch.data();
      }
      r.execution = std::make_unique<Execution>(r.schedule, r.binding, network.rank(me), r.memory, limits);
      continue;
    }
    r.binding.block_bytes = size(0, 0);
    r.scratch.assign(r.schedule.scratch_blocks * r.binding.block_bytes, poison);
    r.binding.scratch = r.scratch.data();
    r.execution = std::make_unique<Execution>(r.schedule, r.binding, network.rank(me));
  }
  const std::string what = std::string(algorithm.name) + " P=" + std::to_string(ranks) + " failing send " +
                           std::to_string(settings.trouble.send) + " or receive " +
                           std::to_string(settings.trouble.receive);
  std::vector<int> errors = advance_all(network, all, settings.lacking);
  for (std::size_t r = 0; settings.lacking > 0 && r < all.size(); ++r) {
    ASSERT_TRUE(all[r].execution->done()) << what << ": rank " << r << " is stuck without memory";
    const int own_error = r < settings.lacking ? mpi().err_no_mem : mpi_success;
    check_what_is_missing(all[r], static_cast<int>(r), errors[r], own_error, what);
    std::ranges::fill(all[r].recv, poison);
    all[r].execution->begin();
  }
  if (settings.lacking > 0) errors = advance_all(network, all, 0);
  for (int me = 0; me < ranks; ++me) {
    const Rank& r = all[static_cast<std::size_t>(me)];
    ASSERT_TRUE(r.execution->done()) << what << ": rank " << me << " is stuck";
    if (settings.window != nullptr && settings.window->pairs > 0) {
      EXPECT_LE(network.rank(me).slots.size(), 2 * settings.window->pairs)
          << what << ": more in flight than the window";
    }
    if (trouble) {
      const bool mine = me == 0 && network.rank(0).trouble.send + network.rank(0).trouble.receive == 0;
      const int own_error = mine ? test::Trouble::error : mpi_success;
      check_what_is_missing(r, me, errors[static_cast<std::size_t>(me)], own_error, what);
      continue;
    }
    bool too_long = false;
    for (int p = 0; p < ranks && !gather; ++p) too_long |= p != me && size(p, me) > settings.most_expected;
    ASSERT_EQ(errors[static_cast<std::size_t>(me)], too_long ? mpi().err_truncate : mpi_success) << what;
    check_recv(r, me, gather, size, what);
    if (r.schedule.sizes != plan::Sizes::known && !r.scratch.empty()) {
      ASSERT_EQ(r.scratch.back(), poison) << what << ": written behind the slots";
    }
  }
}

void run_all(const choose::Algorithm& algorithm, Collective collective, const plan::Parameters& parameters, int ranks,
             Sizes size, const Settings& settings) {
  run_all(algorithm, collective, parameters, plan::one_node(ranks), size, settings);
}

std::size_t uniform_size(int, int) { return 12; }
std::size_t ragged_size(int source, int destination) {
  return static_cast<std::size_t>((source * 7 + destination * 3) % 5);  // zeros among them
}

std::vector<plan::Parameters> settings_of(const choose::Algorithm& algorithm) {
  std::vector<plan::Parameters> all(1);
  for (const choose::ParameterRange& range : algorithm.parameters) {
    std::vector<plan::Parameters> next;
    for (const std::int64_t value : {range.least, range.standard, std::int64_t{3}}) {
      for (plan::Parameters p : all) {
        p.push_back({std::string(range.name), std::clamp(value, range.least, range.most)});
        next.push_back(p);
      }
    }
    all = next;
  }
  return all;
}

TEST(Executor, RunsEveryAlgorithmOnEveryCollective) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr unsigned seeds = 1;
  constexpr int most_ranks = 9;
#else
  constexpr unsigned seeds = 3;
  constexpr int most_ranks = 16;
#endif
  int cases = 0;
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (algorithm.engine != choose::Engine::schedule) continue;
    for (const Collective collective : algorithm.collectives) {
      const bool sized = collective == Collective::alltoall || collective == Collective::allgather;
      for (const plan::Parameters& parameters : settings_of(algorithm)) {
        for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16}) {
          for (unsigned seed = 0; seed < seeds && ranks <= most_ranks; ++seed) {
            run_all(algorithm, collective, parameters, ranks, sized ? uniform_size : ragged_size, {.seed = seed});
            if (HasFatalFailure()) return;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 500);
}

std::size_t one_giant(int source, int destination) { return source == 1 && destination == 0 ? 700 : 2; }
std::size_t nothing(int, int) { return 0; }
std::size_t zero_rows(int source, int destination) {
  return source % 2 == 0 ? 0 : static_cast<std::size_t>(destination % 3 + 1);
}
std::size_t zero_columns(int source, int destination) { return zero_rows(destination, source); }

// Sizes from 3 bytes on count as too large for 4 bytes.
TEST(Carried, SizesOfEightBytesAndAllKindsOfMatrices) {
  for (const char* name : {"two-phase-bruck", "sloav", "mn-co"}) {
    const choose::Algorithm* algorithm = choose::find(Collective::alltoallv, name);
    ASSERT_NE(algorithm, nullptr);
    for (const plan::Parameters& parameters : settings_of(*algorithm)) {
      for (const Sizes size : {ragged_size, one_giant, nothing, zero_rows, zero_columns}) {
        for (const int ranks : {2, 3, 4, 6, 9, 16}) {
          for (const std::size_t wide_from : {std::size_t{3}, std::size_t{UINT32_MAX}}) {
            run_all(*algorithm, Collective::alltoallv, parameters, ranks, size, {5, wide_from});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Runs with other sizes than are expected; some of 8 bytes.
template <class Run>
void run_with_other_sizes(Run run) {
  for (const std::size_t wide_from : {std::size_t{3}, std::size_t{UINT32_MAX}}) {
    run(one_giant, Settings{.wide_from = wide_from, .most_expected = 300});
    run(ragged_size, Settings{.wide_from = wide_from, .most_expected = 1});
    run(ragged_size, Settings{.wide_from = wide_from, .least_expected = 7});
    run(ragged_size, Settings{.wide_from = wide_from, .least_expected = 1, .most_expected = 2});
    run(nothing, Settings{.wide_from = wide_from, .least_expected = 5});
    if (testing::Test::HasFailure()) return;
  }
}

// Nobody takes more than was expected, and blocks that travel with one of another size come whole. The rank that sent
// too much does not know.
TEST(Carried, TellsOfBlocksThatAreTooLong) {
  for (const char* name : {"sloav", "two-phase-bruck", "mn-co"}) {
    const choose::Algorithm* algorithm = choose::find(Collective::alltoallv, name);
    ASSERT_NE(algorithm, nullptr);
    for (const plan::Parameters& parameters : settings_of(*algorithm)) {
      for (const int ranks : {2, 3, 4, 9}) {
        run_with_other_sizes([&](Sizes size, const Settings& settings) {
          run_all(*algorithm, Collective::alltoallv, parameters, ranks, size, settings);
        });
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Carried, TellsOfBlocksThatAreTooLongBetweenNodes) {
  const choose::Algorithm* algorithm = choose::find(Collective::alltoallv, "tuna-hierarchical");
  ASSERT_NE(algorithm, nullptr);
  for (const char* map : {"blocked:1", "blocked:8", "roundrobin:3", "ragged:1,3,4"}) {
    for (const int ranks : {3, 8}) {
      plan::NodeMap nodes;
      ASSERT_EQ(plan::parse_node_map(map, ranks, nodes), "");
      for (const int exchange : {0, 1}) {
        for (const int eager : {0, 1024}) {
          const plan::Parameters parameters = {
              {"radix", 2 + eager / 1024}, {"exchange", exchange}, {"burst", 2}, {"eager", eager}};
          run_with_other_sizes([&](Sizes size, const Settings& settings) {
            run_all(*algorithm, Collective::alltoallv, parameters, nodes, size, settings);
          });
          ASSERT_FALSE(HasFailure()) << map << ", exchange " << exchange << ", eager " << eager;
        }
      }
    }
  }
}

// A round of several messages in a window: each of its steps keeps to it.
TEST(Carried, KeepsToTheWindow) {
  using Wait = plan::Window::Wait;
  for (const char* text : {"two-phase-bruck:radix=6", "two-phase-bruck:radix=6,eager=0", "sloav:radix=6"}) {
    choose::Choice choice;
    ASSERT_EQ(choose::parse_choice(Collective::alltoallv, text, choice), "");
    for (const plan::Window& window :
         {plan::Window{Wait::all, 1}, plan::Window{Wait::all, 2}, plan::Window{Wait::any, 1},
          plan::Window{Wait::any, 2}, plan::Window{Wait::test, 3}, plan::Window{Wait::any, 0}}) {
      for (const Sizes size : {ragged_size, one_giant, zero_rows}) {
        for (const std::size_t wide_from : {std::size_t{3}, std::size_t{UINT32_MAX}}) {
          run_all(*choice.algorithm, Collective::alltoallv, choice.parameters, 16, size, {7, wide_from, &window});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Ranks of a node pass blocks on to each other before they go to other nodes: on nodes of all kinds.
TEST(Executor, TunaOnSeveralNodes) {
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv}) {
    const choose::Algorithm* algorithm = choose::find(collective, "tuna-hierarchical");
    ASSERT_NE(algorithm, nullptr);
    const bool sized = collective == Collective::alltoall;
    for (const char* map : {"blocked:1", "blocked:4", "roundrobin:3", "ragged:1,3,4", "ragged:5,1", "permuted:1"}) {
      for (const int ranks : {3, 8, 13}) {
        plan::NodeMap nodes;
        ASSERT_EQ(plan::parse_node_map(map, ranks, nodes), "");
        for (const int radix : {2, 3, 8}) {
          for (const int exchange : {0, 1}) {
            for (const int burst : {1, 3, 32}) {
              plan::Parameters parameters = {{"radix", radix}, {"exchange", exchange}, {"burst", burst}};
              if (!sized) parameters.push_back({"eager", burst == 3 ? 0 : 1024});
              const auto run = [&](Sizes size, std::size_t wide_from) {
                run_all(*algorithm, collective, parameters, nodes, size, {7, wide_from});
              };
              if (sized) {
                run(uniform_size, UINT32_MAX);
              } else {
                for (const Sizes size : {ragged_size, one_giant, nothing, zero_rows, zero_columns})
                  run(size, UINT32_MAX);
                run(ragged_size, 3);
              }
              ASSERT_FALSE(HasFatalFailure())
                  << map << ", radix " << radix << ", exchange " << exchange << ", burst " << burst;
            }
          }
        }
      }
    }
  }
}

std::size_t never_nothing(int source, int destination) { return 1 + ragged_size(source, destination); }

// The others do not wait for what a rank could not send, and do not take it for what it is not. Where a block is empty
// nothing is missing, whatever became of its message: a rank that expects nothing has no error.
TEST(Carried, GoesOnAfterAnError) {
  constexpr int ranks = 9;
  const auto run = [](const char* text, const plan::Window* window, test::Trouble trouble, std::size_t wide_from,
                      Sizes size = never_nothing) {
    choose::Choice choice;
    ASSERT_EQ(choose::parse_choice(Collective::alltoallv, text, choice), "");
    run_all(*choice.algorithm, Collective::alltoallv, choice.parameters, ranks, size, {3, wide_from, window, trouble});
  };
  const plan::Window two{plan::Window::Wait::any, 2};
  for (const char* text :
       {"two-phase-bruck", "two-phase-bruck:eager=0", "two-phase-bruck:radix=3,eager=4",
        "two-phase-bruck:radix=3,monolithic=1", "sloav", "sloav:radix=3", "mn-co:eager=0", "mn-co"}) {
    for (const Sizes size : {never_nothing, ragged_size, zero_rows, zero_columns, one_giant, nothing}) {
      for (const plan::Window* window : {static_cast<const plan::Window*>(nullptr), &two}) {
        for (const std::size_t wide_from : {std::size_t{3}, std::size_t{UINT32_MAX}}) {
          for (int which = 1; which <= 12; ++which) {
            run(text, window, {.send = which}, wide_from, size);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  // What fails on its way. Of a receive that fails nobody tells its sender, who goes on as if it had come: so not the
  // sizes of a message whose data follow.
  for (int which = 1; which <= 8; ++which) {
    run("two-phase-bruck", nullptr, {.receive = which}, UINT32_MAX);
    run("two-phase-bruck:radix=3", &two, {.receive = which}, UINT32_MAX);
    run("mn-co", nullptr, {.receive = which}, UINT32_MAX);
    run("two-phase-bruck:eager=0", nullptr, {.receive = 2 * ((which + 1) / 2)}, UINT32_MAX);
    run("sloav", nullptr, {.receive = 2 * which}, UINT32_MAX);
    if (HasFailure()) return;
  }
}

std::size_t wide_of_some(int source, int) { return source % 3 == 1 ? 200 : 100; }

// A rank without memory for the data behind sizes receives the sizes that come alone: their marks tell which messages
// follow. In the first round rank 0 gets a message of each kind. The next call is right.
TEST(Carried, ReceivesSizesThatComeAloneWithoutMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "there the sanitizer ends the program, whatever its options";
#endif
  constexpr int ranks = 9;
  choose::Choice choice;
  ASSERT_EQ(choose::parse_choice(Collective::alltoallv, "sloav:radix=3", choice), "");
  const plan::Window one{plan::Window::Wait::any, 1};
  for (const plan::Window* window : {static_cast<const plan::Window*>(nullptr), &one}) {
    for (const std::size_t lacking : {std::size_t{1}, std::size_t{ranks}}) {
      run_all(*choice.algorithm, Collective::alltoallv, choice.parameters, ranks, wide_of_some,
              {.wide_from = 200, .window = window, .lacking = lacking});
      ASSERT_FALSE(HasFailure()) << lacking << " ranks lack memory";
    }
  }
}

// Counts copies.
class Copier final : public run::Transport {
 public:
  int start_send(std::size_t, int, std::span<const Place>) override { return 0; }
  int start_receive(std::size_t, int, std::span<const Place>) override { return 0; }
  int all_done(std::size_t, bool, bool& done) override {
    done = true;
    return 0;
  }
  int any_done(std::size_t slots, bool, bool, std::size_t& slot) override {
    slot = slots;
    return 0;
  }
  int copy(const Place&, const Place&) override {
    ++copies;
    return 0;
  }
  int copies = 0;
};

// Absolute addresses, or parts of one array: the types tell the blocks apart, not the address.
TEST(Executor, CopiesBetweenTypesThatBeginAtOneAddress) {
  std::byte memory{};
  const auto copies = [&](const Place& from, const Place& to) {
    plan::Builder builder(0);
    builder.begin_round();
    builder.copy(plan::Buffer::send, 0, plan::Buffer::recv, 0);
    const plan::Schedule schedule = builder.take();
    Binding binding;
    binding.send = {&from, 1};
    binding.recv = {&to, 1};
    Copier copier;
    EXPECT_EQ(Execution(schedule, binding, copier).advance(true), 0);
    return copier.copies;
  };
  const Place part{&memory, 1, 8, 3, false};
  EXPECT_EQ(copies(part, {&memory, 1, 8, 4, false}), 1);
  EXPECT_EQ(copies(part, {&memory, 2, 8, 3, false}), 1);
  EXPECT_EQ(copies(part, part), 0);
  EXPECT_EQ(copies({&memory, 1, 8, 3, true}, {&memory, 2, 8, 4, true}), 0);
}

// Keeps the places of messages, which are complete at once.
class PlaceKeeper final : public run::Transport {
 public:
  int start_send(std::size_t, int, std::span<const Place> places) override {
    sent.emplace_back(places.begin(), places.end());
    return 0;
  }
  int start_receive(std::size_t, int, std::span<const Place>) override { return 0; }
  int all_done(std::size_t, bool, bool& done) override { return done = true, 0; }
  int any_done(std::size_t slots, bool, bool, std::size_t& slot) override { return slot = slots, 0; }
  int copy(const Place&, const Place&) override { return 0; }
  std::vector<std::vector<Place>> sent;
};

// Blocks of one message that lie one behind the other become one place, counted in elements of one type. Of two types
// the elements may be of two sizes, and the count would be of neither.
TEST(Executor, JoinsBlocksOfOneTypeAlone) {
  std::byte memory[64];
  const auto sent = [&](const std::vector<Place>& blocks) {
    plan::Builder builder(0);
    builder.begin_round();
    builder.send(1);
    for (std::size_t b = 0; b < blocks.size(); ++b) builder.span(plan::Buffer::send, static_cast<int>(b));
    const plan::Schedule schedule = builder.take();
    Binding binding;
    binding.send = blocks;
    PlaceKeeper keeper;
    EXPECT_EQ(Execution(schedule, binding, keeper).advance(true), 0);
    EXPECT_EQ(keeper.sent.size(), 1U);
    return keeper.sent.at(0);
  };
  const Place ints{memory, 2, 8, 3, true};
  const std::vector<Place> joined = sent({ints, {memory + 8, 3, 12, 3, true}});
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].count, 5U);
  EXPECT_EQ(joined[0].bytes, 20U);
  const std::vector<Place> apart = sent({ints, {memory + 8, 1, 8, 4, true}});
  ASSERT_EQ(apart.size(), 2U) << "an int and a double are not two ints";
  EXPECT_EQ(apart[1].type, 4U);
  EXPECT_EQ(apart[1].count, 1U);
  EXPECT_EQ(sent({ints, {memory + 8, 1, 8, 3, false}}).size(), 2U) << "gaps";
  EXPECT_EQ(sent({ints, {memory + 12, 1, 4, 3, true}}).size(), 2U) << "elsewhere";
}

TEST(Executor, LeavesOutEmptyMessagesOnBothSides) {
  const choose::Algorithm* algorithm = choose::find(Collective::alltoallv, "waitany-stride");
  ASSERT_NE(algorithm, nullptr);
  run_all(*algorithm, Collective::alltoallv, {{"stride", 2}}, 6, [](int, int) -> std::size_t { return 0; }, {});
}

// The others wait for what this rank sends, and its memory for what it receives.
TEST(Executor, AnErrorOfTheMessageLayerEndsNothing) {
  struct Broken final : run::Transport {
    int start_send(std::size_t, int, std::span<const Place>) override { return ++sent == 2 ? 17 : 0; }
    int start_receive(std::size_t, int, std::span<const Place>) override { return ++received == 3 ? 18 : 0; }
    int all_done(std::size_t, bool, bool& done) override { return done = true, ++waited == 3 ? 19 : 0; }
    int any_done(std::size_t slots, bool, bool, std::size_t& slot) override { return slot = slots, 20; }
    int copy(const Place&, const Place&) override { return 0; }
    int sent = 0, received = 0, waited = 0;
  };
  constexpr int ranks = 5;
  const plan::NodeMap nodes = plan::one_node(ranks);
  std::byte memory[ranks] = {};
  std::vector<Place> places;
  for (std::byte& byte : memory) places.push_back({&byte, 1, 1, 0});
  Binding binding;
  binding.send = binding.recv = places;
  for (const auto& [name, error] : {std::pair{"pairwise", 17}, std::pair{"waitany-stride", 20}}) {
    const choose::Algorithm* algorithm = choose::find(Collective::alltoall, name);
    ASSERT_NE(algorithm, nullptr);
    const plan::Schedule schedule = algorithm->build({ranks, 0, &nodes, {{"stride", 2}}});
    Broken broken;
    Execution execution(schedule, binding, broken);
    const int first = execution.advance(true);
    EXPECT_TRUE(execution.done());
    if (error == 17) {
      EXPECT_EQ(first, 17);
      EXPECT_EQ(broken.sent, ranks - 1);
      EXPECT_EQ(broken.received, ranks - 1);
      EXPECT_EQ(broken.waited, ranks - 1);
    } else {
      EXPECT_NE(first, 0) << "of no request: there is nothing to wait for";
    }
  }
}

}  // namespace
}  // namespace quadrille
