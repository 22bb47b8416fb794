// Tuning tables: what is read, what is refused, and which entry counts.
#include "choose/tuning.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "table_text.hpp"
#include "tool/tune/inside_ranges.hpp"

namespace quadrille::choose {
namespace {

// Entries of one line.
std::string inboxes(const std::string& of, const std::array<int, dense_collective_count>& limits) {
  std::string text;
  for (int c = 0; c < dense_collective_count; ++c) {
    text += std::string(c == 0 ? "    " : ", ") + R"({"of": "inbox", "collective": ")";
    text += std::string(name_of(static_cast<Collective>(c))) + "\", " + of + R"(, "choices": [{"up_to": )";
    text += std::to_string(limits[static_cast<std::size_t>(c)]) + R"(, "take": "inbox"}]})";
  }
  return text;
}

const std::string good = R"({
  "quadrille_tuning": 2,
  "machine": {"processor": "A \"fast\" one", "cores": 2},
  "entries": [
    {"of": "kernel-copy", "ranks": 2, "crowded": false, "choices": [{"up_to": 65535, "take": "ring"}]},
)" + inboxes(R"("ranks": 2, "crowded": false)", {1, 2, 3, 4, 5}) +
                         R"(,
    {"of": "kernel-copy", "ranks": 4, "crowded": true, "choices": []},
)" + inboxes(R"("ranks": 4, "crowded": true)", {9, 9, 9, 9, 0}) +
                         R"(
  ]
}
)";

std::string replaced(const std::string& from, const std::string& to) { return replaced_in(good, from, to); }

TuningEntry entry(int ranks, bool crowded, std::size_t cma_from = 0) {
  TuningEntry e{ranks, crowded, {}};
  e.points.cma_from = cma_from;
  return e;
}

TEST(Tuning, ReadsATable) {
  TuningTable table;
  ASSERT_EQ(parse_tuning(good, table), "");
  EXPECT_EQ(table.machine.processor, "A \"fast\" one");
  EXPECT_EQ(table.machine.cores, 2);
  ASSERT_EQ(table.entries.size(), 2U);
  EXPECT_EQ(table.entries[0], (TuningEntry{2, false, {{1, 2, 3, 4, 5}, 65536}}));
  EXPECT_EQ(table.entries[1], (TuningEntry{4, true, {{9, 9, 9, 9, 0}, 0}}));
}

TEST(Tuning, WhatIsWrittenIsReadAgain) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(good, table), "");
  table.machine.processor += " \n\t\\ \xff";
  table.entries[1].points.inbox_limit.fill(SIZE_MAX);  // written as what a table can hold
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.entries[0], table.entries[0]);
  EXPECT_EQ(again.entries[1].points.inbox_limit[0], std::size_t{1} << 40);
  ASSERT_EQ(parse_tuning(tuning_text({}), again), "line 3: \"cores\" must be a whole number from 1 to 1048576");
}

// A table with more entries, whose line 10 begins with `list`.
std::string with_entries(const std::string& list) {
  return good.substr(0, good.rfind("\n  ]\n}")) + ",\n\n" + list + "\n  ]\n}\n";
}
// A table with these entries alone.
std::string table_of(const std::string& list) { return good.substr(0, good.find("    {")) + list + "\n  ]\n}\n"; }
const std::string machine_text = R"({"message": 1500, "byte": 0.5, "copied_byte": 0, "copied_block": 8, "round": 1e3})";
const std::string model_text = R"({"of": "model", "ranks": 16, "crowded": true, "quadrille": )" + machine_text +
                               R"(, "mpi": )" + machine_text + "}";

TEST(Tuning, ReadsAndWritesModels) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(with_entries(model_text), table), "");
  ASSERT_EQ(table.models.size(), 1U);
  EXPECT_EQ(table.models[0].ranks, 16);
  EXPECT_TRUE(table.models[0].crowded);
  const plan::Machine& machine = table.models[0].model.quadrille;
  EXPECT_DOUBLE_EQ(machine.alpha, 1.5e-6);
  EXPECT_DOUBLE_EQ(machine.beta, 0.5e-9);
  EXPECT_DOUBLE_EQ(machine.delta, 8e-9);
  EXPECT_DOUBLE_EQ(machine.rho, 1e-6);
  EXPECT_EQ(table.models[0].model.mpi, machine);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.models, table.models);
  EXPECT_EQ(again.entries, table.entries);
  EXPECT_EQ(table.models[0].ranks_on_node, 1);
  EXPECT_EQ(nearest(table.models, {1000, 1, false, {}}), nullptr);
  EXPECT_EQ(nearest(table.models, {1000, 1, true, {}}), table.models.data());
  EXPECT_EQ(nearest(table.models, {16, 4, true, {}}), nullptr);
  put(table.models, {16, 1, true, {}});
  put(table.models, {16, 1, false, {}});
  ASSERT_EQ(table.models.size(), 2U);
  put(table.models, {64, 4, true, {}});
  ASSERT_EQ(table.models.size(), 3U);
  EXPECT_EQ(nearest(table.models, {16, 4, true, {}}), &table.models[2]);
  EXPECT_EQ(nearest(table.models, {64, 1, true, {}}), &table.models[0]);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.models, table.models);
  EXPECT_EQ(table.models[0].model, Model{});
}

TEST(Tuning, BadModelsAreRefused) {
  const auto problem = [](const std::string& from, const std::string& to) {
    TuningTable table;
    return parse_tuning(with_entries(replaced_in(model_text, from, to)), table);
  };
  const std::string range = "must be a number from 0 to 1e+12";
  EXPECT_NE(problem("1500", "-1").find("line 10: \"message\" " + range), std::string::npos);
  EXPECT_NE(problem("1500", "1e13").find(range), std::string::npos);
  EXPECT_NE(problem("1500", "\"1\"").find(range), std::string::npos);
  EXPECT_NE(problem("\"ranks\": 16,", "\"ranks\": 16, \"ranks_on_node\": 0,"), "");
  EXPECT_NE(problem("\"byte\"", "\"bite\""), "");
  EXPECT_NE(problem(R"("byte": 0.5, )", ""), "");
  EXPECT_NE(problem(R"("mpi": )" + machine_text, R"("mpi": 3)"), "");
  EXPECT_NE(problem(R"("ranks": 16)", R"("ranks": 1)"), "");
  TuningTable table;
  EXPECT_NE(parse_tuning(with_entries("3"), table), "");
  EXPECT_NE(parse_tuning(with_entries("{}"), table), "");
}

const std::string neighbors_text =
    R"({"of": "combining", "collective": "neighbor_alltoall", "ranks": 16, "ranks_on_node": 2, "crowded": true,
  "around": {"neighbors": 26, "rounds": 6, "blocks": 54}, "choices": [{"up_to": 1000, "take": "combined"}]})";

TEST(Tuning, ReadsAndWritesNeighborhoods) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(with_entries(model_text + ",\n" + neighbors_text), table), "");
  const NeighborEntry first{Collective::neighbor_alltoall, 16, 2, true, {26, 6, 54}, 1000};
  EXPECT_EQ(table.neighbors, std::vector{first});
  NeighborEntry other = first;
  other.collective = Collective::neighbor_allgather, other.largest_combined = SIZE_MAX;
  put(table.neighbors, other);
  other.largest_combined = 0;
  put(table.neighbors, other);
  ASSERT_EQ(table.neighbors.size(), 2U);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.neighbors, table.neighbors);
  EXPECT_EQ(again.models, table.models);
  table.models.clear(), table.neighbors[1].largest_combined = SIZE_MAX;  // written as what a table can hold
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.neighbors[1].largest_combined, std::size_t{1} << 40);
}

// Of each collective and kind the nearest number of ranks, if there are as many on a node.
TEST(Tuning, TheNearestNeighborhoodsCount) {
  const Collective c = Collective::neighbor_alltoall;
  const NeighborhoodKind large{26, 6, 54}, small{8, 4, 12};
  const TuningTable table{{},
                          {},
                          {},
                          {{c, 16, 1, false, large, 1},
                           {c, 64, 1, false, large, 2},
                           {c, 8, 1, false, small, 3},
                           {c, 64, 1, true, large, 4},
                           {c, 8, 2, false, small, 5}}};
  const auto largest = [&](int ranks, int on_node, bool crowded) {
    std::vector<std::size_t> found;
    for (const NeighborEntry& e : nearest_of_each(table.neighbors, ranks, on_node, crowded))
      found.push_back(e.largest_combined);
    return found;
  };
  EXPECT_EQ(largest(20, 1, false), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(largest(100, 1, false), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(largest(2, 1, true), (std::vector<std::size_t>{4}));
  EXPECT_EQ(largest(2, 2, false), (std::vector<std::size_t>{5}));
  EXPECT_TRUE(largest(2, 3, false).empty());
}

TEST(Tuning, BadNeighborhoodsAreRefused) {
  const auto expect_line = [](const std::string& line, const std::string& from, const std::string& to,
                              const std::string& word = "") {
    expect_refused(with_entries(replaced_in(neighbors_text, from, to)), line, word);
  };
  for (const char* name : {"alltoall", "neighbor_alltoallv", "exchange", "x", ""}) {
    expect_line("line 10", "\"neighbor_alltoall\"", "\"" + std::string(name) + "\"");
  }
  expect_line("line 10", "\"neighbor_alltoall\"", "7");
  expect_line("line 10", R"("collective": "neighbor_alltoall", )", "");
  expect_line("line 10", "16", "1");
  expect_line("line 10", "\"ranks_on_node\": 2", "\"ranks_on_node\": 0");
  expect_line("line 10", "\"ranks_on_node\": 2, ", "");
  expect_line("line 10", "true", "1");
  expect_line("line 11", "26", "2.5");
  expect_line("line 11", "26", "-26");
  expect_line("line 11", "26", "6");
  expect_line("line 11", "\"rounds\": 6", "\"rounds\": 0");
  expect_line("line 11", "54", "\"54\"");
  expect_line("line 11", "54", "54, \"more\": 1");
  expect_line("line 11", "1000", "1e99");
  expect_line("line 11", "\"up_to\"", "\"largest\"");
  expect_line("line 11", "\"combined\"}]}", "\"combined\"}]}, 3");
  expect_line("line 11", R"("choices": [{)", R"("choices": {"a": {)");
  expect_line("line 11", "\"combined\"}]}", "\"combined\"}]}, " + neighbors_text, "twice");
}

const std::string inside_text =
    R"({"of": "order", "collective": "neighbor_alltoall", "ranks": 16, "crowded": true,
  "around": {"neighbors": 8, "rounds": 8, "blocks": 9}, "choices": [{"up_to": 1000, "take": "default"},
             {"up_to": 50000, "take": "sh-co"}]})";

// One more element before the one at hand.
std::string and_another(int bytes) { return ", \"take\": \"default\"}, {\"up_to\": " + std::to_string(bytes); }

TEST(Tuning, ReadsAndWritesOrdersInsideANode) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(with_entries(inside_text), table), "");
  ASSERT_EQ(table.inside.size(), 1U);
  EXPECT_TRUE(table.neighbors.empty());
  InsideEntry entry = table.inside[0];
  EXPECT_EQ(entry.kind, (NeighborhoodKind{8, 8, 9}));
  EXPECT_TRUE(entry.ranks == 16 && entry.crowded && entry.choices.size() == 2);
  const auto word_for = [&](std::size_t bytes) {
    const SizedChoice* const found = choice_for(entry.choices, bytes);
    return found == nullptr ? "unknown" : word_of(*found);
  };
  EXPECT_EQ(word_for(1), "default");
  EXPECT_EQ(word_for(1000), "default");
  EXPECT_EQ(word_for(1001), "sh-co");
  EXPECT_EQ(word_for(50000), "sh-co");
  EXPECT_EQ(word_for(50001), "unknown") << "larger ones take the default";
  entry.ranks = 4;
  put(table.inside, entry);
  entry.choices.pop_back();
  put(table.inside, entry);
  table.neighbors.push_back({Collective::neighbor_allgather, 4, 1, true, {26, 6, 54}, 7});
  ASSERT_EQ(table.inside.size(), 2U);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(tuning_text(again), tuning_text(table));
  EXPECT_EQ(again.inside[1].kind, (NeighborhoodKind{8, 8, 9}));
  EXPECT_EQ(again.inside[1].choices.size(), 1U);
  EXPECT_EQ(again.neighbors, table.neighbors);
}

// Of each collective and kind the nearest number of ranks.
TEST(Tuning, TheNearestOrdersInsideANodeCount) {
  const NeighborhoodKind large{26, 6, 54}, small{8, 4, 12};
  const Collective c = Collective::neighbor_allgather;
  TuningTable table;
  table.inside = {
      {c, 16, false, large, {}}, {c, 64, false, large, {}}, {c, 8, false, small, {}}, {c, 16, true, large, {}}};
  const auto ranks_of = [&](int ranks, bool crowded) {
    std::vector<int> found;
    for (const InsideEntry& e : nearest_of_each(table.inside, ranks, ranks, crowded)) found.push_back(e.ranks);
    return found;
  };
  EXPECT_EQ(ranks_of(20, false), (std::vector{16, 8}));
  EXPECT_EQ(ranks_of(100, false), (std::vector{64, 8}));
  EXPECT_EQ(ranks_of(100, true), (std::vector{16}));
}

TEST(Tuning, BadOrdersInsideANodeAreRefused) {
  const auto expect_line = [](const std::string& line, const std::string& word, const std::string& from,
                              const std::string& to) {
    expect_refused(with_entries(replaced_in(inside_text, from, to)), line, word);
  };
  for (const char* name : {"rings", "direct", "torus", "mpi", "unknown"}) {
    expect_line("line 12", "default, sh-naive, sh-co, sh-numa-co", "\"sh-co\"", "\"" + std::string(name) + "\"");
  }
  for (const char* name : {"hint-row", "Sh-co", ""}) {
    expect_line("line 12", "unknown algorithm", "\"sh-co\"", "\"" + std::string(name) + "\"");
  }
  expect_line("line 12", "string", "\"sh-co\"", "7");
  expect_line("line 12", "take", R"(, "take": "sh-co")", "");
  expect_line("line 12", "more than", "50000", "1000");
  expect_line("line 12", "more than", "50000", "10");
  expect_line("line 12", "whole number", "50000", "0");
  expect_line("line 12", "whole number", "50000", "1e99");
  expect_line("line 12", "not known", "50000", "50000, \"least\": 1");
  expect_line("line 12", "not known", "\"sh-co\"}", "\"sh-co\"}, 3");
  expect_line("line 11", "1 to 64 objects", R"({"up_to": 1000, "take": "default"},
             {"up_to": 50000, "take": "sh-co"})",
              "");
  expect_line("line 10", "a list", R"([{"up_to": 1000, "take": "default"},
             {"up_to": 50000, "take": "sh-co"}])",
              "3");
  expect_line("line 10", "neighbor_allgather", "neighbor_alltoall", "neighbor_alltoallv");
  expect_line("line 10", "ranks", "16", "1");
  expect_line("line 11", "more than", "\"rounds\": 8", "\"rounds\": 9");
  expect_line("line 11", "neighbors", "\"neighbors\": 8", "\"neighbors\": 0");
  expect_line("line 10", "not known", "16", "16, \"ranks_on_node\": 16");
  expect_line("line 12", "twice", "\"sh-co\"}]}", "\"sh-co\"}]}, " + inside_text);
  std::string many = "\"up_to\": 50000";
  for (int i = 0; i < 63; ++i) many += and_another(50001 + i);
  expect_line("line 11", "1 to 64 objects", "\"up_to\": 50000", many);
}

// An order must be faster by 5 %; what wins at a size holds from the size before on.
TEST(Tuning, TheFastestOrdersAreKept) {
  const Collective c = Collective::neighbor_alltoall;
  const Algorithm *naive = find(c, "sh-naive"), *co = find(c, "sh-co");
  const std::vector<std::size_t> sizes = {8, 100, 1000, 5000, 9000};
  InsideEntry entry{c, 4, false, {8, 2, 12}, {}};
  const auto words = [&] {
    std::string all;
    for (const SizedChoice& one : entry.choices) all += std::to_string(one.up_to) + " " + word_of(one) + "; ";
    return all;
  };
  tools::set_ranges(entry, sizes, {naive, co},
                    {{100, 100, 100, 100, 100}, {96, 95, 90, 120, 200}, {99, 97, 70, 80, 101}});
  EXPECT_EQ(words(), "8 default; 100 sh-naive; 5000 sh-co; 9000 default; ");
  tools::set_ranges(entry, sizes, {}, {{1, 1, 1, 1, 1}});
  EXPECT_EQ(words(), "9000 default; ");
}

TEST(Tuning, EveryBadTableIsRefusedWithTheLine) {
  const struct {
    std::string text, line, word;
  } cases[] = {
      {"", "line 1", "JSON"},
      {"3", "line 1", "object"},
      {"[]", "line 1", "object"},
      {"{}", "line 1", "quadrille_tuning"},
      {good.substr(0, good.size() / 2), "line 6", "JSON"},
      {good + "x", "line 11", "JSON"},
      {replaced("\"cores\": 2", "\"cores\": 2,"), "line 3", "JSON"},
      {replaced("tuning\": 2", "tuning\": 3"), "line 2", "version 3"},
      {"{\n\"quadrille_tuning\": 1, \"entries\": [{\"ranks\": 2, \"cma_from\": 65536}]}", "line 2", "version 1"},
      {replaced("tuning\": 2", "tuning\": \"2\""), "line 2", "whole number"},
      {replaced("  \"quadrille_tuning\": 2,\n", ""), "line 1", "missing"},
      {replaced("\"cores\": 2", "\"cores\": 0"), "line 3", "cores"},
      {replaced("\"cores\": 2", "\"cores\": 2.5"), "line 3", "cores"},
      {replaced("\"cores\": 2", "\"cores\": 2, \"cores\": 2"), "line 3", "twice"},
      {replaced("\"cores\": 2", "\"Cores\": 2"), "line 3", "cores"},
      {replaced("\"A \\\"fast\\\" one\"", "7"), "line 3", "string"},
      {replaced("{\"processor\": \"A \\\"fast\\\" one\", \"cores\": 2}", "[]"), "line 1", "machine"},
      {replaced("\"ranks\": 2", "\"ranks\": -2"), "line 5", "ranks"},
      {replaced("\"ranks\": 2", "\"ranks\": 1"), "line 5", "ranks"},
      {replaced("\"ranks\": 2", "\"ranks\": 99999999999"), "line 5", "ranks"},
      {replaced("\"ranks\": 2", "\"ranks\": [2]"), "line 5", "ranks"},
      {replaced("\"ranks\": 4, \"crowded\": true", "\"ranks\": 2, \"crowded\": false"), "line 7", "twice"},
      {replaced("\"crowded\": false", "\"crowded\": 0"), "line 5", "true or false"},
      {replaced("65535", "1e99"), "line 5", "up_to"},
      {replaced("65535", "null"), "line 5", "up_to"},
      {replaced("65535", "\n65535,\n\"more\": 1"), "line 7", "more"},
      {replaced("\"collective\": \"alltoallv\", ", ""), "line 6", "collective"},
      {replaced("\"alltoallv\"", "\"scan\""), "line 6", "must be one of alltoall"},
      {replaced("\"up_to\": 2", "\"up_to\": 18446744073709551615"), "line 6", "up_to"},
      {replaced("\"entries\"", "\"entry\""), "line 1", "entries"},
      {replaced("\"entries\": [", "\"entries\": [\n7,"), "line 5", "not known"},
      {"{\"quadrille_tuning\": 2, \"a\": [[[[[[[[[[[[1]]]]]]]]]]]]}", "line 1", "deep"},
  };
  for (const auto& c : cases) expect_refused(c.text, c.line, c.word);
}

const std::string algorithms_text =
    R"({"of": "algorithm", "collective": "allgather", "ranks": 16, "ranks_on_node": 2, "nodes": 8, "crowded": true,
  "choices": [{"up_to": 99, "take": "default"}, {"up_to": 999, "take": "bruck:radix=3"}]})";

// What may happen to a file: letters lost, changed, added, doubled, and values put where others were.
std::string mutated(const std::string& text, std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"0",
                                                  "-1",
                                                  "1e309",
                                                  "18446744073709551616",
                                                  "null",
                                                  "true",
                                                  "\"\"",
                                                  "{}",
                                                  "[]",
                                                  "[[[[[[[[[[[[",
                                                  ",",
                                                  "\\",
                                                  "\"",
                                                  "\xff",
                                                  std::string(1, '\0'),
                                                  "\n",
                                                  "\"ranks\": 2,",
                                                  "\"alltoall\"",
                                                  "}",
                                                  "NaN"};
  std::string result = text;
  const auto below = [&](std::size_t end) { return random() % std::max<std::size_t>(end, 1); };
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    const std::size_t at = below(result.size()), length = below(12);
    const std::string piece = result.substr(at, length);
    switch (below(5)) {
      case 0:
        result.erase(at, length);
        break;
      case 1:
        result.insert(at, pieces[below(pieces.size())]);
        break;
      case 2: {
        const std::size_t few = std::min<std::size_t>(1 + below(3), result.size() - at);
        result.replace(at, few, pieces[below(pieces.size())]);
        break;
      }
      case 3:
        result.insert(below(result.size()), piece);
        break;
      default:
        result.resize(at);
        break;
    }
  }
  return result;
}

// Refused, and then nothing has changed; or read, and then it is within the limits and can be written again.
TEST(Tuning, WhateverHappensToATableItIsRefusedOrRight) {
  std::mt19937_64 random(20);
  int read = 0, refused = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    const std::string originals[] = {good, table_of(model_text), table_of(neighbors_text), table_of(inside_text),
                                     table_of(algorithms_text)};
    const std::string text = mutated(originals[turn % 5], random);
    TuningTable table, again;
    table.machine.cores = 77;
    const std::string why = parse_tuning(text, table);
    if (!why.empty()) {
      ++refused;
      ASSERT_TRUE(why.starts_with("line ") && why.find('\n') == std::string::npos) << why << "\n" << text;
      ASSERT_TRUE(table.machine.cores == 77 && table.entries.empty() && table.models.empty() &&
                  table.neighbors.empty() && table.inside.empty() && table.algorithms.empty())
          << text;
      continue;
    }
    ++read;
    for (const TuningEntry& e : table.entries) {
      ASSERT_GE(e.ranks, 2) << text;
      for (const std::size_t limit : e.points.inbox_limit) ASSERT_LE(limit, std::size_t{1} << 40) << text;
    }
    ASSERT_EQ(parse_tuning(tuning_text(table), again), "") << text;
    ASSERT_EQ(again.entries, table.entries) << text;
    ASSERT_EQ(again.neighbors, table.neighbors) << text;
    ASSERT_EQ(again.machine, table.machine) << text;
    ASSERT_EQ(tuning_text(again), tuning_text(table)) << text;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 300) << "else most of this test is void";
}

TEST(Tuning, TheNearestEntryOfTheSameCrowdednessCounts) {
  const TuningTable table{{}, {entry(16, false), entry(2, false), entry(4, true), entry(64, true)}};
  const auto nearest = [&](int ranks, bool crowded) {
    return choose::nearest(table.entries, entry(ranks, crowded))->ranks;
  };
  EXPECT_EQ(nearest(2, false), 2);
  EXPECT_EQ(nearest(5, false), 2);
  EXPECT_EQ(nearest(6, false), 16);
  EXPECT_EQ(nearest(1000, false), 16);
  EXPECT_EQ(nearest(2, true), 4);
  EXPECT_EQ(nearest(16, true), 4) << "as near as 64: the smaller one";
  EXPECT_EQ(nearest(17, true), 64);
  EXPECT_EQ(choose::nearest({entry(4, true)}, entry(4, false)), nullptr);
  EXPECT_EQ(choose::nearest({}, entry(4, false)), nullptr);
}

TEST(Tuning, AnEntryIsAddedOrReplaced) {
  TuningTable table;
  put(table.entries, entry(2, false, 1));
  put(table.entries, entry(2, true, 2));
  put(table.entries, entry(3, false, 3));
  put(table.entries, entry(2, false, 4));
  ASSERT_EQ(table.entries.size(), 3U);
  EXPECT_EQ(table.entries[0], entry(2, false, 4));
  EXPECT_EQ(table.entries[1], entry(2, true, 2));
}

// Values without end are not collected, and not told from each other by long names.
TEST(Tuning, TooMuchOfAnythingIsRefused) {
  TuningTable table;
  const auto many = [](const std::string& piece) {
    std::string text = R"({"quadrille_tuning": 2, "machine": {"processor": "x", "cores": 2}, "entries": [)" + piece;
    for (int i = 0; i < 40'000; ++i) text += ",\n" + piece;
    return text + "]}";
  };
  for (const char* piece : {"1", "{}", "[]", "\"\""}) {
    EXPECT_EQ(parse_tuning(many(piece), table), "line 32763: it has too many values") << piece;
  }
  EXPECT_EQ(parse_tuning(replaced("A \\\"fast", std::string(300, 'x')), table), "line 3: a string is too long");
  EXPECT_EQ(parse_tuning(replaced("\"cores", "\"" + std::string(33, 'x') + "\": 1, \"cores"), table),
            "line 3: a name is not known here");
  // A name that is nearly ours is another one.
  EXPECT_EQ(parse_tuning(R"({"quadrille_tuning": 2, "entries[": 0, "machine": {"processor": "x", "cores": 2}})", table),
            "line 1: \"entries\" must be a list");
}

}  // namespace
}  // namespace quadrille::choose
