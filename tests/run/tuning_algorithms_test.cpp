// Algorithms in a tuning table: what is read, what is refused, which entry counts, and what ranks tell
// each other of it.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "choose/tuning.hpp"
#include "plan/problem.hpp"
#include "table_text.hpp"

namespace quadrille::choose {
namespace {

const std::string before_algorithms = R"({
  "quadrille_tuning": 2,
  "machine": {"processor": "A", "cores": 2},

)";
const std::string algorithm_entries = R"("entries": [
  {"of": "algorithm", "collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1, "crowded": false,
   "choices": [{"up_to": 512, "take": "default"},
               {"up_to": 65536, "take": "hint-hilbert"}]},
  {"of": "algorithm", "collective": "allgather", "ranks": 16, "ranks_on_node": 4, "nodes": 5, "crowded": true,
   "choices": [{"up_to": 1000, "take": "bruck:radix=4"}]}
])";

std::string table_with(const std::string& section) { return before_algorithms + section + "\n}\n"; }

std::string words(const SizedChoices& choices) {
  std::string text;
  for (const SizedChoice& one : choices) text += std::to_string(one.up_to) + " " + word_of(one) + "; ";
  return text;
}

SizedChoices choices_of(Collective collective, const std::vector<std::pair<std::size_t, std::string>>& list) {
  SizedChoices choices;
  for (const auto& [up_to, word] : list) {
    choices.push_back({up_to, {}, word != "unknown"});
    if (word != "default" && word != "unknown") {
      EXPECT_EQ(parse_choice(collective, word, choices.back().choice), "");
    }
  }
  return choices;
}

TEST(TuningAlgorithms, AreReadAndWritten) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(table_with(algorithm_entries), table), "");
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  for (const TuningTable* t : {&table, &again}) {
    ASSERT_EQ(t->algorithms.size(), 2U);
    const AlgorithmEntry &first = t->algorithms[0], &second = t->algorithms[1];
    EXPECT_EQ(first.collective, Collective::alltoall);
    EXPECT_EQ(std::tuple(first.ranks, first.ranks_on_node, first.nodes, first.crowded), std::tuple(8, 8, 1, false));
    EXPECT_EQ(words(first.choices), "512 default; 65536 hint-hilbert:rows=auto; ");
    EXPECT_EQ(second.collective, Collective::allgather);
    EXPECT_EQ(std::tuple(second.ranks, second.ranks_on_node, second.nodes, second.crowded), std::tuple(16, 4, 5, true));
    EXPECT_EQ(words(second.choices), "1000 bruck:radix=4; ");
  }
  EXPECT_EQ(parse_tuning(table_with(R"("entries": [])"), table), "");
  EXPECT_TRUE(table.algorithms.empty());
}

TEST(TuningAlgorithms, BadOnesAreRefusedWithTheLine) {
  const struct {
    const char *from, *to, *line, *word;
  } cases[] = {
      {"\"alltoall\"", "\"neighbor_alltoall\"", "line 6",
       "one of alltoall, alltoallv, alltoallw, allgather, allgatherv"},
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
      {"{\"up_to\": 1000, \"take\": \"bruck:radix=4\"}", "", "line 10", "1 to 64"},
      {"{\"up_to\": 1000, \"take\": \"bruck:radix=4\"}", "9", "line 10", "1 to 64"},
      {"[{\"up_to\": 1000, \"take\": \"bruck:radix=4\"}]", "{}", "line 9", "choices"},
      {"\"crowded\": true", "\"crowded\": true, \"cores\": 3", "line 9", "cores"},
      {"\"entries\": [", "\"entries\": [3,", "line 5", "not known"},
  };
  for (const auto& c : cases) expect_refused(replaced_in(table_with(algorithm_entries), c.from, c.to), c.line, c.word);
}

TEST(TuningAlgorithms, OfOneCaseThereIsOneEntry) {
  TuningTable table;
  std::string twice = algorithm_entries;
  const std::string first = twice.substr(twice.find('{'), twice.find("},\n  {") + 1 - twice.find('{'));
  twice.insert(twice.rfind(']'), ", " + first);
  EXPECT_NE(parse_tuning(table_with(twice), table).find("twice"), std::string::npos);
  std::string many;
  for (int i = 1; i <= 65; ++i) {
    many += (i == 1 ? "" : ", ") + std::string("{\"up_to\": ") + std::to_string(i) + ", \"take\": \"default\"}";
  }
  const std::string head =
      R"("entries": [{"of": "algorithm", "collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1,
    "crowded": false, "choices": [)";
  EXPECT_NE(parse_tuning(table_with(head + many + "]}]"), table).find("1 to 64"), std::string::npos);

  const Collective c = Collective::alltoall;
  put(table.algorithms, {c, 8, 8, 1, false, choices_of(c, {{1, "mpi"}})});
  put(table.algorithms, {c, 8, 8, 1, true, {}});
  put(table.algorithms, {c, 8, 4, 2, false, {}});
  put(table.algorithms, {Collective::allgather, 8, 8, 1, false, {}});
  ASSERT_EQ(table.algorithms.size(), 4U);
  put(table.algorithms, {c, 8, 8, 1, false, choices_of(c, {{2, "sh-co"}})});
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
    return found == nullptr ? "none" : word_of(*found);
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

TEST(TuningAlgorithms, BetweenWhatWasMeasuredNothingIsKnown) {
  const Collective c = Collective::alltoall;
  const SizedChoices choices = choices_of(c, {{100, "mpi"}, {200, "unknown"}, {300, "sh-co"}});
  EXPECT_EQ(word_of(*choice_for(choices, 100)), "mpi");
  EXPECT_EQ(choice_for(choices, 101), nullptr);
  EXPECT_EQ(choice_for(choices, 200), nullptr);
  EXPECT_EQ(word_of(*choice_for(choices, 201)), "sh-co");
}

TEST(TuningAlgorithms, WhatIsLearntIsPutBetween) {
  const Collective c = Collective::alltoall;
  const auto put = [&](const std::vector<std::pair<std::size_t, std::string>>& known, std::size_t from,
                       std::size_t to) {
    SizedChoices choices = choices_of(c, known);
    EXPECT_TRUE(put_choice(choices, from, to, plain(c, "mpi")));
    return words(choices);
  };
  EXPECT_EQ(put({}, 1, 10), "10 mpi; ");
  EXPECT_EQ(put({}, 5, 10), "4 unknown; 10 mpi; ");
  EXPECT_EQ(put({{4, "unknown"}, {10, "mpi"}}, 11, 20), "4 unknown; 20 mpi; ");
  EXPECT_EQ(put({{4, "unknown"}, {10, "mpi"}}, 13, 20), "4 unknown; 10 mpi; 12 unknown; 20 mpi; ");
  EXPECT_EQ(put({{100, "sh-co"}}, 5, 10), "4 sh-co; 10 mpi; 100 sh-co; ");
  EXPECT_EQ(put({{100, "sh-co"}}, 1, 10), "10 mpi; 100 sh-co; ");
  EXPECT_EQ(put({{100, "sh-co"}}, 50, 100), "49 sh-co; 100 mpi; ");
  EXPECT_EQ(put({{100, "sh-co"}}, 50, 200), "49 sh-co; 200 mpi; ");
  EXPECT_EQ(put({{100, "sh-co"}, {200, "default"}, {300, "hint-row"}}, 101, 200), "100 sh-co; 200 mpi; 300 hint-row; ");
  EXPECT_EQ(put({{100, "sh-co"}, {200, "default"}, {300, "hint-row"}}, 90, 250), "89 sh-co; 250 mpi; 300 hint-row; ");
  EXPECT_EQ(put({{9, "mpi"}, {20, "unknown"}}, 10, 19), "19 mpi; 20 unknown; ");
  // Against what each size found before.
  std::minstd_rand random(3);
  SizedChoices choices;
  std::vector<std::string> expected(70, "unknown");
  for (int i = 0; i < 300; ++i) {
    const std::size_t from = 1 + random() % 60, to = from + random() % (69 - from);
    const Choice choice = plain(c, random() % 2 == 0 ? "mpi" : "sh-co");
    ASSERT_TRUE(put_choice(choices, from, to, choice));
    for (std::size_t bytes = from; bytes <= to; ++bytes) expected[bytes] = to_string(choice);
    for (std::size_t bytes = 1; bytes < expected.size(); ++bytes) {
      const SizedChoice* found = choice_for(choices, bytes);
      ASSERT_EQ(found == nullptr ? "unknown" : word_of(*found), expected[bytes]) << words(choices);
    }
  }
  // No more than a table may have.
  SizedChoices full;
  for (std::size_t i = 1; i <= most_sized_choices; ++i)
    full.push_back({100 * i, plain(c, i % 2 == 0 ? "mpi" : "sh-co")});
  EXPECT_FALSE(put_choice(full, 110, 120, plain(c, "pairwise")));
  EXPECT_EQ(full.size(), most_sized_choices);
  EXPECT_TRUE(put_choice(full, 101, 200, plain(c, "pairwise")));
}

TEST(TuningAlgorithms, VerdictsAreEntries) {
  Verdicts verdicts;
  const auto keep = [&](const plan::NodeMap& nodes, Collective c, Bytes bytes, const char* best) {
    keep_verdict(verdicts, case_of(nodes, false, c, bytes, 0, {}), {plain(c, best), {}});
  };
  const plan::NodeMap two = plan::node_map_from_labels({0, 0, 1, 1}), one = plan::one_node(8);
  keep(two, Collective::alltoall, bytes_of_size_class(size_class_of(1000)), "single-copy");
  keep(two, Collective::alltoall, bytes_of_size_class(size_class_of(1000) + 1), "single-copy");
  keep(two, Collective::alltoallv, bytes_of_load_class(load_class_of(40000)), "mpi");
  keep(two, Collective::allgather, bytes_of_size_class(-1), "mpi");  // of no bytes
  keep(one, Collective::allgatherv, bytes_of_size_class(size_class_of(65536)), "sh-co");
  TuningTable table;
  table.machine = {"x", 2};
  put(table.algorithms, {Collective::alltoall, 4, 2, 2, false, choices_of(Collective::alltoall, {{100, "mpi"}})});
  put_verdicts(table, verdicts);
  TuningTable again;
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  ASSERT_EQ(again.algorithms.size(), 3U);
  std::string all;
  for (const AlgorithmEntry& e : again.algorithms) {
    all += std::string(name_of(e.collective)) + " " + std::to_string(e.ranks) + "/" + std::to_string(e.nodes) + ": " +
           words(e.choices);
  }
  EXPECT_EQ(all,
            "alltoall 4/2: 100 mpi; 861 unknown; 1217 single-copy; alltoallv 4/2: 32767 unknown; 131071 mpi; "
            "allgatherv 8/1: 65535 unknown; 77935 sh-co; ");
}

// Blocks up to the limit of the inboxes have a trial of their own, which says nothing of others of their class.
TEST(TuningAlgorithms, VerdictsOnBothSidesOfALimitStay) {
  const Collective c = Collective::alltoall;
  const Bytes all = bytes_of_size_class(size_class_of(4096));
  Verdicts verdicts;
  const auto keep = [&](std::size_t size, const char* best) {
    const Bytes bytes = on_one_side(all, size, 4500);
    keep_verdict(verdicts, case_of(plan::one_node(8), false, c, bytes, 0, {}), {plain(c, best), {}});
  };
  keep(4500, "inbox");
  keep(4501, "sh-co");
  TuningTable table;
  put_verdicts(table, verdicts);
  ASSERT_EQ(table.algorithms.size(), 1U);
  EXPECT_EQ(words(table.algorithms[0].choices), "4095 unknown; 4500 inbox; 4870 sh-co; ");
  EXPECT_EQ(on_one_side(all, 4096, 5000), all);
  EXPECT_EQ(on_one_side(all, 4096, 4000), all);
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
  MeasuredChoices choices;
  const auto of = [&](Collective c) -> SizedChoices& { return choices.on_host[static_cast<std::size_t>(c)]; };
  of(Collective::alltoall) = choices_of(Collective::alltoall, {{100, "default"}, {200, "waitall-stride:stride=7"}});
  of(Collective::allgatherv) = choices_of(Collective::allgather, {{1, "ring"}, {2, "sh-co"}});
  choices.on_devices[0] = choices_of(Collective::alltoall, {{300, "cuda-aware-mpi"}, {400, "pairwise"}});
  const NeighborhoodKind small{4, 4, 4}, large{26, 6, 54};
  for (const Collective c : {Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
    for (const NeighborhoodKind& kind : {small, large})
      choices.inside.push_back({c, 8, true, kind, choices_of(c, {{500, "default"}, {600, "sh-co"}})});
  }
  MeasuredChoices heard = choices_from(text_of(choices));
  ASSERT_EQ(heard.inside.size(), choices.inside.size());
  for (std::size_t i = 0; i < heard.inside.size(); ++i) {
    EXPECT_EQ(heard.inside[i].collective, choices.inside[i].collective);
    EXPECT_EQ(heard.inside[i].kind, choices.inside[i].kind);
    EXPECT_EQ(words(heard.inside[i].choices), "500 default; 600 sh-co; ");
  }
  for (std::size_t c = 0; c < choices.on_host.size(); ++c) {
    EXPECT_EQ(words(heard.on_host[c]), words(choices.on_host[c]));
    EXPECT_EQ(words(heard.on_devices[c]), words(choices.on_devices[c]));
  }
  const Choice& ring = heard.on_host[static_cast<std::size_t>(Collective::allgatherv)].at(0).choice;
  EXPECT_TRUE(serves(*ring.algorithm, Collective::allgatherv));
  EXPECT_EQ(text_of({}), "");
  // Another version's words, and none.
  heard = choices_from("alltoall 5 from-the-future\nnothing 3 mpi\nalltoall\nexchange 3 bruck\n\nalltoall 7 mpi");
  EXPECT_EQ(words(heard.on_host[0]), "5 default; 7 mpi; ");
  EXPECT_EQ(words(heard.on_devices[0]), "");
}

// What was measured with a device's memory says nothing of the host's, and the other way round.
TEST(TuningAlgorithms, TellDevicesFromTheHost) {
  const Collective c = Collective::alltoallv;
  const plan::NodeMap nodes = plan::one_node(4);
  const Bytes bytes = bytes_of_load_class(load_class_of(40000));
  Verdicts verdicts;
  keep_verdict(verdicts, case_of(nodes, false, c, bytes, 0, {}), {plain(c, "sh-co"), {}});
  keep_verdict(verdicts, case_of(nodes, false, c, bytes, load_on_devices, {}), {plain(c, "pairwise"), {}});
  TuningTable table, again;
  table.machine = {"x", 2};
  put_verdicts(table, verdicts);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  ASSERT_EQ(again.algorithms.size(), 2U);
  const auto best = [&](bool on_devices) {
    const AlgorithmEntry* const entry = nearest_algorithms(again, c, plan::one_node(4), false, on_devices);
    return entry == nullptr ? std::string("nothing") : word_of(entry->choices.back());
  };
  EXPECT_EQ(best(false), "sh-co");
  EXPECT_EQ(best(true), "pairwise");
  const std::string text = replaced_in(tuning_text(table), "\"memory\": \"device\"", "\"memory\": \"tape\"");
  EXPECT_NE(parse_tuning(text, again).find("\"memory\" must be host or device"), std::string::npos)
      << parse_tuning(text, again);
}

}  // namespace
}  // namespace quadrille::choose
