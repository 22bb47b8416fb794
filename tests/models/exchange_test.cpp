// The exchange by pairs; the model is in node_model.hpp and exchange_model.cpp.
#include <gtest/gtest.h>

#include "expect.hpp"
#include "node_model.hpp"

namespace quadrille::models::exchange {
namespace {

using Ways = std::vector<std::vector<Way>>;
constexpr Way no = Way::none, slot = Way::in_slot, heap = Way::in_heap, address = Way::at_address,
              fails = Way::read_fails, writes = Way::written, not_written = Way::write_fails, ring = Way::in_ring;
constexpr Way all_ways[] = {slot, heap, address, fails, writes, not_written, ring};

Ways of_two(Way first, Way second) { return {{no, first}, {second, no}}; }

struct Mutation {
  NodeWrong wrong;
  const char* name;
  std::vector<Ways> calls;
};
// Each with calls in which it does harm.
const Mutation mutations[] = {
    {NodeWrong::number_before_offer, "the number before the offer", {of_two(heap, slot)}},
    {NodeWrong::finish_without_release, "the finish without release", {of_two(heap, slot), of_two(slot, slot)}},
    {NodeWrong::no_wait_for_users, "no wait for those who read", {of_two(heap, slot), of_two(slot, slot)}},
    {NodeWrong::no_wait_for_users, "no wait for those who may ask", {of_two(fails, slot), of_two(slot, slot)}},
    {NodeWrong::no_wait_for_writers, "no wait for those who write", {of_two(writes, slot)}},
    {NodeWrong::ask_not_reset,
     "the ask is not reset",
     {of_two(fails, slot), of_two(address, slot), of_two(ring, slot)}},
    {NodeWrong::reset_in_next_call, "the ask is reset in the next call", {of_two(fails, slot), of_two(fails, slot)}},
    {NodeWrong::no_answers_while_leaving, "no answers while leaving", {of_two(fails, slot)}},
    {NodeWrong::finish_before_streams, "finished before the streams are", {of_two(slot, fails)}},
    {NodeWrong::ask_before_finish_only, "asked for and not waited for", {of_two(fails, slot)}},
    {NodeWrong::room_after_offer, "the room given after the offer", {of_two(writes, slot)}},
    {NodeWrong::room_not_given, "a room of another call", {of_two(writes, slot)}},
    {NodeWrong::ring_announced_before_written, "the ring announced before it is written", {of_two(ring, slot)}},
    {NodeWrong::ring_announced_without_release, "the ring announced without release", {of_two(ring, slot)}},
    {NodeWrong::ring_freed_before_read, "the ring freed before it is read", {of_two(ring, slot)}},
    {NodeWrong::ring_written_without_room, "the ring written without room", {of_two(ring, slot)}},
    {NodeWrong::failed_write_not_told, "a failed write is not told", {of_two(not_written, slot)}},
    {NodeWrong::failed_write_not_reset,
     "the report of a failed write is not reset",
     {of_two(not_written, slot), of_two(writes, slot)}},
    {NodeWrong::left_with_a_full_ring, "left with a full ring", {of_two(not_written, slot)}},
};

// Ranks 0 and 2 wait to leave, each for another rank first: 0 for 1, and 2 for 3. Rank 1 asks 2, and 3 asks 0.
const Ways crossed = {{no, address, no, fails}, {no, no, no, no}, {no, fails, no, address}, {no, no, no, no}};

// Two nodes, {0, 1} and {2, 3}; 0 exchanges messages with 2, and 1 with 3. Rank 1 asks 0, and 2 asks 3.
const Ways two_nodes = {{no, fails, Way::away, Way::away},
                        {slot, no, Way::away, Way::away},
                        {Way::away, Way::away, no, slot},
                        {Way::away, Way::away, fails, no}};

TEST(ExchangeModel, EveryWayAfterEveryOther) {
  std::size_t states = 0;
  for (const Way a : all_ways) {
    for (const Way b : all_ways) {
      for (const Way c : all_ways) {
        NodeModel model({.ranks = 2, .ring = 1}, NodeWrong::nothing);
        for (const auto& [first, second] : {std::pair(a, b), std::pair(b, c), std::pair(c, a), std::pair(a, a)}) {
          model.exchange(of_two(first, second));
        }
        const Found found = explore(model.machine());
        states += found.states;
        ASSERT_TRUE(found.good()) << static_cast<int>(a) << static_cast<int>(b) << static_cast<int>(c) << found.text();
      }
    }
  }
  std::printf("%-58s %9zu states\n", "exchange, 2 ranks, 4 calls, 343 sequences of ways", states);
}

TEST(ExchangeModel, ThreeRanks) {
  const Ways calls[] = {
      {{no, heap, fails}, {slot, no, ring}, {writes, address, no}},
      {{no, fails, fails}, {fails, no, fails}, {fails, fails, no}},
      {{no, writes, ring}, {fails, no, heap}, {slot, ring, no}},
      {{no, not_written, slot}, {not_written, no, writes}, {ring, not_written, no}},
  };
  {
    NodeModel model({.ranks = 3, .depth = 0, .units = 1}, NodeWrong::nothing);
    for (const Ways& ways : calls) model.exchange(ways);
    expect_good("exchange, 3 ranks, 3 calls, stores seen at once", model.machine());
  }
  {
    NodeModel model({.ranks = 3, .units = 1}, NodeWrong::nothing);
    for (const Ways& ways : {calls[0], calls[2], calls[0]}) model.exchange(ways);
    expect_good("exchange, 3 ranks, 3 calls", model.machine());
  }
  NodeModel model({.ranks = 3, .units = 1}, NodeWrong::nothing);
  model.exchange(calls[1]);
  expect_good("exchange, 3 ranks, 1 call, all reads fail", model.machine());
  NodeModel writers({.ranks = 3, .units = 1}, NodeWrong::nothing);
  writers.exchange(calls[3]);
  expect_good("exchange, 3 ranks, 1 call, most writes fail", writers.machine());
}

TEST(ExchangeModel, FourRanks) {
  NodeModel model({.ranks = 4, .depth = 0, .units = 1}, NodeWrong::nothing);
  model.exchange(crossed);
  expect_good("exchange, 4 ranks, 1 call, asks crossed", model.machine());
}

TEST(ExchangeModel, TwoNodes) {
  NodeModel model({.ranks = 4, .depth = 0, .units = 1}, NodeWrong::nothing);
  for (int call = 0; call < 2; ++call) model.exchange(two_nodes);
  expect_good("exchange, 2 nodes of 2 ranks, 2 calls, batches of messages", model.machine());
}

TEST(ExchangeModel, EveryMutationIsFound) {
  for (const auto& [wrong, name, calls] : mutations) {
    NodeModel model({.ranks = 2}, wrong);
    for (const Ways& ways : calls) model.exchange(ways);
    expect_found(std::string("exchange, ") + name, model.machine());
  }
  // A block that the ring holds as a whole: its sender finishes before the receiver looks.
  NodeModel small({.ranks = 2, .units = 1}, NodeWrong::failed_write_sought_before_finish_only);
  small.exchange(of_two(not_written, slot));
  expect_found("exchange, failed writes sought before the finish alone", small.machine());

  NodeModel model({.ranks = 4, .depth = 0, .units = 1}, NodeWrong::answers_to_that_user_alone);
  model.exchange(crossed);
  expect_found("exchange, answers to the one that is waited for alone", model.machine());

  NodeModel nodes({.ranks = 4, .depth = 0, .units = 1}, NodeWrong::no_answers_while_away);
  nodes.exchange(two_nodes);
  expect_found("exchange, no answers while other nodes are waited for", nodes.machine());
}

}  // namespace
}  // namespace quadrille::models::exchange
