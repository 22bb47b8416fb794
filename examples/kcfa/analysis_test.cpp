// The code without MPI: the parser, the conversion, the generator, the tuples, the reference on small terms with
// results by hand, and the distributed analysis on simulated ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "facts.hpp"
#include "outbox.hpp"
#include "partition.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "syntax.hpp"

namespace kcfa {
namespace {

constexpr const char* kIdentity = "((lambda (x) x) #t)";
constexpr const char* kOmega = "((lambda (x) (x x)) (lambda (y) (y y)))";
constexpr const char* kTwoSites = "(let ((id (lambda (x) x))) (let ((a (id #t))) (id #f)))";

Program program_of(const std::string& source) { return to_cps(parse(source)); }

std::string trouble(const std::string& source) {
  try {
    program_of(source);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

int variable(const Program& program, const std::string& name) {
  const auto found = std::find(program.variables.begin(), program.variables.end(), name);
  return static_cast<int>(found - program.variables.begin());
}

// The entries of the store for a variable: a set of values for each contour.
std::vector<std::set<reference::Value>> values(const std::string& source, int k, const std::string& name) {
  const Program program = program_of(source);
  std::vector<std::set<reference::Value>> result;
  for (const auto& [place, there] : reference::analyse(program, k).store) {
    if (place.first == variable(program, name)) result.push_back(there);
  }
  return result;
}

Summary reference_summary(const Program& program, int k) {
  return reference::summarise(make_machine(program, k), reference::analyse(program, k));
}

// The distributed analysis, whose ranks take turns here.
Summary play(const Program& program, int k, int ranks) {
  const Machine machine = make_machine(program, k);
  std::vector<Partition> partitions;
  for (int rank = 0; rank < ranks; ++rank) partitions.emplace_back(machine, rank, ranks);
  partitions[0].begin();
  for (bool more = true; more;) {
    std::vector<std::vector<Word>> inbox(ranks);
    for (Partition& partition : partitions) {
      for (int to = 0; to < ranks; ++to) {
        const std::vector<Word>& box = partition.outbox().boxes()[to];
        inbox[to].insert(inbox[to].end(), box.begin(), box.end());
      }
      partition.outbox().clear();
    }
    more = false;
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::size_t at = 0; at < inbox[rank].size(); at += machine.width) {
        const Word* fact = &inbox[rank][at];
        EXPECT_TRUE(partitions[rank].accepts(fact));
        if (partitions[rank].add(fact, hash_of({fact, machine.width}))) more = true;
      }
    }
  }
  Summary all;
  for (const Partition& partition : partitions) {
    all.states += partition.summary().states;
    all.values += partition.summary().values;
    all.hash += partition.summary().hash;
  }
  return all;
}

// ---- The source language ----

TEST(KcfaParser, TakesAllForms) {
  const Expression let = parse("; a comment\n(let ((f (lambda (x y) x))) (f #t #f)) ; another");
  ASSERT_EQ(let.kind, Expression::Kind::let);
  EXPECT_EQ(let.names[0], "f");
  EXPECT_EQ(let.parts[0].kind, Expression::Kind::lambda);
  EXPECT_EQ(let.parts[0].names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(let.parts[1].kind, Expression::Kind::application);
  EXPECT_TRUE(let.parts[1].parts[1].truth);
  EXPECT_FALSE(let.parts[1].parts[2].truth);
}

TEST(KcfaParser, NamesTheTrouble) {
  EXPECT_EQ(trouble(""), "line 1: a name expected, but there is the end");
  EXPECT_EQ(trouble("(f"), "line 1: ')' expected, but there is the end");
  EXPECT_EQ(trouble("()"), "line 1: an application needs a function");
  EXPECT_EQ(trouble("\n(lambda x x)"), "line 2: '(' expected, but there is 'x'");
  EXPECT_EQ(trouble("#t #f"), "line 1: nothing may follow the program, but there is '#f'");
  EXPECT_EQ(trouble("(lambda (x"), "line 1: a name expected, but there is the end");
  EXPECT_EQ(trouble("(#t z)"), "'z' is not bound");
  EXPECT_EQ(trouble(std::string(100'000, '(')), "line 1: more than 2000 expressions");
}

TEST(KcfaParser, TakesTheDeepestProgram) {
  std::string source = "#t";
  for (int i = 0; i < (kMostExpressions - 1) / 2; ++i) source = "(let ((x #f)) " + source + ")";
  EXPECT_EQ(trouble(source), "none");
}

// ---- Continuation-passing style ----

TEST(KcfaCps, IdentityIsTwoCalls) {
  const Program program = program_of(kIdentity);
  ASSERT_EQ(program.calls.size(), 2u);
  ASSERT_EQ(program.lambdas.size(), 1u);
  EXPECT_EQ(program.lambdas[0].parameters.size(), 2u);  // x and the continuation
  EXPECT_TRUE(program.lambdas[0].free.empty());
  const Call& body = program.calls[program.lambdas[0].body];
  EXPECT_EQ(body.free.size(), 2u);
  EXPECT_EQ(body.function.id, program.lambdas[0].parameters[1]);
  const Call& start = program.calls[program.start];
  EXPECT_EQ(start.arguments[1].kind, Atom::Kind::constant);
  EXPECT_EQ(start.arguments[1].id, kHalt);
  EXPECT_TRUE(start.free.empty());
}

TEST(KcfaCps, AnInnerBindingHidesTheOuter) {
  const Program program = program_of("(lambda (x) (lambda (x) x))");
  ASSERT_EQ(program.lambdas.size(), 2u);
  EXPECT_TRUE(program.lambdas[0].free.empty());  // the inner one: its x is its own
}

TEST(KcfaCps, AnApplicationAsAnOperandGetsAName) {
  const Program program = program_of("(lambda (f) (f (f #t)))");
  // (f #t (lambda (value) (f value k))), and the lambda given to halt.
  EXPECT_EQ(program.calls.size(), 3u);
  EXPECT_EQ(program.lambdas[0].free.size(), 2u);  // f and k
}

// ---- The generator ----

TEST(KcfaWorstCase, IsTheTermOfThePaper) {
  EXPECT_EQ(worst_case(1),
            "((lambda (f1) (let ((_ (f1 #t))) (f1 #f))) (lambda (x1) "
            "((lambda (v) (v (lambda (y1) y1))) (lambda (w) (w x1)))))");
}

// v gets all closures of (lambda (w) ...): one for each way to bind the x.
TEST(KcfaWorstCase, HasExponentiallyManyClosuresIfKIsPositive) {
  for (int levels = 1; levels <= 7; ++levels) {
    const std::string source = worst_case(levels);
    for (const int k : {0, 1, 2}) {
      std::set<reference::Value> closures;
      for (const auto& there : values(source, k, "v")) closures.insert(there.begin(), there.end());
      EXPECT_GE(closures.size(), k == 0 ? 1u : 1u << levels) << levels << " " << k;
    }
    const auto merged = values(source, 0, "v");
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].size(), 1u);
    const auto apart = values(source, 1, "v");
    ASSERT_EQ(apart.size(), 1u);  // at one place
    EXPECT_EQ(apart[0].size(), 1u << levels);
  }
}

TEST(KcfaWorstCase, TheLargestFitsWithTheLargestK) {
  const Program program = program_of(worst_case(kMostTerms));
  EXPECT_NO_THROW(make_machine(program, kMostK));
}

// ---- Tuples ----

TEST(KcfaContour, IsTheLastKCallSites) {
  const Program program = program_of(kTwoSites);
  const Machine two = make_machine(program, 2);
  const Word three = push(two, 2, push(two, 1, push(two, 0, 0)));
  EXPECT_EQ(three, push(two, 2, push(two, 1, 0)));
  EXPECT_NE(three, push(two, 1, push(two, 2, 0)));
  EXPECT_NE(push(two, 0, 0), 0u);
  const Machine none = make_machine(program, 0);
  EXPECT_EQ(push(none, 2, 0), 0u);
}

TEST(KcfaContour, MustFitIntoAWord) {
  std::string source = "#t";
  for (int i = 0; i < 300; ++i) source = "(let ((x #f)) " + source + ")";
  const Program program = program_of(source);
  EXPECT_NO_THROW(make_machine(program, 7));  // 7 times 9 bits
  EXPECT_THROW(make_machine(program, 8), std::runtime_error);
}

TEST(KcfaTupleSet, KnowsWhatItHas) {
  TupleSet set(2);
  for (int round = 0; round < 2; ++round) {
    for (Word i = 0; i < 5000; ++i) {
      const Word tuple[] = {i % 50, i / 50};
      const auto [number, is_new] = set.insert(tuple, hash_of(tuple));
      ASSERT_EQ(number, i);
      ASSERT_EQ(is_new, round == 0);
    }
  }
  ASSERT_EQ(set.size(), 5000u);
  EXPECT_EQ(set[123][0], 23u);
  EXPECT_EQ(set[123][1], 2u);
}

TEST(KcfaOutbox, SendsAFactOnceInAnIteration) {
  Outbox outbox(2, 3);
  const Word one[] = {1, 2}, other[] = {2, 1};
  outbox.add(one, 2);
  outbox.add(other, 0);
  outbox.add(one, 2);
  EXPECT_EQ(outbox.boxes()[2], (std::vector<Word>{1, 2}));
  EXPECT_EQ(outbox.boxes()[0], (std::vector<Word>{2, 1}));
  EXPECT_EQ(outbox.hash_sum(), hash_of(one) + hash_of(other));
  outbox.clear();
  EXPECT_EQ(outbox.hash_sum(), 0u);
  outbox.add(one, 2);
  EXPECT_EQ(outbox.boxes()[2].size(), 2u);
}

TEST(KcfaPartition, RefusesWhatIsNoFactOrNotItsOwn) {
  const Program program = program_of(kIdentity);
  const Machine machine = make_machine(program, 1);
  std::vector<Word> fact(machine.width);
  fact[0] = head(Kind::value, 0);
  const int owner = owner_of(machine, fact.data(), 4);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(Partition(machine, rank, 4).accepts(fact.data()), rank == owner);
  }
  Partition alone(machine, 0, 1);
  EXPECT_TRUE(alone.accepts(fact.data()));
  for (const Word wrong :
       {head(Kind::value, 2), head(Kind::state, 2), head(Kind::flow, 2), head(static_cast<Kind>(3), 0), ~Word{0}}) {
    fact[0] = wrong;
    EXPECT_FALSE(alone.accepts(fact.data())) << wrong;
  }
}

// ---- The reference, by hand ----

// The start, and the body with x = #t and k = halt.
TEST(KcfaReference, IdentityApplied) {
  for (const int k : {0, 1, 2}) {
    const Summary summary = reference_summary(program_of(kIdentity), k);
    EXPECT_EQ(summary.states, 2u);
    EXPECT_EQ(summary.values, 2u);
    const auto x = values(kIdentity, k, "x");
    ASSERT_EQ(x.size(), 1u);
    EXPECT_EQ(x[0], (std::set<reference::Value>{{Atom::Kind::constant, kTrue, {}}}));
  }
}

// The program does not end; its analysis does. (y y) is called from (x x) and from itself: for k = 0
// that is one state; for k = 1 two; each has a y and a continuation.
TEST(KcfaReference, OmegaEnds) {
  const Program program = program_of(kOmega);
  EXPECT_EQ(reference_summary(program, 0).states, 3u);
  EXPECT_EQ(reference_summary(program, 0).values, 4u);
  EXPECT_EQ(reference_summary(program, 1).states, 4u);
  EXPECT_EQ(reference_summary(program, 1).values, 6u);
}

TEST(KcfaReference, TwoSitesMergeWithoutContextAndStayApartWithIt) {
  const reference::Value yes{Atom::Kind::constant, kTrue, {}}, no{Atom::Kind::constant, kFalse, {}};
  const auto merged = values(kTwoSites, 0, "x");
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0], (std::set{yes, no}));
  EXPECT_EQ(values(kTwoSites, 0, "a")[0], (std::set{yes, no}));
  const auto apart = values(kTwoSites, 1, "x");
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_NE(apart[0], apart[1]);
  EXPECT_EQ(apart[0].size() + apart[1].size(), 2u);
  EXPECT_EQ(values(kTwoSites, 1, "a")[0], (std::set{yes}));
}

// A wrong number of arguments, or a constant as a function, ends that path and nothing else.
TEST(KcfaReference, MistakesOfTheProgramEndTheirPath) {
  EXPECT_EQ(reference_summary(program_of("((lambda (x) x) #t #f)"), 1).states, 1u);
  EXPECT_EQ(reference_summary(program_of("(#t #f)"), 1).states, 1u);
}

// ---- The distributed analysis ----

TEST(KcfaDistributed, FindsWhatTheReferenceFinds) {
  std::vector<std::string> sources = {kIdentity, kOmega, kTwoSites, "(#t #f)", "((lambda (x) x) #t #f)"};
  for (int levels = 1; levels <= 6; ++levels) sources.push_back(worst_case(levels));
  for (const std::string& source : sources) {
    const Program program = program_of(source);
    for (const int k : {0, 1, 2, 3, 8}) {
      const Summary expected = reference_summary(program, k);
      for (const int ranks : {1, 2, 3, 4, 7}) {
        const Summary found = play(program, k, ranks);
        EXPECT_EQ(found.states, expected.states) << source << " k = " << k << " ranks " << ranks;
        EXPECT_EQ(found.values, expected.values) << source << " k = " << k << " ranks " << ranks;
        EXPECT_EQ(found.hash, expected.hash) << source << " k = " << k << " ranks " << ranks;
      }
    }
  }
}

TEST(KcfaSummary, OneDifferenceIsNoticed) {
  const Summary right{3, 4, 5, 6};
  EXPECT_TRUE(same_result(right, {3, 4, 0, 6}));  // flows are no result
  EXPECT_FALSE(same_result(right, {2, 4, 5, 6}));
  EXPECT_FALSE(same_result(right, {3, 3, 5, 6}));
  EXPECT_FALSE(same_result(right, {3, 4, 5, 7}));
}

}  // namespace
}  // namespace kcfa
