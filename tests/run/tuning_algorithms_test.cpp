// The section "algorithms" of a tuning table: what is read, what is refused, which entry counts, and what ranks tell
// each other of it.
#include "choose/tuning_algorithms.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "choose/tuning.hpp"
#include "plan/problem.hpp"

namespace quadrille::choose {
namespace {

const std::string before_algorithms = R"({
  "quadrille_tuning": 1,
  "machine": {"processor": "A", "cores": 2},
  "entries": [],
)";
const std::string algorithms_section = R"("algorithms": [
  {"collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1, "crowded": false,
   "choices": [{"up_to": 512, "algorithm": "default"},
               {"up_to": 65536, "algorithm": "hint-hilbert"}]},
  {"collective": "allgather", "ranks": 16, "ranks_on_node": 4, "nodes": 5, "crowded": true,
   "choices": [{"up_to": 1000, "algorithm": "bruck:radix=4"}]}
])";

std::string table_with(const std::string& section) { return before_algorithms + section + "\n}\n"; }

std::string words(const SizedChoices& choices) {
  std::string text;
  for (const SizedChoice& one : choices) text += std::to_string(one.up_to) + " " + word_of(one.choice) + "; ";
  return text;
}

SizedChoices choices_of(Collective collective, const std::vector<std::pair<std::size_t, std::string>>& list) {
  SizedChoices choices;
  for (const auto& [up_to, word] : list) {
    choices.push_back({up_to, {}});
    if (word != "default") {
      EXPECT_EQ(parse_choice(collective, word, choices.back().choice), "");
    }
  }
  return choices;
}

TEST(TuningAlgorithms, AreReadAndWritten) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(table_with(algorithms_section), table), "");
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  for (const TuningTable* t : {&table, &again}) {
    ASSERT_EQ(t->algorithms.size(), 2U);
    const AlgorithmEntry &first = t->algorithms[0], &second = t->algorithms[1];
    EXPECT_EQ(first.collective, Collective::alltoall);
    EXPECT_EQ(std::tuple(first.ranks, first.ranks_on_node, first.nodes, first.crowded), std::tuple(8, 8, 1, false));
    EXPECT_EQ(words(first.choices), "512 default; 65536 hint-hilbert; ");
    EXPECT_EQ(second.collective, Collective::allgather);
    EXPECT_EQ(std::tuple(second.ranks, second.ranks_on_node, second.nodes, second.crowded), std::tuple(16, 4, 5, true));
    EXPECT_EQ(words(second.choices), "1000 bruck:radix=4; ");
  }
  EXPECT_EQ(parse_tuning(table_with(R"("algorithms": [])"), table), "");
  EXPECT_TRUE(table.algorithms.empty());
}

TEST(TuningAlgorithms, BadOnesAreRefusedWithTheLine) {
  const struct {
    const char *from, *to, *line, *word;
  } cases[] = {
      {"\"alltoall\"", "\"alltoallv\"", "line 6", "alltoall or allgather"},
      {"\"alltoall\"", "7", "line 6", "string"},
      {"\"ranks\": 8", "\"ranks\": 1", "line 6", "ranks"},
      {"\"ranks_on_node\": 8", "\"ranks_on_node\": 9", "line 6", "more than"},
      {"\"ranks_on_node\": 8", "\"ranks_on_node\": 7", "line 6", "not on 1 node"},
      {"\"nodes\": 1, ", "", "line 6", "nodes"},
      {"\"nodes\": 1", "\"nodes\": 2", "line 6", "not on 2 nodes"},
      {"\"nodes\": 5", "\"nodes\": 3", "line 9", "not on 3 nodes"},
      {"\"nodes\": 5", "\"nodes\": 14", "line 9", "not on 14 nodes"},
      {"false", "0", "line 6", "true or false"},
      {"512", "65536", "line 8", "\"up_to\" must be more"},
      {"512", "70000", "line 8", "\"up_to\" must be more"},
      {"512", "0", "line 7", "up_to"},
      {"512", "1e3", "line 7", "up_to"},
      {"65536", "18446744073709551615", "line 8", "up_to"},
      {"hint-hilbert", "hint-hilbart", "line 8", "did you mean \"hint-hilbert\""},
      {"hint-hilbert", "ring", "line 8", "unknown algorithm \"ring\" for alltoall"},
      {"hint-hilbert", "", "line 8", "unknown algorithm"},
      {"\"hint-hilbert\"", "3", "line 8", "string"},
      {"radix=4", "radix=1", "line 10", "radix must be a number from 2"},
      {"radix=4", "raddix=4", "line 10", "raddix"},
      {"bruck:radix=4", "inbox", "line 10", "inbox is for one node, not 5"},
      {"\"default\"}", "\"default\", \"more\": 1}", "line 7", "more"},
      {"{\"up_to\": 1000, \"algorithm\": \"bruck:radix=4\"}", "", "line 10", "1 to 64"},
      {"{\"up_to\": 1000, \"algorithm\": \"bruck:radix=4\"}", "9", "line 10", "1 to 64"},
      {"[{\"up_to\": 1000, \"algorithm\": \"bruck:radix=4\"}]", "{}", "line 9", "choices"},
      {"\"crowded\": true", "\"crowded\": true, \"cores\": 3", "line 9", "cores"},
      {"\"algorithms\": [", "\"algorithms\": [3,", "line 5", "not known"},
  };
  for (const auto& c : cases) {
    std::string text = table_with(algorithms_section);
    const std::size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    TuningTable table;
    const std::string why = parse_tuning(text.replace(at, std::string(c.from).size(), c.to), table);
    EXPECT_TRUE(why.starts_with(std::string(c.line) + ":")) << why << " for " << c.to;
    EXPECT_NE(why.find(c.word), std::string::npos) << why << " for " << c.to;
    EXPECT_TRUE(table.algorithms.empty());
  }
}

TEST(TuningAlgorithms, OfOneCaseThereIsOneEntry) {
  TuningTable table;
  std::string twice = algorithms_section;
  const std::string first = twice.substr(twice.find('{'), twice.find("},\n  {") + 1 - twice.find('{'));
  twice.insert(twice.rfind(']'), ", " + first);
  EXPECT_NE(parse_tuning(table_with(twice), table).find("twice"), std::string::npos);
  std::string many;
  for (int i = 1; i <= 65; ++i) {
    many += (i == 1 ? "" : ", ") + std::string("{\"up_to\": ") + std::to_string(i) + ", \"algorithm\": \"default\"}";
  }
  const std::string head = R"("algorithms": [{"collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1,
    "crowded": false, "choices": [)";
  EXPECT_NE(parse_tuning(table_with(head + many + "]}]"), table).find("1 to 64"), std::string::npos);

  const Collective c = Collective::alltoall;
  put_algorithms(table, {c, 8, 8, 1, false, choices_of(c, {{1, "mpi"}})});
  put_algorithms(table, {c, 8, 8, 1, true, {}});
  put_algorithms(table, {c, 8, 4, 2, false, {}});
  put_algorithms(table, {Collective::allgather, 8, 8, 1, false, {}});
  ASSERT_EQ(table.algorithms.size(), 4U);
  put_algorithms(table, {c, 8, 8, 1, false, choices_of(c, {{2, "sh-co"}})});
  ASSERT_EQ(table.algorithms.size(), 4U);
  EXPECT_EQ(words(table.algorithms[0].choices), "2 sh-co; ");
}

TEST(TuningAlgorithms, TheNearestEntryCounts) {
  const Collective c = Collective::alltoall;
  const TuningTable table{{},
                          {},
                          {},
                          {},
                          {{c, 8, 8, 1, false, {}},
                           {c, 32, 32, 1, false, {}},
                           {c, 32, 32, 1, true, {}},
                           {c, 16, 4, 4, false, {}},
                           {Collective::allgather, 12, 12, 1, false, {}}}};
  const auto ranks = [&](const std::string& map, int ranks, bool crowded = false) {
    plan::NodeMap nodes;
    EXPECT_EQ(plan::parse_node_map(map, ranks, nodes), "");
    const AlgorithmEntry* found = nearest_algorithms(table, c, nodes, crowded);
    return found == nullptr ? 0 : found->ranks;
  };
  EXPECT_EQ(ranks("blocked:8", 8), 8);
  EXPECT_EQ(ranks("blocked:4", 4), 8) << "half as many";
  EXPECT_EQ(ranks("blocked:3", 3), 0);
  EXPECT_EQ(ranks("blocked:15", 15), 8);
  EXPECT_EQ(ranks("blocked:17", 17), 32);
  EXPECT_EQ(ranks("blocked:64", 64), 32);
  EXPECT_EQ(ranks("blocked:65", 65), 0);
  EXPECT_EQ(ranks("blocked:8", 8, true), 0);
  EXPECT_EQ(ranks("blocked:32", 32, true), 32);
  EXPECT_EQ(ranks("blocked:4", 16), 16);
  EXPECT_EQ(ranks("blocked:4", 8), 16) << "two nodes and four are several";
  EXPECT_EQ(ranks("blocked:4", 33), 0);
  EXPECT_EQ(ranks("blocked:2", 16), 0) << "as many on a node as were measured";
  EXPECT_EQ(ranks("blocked:8", 32), 0);
}

TEST(TuningAlgorithms, EachSizeFindsItsChoice) {
  const SizedChoices choices =
      choices_of(Collective::alltoall, {{100, "default"}, {200, "inbox"}, {300, "sh-co"}, {400, "default"}});
  const auto word = [&](std::size_t bytes) {
    const SizedChoice* found = choice_for(choices, bytes);
    return found == nullptr ? "none" : word_of(found->choice);
  };
  EXPECT_EQ(word(1), "default");
  EXPECT_EQ(word(100), "default");
  EXPECT_EQ(word(101), "inbox");
  EXPECT_EQ(word(201), "sh-co");
  EXPECT_EQ(word(300), "sh-co");
  EXPECT_EQ(word(400), "default");
  EXPECT_EQ(word(401), "none");
  EXPECT_EQ(default_up_to(choices), 200U) << "inboxes are the way of small blocks";
  EXPECT_EQ(default_up_to({}), SIZE_MAX);
  EXPECT_EQ(default_up_to(choices_of(Collective::alltoall, {{8, "mpi"}, {9, "default"}})), 0U);
  EXPECT_EQ(default_up_to(choices_of(Collective::alltoall, {{8, "default"}})), SIZE_MAX);
}

TEST(TuningAlgorithms, WhatTheUserSetStaysWithTheDefault) {
  SizedChoices choices = choices_of(Collective::alltoall, {{100, "mpi"}, {200, "sh-co"}, {300, "hint-row"}});
  keep_default(choices, 200);
  EXPECT_EQ(words(choices), "200 default; 300 hint-row; ");
  keep_default(choices, 250);
  EXPECT_EQ(words(choices), "250 default; 300 hint-row; ");
  SizedChoices none;
  keep_default(none, 250);
  EXPECT_TRUE(none.empty());
}

TEST(TuningAlgorithms, RanksTellEachOtherByText) {
  ChoicesByCollective choices;
  const auto of = [&](Collective c) -> SizedChoices& { return choices[static_cast<std::size_t>(c)]; };
  of(Collective::alltoall) = choices_of(Collective::alltoall, {{100, "default"}, {200, "waitall-stride:stride=7"}});
  of(Collective::allgatherv) = choices_of(Collective::allgather, {{1, "ring"}, {2, "sh-co"}});
  ChoicesByCollective heard = choices_from(text_of(choices));
  for (std::size_t c = 0; c < choices.size(); ++c) EXPECT_EQ(words(heard[c]), words(choices[c]));
  const Choice& ring = heard[static_cast<std::size_t>(Collective::allgatherv)].at(0).choice;
  EXPECT_TRUE(serves(*ring.algorithm, Collective::allgatherv));
  EXPECT_EQ(text_of({}), "");
  // Another version's words, and none.
  heard = choices_from("alltoall 5 from-the-future\nnothing 3 mpi\nalltoall\nexchange 3 bruck\n\nalltoall 7 mpi");
  EXPECT_EQ(words(heard[0]), "5 default; 7 mpi; ");
}

}  // namespace
}  // namespace quadrille::choose
