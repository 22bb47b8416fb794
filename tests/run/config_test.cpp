#include "team/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "text/reason.hpp"

namespace quadrille::team {
namespace {

std::map<std::string, std::string> variables;

std::string get(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

Config read(std::map<std::string, std::string> given) {
  variables = std::move(given);
  return read_config(get);
}

TEST(Config, HasDefaultsWithoutVariables) {
  const Config c = read({});
  EXPECT_FALSE(c.off);
  EXPECT_FALSE(c.explain);
  EXPECT_FALSE(c.any_forced);
  EXPECT_TRUE(c.warnings.empty());
}

TEST(Config, ReadsWellFormedValues) {
  const Config c = read({{"QUADRILLE", "off"},
                         {"QUADRILLE_EXPLAIN", "1"},
                         {"QUADRILLE_ALGORITHM", "alltoall=zero-rotation-bruck:radix=4"},
                         {"QUADRILLE_NODES", "ragged:1,3,4"},
                         {"QUADRILLE_INBOX", "512"},
                         {"QUADRILLE_REACH", "ring,cma-read"},
                         {"QUADRILLE_AWAY_STEPS", "2"},
                         {"QUADRILLE_SETUP_AFTER", "0"}});
  EXPECT_TRUE(c.warnings.empty());
  EXPECT_TRUE(c.off);
  EXPECT_TRUE(c.explain);
  EXPECT_EQ(c.nodes, "ragged:1,3,4");
  EXPECT_EQ(c.inbox_limit, 512U);
  EXPECT_EQ(c.setup_after, 0);
  EXPECT_EQ(c.away_steps, 2);
  EXPECT_TRUE(c.ways.cma_read && c.ways.ring);
  EXPECT_FALSE(c.ways.heap || c.ways.xpmem || c.ways.cma_write);
  EXPECT_EQ(choose::to_string(c.forced.by_collective[0]), "zero-rotation-bruck:radix=4");
}

TEST(Config, KnowsTheWordsOfSwitches) {
  for (const char* on : {"1", "on", "yes", "true"}) {
    EXPECT_EQ(switch_of(on), true) << on;
    EXPECT_TRUE(read({{"QUADRILLE_CHECK", on}}).check) << on;
  }
  for (const char* off : {"0", "off", "no", "false"}) EXPECT_EQ(switch_of(off), false) << off;
  for (const char* neither : {"", "maybe", "True", "2", "yess"}) EXPECT_EQ(switch_of(neither), std::nullopt) << neither;
}

struct Values {
  std::vector<std::string> good;  // other values than the one that holds without the variable
  std::vector<std::string> bad;   // none: any text is the name of a file
};

// Of each setting that the table reads. A new one needs a line.
const std::map<std::string, Values> values = {
    {"QUADRILLE", {{"off"}, {"maybe"}}},
    {"QUADRILLE_ALGORITHM",
     {{"alltoall=pairwise", "allgather=bruck"},
      {"alltoall=nosuch", "alltoall=zero-rotation-bruck:radix=1", "nonsense"}}},
    {"QUADRILLE_INBOX", {{"64", "0"}, {"-1", "12kB"}}},
    {"QUADRILLE_REACH", {{"ring", "heap"}, {"heap,knem", "heap,"}}},
    {"QUADRILLE_HEAP", {{"off", "early"}, {"maybe"}}},
    {"QUADRILLE_HEAP_FROM", {{"4096", "64K"}, {"0", "16KB"}}},
    {"QUADRILLE_HEAP_BYTES", {{"1048576", "1G"}, {"63K", "1T"}}},
    {"QUADRILLE_HEAP_PAGES", {{"huge", "small"}, {"on", "2M"}}},
    {"QUADRILLE_TOPOLOGY", {{"package:2 core:2 pu:1"}, {"a village"}}},
    {"QUADRILLE_STREAM", {{"on", "4096"}, {"maybe", "12kB", "-1"}}},
    {"QUADRILLE_SETUP_AFTER", {{"9"}, {"many"}}},
    {"QUADRILLE_TRIALS", {{"on", "off", "learn"}, {"maybe"}}},
    {"QUADRILLE_MPI_WAITS", {{"keep"}, {"maybe"}}},
    {"QUADRILLE_PROGRESS", {{"thread"}, {"never"}}},
    {"QUADRILLE_DEVICE_KERNELS", {{"off"}, {"maybe"}}},
    {"QUADRILLE_MPI_DEVICE", {{"1", "0", "messages"}, {"maybe"}}},
    {"QUADRILLE_CHECK", {{"on"}, {"maybe"}}},
    {"QUADRILLE_EXPLAIN", {{"on"}, {"2"}}},
    {"QUADRILLE_RECORD", {{"folder"}, {}}},
    {"QUADRILLE_NODE_TREE", {{"flat", "4"}, {"0", "oak"}}},
    {"QUADRILLE_NODES", {{"blocked:2"}, {"blocked:0", "blocked:99999999999999999999", "ragged:"}}},
    {"QUADRILLE_AWAY_STEPS", {{"2"}, {"0", "two"}}}};

TEST(Config, WarnsAboutEachMalformedValueAndIgnoresIt) {
  for (const auto& [name, of_name] : values) {
    EXPECT_EQ(of_name.bad.empty(), name == "QUADRILLE_RECORD") << name;
    for (const std::string& value : of_name.bad) {
      const Config c = read({{name, value}});
      ASSERT_EQ(c.warnings.size(), 1U) << name << "=" << value;
      EXPECT_NE(c.warnings[0].find(name + "=" + value + ": "), std::string::npos) << c.warnings[0];
      EXPECT_EQ(c.warnings[0].find('\n'), std::string::npos) << "one line";
      EXPECT_EQ(fingerprint(c), fingerprint(Config{})) << name << " must be ignored";
    }
  }
}

TEST(Config, DescribesEachSetting) {
  const std::set<std::string> read_elsewhere = {"QUADRILLE_LIBMPI", "QUADRILLE_LIB_DIR", "QUADRILLE_TUNING"};
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(std::string(setting.name).starts_with("QUADRILLE")) << setting.name;
    EXPECT_EQ(setting.read == nullptr, read_elsewhere.count(setting.name) == 1) << setting.name;
    for (const char* given : {setting.values, setting.unset, setting.help}) {
      const std::string text = given != nullptr ? given : "";
      EXPECT_NE(text, "") << setting.name;
      EXPECT_EQ(text.find_first_of("\n|\"`"), std::string::npos) << setting.name << ": " << text;
    }
  }
}

TEST(Config, GuessesWhatAMisspeltNameMeans) {
  EXPECT_EQ(guess_variable("QUADRILLE_ALGORITM"), "QUADRILLE_ALGORITHM");
  EXPECT_EQ(guess_variable("QUADRILLE_NODE"), "QUADRILLE_NODES");
  EXPECT_EQ(guess_variable("QUADRILLE_EXPLIAN"), "QUADRILLE_EXPLAIN");
  for (const char* right : {"QUADRILLE_NODES", "QUADRILLE", "QUADRILLE_TEST_EFFORT", "QUADRILLE_HOME", "PATH", ""}) {
    EXPECT_EQ(guess_variable(right), "") << right;
  }
}

TEST(Config, FingerprintTellsEachSettingApartOnWhichRanksMustAgree) {
  for (const Setting& setting : settings()) {
    if (setting.read == nullptr) continue;
    ASSERT_TRUE(values.contains(setting.name)) << setting.name << ": add values of it to this test";
    std::set<std::uint64_t> seen = {fingerprint(read({}))};
    for (const std::string& value : values.at(setting.name).good) {
      const Config c = read({{setting.name, value}});
      EXPECT_TRUE(c.warnings.empty()) << setting.name << "=" << value;
      EXPECT_EQ(seen.insert(fingerprint(c)).second, setting.agreed != may_differ) << setting.name << "=" << value;
    }
  }
}

TEST(Config, FingerprintIsThatOfTheMeaning) {
  EXPECT_EQ(fingerprint(read({})), fingerprint(read({{"QUADRILLE_TRIALS", "auto"}, {"QUADRILLE_SETUP_AFTER", "010"}})));
}

// What each rank may do as it likes; a slip in the table would forward all calls, or let ranks differ unseen.
TEST(Config, RanksMayDifferInTheseAlone) {
  std::set<std::string> free;
  for (const Setting& setting : settings()) {
    if (setting.agreed == may_differ) free.insert(setting.name);
  }
  EXPECT_EQ(free,
            (std::set<std::string>{"QUADRILLE_HEAP", "QUADRILLE_HEAP_FROM", "QUADRILLE_HEAP_BYTES",
                                   "QUADRILLE_HEAP_PAGES", "QUADRILLE_TUNING", "QUADRILLE_STREAM",
                                   "QUADRILLE_MPI_WAITS", "QUADRILLE_PROGRESS", "QUADRILLE_DEVICE_KERNELS",
                                   "QUADRILLE_EXPLAIN", "QUADRILLE_RECORD", "QUADRILLE_LIBMPI", "QUADRILLE_LIB_DIR"}));
}

TEST(Reasons, HaveCodesAndWords) {
  std::set<std::string> codes;
  for (std::size_t r = 0; r < reason_count; ++r) {
    const auto reason = static_cast<Reason>(r);
    const std::string code = text::code_of(reason), words = text::words_of({reason, "x"});
    EXPECT_TRUE(codes.insert(code).second) << code;
    EXPECT_NE(words, "") << code;
    EXPECT_EQ(words.find_first_of("{}"), std::string::npos) << words;
    const bool is_counted = reason != Reason::none && counted_as(reason) == r;
    EXPECT_EQ(!text::summary_words_of(reason).empty(), is_counted) << code;
    EXPECT_EQ(text::reason_of(words), is_read_by_programs(reason) ? reason : Reason::none) << words;
  }
  EXPECT_EQ(counted_as(Reason::no_heap), counted_as(Reason::other));
}

// What programs look for in lines of other versions.
TEST(Reasons, CodesStayAsTheyAre) {
  using enum Reason;
  const std::pair<Reason, std::string_view> known[] = {{not_used, "not-used"},
                                                       {no_heap, "no-heap"},
                                                       {no_xpmem, "no-xpmem"},
                                                       {no_cma_read, "no-cma-read"},
                                                       {no_cma_write, "no-cma-write"},
                                                       {no_ring, "no-ring"},
                                                       {lacks_progress, "lacks-progress"}};
  for (const auto& [reason, code] : known) {
    EXPECT_EQ(text::code_of(reason), code);
    EXPECT_TRUE(is_read_by_programs(reason)) << code;
  }
}

TEST(Reasons, FollowEachOtherInALine) {
  const Why cannot{
      .reason = Reason::measured_cannot, .name = "a", .then = {{.reason = Reason::several_nodes, .number = 3}}};
  const Why small{.reason = Reason::fits_inboxes, .then = {cannot}};
  EXPECT_EQ(text::words_of(small),
            "one node, and the block fits the inboxes; the measured a cannot serve it: the ranks live on 3 nodes");
  const Why took{.reason = Reason::first_calls_took, .then = {{Reason::took, "a", 1.5}, {Reason::took, "b", 100}}};
  EXPECT_EQ(text::words_of({.reason = Reason::nonblocking, .then = {took}}),
            "nonblocking; the first calls took 1.5 us with a, 100.0 us with b");
}

TEST(Reasons, CodesStandAtTheEndOfALine) {
  const std::string line =
      text::words_of({.reason = Reason::not_used, .then = {{Reason::unusable_mpi, "no (good) one"}}});
  EXPECT_EQ(line, "not used: no (good) one (code=not-used)");
  EXPECT_EQ(text::reason_of(line), Reason::not_used);
  EXPECT_EQ(text::without_code(line), "not used: no (good) one");
  for (const std::string_view other : {"not used", "a (code=not-used) b", "(good)", ""}) {
    EXPECT_EQ(text::reason_of(other), Reason::none) << other;
    EXPECT_EQ(text::without_code(other), other);
  }
  EXPECT_EQ(text::reason_of("a (code=unheard-of)"), Reason::none);
}

}  // namespace
}  // namespace quadrille::team
