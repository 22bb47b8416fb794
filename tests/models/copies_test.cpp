// The ordered copies with their fences; the model is in node_model.hpp and copies_model.cpp.
#include <gtest/gtest.h>

#include "expect.hpp"
#include "node_model.hpp"

namespace quadrille::models::copies {
namespace {

using CopiesCall = NodeModel::CopiesCall;

enum class Seen { always, without_tree, in_tree };

constexpr struct {
  NodeWrong wrong;
  const char* name;
  Seen seen = Seen::always;
} mutations[] = {
    {NodeWrong::no_wait_to_enter, "no wait to enter"},
    {NodeWrong::entry_without_release, "the entry without release"},
    {NodeWrong::places_after_entry, "places written down after the entry"},
    {NodeWrong::one_word_for_both, "one word for the beginning and the end of a call", Seen::without_tree},
    {NodeWrong::no_stream_fence, "no fence after streaming stores"},
    {NodeWrong::fence_after_finish, "the fence after the finish"},
    {NodeWrong::finish_without_release, "the finish without release"},
    {NodeWrong::no_wait_to_finish, "no wait for the others to finish"},
    {NodeWrong::failure_not_told, "a rank that cannot copy does not say so"},
    {NodeWrong::failure_not_read, "nobody looks whether all could copy"},
    {NodeWrong::children_not_awaited, "a rank does not wait for its children", Seen::in_tree},
    {NodeWrong::told_before_parent_tells, "a rank lets its children go before it may go itself", Seen::in_tree},
    {NodeWrong::verdict_of_one_alone, "a rank does not pass on what its children said", Seen::in_tree},
};

const std::vector<std::vector<Way>> heap_2 = {{Way::none, Way::in_heap}, {Way::in_heap, Way::none}};
const std::vector<std::vector<Way>> slots_2 = {{Way::none, Way::in_slot}, {Way::in_slot, Way::none}};
const std::vector<std::vector<Way>> slots_3(3, std::vector<Way>(3, Way::in_slot));

// Sequence numbers of two bits: the fourth call has number 0.
void add_calls_of_two(NodeModel& model) {
  model.copies({.streamed = true});
  model.copies({.streamed = false, .failed_by = 1});
  model.exchange(heap_2);
  model.copies({.streamed = true, .not_shared_by = 0});
  model.exchange(slots_2);
  model.copies({.streamed = true});
  model.copies({.streamed = false});
}

void expect_good_of_three(const std::string& name, int radix) {
  for (const bool streamed : {false, true}) {
    NodeModel three({.ranks = 3, .units = 1, .radix = radix}, NodeWrong::nothing);
    for (int call = 0; call < 3; ++call) three.copies({.streamed = streamed});
    expect_good(name + ", 3 ranks, 3 calls" + (streamed ? ", streamed" : ""), three.machine());
  }
}

void expect_good_where_two_are_not_made(const std::string& name, int radix) {
  NodeModel three({.ranks = 3, .depth = 0, .units = 1, .radix = radix}, NodeWrong::nothing);
  three.copies({.streamed = false, .failed_by = 2});
  three.exchange(slots_3);
  three.copies({.streamed = false});
  three.copies({.streamed = false, .not_shared_by = 1});
  three.exchange(slots_3);
  expect_good(name + ", 3 ranks, 3 calls, two made in another way", three.machine());
}

TEST(CopiesModel, NobodyLeavesWhileItsBuffersAreUsed) {
  NodeModel two({.ranks = 2}, NodeWrong::nothing);
  add_calls_of_two(two);
  expect_good("copies, 2 ranks, 5 calls, two made in another way", two.machine());

  expect_good_of_three("copies", 0);
}

TEST(CopiesModel, AllRanksAgreeWhetherTheCopiesWereMade) { expect_good_where_two_are_not_made("copies", 0); }

// In a tree: a chain of ranks, and a root with two children.
TEST(CopiesModel, InATree) {
  NodeModel two({.ranks = 2, .radix = 1}, NodeWrong::nothing);
  add_calls_of_two(two);
  expect_good("copies in a tree, 2 ranks, 5 calls, two made in another way", two.machine());
  for (const int radix : {1, 2}) {
    const std::string name = "copies in a tree of radix " + std::to_string(radix);
    expect_good_of_three(name, radix);
    expect_good_where_two_are_not_made(name, radix);
  }
}

TEST(CopiesModel, EveryMutationOfATreeIsFound) {
  for (const auto& [wrong, name, seen] : mutations) {
    if (seen == Seen::without_tree) continue;
    NodeModel three({.ranks = 3, .units = 1, .radix = 1}, wrong);
    three.copies({.streamed = true});
    three.copies({.streamed = false, .failed_by = 2});
    three.exchange(slots_3);
    three.copies({.streamed = false});
    expect_found(std::string("copies in a tree, ") + name, three.machine());
  }
}

TEST(CopiesModel, EveryMutationIsFound) {
  for (const auto& [wrong, name, seen] : mutations) {
    if (seen == Seen::in_tree) continue;
    NodeModel two({.ranks = 2}, wrong);
    add_calls_of_two(two);
    expect_found(std::string("copies, ") + name, two.machine());
  }
  // Who waits for those alone that it copies from does not know of a third rank that copies from it.
  NodeModel three({.ranks = 3, .units = 1}, NodeWrong::wait_for_one_alone);
  for (int call = 0; call < 3; ++call) three.copies({});
  expect_found("copies, a rank waits for one other alone", three.machine());
}

}  // namespace
}  // namespace quadrille::models::copies
