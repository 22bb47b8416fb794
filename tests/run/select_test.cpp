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
    EXPECT_EQ(names(select(k, {}).rivals), ways + "mpi ");
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
  k.collective = Collective::allgatherv, k.bytes = 100000;
  EXPECT_TRUE(select(k, {}).rivals.empty()) << "an MPI may choose its algorithm by what one rank alone knows";
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

TEST(Select, SaysWhy) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
    EXPECT_NE(select(key(Collective::alltoall, bytes), {}).why.reason, Reason::none);
  }
}

}  // namespace
}  // namespace quadrille::choose
