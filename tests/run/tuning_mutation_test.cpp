// Tuning tables with mistakes that nobody thought of: good tables whose bytes and words are changed at random. Each is
// refused with a line and a reason, and then changes nothing; or it is a table like any other, which is written and
// read again, and by which a choice is made. How long that takes is printed, not judged.
//
//   QUADRILLE_TEST_TABLES   how many tables (default 3000)
//   QUADRILLE_TEST_SEED     of the first (default 1)
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "choose/tuning.hpp"
#include "lab/map/closed_model.hpp"

namespace quadrille::choose {
namespace {

using Random = std::mt19937_64;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Of this thread: others may use the processor meanwhile.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

plan::Machine machine(Random& random) {
  const auto number = [&] { return static_cast<double>(below(random, 1000)) * 1e-9; };
  return {number(), number(), number(), number(), number()};
}

// A good table with all subjects.
TuningTable whole_table(Random& random) {
  TuningTable table;
  table.machine = {"A \"fast\" one", 2};
  for (int ranks = 2; ranks <= 32; ranks *= 2) {
    TuningEntry entry{ranks, ranks > 8, {}};
    for (std::size_t& limit : entry.points.inbox_limit) limit = below(random, 1 << 20);
    entry.points.cma_from = below(random, 1 << 20);
    if (ranks > 4) entry.points.stream_from = 1 + below(random, 1 << 24);
    put(table.entries, entry);
    put(table.models, {ranks, 1 + ranks / 8, ranks > 8, {machine(random), machine(random)}});
    put(table.models, {ranks, 1 + ranks / 8, ranks > 8, {machine(random), {}}, true, {1e-10, 1e-5}});
    put(table.neighbors, {Collective::neighbor_alltoall, ranks, 1, false, {8, 4, 12}, below(random, 4096)});
  }
  InsideEntry inside{Collective::neighbor_allgather, 4, true, {4, 2, 4}, {}};
  for (std::size_t bytes = 64; bytes <= 65536; bytes *= 4)
    inside.choices.push_back({bytes, bytes > 512 ? plain(inside.collective, "sh-co") : Choice()});
  put(table.inside, inside);
  for (const int nodes : {1, 2}) {
    AlgorithmEntry entry{Collective::alltoall, 4 * nodes, 4, nodes, false, {}};
    Choice pairwise;
    parse_choice(Collective::alltoall, "pairwise", pairwise);
    entry.choices = {{512, {}}, {4096, {}, false}, {65536, pairwise}};
    put(table.algorithms, entry);
  }
  return table;
}

// What JSON is made of, and what numbers and words of a table could be instead.
const std::vector<std::string> pieces = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "0",
                                         "-1",
                                         "1e999",
                                         "-0",
                                         "1.5",
                                         "true",
                                         "null",
                                         "\"\"",
                                         "{}",
                                         "[]",
                                         "\\u0000",
                                         "\xff",
                                         "\xef\xbb\xbf",
                                         "18446744073709551616",
                                         "2",
                                         "1048576",
                                         "1099511627776",
                                         "9007199254740993",
                                         "\"ranks\"",
                                         "\"default\"",
                                         "\"unknown\"",
                                         "\"combined\"",
                                         "\"of\"",
                                         "\"take\"",
                                         "\"radix=1\"",
                                         "/",
                                         "//",
                                         "\"a/b\": 1,"};

void mutate(Random& random, std::string& text) {
  const std::size_t at = below(random, text.size() + 1);
  const std::size_t length = std::min(below(random, 1 + (1U << below(random, 9))), text.size() - at);
  switch (below(random, 7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(below(random, text.size() + 1), length));
      break;
    case 3:
      text.insert(at, pieces[below(random, pieces.size())]);
      break;
    case 4: {  // another number
      const std::size_t digits = text.find_first_of("0123456789", at);
      if (digits == std::string::npos) break;
      const std::size_t end = text.find_first_not_of("0123456789.e+", digits);
      text.replace(digits, std::min(end, text.size()) - digits, std::to_string(random() >> below(random, 64)));
      break;
    }
    case 5: {  // another word
      const std::size_t begin = text.find('"', at), end = text.find('"', begin + 1);
      if (begin == std::string::npos || end == std::string::npos) break;
      text.replace(begin, end + 1 - begin, pieces[below(random, pieces.size())]);
      break;
    }
    default: {  // the same again and again
      const std::string piece = text.substr(at, length);
      for (std::size_t times = below(random, 400); times > 0 && text.size() < (1U << 18); --times)
        text.insert(at, piece);
    }
  }
}

// What a communicator asks of a table; the answers must be sound, whatever they are.
void ask(const TuningTable& table) {
  for (const int ranks : {2, 3, 7, 64, 1 << 20}) {
    for (const bool crowded : {false, true}) {
      const TuningEntry* points = nearest(table.entries, {ranks, crowded, {}});
      EXPECT_TRUE(points == nullptr || points->ranks >= 2);
      for (const InsideEntry& entry : nearest_of_each(table.inside, ranks, ranks, crowded))
        choice_for(entry.choices, 4096);
      nearest_of_each(table.neighbors, ranks, 1, crowded);
      if (const ModelEntry* entry = nearest(table.models, {ranks, 1, crowded, {}})) {
        for (const double bytes : {0.0, 1.0, 1e9}) {
          const lab::Prediction found =
              lab::fastest(Collective::alltoallv, std::min(ranks, 64), {bytes, bytes}, entry->model);
          EXPECT_NE(found.choice.algorithm, nullptr);
        }
      }
    }
  }
  const plan::NodeMap nodes = plan::node_map_from_labels({0, 0, 0, 0});
  MeasuredChoices choices;
  if (const AlgorithmEntry* entry = nearest_algorithms(table, Collective::alltoall, nodes, false)) {
    choices.on_host[0] = entry->choices;
  }
  const MeasuredChoices again = choices_from(text_of(choices));
  ASSERT_EQ(again.on_host[0].size(), choices.on_host[0].size());
  for (std::size_t i = 0; i < again.on_host[0].size(); ++i)
    EXPECT_EQ(word_of(again.on_host[0][i]), word_of(choices.on_host[0][i]));
}

// "line 7: <why>", and the text has such a line.
void expect_reason(const std::string& why, const std::string& text) {
  std::size_t line = 0;
  ASSERT_EQ(std::sscanf(why.c_str(), "line %zu: ", &line), 1) << why;
  EXPECT_GE(line, 1U);
  EXPECT_LE(line, 1U + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'))) << why;
  EXPECT_LT(why.size(), 1000U);
}

struct Tally {
  std::size_t refused = 0, accepted = 0;
  double slowest = 0;
  std::uint64_t slowest_seed = 0;
};

void try_one(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  std::string text = tuning_text(whole_table(random));
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) mutate(random, text);
  TuningTable table;
  table.machine = {"as it was", 77};
  const double begin = processor_seconds();
  const std::string why = parse_tuning(text, table);
  const double seconds = processor_seconds() - begin;
  if (seconds > tally.slowest) {
    tally.slowest = seconds;
    tally.slowest_seed = seed;
  }
  if (!why.empty()) {
    ++tally.refused;
    expect_reason(why, text);
    EXPECT_EQ(table.machine, (Machine{"as it was", 77}));
    EXPECT_TRUE(table.entries.empty() && table.models.empty() && table.neighbors.empty());
    return;
  }
  ++tally.accepted;
  ask(table);
  TuningTable again;
  const std::string written = tuning_text(table);
  ASSERT_EQ(parse_tuning(written, again), "");
  EXPECT_EQ(tuning_text(again), written);
  EXPECT_EQ(again.entries, table.entries);
}

TEST(TuningMutations, AreRefusedOrTables) {
  const std::uint64_t first = setting("QUADRILLE_TEST_SEED", 1), count = setting("QUADRILLE_TEST_TABLES", 3000);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("QUADRILLE_TEST_SEED=" + std::to_string(seed));
    try_one(seed, tally);
  }
  std::printf("%zu tables refused, %zu read; the slowest, of seed %llu, took %.1f ms of a processor\n", tally.refused,
              tally.accepted, static_cast<unsigned long long>(tally.slowest_seed), tally.slowest * 1e3);
  if (count >= 1000) {
    EXPECT_GT(tally.refused, count / 10);
    EXPECT_GT(tally.accepted, count / 100);
  }
}

}  // namespace
}  // namespace quadrille::choose
