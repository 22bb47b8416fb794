#include "choose/select.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tool/explain/assumed.hpp"

namespace quadrille::choose {
namespace {

GlobalKey key(Collective collective, std::size_t bytes) { return {collective, 4, 1, bytes, true, 4096, 4096}; }

std::string chosen(const GlobalKey& k, const std::string& forced = {}) {
  Choice choice;
  if (!forced.empty()) {
    EXPECT_EQ(parse_choice(k.collective, forced, choice), "");
  }
  return to_string(select(k, choice).choice);
}

TEST(Select, TakesInboxesForSmallBlocksOfOneNode) {
  for (const Collective c : {Collective::alltoall, Collective::allgather, Collective::allgatherv}) {
    EXPECT_EQ(chosen(key(c, 1)), "inbox");
    EXPECT_EQ(chosen(key(c, 4096)), "inbox");
    EXPECT_EQ(chosen(key(c, 4097)), "mpi");
    EXPECT_EQ(chosen(key(c, 0)), "mpi");
  }
}

TEST(Select, CopiesLargeBlocksOfOneNodeDirectly) {
  GlobalKey k = key(Collective::alltoall, 4097);
  k.direct = true;
  EXPECT_EQ(chosen(k), "single-copy");
  k.bytes = 4096;
  EXPECT_EQ(chosen(k), "inbox");
  EXPECT_EQ(chosen(k, "single-copy"), "single-copy");
  k.nodes = 2;
  EXPECT_EQ(chosen(k), "mpi") << "between nodes only if it is forced";
  EXPECT_EQ(chosen(k, "single-copy"), "single-copy");
  k.direct = false;
  EXPECT_EQ(chosen(k, "single-copy"), "mpi");
  // The ranks know different sizes: each pair decides by itself.
  for (const Collective c : {Collective::alltoallv, Collective::alltoallw}) {
    GlobalKey v = key(c, 0);
    EXPECT_EQ(chosen(v), "inbox");
    v.direct = true;
    EXPECT_EQ(chosen(v), "single-copy");
  }
}

TEST(Select, PrefersOneCopyWhereAWaitIsCheap) {
  GlobalKey k = key(Collective::alltoall, 2000);
  k.inbox_limit = 1024;
  EXPECT_EQ(chosen(k), "inbox") << "nothing else there";
  k.direct = true;
  EXPECT_EQ(chosen(k), "single-copy");
  EXPECT_EQ(chosen(k, "inbox"), "inbox");
  k.bytes = 5000;
  EXPECT_EQ(chosen(k, "inbox"), "mpi");
}

TEST(Select, LeavesSeveralNodesToTheMpi) {
  GlobalKey k = key(Collective::alltoall, 8);
  k.nodes = 2;
  EXPECT_EQ(chosen(k), "mpi");
  EXPECT_EQ(text::words_of(select(k, {}).why), "the ranks live on 2 nodes");
  k.nodes = 1, k.inbox = false;
  EXPECT_EQ(chosen(k), "mpi");
  EXPECT_EQ(select(k, {}).why.reason, Reason::no_inboxes);
}

std::string names(const std::vector<Choice>& choices) {
  std::string all;
  for (const Choice& choice : choices) all += to_string(choice) + " ";
  return all;
}

TEST(Select, TriesTheNodesPartOnSeveralNodes) {
  for (const Collective c :
       {Collective::alltoall, Collective::allgather, Collective::alltoallv, Collective::alltoallw}) {
    GlobalKey k = key(c, c == Collective::alltoall || c == Collective::allgather ? 8 : 0);
    k.nodes = 2, k.inbox = false, k.direct = true;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "not asked for";
    k.tries = true;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "not between nodes";
    k.tries_between = true, k.ranks = 8, k.ranks_on_node = 4;
    const Selection selection = select(k, {});
    EXPECT_EQ(to_string(selection.choice), "mpi");
    const bool leads = find(c, "leaders") != nullptr;
    ASSERT_EQ(selection.rivals.size(), leads ? 4U : 1U) << names(selection.rivals);
    EXPECT_EQ(to_string(selection.rivals[0]), "single-copy");
    for (std::size_t i = 1; i < selection.rivals.size(); ++i) {
      EXPECT_EQ(to_string(selection.rivals[i]).find(fmt::format("leaders:leaders={},", 1 << (i - 1))), 0U);
    }
    EXPECT_TRUE(select(k, plain(c, "spread-out")).rivals.empty()) << "forced";
    k.nodes = 2, k.direct = false;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "no memory is shared";
  }
}

// All that is registered, unless its entry or its engine says otherwise: no list of names is to be kept.
TEST(Select, CandidatesComeFromTheRegistry) {
  GlobalKey k = key(Collective::alltoall, 100);
  k.ranks = 16, k.nodes = 4, k.ranks_on_node = 4, k.inbox = false,
  k.direct = k.load_store = k.tries = k.tries_between = true;
  for (const auto& [ranks, nodes] : {std::pair(16, 4), std::pair(16, 16), std::pair(16, 1)}) {
    k.ranks = ranks, k.nodes = nodes, k.ranks_on_node = ranks / nodes;
    for (const Collective c : those(is_dense)) {
      k.collective = c;
      const std::vector<Choice> tried = tried_candidates(k),
                                measured = measured_candidates(c, ranks, nodes, ranks / nodes);
      for (const Choice& one : tried) {
        EXPECT_EQ(why_not(*one.algorithm, k), Reason::none);
        EXPECT_TRUE(serves(*one.algorithm, c) && one.algorithm->trial.is_tried);
        EXPECT_EQ(one.parameters.size(), one.algorithm->parameters.size());
        Choice read;
        EXPECT_EQ(parse_choice(c, to_string(one), read), "");
        EXPECT_EQ(read.parameters, one.parameters);
      }
      for (const Algorithm& algorithm : algorithms()) {
        const auto is_it = [&](const Choice& one) { return one.algorithm == &algorithm; };
        const Tried where = row_of(algorithm.engine).tried;
        const bool inside = where == Tried::on_one_node || where == Tried::everywhere;
        const bool worth = inside || (where != Tried::nowhere && nodes > 1);
        const bool other = nodes == 1 && is_another_on_one_node(algorithm, ranks);
        const bool of_the_host = !algorithm.needs.device_mpi;
        EXPECT_EQ(std::any_of(measured.begin(), measured.end(), is_it),
                  worth && !other && of_the_host && serves(algorithm, c))
            << algorithm.name;
      }
    }
  }
}

TEST(Select, CandidatesHaveTheValuesThatMakeADifference) {
  const auto with = [](const char* name, int ranks, int ranks_on_node) {
    std::string all;
    for (const Choice& one : variants(*find(Collective::alltoall, name), ranks, ranks_on_node)) {
      all += std::to_string(one.parameters.at(0).value) + " ";
    }
    return all;
  };
  EXPECT_EQ(with("zero-rotation-bruck", 2, 1), "2 ");
  EXPECT_EQ(with("zero-rotation-bruck", 8, 1), "2 4 ");
  EXPECT_EQ(with("zero-rotation-bruck", 9, 1), "2 4 8 ");
  EXPECT_EQ(with("leaders", 9, 1), "1 ");
  EXPECT_EQ(with("leaders", 9, 2), "1 2 ");
  EXPECT_EQ(with("leaders", 9, 3), "1 2 3 ");
  EXPECT_EQ(with("waitall-stride", 9, 3), "5 ");
}

// Pieces of blocks are for who has time, and for blocks that they cut.
TEST(Select, PiecesAreMeasuredWhereTheyMakeADifference) {
  const auto pieces = [](Collective collective, bool has_time, std::size_t bytes) {
    std::string all;
    for (const Choice& one : variants(*find(collective, "leaders"), 16, 1, has_time)) {
      if (makes_a_difference(one, bytes)) all += std::to_string(plan::value_of(one.parameters, "piece", 0)) + " ";
    }
    return all;
  };
  for (const Collective collective : {Collective::alltoall, Collective::allgather}) {
    EXPECT_EQ(pieces(collective, false, 100000), "65536 ");
    EXPECT_EQ(pieces(collective, true, 4096), "65536 ");
    EXPECT_EQ(pieces(collective, true, 4097), "65536 4096 ");
    EXPECT_EQ(pieces(collective, true, 100000), "65536 4096 16384 ");
    for (const Choice& one : measured_candidates(collective, 16, 16, 1)) {
      const bool has_no_piece = one.algorithm->name != "leaders" && !is_of_the_mpi(*one.algorithm);
      EXPECT_TRUE(!has_no_piece || makes_a_difference(one, 1)) << to_string(one);
    }
  }
  EXPECT_EQ(pieces(Collective::alltoallv, true, 100000), "16384 ");
}

TEST(Select, TriesFewerMessagesWithOneRankANode) {
  GlobalKey k = key(Collective::alltoall, 8);
  k.ranks = k.nodes = 16, k.inbox = false, k.tries_between = true;
  EXPECT_EQ(names(select(k, {}).rivals),
            "zero-rotation-bruck:radix=2 zero-rotation-bruck:radix=4 zero-rotation-bruck:radix=8 mn-co:pack=16384 ");
  k.bytes = 2000;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "large blocks go straight to their ranks";
  k.collective = Collective::alltoallv, k.bytes = 0;
  EXPECT_EQ(select(k, {}).rivals.size(), 4U);
  k.ranks = k.nodes = 4;
  EXPECT_EQ(select(k, {}).rivals.size(), 2U) << "with four ranks radix 4 and 8 are one";
  k.ranks = k.nodes = 16, k.collective = Collective::allgather, k.bytes = 8;
  EXPECT_EQ(names(select(k, {}).rivals), "mn-co bruck:radix=2 bruck:radix=4 bruck:radix=8 ");
  k.bytes = 2000;
  EXPECT_TRUE(select(k, {}).rivals.empty());
}

plan::NodeMap blocked(int ranks, int per_node) {
  plan::NodeMap map;
  plan::parse_node_map(fmt::format("blocked:{}", per_node), ranks, map);
  return map;
}

TEST(Select, TriesTheMpiToWhereAModelThinksOtherwise) {
  const Model model{{1e-6, 1e-9, 0}, {1e-3, 1e-9, 0}};
  GlobalKey k = key(Collective::alltoall, 8);
  Costs costs(k.collective, blocked(64, 32), {});
  k.ranks = 64, k.nodes = 2, k.inbox = false, k.direct = true, k.tries_between = true, k.model = &model,
  k.costs = &costs;
  const Selection selection = select(k, {});
  EXPECT_EQ(to_string(selection.choice), "mpi") << "which stays unless the calls show a gain";
  EXPECT_FALSE(is_of_the_mpi(*selection.rivals.at(0).algorithm)) << "what the model chose";
  EXPECT_NE(names(selection.rivals).find("single-copy "), std::string::npos);
  EXPECT_EQ(names(selection.rivals).find("mpi"), std::string::npos);
  Costs uneven(Collective::alltoallv, blocked(64, 32), {});
  k.collective = Collective::alltoallv, k.bytes = 0, k.costs = &uneven;
  EXPECT_TRUE(select(k, {}).by_load);
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "the model looks at each call";
}

// Any algorithm that can serve may be the model's choice, and what cannot serve is passed over.
TEST(Select, TheModelChoosesAmongAllThatCanServe) {
  const Model model = tools::aries_nodes();
  for (const Collective c : {Collective::alltoall, Collective::allgather, Collective::allgatherv}) {
    SCOPED_TRACE(name_of(c));
    Costs costs(c, blocked(128, 16), {});
    GlobalKey k = key(c, 64);
    k.ranks = 128, k.nodes = 8, k.ranks_on_node = 16, k.inbox = false, k.direct = true, k.model = &model,
    k.costs = &costs;
    EXPECT_EQ(chosen(k).find("leaders:"), 0U) << chosen(k);
    EXPECT_EQ(select(k, {}).why.reason, Reason::modelled) << text::words_of(select(k, {}).why);
    k.direct = false;
    EXPECT_EQ(chosen(k).find("leaders:"), std::string::npos) << "no memory is shared";
    k.bytes = 4 << 20;
    EXPECT_EQ(chosen(k), "mpi") << "nothing is a tenth faster";
  }
  Costs costs(Collective::alltoallw, blocked(128, 16), {});
  GlobalKey k = key(Collective::alltoallw, 0);
  k.ranks = 128, k.nodes = 8, k.ranks_on_node = 16, k.inbox = false, k.direct = true, k.model = &model,
  k.costs = &costs;
  EXPECT_TRUE(select(k, {}).by_load);
  EXPECT_EQ(fastest(k, {64, 64}).choice.algorithm->name, "leaders");
  k.direct = false;
  EXPECT_NE(fastest(k, {64, 64}).choice.algorithm->name, "leaders");
}

const std::string ways = "single-copy:way=rings single-copy:way=direct ";

TEST(Select, TriesTheOrdersOfBlocksOnANodeOfManyRanks) {
  GlobalKey k = key(Collective::alltoall, 100000);
  k.ranks = 8, k.direct = true, k.load_store = true, k.tries = true;
  const Selection selection = select(k, {});
  EXPECT_EQ(to_string(selection.choice), "single-copy");
  const std::string orders = "sh-naive sh-co sh-numa-co hint-row hint-column hint-hilbert:rows=auto mpi ";
  EXPECT_EQ(names(selection.rivals), ways + orders);
  k.ranks = 12;
  EXPECT_TRUE(
      names(select(k, {}).rivals).ends_with(" hint-hilbert:rows=auto hint-hilbert-square:rest=row,rows=auto mpi "))
      << "no power of two";
  k.ranks = 8, k.bytes = 8;
  EXPECT_EQ(to_string(select(k, {}).choice), "inbox");
  EXPECT_EQ(names(select(k, {}).rivals), orders);
  k.collective = Collective::allgatherv;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "small blocks of several sizes";
  k.collective = Collective::alltoall, k.bytes = 100000, k.ranks = 4;
  EXPECT_EQ(names(select(k, {}).rivals), ways + "mpi ") << "few ranks";
  k.ranks = 8, k.load_store = false;
  EXPECT_EQ(names(select(k, {}).rivals), ways + "mpi ");
}

TEST(Select, TriesTheWaysOfLargeBlocksBesideTheMpi) {
  GlobalKey k = key(Collective::alltoall, 100000);
  k.ranks = 2, k.direct = true;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "not asked for";
  k.tries = true;
  for (const Collective c : {Collective::alltoall, Collective::allgather}) {
    k.collective = c;
    EXPECT_EQ(to_string(select(k, {}).choice), "single-copy");
    EXPECT_EQ(way_of(select(k, {}).choice), Way::measured);
    EXPECT_EQ(names(select(k, {}).rivals), ways + "mpi ");
    EXPECT_EQ(way_of(select(k, {}).rivals[0]), Way::rings);
    EXPECT_EQ(way_of(select(k, {}).rivals[1]), Way::direct);
  }
  k.bytes = 8;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "in a slot";
  k.bytes = k.slot_limit;
  k.inbox_limit = k.slot_limit / 2;
  EXPECT_EQ(to_string(select(k, {}).choice), "single-copy");
  EXPECT_EQ(names(select(k, {}).rivals), "inbox single-copy:way=direct mpi ") << "it would fit a slot, too";
  k.bytes = std::size_t{1} << 20;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "they do not stay in a cache";
  k.collective = Collective::alltoallv, k.bytes = 0;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "no rank knows the sizes";
}

TEST(Select, TriesTheSameOrdersForBlocksOfDifferentSizes) {
  GlobalKey regular = key(Collective::alltoall, 100000);
  regular.ranks = 8, regular.direct = true, regular.load_store = true, regular.tries = true;
  for (const Collective c : {Collective::alltoallv, Collective::alltoallw}) {
    GlobalKey k = regular;
    k.collective = c, k.bytes = 0;
    EXPECT_EQ(to_string(select(k, {}).choice), "single-copy");
    EXPECT_EQ(ways + names(select(k, {}).rivals), names(select(regular, {}).rivals));
    EXPECT_TRUE(select(k, plain(c, "sh-co")).rivals.empty()) << "forced";
    k.ranks = 4;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "few ranks";
    k.ranks = 8, k.load_store = false;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "some rank cannot reach all memory";
    k.load_store = true, k.direct = false;
    EXPECT_TRUE(select(k, {}).rivals.empty());
    k.direct = true, k.tries = false;
    EXPECT_TRUE(select(k, {}).rivals.empty()) << "ranks share processors";
  }
  regular.collective = Collective::exchange, regular.bytes = 0;
  EXPECT_TRUE(select(regular, {}).rivals.empty()) << "the sparse exchange has no orders";
}

TEST(Select, ObeysWhatIsForcedWhereItCanServe) {
  EXPECT_EQ(chosen(key(Collective::alltoall, 8), "basic-bruck:radix=3"), "basic-bruck:radix=3");
  EXPECT_EQ(chosen(key(Collective::alltoall, 8), "mpi"), "mpi");
  EXPECT_EQ(chosen(key(Collective::alltoall, 8), "inbox"), "inbox");
  EXPECT_EQ(chosen(key(Collective::alltoall, 5000), "inbox"), "mpi");
  GlobalKey k = key(Collective::alltoall, 8);
  k.nodes = 3;
  EXPECT_EQ(chosen(k, "inbox"), "mpi");
}

// What was measured comes before the default way and the model, what is forced before that.
TEST(Select, ObeysWhatWasMeasured) {
  SizedChoices measured(4);
  measured[0] = {100, {}};
  measured[1] = {5000, plain(Collective::alltoall, "hint-hilbert")};
  measured[2] = {6000, plain(Collective::alltoall, "mpi")};
  measured[3] = {7000, plain(Collective::alltoall, "inbox")};
  GlobalKey k = key(Collective::alltoall, 100);
  k.direct = k.load_store = true;
  k.measured = &measured;
  const auto at = [&](std::size_t bytes, const std::string& forced = {}) {
    k.bytes = bytes;
    return chosen(k, forced);
  };
  const auto why = [&] { return select(k, {}).why; };
  EXPECT_EQ(at(100), "inbox");
  EXPECT_EQ(why().then.at(0).reason, Reason::nothing_measured_faster);
  EXPECT_EQ(at(101), "hint-hilbert:rows=auto");
  EXPECT_EQ(why().reason, Reason::measured);
  EXPECT_EQ(at(5000), "hint-hilbert:rows=auto");
  EXPECT_EQ(at(5001), "mpi");
  EXPECT_EQ(at(7001), "single-copy") << "above all that was measured";
  EXPECT_EQ(why().reason, Reason::large_in_a_node);
  EXPECT_TRUE(why().then.empty());
  EXPECT_EQ(at(101, "single-copy"), "single-copy");
  // What cannot serve the call leaves it to the default way.
  EXPECT_EQ(at(6001), "single-copy") << "no slot is as large";
  EXPECT_EQ(text::words_of(why().then.at(0)),
            "the measured inbox cannot serve it: a block of 6001 bytes is larger than 4096");
  k.load_store = false;
  EXPECT_EQ(at(101), "inbox");
  EXPECT_EQ(why().then.at(0).reason, Reason::measured_cannot);
  EXPECT_EQ(why().then.at(0).name, "hint-hilbert");
  EXPECT_EQ(why().then.at(0).then.at(0).reason, Reason::no_load_store);
}

// A trial would run again what the table has the result of.
TEST(Select, TriesNothingWhereATableSaysThatNothingIsFaster) {
  SizedChoices measured = {{1 << 20, {}}};
  GlobalKey k = key(Collective::alltoall, 8);
  k.nodes = 2, k.ranks = 8, k.ranks_on_node = 4, k.inbox = false;
  k.direct = k.tries = k.tries_between = true;
  ASSERT_FALSE(select(k, {}).rivals.empty()) << "without a table others are tried";
  k.measured = &measured;
  EXPECT_TRUE(select(k, {}).rivals.empty());
  k.bytes = (1 << 20) + 1;
  EXPECT_FALSE(select(k, {}).rivals.empty()) << "above all that was measured";
}

TEST(Select, ObeysWhatWasMeasuredBetweenNodesBeforeTheModel) {
  const Model model{{1e-6, 1e-9, 0}, {1, 1, 0}};  // ours is as good as nothing beside the MPI's
  GlobalKey k = key(Collective::alltoall, 8);
  Costs costs(k.collective, blocked(k.ranks, (k.ranks + 3) / 4), {});
  k.nodes = 4, k.model = &model, k.costs = &costs;
  const std::string modelled = chosen(k);
  EXPECT_NE(modelled, "mpi");
  SizedChoices measured = {{10, plain(Collective::alltoall, "mpi")}, {20, {}}};
  measured.push_back({30, plain(Collective::alltoall, "pairwise")});
  k.measured = &measured;
  EXPECT_EQ(chosen(k), "mpi");
  k.bytes = 20;
  EXPECT_EQ(chosen(k), modelled);
  k.bytes = 30;
  EXPECT_EQ(chosen(k), "pairwise");
  k.bytes = 31;
  EXPECT_EQ(chosen(k), modelled);
}

TEST(Select, LeavesForcedNodeCopiesToTheMpi) {
  for (const Collective c : {Collective::alltoall, Collective::alltoallw, Collective::allgatherv}) {
    EXPECT_EQ(chosen(key(c, 8), "sh-co"), "mpi");
    EXPECT_EQ(chosen(key(c, 8), "hint-hilbert"), "mpi");
  }
}

TEST(Select, RunsForcedNodeCopiesOnSeveralNodes) {
  for (const Collective c : {Collective::alltoall, Collective::alltoallw, Collective::allgatherv}) {
    GlobalKey k = key(c, 8);
    k.nodes = 2, k.inbox = false, k.direct = k.load_store = true;
    EXPECT_EQ(chosen(k, "sh-co"), "sh-co");
    k.load_store = false;
    EXPECT_EQ(chosen(k, "sh-co"), "mpi");
    k.load_store = true, k.direct = false;
    EXPECT_EQ(chosen(k, "sh-co"), "mpi");
  }
}

TEST(Select, ChoosesTheSparseExchangeByTheRanks) {
  GlobalKey k = key(Collective::exchange, 0);
  EXPECT_EQ(chosen(k), "bruck:radix=2");
  EXPECT_EQ(chosen(k, "consensus"), "consensus");
  k.ranks = 1000, k.nodes = 10, k.inbox = false;
  EXPECT_EQ(chosen(k), "consensus");
  EXPECT_EQ(chosen(k, "bruck:radix=5"), "bruck:radix=5");
}

// Then nobody counts the costs.
TEST(Select, ObeysAForcedAlgorithmThatCanServe) {
  const CombiningCosts costs = {8, {{find(Collective::neighbor_alltoall, "torus-direct"), 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 8, &costs};
  const auto obeyed = [&](const char* forced) { return is_obeyed(k, plain(k.collective, forced)); };
  EXPECT_FALSE(is_obeyed(k, {}));
  EXPECT_TRUE(obeyed("torus"));
  EXPECT_TRUE(obeyed("direct"));
  EXPECT_FALSE(obeyed("rings"));
  const auto chosen = [&] {
    return std::string(select_neighbors(k, plain(k.collective, "torus")).choice.algorithm->name);
  };
  EXPECT_EQ(chosen(), "torus");
  k.costs = nullptr;
  EXPECT_EQ(chosen(), "torus");
  k.sizes_known = false;
  EXPECT_FALSE(obeyed("torus"));
  EXPECT_EQ(chosen(), "mpi");
}

// 8 neighbours in 4 messages and 12 blocks: the cut-off is alpha / beta, 1024 bytes.
TEST(Select, CombinesBlocksOfNeighboursBelowTheCutOff) {
  const Algorithm* torus = find(Collective::neighbor_alltoall, "torus");
  const CombiningCosts costs = {8, {{torus, 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 1023, &costs};
  const auto name = [&](const char* forced = nullptr) {
    return select_neighbors(k, forced != nullptr ? plain(k.collective, forced) : Choice()).choice.algorithm->name;
  };
  EXPECT_EQ(name(), "torus");
  EXPECT_EQ(name("direct"), "direct");
  k.bytes = 1024;
  EXPECT_EQ(name(), "mpi");
  EXPECT_EQ(name("torus"), "torus");
  k.bytes = 8, k.rounds_are_cheap = false;
  EXPECT_EQ(name(), "mpi");
  k.by_ourselves = true;
  EXPECT_EQ(name(), "direct");
  k.sizes_known = false;
  EXPECT_EQ(name("torus"), "direct");
  EXPECT_EQ(name("straightforward"), "straightforward");
  k.isomorphic = false;
  EXPECT_EQ(name("straightforward"), "direct");
  EXPECT_EQ(name("rings"), "direct");
  k.in_node = true;
  EXPECT_EQ(name(), "rings");
  EXPECT_EQ(name("rings"), "rings");
  EXPECT_EQ(name("direct"), "direct");
  EXPECT_EQ(name("sh-co"), "rings");
  k.load_store = true;
  EXPECT_EQ(name("sh-co"), "sh-co");
  EXPECT_EQ(name(), "rings");
}

// Alpha / beta of the model takes the place of the 1024 bytes; waiting counts against each round but the first.
TEST(Select, CombinesBlocksOfNeighboursBelowTheCutOffOfTheModel) {
  const CombiningCosts costs = {8, {{find(Collective::neighbor_alltoall, "torus"), 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 0, &costs};
  const auto combines = [&](std::size_t bytes) {
    k.bytes = bytes;
    return select_neighbors(k, {}).choice.algorithm->name == "torus";
  };
  k.machine = {20e-6, 1e-9, 0};
  EXPECT_TRUE(combines(19999)) << "above what is combined without a model";
  EXPECT_FALSE(combines(20000));
  EXPECT_EQ(select_neighbors((k.bytes = 8, k), {}).why.then.at(0).reason, Reason::combining_modelled);
  k.rounds_are_cheap = false;
  EXPECT_TRUE(combines(19999)) << "the model knows what waiting costs";
  k.machine = {20e-9, 1e-9, 0};
  EXPECT_TRUE(combines(19));
  EXPECT_FALSE(combines(20));
  k.machine.rho = 27e-9;
  EXPECT_FALSE(combines(1));
  k.machine.rho = 20e-9;
  EXPECT_TRUE(combines(4));
  EXPECT_FALSE(combines(5));
  k.machine = {1e-6, 0, 0};
  EXPECT_TRUE(combines(8191)) << "bytes are said to cost nothing";
  EXPECT_FALSE(combines(8192));
  k.machine = {0, 0, 0, 0, 1e-6};
  EXPECT_FALSE(combines(1)) << "messages are";
}

// What was measured comes before the model and before what is known without one, both ways; what is forced before that.
TEST(Select, CombinesBlocksOfNeighboursAsMeasured) {
  const Algorithm *torus = find(Collective::neighbor_alltoall, "torus"),
                  *straight = find(Collective::neighbor_alltoall, "straightforward");
  const CombiningCosts costs = {8, {{straight, 8, 8}, {torus, 4, 12}}};
  NeighborKey k{Collective::neighbor_alltoallv, false, true, false, false, true, true, 0, &costs};
  const auto name = [&](std::size_t bytes, const Choice& forced = {}) {
    k.bytes = bytes;
    return select_neighbors(k, forced).choice.algorithm->name;
  };
  std::vector<NeighborEntry> measured = {{Collective::neighbor_alltoall, 4, 1, false, {8, 4, 12}, 100000}};
  k.measured = measured;
  for (const double alpha : {0.0, 1e-9}) {  // without a model, and with one that is against combining
    k.machine = {alpha, alpha, 0};
    EXPECT_EQ(name(100000), "torus");
    EXPECT_EQ(name(100001), "mpi");
  }
  EXPECT_EQ(name(100001, plain(k.collective, "torus")), "torus");
  EXPECT_EQ(name(8, plain(k.collective, "direct")), "direct");
  EXPECT_EQ(select_neighbors((k.bytes = 8, k), {}).why.then.at(0).reason, Reason::combining_measured);
  k.rounds_are_cheap = false;
  EXPECT_EQ(name(100000), "torus") << "measured where ranks share processors";
  k.rounds_are_cheap = true;
  measured[0].largest_combined = 0;
  for (const double alpha : {0.0, 1.0}) {
    k.machine = {alpha, 1e-9, 0};
    EXPECT_EQ(name(1), "mpi");
  }
  k.machine = {};
  measured[0].collective = Collective::neighbor_allgather;
  EXPECT_EQ(name(8), "torus") << "of another collective";
}

TEST(Select, TheNearestKindOfNeighbourhoodCounts) {
  const Collective c = Collective::neighbor_alltoall;
  const std::vector<NeighborEntry> measured = {{c, 4, 1, false, {26, 6, 54}, 1},
                                               {c, 4, 1, false, {8, 4, 12}, 2},
                                               {Collective::neighbor_allgather, 4, 1, false, {8, 4, 8}, 3}};
  const auto largest = [&](Collective of, const NeighborhoodKind& kind) {
    const NeighborEntry* found = nearest_kind(std::span<const NeighborEntry>(measured), of, kind);
    return found == nullptr ? std::size_t{0} : found->largest_combined;
  };
  EXPECT_EQ(largest(c, {26, 6, 54}), 1U);
  EXPECT_EQ(largest(c, {20, 6, 40}), 1U);
  EXPECT_EQ(largest(c, {10, 4, 14}), 2U);
  EXPECT_EQ(largest(Collective::neighbor_alltoallw, {10, 4, 14}), 2U);
  EXPECT_EQ(largest(Collective::neighbor_allgatherv, {8, 4, 8}), 3U);
  EXPECT_EQ(largest(c, {60, 6, 54}), 0U) << "more than twice as many";
  EXPECT_EQ(largest(c, {8, 1, 12}), 0U);
  NeighborhoodKind kind;
  EXPECT_FALSE(kind_of({4, {{nullptr, 4, 4}, {nullptr, 5, 4}}}, kind));
  EXPECT_TRUE(kind_of({8, {{nullptr, 8, 8}, {nullptr, 4, 14}, {nullptr, 4, 12}, {nullptr, 5, 8}}}, kind));
  EXPECT_EQ(kind, (NeighborhoodKind{8, 4, 12}));
  EXPECT_TRUE(kind_of({4, {{nullptr, 4, 4}, {nullptr, 5, 4}}}, kind, 0)) << "nothing to combine";
  EXPECT_EQ(kind, (NeighborhoodKind{4, 4, 4}));
  EXPECT_FALSE(kind_of({0, {{nullptr, 0, 0}}}, kind, 0)) << "nobody to send to";
}

// Of a near kind of neighbourhood, where all ranks know the sizes and reach each other; what is forced comes first.
TEST(Select, CopiesInsideANodeInTheMeasuredOrder) {
  const Collective c = Collective::neighbor_alltoall;
  const CombiningCosts costs = {4, {{find(c, "torus"), 4, 4}}};  // nothing to combine
  const std::vector<InsideEntry> inside = {{c, 4, false, {4, 4, 4}, {{100, {}}, {1000, plain(c, "sh-co")}}}};
  NeighborKey k{c, false, false, true, true, true, true, 0, &costs};
  k.inside = inside;
  const auto name = [](const NeighborKey& key, const char* forced = nullptr) {
    return select_neighbors(key, forced != nullptr ? plain(key.collective, forced) : Choice()).choice.algorithm->name;
  };
  const auto with = [&](std::size_t bytes, auto change) {
    NeighborKey changed = k;
    changed.bytes = bytes;
    change(changed);
    return name(changed);
  };
  const auto as_it_is = [](NeighborKey&) {};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1001}}) {
    EXPECT_EQ(with(bytes, as_it_is), "rings") << bytes;
  }
  EXPECT_EQ(with(101, as_it_is), "sh-co");
  EXPECT_EQ(with(1000, as_it_is), "sh-co");
  for (const Collective form : {Collective::neighbor_alltoallv, Collective::neighbor_alltoallw}) {
    EXPECT_EQ(with(1000, [&](NeighborKey& key) { key.collective = form; }), "sh-co");
  }
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.collective = Collective::neighbor_allgather; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.load_store = false; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.sizes_known = false; }), "rings");
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.costs = nullptr; }), "rings") << "a graph that is no grid";
  EXPECT_EQ(with(1000, [](NeighborKey& key) { key.in_node = false; }), "mpi");
  const CombiningCosts others = {9, {{find(c, "torus"), 4, 4}}};
  EXPECT_EQ(with(1000, [&](NeighborKey& key) { key.costs = &others; }), "rings") << "another kind";
  k.bytes = 1000;
  for (const char* forced : {"rings", "direct", "sh-naive", "mpi"}) EXPECT_EQ(name(k, forced), forced);
  EXPECT_EQ(select_neighbors(k, {}).why.reason, Reason::measured_in_a_node);
}

// Rounds that wait for each other are no gain over hardly more messages at once.
TEST(Select, CombinesOnlyIfThatHalvesTheMessages) {
  const Algorithm* basis = find(Collective::neighbor_alltoall, "basis");
  const auto name = [&](std::int64_t neighbors, std::int64_t rounds) {
    const CombiningCosts costs = {neighbors, {{basis, rounds, neighbors + 2}}};
    const NeighborKey k{Collective::neighbor_alltoall, false, true, false, false, true, true, 8, &costs};
    return select_neighbors(k, Choice()).choice.algorithm->name;
  };
  EXPECT_EQ(name(4, 3), "mpi");
  EXPECT_EQ(name(6, 4), "mpi");
  EXPECT_EQ(name(6, 3), "basis");
}

TEST(Select, SaysWhy) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
    EXPECT_NE(select(key(Collective::alltoall, bytes), {}).why.reason, Reason::none);
  }
}

}  // namespace
}  // namespace quadrille::choose
