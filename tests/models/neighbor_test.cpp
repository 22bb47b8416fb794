// The rings between neighbours; the model is in neighbor_model.hpp.
#include <gtest/gtest.h>

#include "expect.hpp"
#include "neighbor_model.hpp"

namespace quadrille::models::neighbor {
namespace {

using Blocks = NeighborModel::Blocks;
using Some = std::vector<Travel>;
constexpr Travel run = Travel::run, follows = Travel::follows, offered = Travel::offered, refused = Travel::unreadable;
constexpr Travel all_travels[] = {run, follows, offered, refused};

Blocks of_two(Some first, Some second) { return {{{}, first}, {second, {}}}; }
// On a ring of three each rank has one block for the next and one for the one before.
Blocks of_three(Travel first, Travel second, Travel third) {
  return {{{}, {first}, {second}}, {{third}, {}, {first}}, {{second}, {third}, {}}};
}

// Each rank has one block for the next; the last rank another one.
Blocks around(Travel some, Travel last) { return {{{}, {some}, {}}, {{}, {}, {some}}, {{last}, {}, {}}}; }

struct Mutation {
  RingWrong wrong;
  const char* name;
  std::vector<Blocks> calls;
};
const Mutation mutations[] = {
    {RingWrong::announced_before_written, "announced before it is written", {of_two({follows}, {})}},
    {RingWrong::announced_without_release, "announced without release", {of_two({run, run}, {run})}},
    {RingWrong::freed_before_read, "freed before it is read", {of_two({follows, follows}, {})}},
    {RingWrong::written_without_room, "written without room", {of_two({follows, follows}, {})}},
    {RingWrong::never_looks_again, "the writer never looks again", {of_two({follows, follows}, {})}},
    {RingWrong::no_wait_for_was_read, "no wait for was_read", {of_two({offered}, {run}), of_two({offered}, {run})}},
    {RingWrong::was_read_not_said, "was_read is not said", {of_two({offered}, {run})}},
    {RingWrong::was_read_before_blocks, "was_read before own blocks", {of_two({offered}, {follows, follows})}},
    {RingWrong::was_read_while_refused,
     "was_read while a block is missing",
     {of_two({refused}, {run}), of_two({run}, {run})}},
    {RingWrong::was_read_said_at_once, "was_read before the block is read", {of_two({offered}, {}), of_two({run}, {})}},
    {RingWrong::asked_before_blocks, "asked for before own blocks", {of_two({refused}, {follows, follows})}},
    {RingWrong::asked_amid_a_block, "asked for amid a block", {of_two({refused}, {refused})}},
    {RingWrong::answers_in_other_order, "answers in another order", {of_two({refused, refused}, {})}},
};

TEST(NeighborModel, EveryPairOfBlocksAgainstEveryOther) {
  std::size_t states = 0;
  for (const Travel a : all_travels) {
    for (const Travel b : all_travels) {
      for (const Travel c : all_travels) {
        // The second call turns the pair around; the third goes one way alone.
        const std::vector<Blocks> calls = {of_two({a, b}, {c}), of_two({c}, {b}), of_two({a}, {})};
        const NeighborModel model({.ranks = 2}, RingWrong::nothing, calls);
        const Found found = explore(model.machine());
        states += found.states;
        ASSERT_TRUE(found.good()) << static_cast<int>(a) << static_cast<int>(b) << static_cast<int>(c) << found.text();
      }
    }
  }
  std::printf("%-58s %9zu states\n", "neighbours, 2 ranks, 3 calls, 64 sequences of blocks", states);
}

TEST(NeighborModel, SeveralBlocksBothWays) {
  for (const auto& [a, b] : {std::pair(run, run), std::pair(refused, refused), std::pair(offered, run)}) {
    const NeighborModel model({.ranks = 2, .units = 1, .ring = 3, .look_from = 2}, RingWrong::nothing,
                              {of_two({a, b}, {b}), of_two({b}, {a, b})});
    expect_good("neighbours, 2 ranks, 2 calls, 2 blocks, ring of 3", model.machine());
  }
}

TEST(NeighborModel, ThreeRanks) {
  for (const Travel travel : all_travels) {
    const NeighborModel model({.ranks = 3, .units = 1}, RingWrong::nothing,
                              {around(travel, run), around(run, travel), around(travel, travel)});
    expect_good("neighbours, 3 ranks around, 3 calls", model.machine());
  }
  const NeighborModel model({.ranks = 3, .depth = 0, .units = 1}, RingWrong::nothing,
                            {of_three(run, run, run), of_three(run, run, run), of_three(run, run, run)});
  expect_good("neighbours, 3 ranks, 3 calls, stores seen at once", model.machine());
}

// With more ranks than cores a rank waits for one neighbour after the other, if it needs no answer.
TEST(NeighborModel, ThreeRanksInTurn) {
  const NeighborModel model({.ranks = 3, .depth = 0, .units = 1, .in_turn = true}, RingWrong::nothing,
                            {of_three(follows, run, offered), of_three(run, offered, follows)});
  expect_good("neighbours, 3 ranks, 2 calls, in turn", model.machine());
}

// Rank 0 hears nothing from the others and may be several calls ahead.
TEST(NeighborModel, OneWay) {
  const Blocks chain = {{{}, {follows}, {}}, {{}, {}, {run}}, {{}, {}, {}}};
  const NeighborModel model({.ranks = 3, .units = 1}, RingWrong::nothing, {chain, chain, chain, chain});
  expect_good("neighbours, 3 ranks in a chain, 4 calls", model.machine());
}

TEST(NeighborModel, EveryMutationIsFound) {
  for (const auto& [wrong, name, calls] : mutations) {
    const NeighborModel model({.ranks = 2, .look_from = 2}, wrong, calls);
    expect_found(std::string("neighbours, ") + name, model.machine());
  }
}

}  // namespace
}  // namespace quadrille::models::neighbor
