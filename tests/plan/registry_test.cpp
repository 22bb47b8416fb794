#include "choose/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace quadrille::choose {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RegistryTest, NamesOfCollectives) {
  for (int i = 0; i < collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    Collective found{};
    EXPECT_TRUE(collective_from_name(name_of(collective), found));
    EXPECT_EQ(found, collective);
  }
  Collective untouched = Collective::allgather;
  EXPECT_FALSE(collective_from_name("alltoal", untouched));
  EXPECT_FALSE(collective_from_name("", untouched));
  EXPECT_EQ(untouched, Collective::allgather);
}

TEST(RegistryTest, EveryEntryIsComplete) {
  std::set<std::pair<Collective, std::string_view>> seen;
  for (const Algorithm& a : algorithms()) {
    const Plans plans = row_of(a.engine).plans;
    const bool by_others = a.name == "padded-alltoall";
    const bool builds = plans == Plans::messages || plans == Plans::between_nodes || look_at_domains(plans);
    EXPECT_EQ(a.build != nullptr, !by_others && builds) << a.name;
    EXPECT_EQ(a.build_neighbors != nullptr, a.name != "direct" && plans == Plans::neighbor_messages) << a.name;
    EXPECT_EQ(a.build_edges != nullptr, plans == Plans::neighbor_copies) << a.name;
    if (a.build_neighbors != nullptr) {
      EXPECT_TRUE(a.needs.isomorphic) << a.name;
    }
    EXPECT_FALSE(a.line.empty()) << a.name;
    EXPECT_FALSE(a.source.empty()) << a.name;
    EXPECT_FALSE(a.collectives.empty()) << a.name;
    for (const Collective c : a.collectives) {
      EXPECT_TRUE(seen.insert({c, a.name}).second) << a.name << " twice for " << name_of(c);
      EXPECT_EQ(find(c, a.name), &a);
    }
    for (const ParameterRange& p : a.parameters) {
      EXPECT_TRUE(p.least <= p.standard || (p.automatic && p.standard == 0)) << a.name << " " << p.name;
      EXPECT_LE(p.standard, p.most);
    }
  }
}

TEST(RegistryTest, HoldsTheUniformFamily) {
  for (const char* name : {"spread-out", "pairwise", "nonblocking", "waitall-stride", "waitany-stride",
                           "testany-stride", "basic-bruck", "basic-bruck-dt", "modified-bruck", "modified-bruck-dt",
                           "zero-copy-bruck-dt", "zero-rotation-bruck", "inbox", "mpi"}) {
    EXPECT_NE(find(Collective::alltoall, name), nullptr) << name;
  }
  for (const char* name : {"spread-out", "ring", "recursive-doubling", "bruck", "inbox", "mpi"}) {
    EXPECT_NE(find(Collective::allgather, name), nullptr) << name;
    EXPECT_NE(find(Collective::allgatherv, name), nullptr) << name;
  }
  for (const char* name : {"consensus", "bruck"}) {
    EXPECT_NE(find(Collective::exchange, name), nullptr) << name;
  }
  EXPECT_EQ(find(Collective::exchange, "mpi"), nullptr);
  EXPECT_EQ(find(Collective::alltoallv, "basic-bruck"), nullptr);
  EXPECT_EQ(find(Collective::alltoall, "ring"), nullptr);
  EXPECT_TRUE(find(Collective::alltoallw, "inbox")->needs.one_node);
  EXPECT_FALSE(find(Collective::alltoallw, "inbox")->needs.load_store);
  EXPECT_TRUE(find(Collective::alltoall, "zero-copy-bruck-dt")->needs.derived_types);
  EXPECT_TRUE(find(Collective::alltoall, "modified-bruck")->needs.contiguous);
  EXPECT_FALSE(find(Collective::alltoall, "pairwise")->needs.contiguous);
}

// All topologies have the direct exchange, and the neighbour collectives nothing of the others.
TEST(RegistryTest, HoldsTheNeighbourFamily) {
  for (int i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    EXPECT_EQ(is_neighbor(c), name_of(c).starts_with("neighbor_"));
    EXPECT_EQ(find(c, "direct") != nullptr, is_neighbor(c)) << name_of(c);
    EXPECT_EQ(find(c, "mpi") != nullptr, c != Collective::exchange) << name_of(c);
    if (is_neighbor(c)) {
      EXPECT_EQ(find(c, "spread-out"), nullptr);
    }
  }
}

// For blocks of different sizes: the Bruck family, and every uniform algorithm between padded blocks.
TEST(RegistryTest, HoldsTheUnevenFamily) {
  for (const Collective c : {Collective::alltoallv, Collective::alltoallw}) {
    for (const char* name : {"two-phase-bruck", "sloav", "padded-bruck", "padded-alltoall"}) {
      EXPECT_NE(find(c, name), nullptr) << name;
      EXPECT_EQ(find(Collective::alltoall, name), nullptr) << name;
    }
    for (const Algorithm& a : algorithms()) {
      if (a.engine != Engine::schedule || !serves(a, Collective::alltoall)) continue;
      const bool standard = a.name == "zero-rotation-bruck";
      const std::string name = standard ? "padded-bruck" : "padded-" + std::string(a.name);
      const Algorithm* padded = find(c, name);
      ASSERT_NE(padded, nullptr) << name;
      EXPECT_EQ(padded->engine, Engine::padded) << name;
      EXPECT_EQ(padded->build, a.build) << name;
      EXPECT_EQ(padded->line, "blocks padded to the largest, then " + a.name);
      EXPECT_TRUE(padded->needs.contiguous && padded->needs.derived_types == a.needs.derived_types) << name;
      ASSERT_EQ(padded->parameters.size(), a.parameters.size()) << name;
      for (std::size_t i = 0; i < a.parameters.size(); ++i)
        EXPECT_EQ(padded->parameters[i].name, a.parameters[i].name) << name;
    }
  }
}

// The orders serve everything, by the same names; the allgathers read one block.
TEST(RegistryTest, HoldsTheCopiesOfANode) {
  for (const char* name : {"sh-naive", "sh-co", "sh-numa-co", "hint-row", "hint-column", "hint-hilbert",
                           "hint-hilbert-square", "hint-network"}) {
    for (int i = 0; i < dense_collective_count; ++i) {
      const Algorithm* algorithm = find(static_cast<Collective>(i), name);
      ASSERT_NE(algorithm, nullptr) << name;
      EXPECT_EQ(algorithm->engine, Engine::node) << name;
      EXPECT_TRUE(algorithm->needs.load_store) << name;
    }
    EXPECT_NE(find(Collective::alltoall, name)->build, find(Collective::allgather, name)->build);
    EXPECT_EQ(find(Collective::alltoallv, name), find(Collective::alltoallw, name));
    EXPECT_EQ(find(Collective::alltoall, name)->build, find(Collective::alltoallv, name)->build) << name;
  }
}

// What an exchange can be told its algorithm can be told too, but how bytes are packed, which that decides itself.
TEST(RegistryTest, AlgorithmsAroundOthersHaveTheirParameters) {
  for (const char* name : {"leaders", "hint-network"}) {
    for (const Collective c : {Collective::alltoall, Collective::alltoallv, Collective::allgather}) {
      const Algorithm& around = *find(c, name);
      const auto range = [](const Algorithm& of, std::string_view wanted) {
        return std::find_if(of.parameters.begin(), of.parameters.end(),
                            [&](const ParameterRange& p) { return p.name == wanted; });
      };
      const auto exchange = range(around, "exchange");
      ASSERT_EQ(exchange->builds.size(), exchange->names.size());
      ASSERT_GT(exchange->builds.size(), 4U);
      EXPECT_EQ(exchange->standard, 0);
      for (const plan::Build build : exchange->builds) {
        for (const Algorithm& row : algorithms()) {
          if (row.build != build || row.engine != Engine::schedule || !serves(row, c)) continue;
          for (const ParameterRange& p : row.parameters) {
            const bool packs = p.name == "pack" || p.name == "monolithic";
            EXPECT_EQ(range(around, p.name) != around.parameters.end(), !packs) << name << " " << row.name;
          }
        }
      }
    }
  }
}

// The value of a parameter that names an algorithm brings that along, whoever makes it.
TEST(RegistryTest, AnExchangeIsBuiltByItsRow) {
  Choice choice;
  EXPECT_EQ(parse_choice(Collective::alltoall, "leaders:exchange=pairwise,leaders=2", choice), "");
  EXPECT_EQ(plan::build_of(choice.parameters, "exchange", nullptr), find(Collective::alltoall, "pairwise")->build);
  EXPECT_EQ(parse_choice(Collective::allgather, "hint-network", choice), "");
  EXPECT_EQ(choice.parameters, standard_parameters(*choice.algorithm));
  EXPECT_EQ(plan::build_of(choice.parameters, "exchange", nullptr), find(Collective::alltoall, "pairwise")->build);
  EXPECT_EQ(plan::build_of(choice.parameters, "order", nullptr), nullptr);
  EXPECT_THAT(parse_choice(Collective::alltoall, "leaders:exchange", choice),
              HasSubstr("write leaders:exchange=spread-out"));
}

std::string round_trip(Collective collective, std::string_view text) {
  Choice choice;
  const std::string error = parse_choice(collective, text, choice);
  if (!error.empty()) return "error: " + error;
  const std::string written = to_string(choice);
  Choice again;
  EXPECT_EQ(parse_choice(collective, written, again), "");
  EXPECT_EQ(again.algorithm, choice.algorithm);
  EXPECT_EQ(again.parameters, choice.parameters);
  return written;
}

TEST(ChoiceTest, ReadsAndWrites) {
  EXPECT_EQ(round_trip(Collective::alltoall, "pairwise"), "pairwise");
  EXPECT_EQ(round_trip(Collective::alltoall, "basic-bruck"), "basic-bruck:radix=2");
  EXPECT_EQ(round_trip(Collective::alltoall, " basic-bruck : radix = 16 "), "basic-bruck:radix=16");
  EXPECT_EQ(round_trip(Collective::allgather, "bruck:radix=1048576"), "bruck:radix=1048576");
  EXPECT_EQ(round_trip(Collective::alltoallw, "mpi"), "mpi");
  for (int i = 0; i < dense_collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    EXPECT_EQ(round_trip(c, "hint-hilbert"), "hint-hilbert:rows=auto");
    EXPECT_EQ(round_trip(c, "hint-hilbert:rows=recv"), "hint-hilbert:rows=recv");
    EXPECT_EQ(round_trip(c, "hint-hilbert-square:rows=send"), "hint-hilbert-square:rest=row,rows=send");
    EXPECT_THAT(round_trip(c, "hint-network:order=hilbert-recv"), HasSubstr("order=hilbert-recv"));
  }
  for (const Collective c : {Collective::neighbor_allgather, Collective::neighbor_allgatherv}) {
    EXPECT_EQ(round_trip(c, "torus:share=0"), "torus:ports=1,pack=16384,share=0");
  }
  EXPECT_EQ(to_string(Choice{}), "");
}

TEST(ChoiceTest, UnknownNamesGetTheKnownOnes) {
  Choice choice;
  EXPECT_THAT(parse_choice(Collective::alltoall, "pairwize", choice),
              AllOf(HasSubstr("unknown algorithm \"pairwize\" for alltoall"), HasSubstr("did you mean \"pairwise\"?"),
                    HasSubstr("known: spread-out, ")));
  EXPECT_THAT(parse_choice(Collective::allgather, "xyzzyxyzzy", choice),
              AllOf(HasSubstr("for allgather; known:"), HasSubstr("recursive-doubling")));
  EXPECT_THAT(parse_choice(Collective::alltoall, "basic-bruck:radiks=3", choice),
              HasSubstr("unknown parameter \"radiks\" of basic-bruck; did you mean \"radix\"?"));
  // Only where blocks are equal can one that stays behind save another.
  EXPECT_THAT(parse_choice(Collective::neighbor_alltoall, "torus:share=0", choice), HasSubstr("unknown parameter"));
  EXPECT_THAT(parse_choice(Collective::alltoall, "pairwise:radix=3", choice), HasSubstr("pairwise has no parameters"));
  EXPECT_EQ(choice.algorithm, nullptr);
}

TEST(ChoiceTest, BadValuesGetTheRange) {
  Choice choice;
  EXPECT_THAT(parse_choice(Collective::neighbor_allgather, "torus:share=2", choice),
              HasSubstr("share must be a number from 0 to 1, not \"2\""));
  for (const char* value : {"1", "0", "-2", "1048577", "99999999999999999999", "2x", "", "two"}) {
    EXPECT_THAT(parse_choice(Collective::alltoall, std::string("basic-bruck:radix=") + value, choice),
                HasSubstr("radix must be a number from 2 to 1048576, not \"" + std::string(value)));
  }
  EXPECT_THAT(parse_choice(Collective::alltoall, "basic-bruck:radix", choice),
              HasSubstr("has no value; write basic-bruck:radix=2"));
  EXPECT_THAT(parse_choice(Collective::alltoall, "basic-bruck:radix=2,radix=3", choice), HasSubstr("given twice"));
  EXPECT_THAT(parse_choice(Collective::alltoall, "basic-bruck:", choice), HasSubstr("unknown parameter \"\""));
  EXPECT_EQ(choice.algorithm, nullptr);
}

// The choice holds the inner algorithm, and what is printed of it is read again.
TEST(ChoiceTest, CopyToCpuTakesAnyAlgorithmOfTheHost) {
  const auto read = [](Collective collective, const char* text) {
    Choice choice;
    const std::string error = parse_choice(collective, text, choice);
    if (!error.empty()) return error;
    Choice again;
    EXPECT_EQ(parse_choice(collective, to_string(choice), again), "") << to_string(choice);
    EXPECT_EQ(to_string(again), to_string(choice));
    EXPECT_EQ(again.buffers, choice.buffers);
    return to_string(choice);
  };
  EXPECT_EQ(read(Collective::alltoall, "copy-to-cpu"), "copy-to-cpu:buffers=kept,inner=mpi");
  EXPECT_EQ(read(Collective::neighbor_allgather, "copy-to-cpu:inner=torus,share=0,buffers=pageable"),
            "copy-to-cpu:buffers=pageable,inner=torus,ports=1,pack=16384,share=0");
  for (const char* text : {"copy-to-cpu:inner=waitany-stride,stride=3", "copy-to-cpu:inner=waitany-stride:stride=3",
                           "copy-to-cpu: stride=3 , inner = waitany-stride , buffers = kept"}) {
    EXPECT_EQ(read(Collective::alltoallv, text), "copy-to-cpu:buffers=kept,inner=waitany-stride,stride=3") << text;
  }
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:buffers=warm"), HasSubstr("known: kept, fresh, pageable"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:buffers=kept,buffers=fresh"), HasSubstr("given twice"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner=pairwise,inner=mpi"), HasSubstr("given twice"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner="), HasSubstr("has no value"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:stride=3"),
              HasSubstr("unknown parameter \"stride\" of copy-to-cpu"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner=ring"),
              HasSubstr("unknown algorithm \"ring\" for alltoall"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner=cuda-aware-mpi"), HasSubstr("one of the host"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner=copy-to-cpu"), HasSubstr("one of the host"));
  EXPECT_THAT(read(Collective::exchange, "copy-to-cpu"), HasSubstr("unknown algorithm"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:buffers"), HasSubstr("write copy-to-cpu:buffers=kept"));
}

TEST(RegistryTest, ReadsWhatExchangesTheRoundsOfAPipeline) {
  const auto read = [](Collective collective, const char* text) {
    Choice choice;
    const std::string error = parse_choice(collective, text, choice);
    if (!error.empty()) return error;
    EXPECT_EQ(choice.algorithm->name, "pipelined-copy-to-cpu");
    EXPECT_EQ(choice.parameters.size(), choice.algorithm->parameters.size());
    EXPECT_EQ(choice.inner == nullptr, is_of_the_mpi(*inner_of(collective, choice).algorithm));
    Choice again;
    EXPECT_EQ(parse_choice(collective, to_string(choice), again), "") << to_string(choice);
    EXPECT_EQ(to_string(again), to_string(choice));
    return to_string(choice);
  };
  for (const char* text :
       {"pipelined-copy-to-cpu", "pipelined-copy-to-cpu:inner=mpi", "pipelined-copy-to-cpu:depth=4"}) {
    EXPECT_EQ(read(Collective::alltoall, text), "pipelined-copy-to-cpu:chunk=0,depth=4,leader=0,inner=mpi") << text;
  }
  EXPECT_EQ(read(Collective::allgatherv, "pipelined-copy-to-cpu:inner=ring,chunk=5000"),
            "pipelined-copy-to-cpu:chunk=5000,depth=4,leader=0,inner=ring");
  for (const char* text : {"pipelined-copy-to-cpu:depth=2,inner=waitany-stride,stride=3",
                           "pipelined-copy-to-cpu:inner=waitany-stride:stride=3,depth=2"}) {
    EXPECT_EQ(read(Collective::alltoallv, text),
              "pipelined-copy-to-cpu:chunk=0,depth=2,leader=0,inner=waitany-stride,stride=3");
  }
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:chunk=1"),
              HasSubstr("chunk must be 0 or a number from 4096"));
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:depth"), HasSubstr("depth has no value"));
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:depth=2,depth=3"), HasSubstr("given twice"));
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:stride=3"), HasSubstr("unknown parameter \"stride\""));
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:inner=pipelined-copy-to-cpu"),
              HasSubstr("one of the host"));
  EXPECT_THAT(read(Collective::alltoall, "pipelined-copy-to-cpu:inner=ipc-pull"), HasSubstr("one of the host"));
  EXPECT_THAT(read(Collective::alltoall, "copy-to-cpu:inner=pipelined-copy-to-cpu"), HasSubstr("one of the host"));
}

TEST(RegistryTest, SaysWhatGoesStraightFromADevice) {
  for (const char* name :
       {"pairwise", "nonblocking", "spread-out", "waitall-stride", "waitany-stride", "testany-stride"}) {
    EXPECT_TRUE(find(Collective::alltoallv, name)->from_device) << name;
  }
  EXPECT_TRUE(find(Collective::neighbor_alltoallw, "direct")->from_device);
  for (const Algorithm& one : algorithms()) {
    const bool straight = one.from_device;
    EXPECT_FALSE(straight && one.needs.contiguous) << one.name << " passes blocks on";
  }
  EXPECT_TRUE(find(Collective::alltoall, "cuda-aware-mpi")->needs.device_mpi);
  EXPECT_FALSE(find(Collective::alltoall, "mpi")->needs.device_mpi);
}

// What is printed must stay one line, whatever the environment holds.
TEST(ChoiceTest, ErrorsAreOneShortLine) {
  Choice choice;
  const std::string error = parse_choice(Collective::alltoall, std::string(100000, 'a') + "\n", choice);
  // All known names are in it, but not the word.
  EXPECT_LT(error.size(), parse_choice(Collective::alltoall, "b", choice).size() + 100);
  EXPECT_EQ(parse_choice(Collective::alltoall, "a\nb", choice).find('\n'), std::string::npos);
}

TEST(ForcedTest, ReadsSeveral) {
  Forced forced;
  ASSERT_EQ(parse_forced("alltoall=pairwise; allgather=bruck:radix=4;", forced), "");
  const auto of = [&](Collective c) { return to_string(forced.by_collective[static_cast<std::size_t>(c)]); };
  EXPECT_EQ(of(Collective::alltoall), "pairwise");
  EXPECT_EQ(of(Collective::allgather), "bruck:radix=4");
  EXPECT_EQ(of(Collective::alltoallv), "");
}

TEST(ForcedTest, EmptyForcesNothing) {
  Forced forced;
  EXPECT_EQ(parse_forced("", forced), "");
  EXPECT_EQ(parse_forced(" ; ", forced), "");
  for (const Choice& choice : forced.by_collective) EXPECT_EQ(choice.algorithm, nullptr);
}

TEST(ForcedTest, ErrorsLeaveTheOldValue) {
  Forced forced;
  ASSERT_EQ(parse_forced("alltoall=mpi", forced), "");
  EXPECT_THAT(parse_forced("alltoal=pairwise", forced),
              AllOf(HasSubstr("unknown collective \"alltoal\"; did you mean \"alltoall\"?"), HasSubstr("allgatherv")));
  EXPECT_THAT(parse_forced("alltoall", forced), HasSubstr("alltoall has no algorithm"));
  EXPECT_THAT(parse_forced("alltoall=", forced), HasSubstr("unknown algorithm \"\""));
  EXPECT_THAT(parse_forced("alltoall=ring", forced), HasSubstr("unknown algorithm \"ring\""));
  EXPECT_THAT(parse_forced("alltoall=mpi;alltoall=pairwise", forced), HasSubstr("alltoall is given twice"));
  EXPECT_EQ(to_string(forced.by_collective[0]), "mpi");
}

}  // namespace
}  // namespace quadrille::choose
