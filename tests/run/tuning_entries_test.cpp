// Tuning tables: the entries of all subjects.
#include <gtest/gtest.h>
#include <time.h>

#include <string>

#include "choose/tuning.hpp"
#include "table_text.hpp"

namespace quadrille::choose {
namespace {

const std::string sample = R"({
  "quadrille_tuning": 2,
  "machine": {"processor": "A", "cores": 2},
  "entries": [
    {"of": "inbox", "collective": "alltoall", "ranks": 4, "crowded": true, "choices": [{"up_to": 3072, "take": "inbox"}]},
    {"of": "kernel-copy", "ranks": 4, "crowded": true, "choices": [{"up_to": 131071, "take": "ring"}]},
    {"of": "streaming", "ranks": 4, "crowded": true, "choices": [{"up_to": 999999, "take": "cached"}]},
    {"of": "algorithm", "collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1, "crowded": false,
     "choices": [{"up_to": 512, "take": "default"},
                 {"up_to": 65536, "take": "hint-hilbert"}]},
    {"of": "order", "collective": "neighbor_allgather", "ranks": 4, "crowded": false,
     "around": {"neighbors": 4, "rounds": 4, "blocks": 4}, "choices": [{"up_to": 65536, "take": "sh-co"}]},
    {"of": "combining", "collective": "neighbor_alltoall", "ranks": 64, "ranks_on_node": 1, "crowded": false,
     "around": {"neighbors": 26, "rounds": 6, "blocks": 54}, "choices": [{"up_to": 1000, "take": "combined"}]},
    {"of": "model", "ranks": 64, "ranks_on_node": 1, "crowded": false,
     "quadrille": {"message": 1500, "byte": 0.5, "copied_byte": 0.1, "copied_block": 8, "round": 0},
     "mpi": {"message": 1400, "byte": 0.5, "copied_byte": 0, "copied_block": 0, "round": 2000}}
  ]
}
)";

TEST(TuningEntries, AreReadAndWritten) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(sample, table), "");
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(tuning_text(again), tuning_text(table));
  for (const TuningTable* t : {&table, &again}) {
    ASSERT_EQ(t->entries.size(), 1U) << "of one case";
    const SwitchPoints &points = t->entries[0].points, otherwise = default_switch_points(true);
    EXPECT_EQ(points.inbox_limit[0], 3072U);
    EXPECT_EQ(points.inbox_limit[3], otherwise.inbox_limit[3]) << "nothing was measured";
    EXPECT_EQ(points.cma_from, 131072U);
    EXPECT_EQ(points.stream_from, 1000000U);
    ASSERT_EQ(t->algorithms.size(), 1U);
    EXPECT_EQ(to_string(choice_for(t->algorithms[0].choices, 513)->choice), "hint-hilbert:rows=auto");
    ASSERT_EQ(t->inside.size(), 1U);
    EXPECT_EQ(to_string(choice_for(t->inside[0].choices, 9)->choice), "sh-co");
    ASSERT_EQ(t->neighbors.size(), 1U);
    EXPECT_EQ(t->neighbors[0].largest_combined, 1000U);
    EXPECT_EQ(t->neighbors[0].kind, (NeighborhoodKind{26, 6, 54}));
    ASSERT_EQ(t->models.size(), 1U);
    EXPECT_DOUBLE_EQ(t->models[0].model.mpi.rho, 2e-6);
  }
}

TEST(TuningEntries, KeepHowQuietTheMachineWas) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(sample, table), "");
  EXPECT_FALSE(table.quietness.has_value());
  TuningTable found = table;
  found.quietness = Quietness{false, 1.75, 2.5, 0.5};
  put_all(table, found);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.quietness, found.quietness);
  EXPECT_NE(parse_tuning(replaced_in(tuning_text(table), "1.75", "\"no\""), again), "");
}

// Apart from that of the host's memory.
TEST(TuningEntries, AModelMayBeOfADevicesMemory) {
  const std::string terms = R"({"message": 1, "byte": 1, "copied_byte": 1, "copied_block": 1, "round": 1})";
  const auto text = [&](const std::string& of_devices) {
    const std::string both = "\"quadrille\": " + terms + ", \"mpi\": " + terms + "}";
    return R"({"quadrille_tuning": 2, "machine": {"processor": "x", "cores": 1}, "entries": [
      {"of": "model", "ranks": 64, "ranks_on_node": 1, "crowded": false, )" +
           both + R"(,
      {"of": "model", "ranks": 64, "ranks_on_node": 1, "crowded": false, )" +
           of_devices + both + "]}";
  };
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(text(R"("memory": "device", "bus": {"byte": 0.25, "call": 9000}, )"), table), "");
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  for (const TuningTable* one : {&table, &again}) {
    ASSERT_EQ(one->models.size(), 2U);
    const ModelEntry* const found = nearest(one->models, {60, 1, false, {}, true});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->bus, (Bus{0.25e-9, 9e-6}));
    EXPECT_EQ(nearest(one->models, {60, 1, false, {}})->bus, Bus{});
  }
  EXPECT_NE(parse_tuning(text(""), table), "") << "twice";
  EXPECT_NE(parse_tuning(text(R"("memory": "device", )"), table), "") << "no bus";
  EXPECT_NE(parse_tuning(text(R"("memory": "disk", "bus": {"byte": 1, "call": 1}, )"), table), "");
  EXPECT_NE(parse_tuning(text(R"("memory": "device", "bus": {"byte": -1, "call": 1}, )"), table), "");
  EXPECT_NE(parse_tuning(text(R"("memory": "host", "bus": {"byte": 1, "call": 1}, )"), table), "") << "of what?";
}

// What tables have had since is 0 where it is not there.
TEST(TuningEntries, AModelMayKnowWhatIsSentAtOnce) {
  const std::string terms =
      R"("message": 1, "byte": 1, "node_message": 1, "node_byte": 1, "near_message": 1, "near_byte": 1,
    "copied_byte": 1, "copied_block": 1, "shared_byte": 1, "shared_block": 1, "round": 1, "fence": 1, "flight": 1)";
  const auto text = [&](const std::string& eager, const std::string& handshake) {
    return R"({"quadrille_tuning": 2, "machine": {"processor": "x", "cores": 1}, "entries": [
      {"of": "model", "ranks": 64, "ranks_on_node": 1, "crowded": false, )" +
           eager + "\"quadrille\": {" + terms + handshake + "}, \"mpi\": {" + terms + "}}]}";
  };
  TuningTable table;
  ASSERT_EQ(parse_tuning(text("", ""), table), "");
  EXPECT_EQ(table.models[0].model.eager, 0);
  EXPECT_EQ(table.models[0].model.quadrille.handshake, 0);
  ASSERT_EQ(parse_tuning(text("\"eager\": 65483, ", ", \"handshake\": 30000"), table), "");
  EXPECT_EQ(table.models[0].model.eager, 65483);
  EXPECT_DOUBLE_EQ(table.models[0].model.quadrille.handshake, 30e-6);
  EXPECT_EQ(table.models[0].model.mpi.handshake, 0);
  TuningTable again;
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.models[0].model, table.models[0].model);
  EXPECT_NE(parse_tuning(text("\"eager\": 0, ", ""), table), "");
  EXPECT_NE(parse_tuning(text("\"eager\": 1, ", ", \"handshake\": -1"), table), "");
}

TEST(TuningEntries, BadOnesAreRefusedWithTheLine) {
  const struct {
    const char *from, *to, *line, *word;
  } cases[] = {
      {"\"of\": \"inbox\", ", "", "line 5", "\"of\" is missing"},
      {"\"inbox\", \"coll", "\"inboxes\", \"coll", "line 5", "must be one of inbox, kernel-copy, streaming"},
      {"\"inbox\", \"coll", "7, \"coll", "line 5", "string"},
      {"\"collective\": \"alltoall\", \"ranks\": 4", "\"collective\": \"neighbor_alltoall\", \"ranks\": 4", "line 5",
       "one of alltoall"},
      {"\"ranks\": 4", "\"ranks\": 1", "line 5", "ranks"},
      {"\"take\": \"inbox\"", "\"take\": \"ring\"", "line 5", "\"take\" must be inbox"},
      {"\"take\": \"inbox\"", "\"algorithm\": \"inbox\"", "line 5", "take"},
      {"{\"up_to\": 3072, \"take\": \"inbox\"}", "3072", "line 5", "not known"},
      {"{\"up_to\": 3072, \"take\": \"inbox\"}",
       "{\"up_to\": 1, \"take\": \"inbox\"}, {\"up_to\": 2, \"take\": \"inbox\"}", "line 5", "one object"},
      {"3072", "-1", "line 5", "up_to"},
      {"\"of\": \"kernel-copy\"", "\"of\": \"streaming\"", "line 6", "must be cached"},
      {"\"crowded\": true, \"choices\": [{\"up_to\": 131071", "\"crowded\": 1, \"choices\": [{\"up_to\": 131071",
       "line 6", "true or false"},
      {"\"nodes\": 1, ", "", "line 8", "nodes"},
      {"512", "65536", "line 10", "\"up_to\" must be more"},
      {"hint-hilbert", "hint-hilbart", "line 10", "did you mean"},
      {"\"around\": {\"neighbors\": 4, ", "\"around\": {", "line 12", "neighbors"},
      {"\"around\": {\"neighbors\": 26, \"rounds\": 6", "\"around\": {\"neighbors\": 26, \"rounds\": 26", "line 14",
       "fewer"},
      {"\"sh-co\"", "\"sh-c\"", "line 12", "did you mean"},
      {"\"sh-co\"", "\"rings\"", "line 12", "must be one of default"},
      {"\"combined\"", "\"default\"", "line 14", "must be combined"},
      {"\"message\": 1500", "\"message\": -1", "line 16", "message"},
      {"\"message\": 1500", "\"massage\": 1500", "line 16", "message"},
      {"\"of\": \"model\"", "\"of\": \"model\", \"choices\": []", "line 15", "choices"},
      {"\"entries\"", "\"models\"", "line 1", "entries"},
      {": 2,\n", ": 3,\n", "line 2", "version 3 is not known"},
      {": 2,\n", ": 1,\n", "line 2", "version 1 is not known"},
  };
  for (const auto& c : cases) expect_refused(replaced_in(sample, c.from, c.to), c.line, c.word);
}

TEST(TuningEntries, OfOneCaseThereIsOne) {
  const std::string list = "\"entries\": [\n";
  for (std::size_t begin = sample.find("{\"of\""); begin != std::string::npos;
       begin = sample.find("{\"of\"", begin + 1)) {
    std::string twice = sample;
    const std::size_t end = std::min(sample.find(",\n    {\"of\"", begin), sample.find("\n  ]", begin));
    twice.insert(twice.find(list) + list.size(), sample.substr(begin, end - begin) + ",\n");
    TuningTable table;
    EXPECT_NE(parse_tuning(twice, table).find("there twice"), std::string::npos) << sample.substr(begin, 30);
  }
}

// What says nothing of a choice is none: the first way is never taken.
TEST(TuningEntries, OfSwitchPointsThereMayBeNone) {
  TuningTable table, again;
  ASSERT_EQ(parse_tuning(replaced_in(sample, R"({"up_to": 131071, "take": "ring"})", ""), table), "");
  EXPECT_EQ(table.entries[0].points.cma_from, 0U);
  ASSERT_EQ(parse_tuning(tuning_text(table), again), "");
  EXPECT_EQ(again.entries, table.entries);
}

// As large as a file may be, and wrong at its end.
TEST(TuningEntries, ABadTableIsRefusedAtOnce) {
  std::string text = sample.substr(0, sample.find("    {\"of\": \"inbox\""));
  const std::string one =
      R"({"of": "kernel-copy", "ranks": %, "crowded": true, "choices": [{"up_to": 131071, "take": "ring"}]},)";
  for (int ranks = 2; text.size() + one.size() < 256 << 10; ++ranks) {
    text += replaced_in(one, "%", std::to_string(ranks)) + "\n";
  }
  text += "{}]}";
  TuningTable table;
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  EXPECT_NE(parse_tuning(text, table), "");
  RecordProperty("milliseconds", std::to_string((now() - begin) * 1e3));
  std::printf("%zu bytes: %.1f ms of a processor\n", text.size(), (now() - begin) * 1e3);
}

}  // namespace
}  // namespace quadrille::choose
