// What is between nodes of an all-to-all or an allgather, by way of other ranks: few rounds of messages with several
// blocks, after a step inside the nodes (hint_network.cpp).
//
// Idea    An algorithm among all ranks, without the blocks that the step inside the nodes brings. On its way a block
// may
//         pass ranks of any node, so nodes may be of any sizes, and their ranks anywhere.
//         All-to-all: Bruck of radix r. Block i goes i ranks down, in jumps of z w for each digit z of i at weight w.
//         The block i that rank q holds before the round of w began at q + (i mod w), and is for the rank i below that:
//         if these two share a node, there is no such block. Who sends and who receives find the same, so nothing is
//         told. A block that waits lies in scratch, since the recv blocks of the node are full; the first jump is from
//         send, the last one ends in recv. Of blocks of different sizes that is two-phase Bruck: the sizes of its
//         blocks go ahead of each message.
//         Allgather: ring, recursive doubling, Bruck, or mn-co. A block of the receiver's node is left out of the
//         messages: the receiver has it. So each rank has at any time what it would have among all ranks, and can pass
//         it on.
// Source  Ramesh et al., HINT, section V.F: algorithm 5 "or any other inter-node algorithm". The algorithms among all
//         ranks: Fan et al., HPDC 2022, sections 2.1 and 3.2; Thakur, Rabenseifner and Gropp, IJHPCA 2005; Li, Zhang
//         and Hoefler, section 2.5.
// Cost    At most the rounds and messages of the algorithm among all ranks: with Bruck ceil(log_r P) rounds, of at most
//         r - 1 messages; of different sizes as many again, with 4 bytes for each block. A block between nodes is sent
//         once for each digit of its i that is not zero, and copied twice each time. In an allgather each rank receives
//         P - p blocks, where p ranks share its node.
//
// Example, all-to-all, P = 4, r = 2, ranks 0 and 1 on one node, 2 and 3 on another, rank 1. "sd" is the block from rank
// s to rank d. Before this recv = 01 11 -- --
//   round w = 1   i = 1 is 10, and stays in the node; i = 3, send[2] = 12, goes to rank 0
//                 from rank 2 would come i = 1, 21, for recv[2], and i = 3, which is 23 and stays there
//   round w = 2   i = 2, send[3] = 13, goes to rank 3; i = 3 would be 23
//                 from rank 3 comes i = 2, 31, for recv[3]; i = 3 would be 01, which is there
#include "plan/algorithms.hpp"
#include "plan/between_nodes.hpp"
#include "plan/bruck_rounds.hpp"

namespace quadrille::plan {
namespace {

// A block in a message of a round: where it is before, and after.
struct Passed {
  Span at;
  int digit;
};

class Bruck {
 public:
  Bruck(const Problem& problem, Sizes sizes, Builder& builder)
      : problem_(problem),
        sizes_(sizes),
        ranks_(problem.ranks),
        me_(problem.me),
        radix_(bruck::radix_of(problem)),
        staging_(bruck::waiting_blocks(ranks_, radix_)),
        landing_(staging_ + bruck::totals(ranks_, radix_).most_blocks),
        builder_(builder) {}

  void build() {
    // As much on all ranks, whatever their nodes (run/bound_run.hpp).
    builder_.scratch(static_cast<std::uint32_t>(landing_ + (landing_ - staging_)));
    builder_.sizes(sizes_);
    for (std::int64_t weight = 1; weight < ranks_; weight *= radix_) add_round(weight);
  }

 private:
  // Is there a block `block` at `rank` before the round of this weight?
  bool is_there(int rank, int block, std::int64_t weight) const {
    const int from = cyclic(rank + static_cast<int>(block % weight), ranks_);
    return !problem_.nodes->share_a_node(from, cyclic(from - block, ranks_));
  }
  Span waiting(int block) const { return {me_, bruck::waiting_slot(radix_, block), Buffer::scratch}; }

  std::vector<Passed> sent(std::int64_t weight, int digits) const {
    std::vector<Passed> list;
    for (int digit = 1; digit <= digits; ++digit) {
      bruck::for_each_moved(ranks_, radix_, weight, digit, [&](const bruck::Moved& moved) {
        if (!is_there(me_, moved.block, weight)) return;
        const Span first{me_, cyclic(me_ - moved.block, ranks_), Buffer::send};
        list.push_back({moved.first ? first : waiting(moved.block), digit});
      });
    }
    return list;
  }
  std::vector<Passed> received(std::int64_t weight, int digits) const {
    std::vector<Passed> list;
    for (int digit = 1; digit <= digits; ++digit) {
      const int from = peer(digit, weight);
      bruck::for_each_moved(ranks_, radix_, weight, digit, [&](const bruck::Moved& moved) {
        if (!is_there(from, moved.block, weight)) return;
        const bool moves_on = moved.high >= radix_;  // a higher digit is left
        const Span last{me_, cyclic(me_ + moved.block, ranks_), Buffer::recv};
        list.push_back({moves_on ? waiting(moved.block) : last, digit});
      });
    }
    return list;
  }
  // The rank so many jumps above; below, if negative.
  int peer(int jumps, std::int64_t weight) const { return cyclic(me_ + jumps * static_cast<int>(weight), ranks_); }

  // Messages of the blocks, which lie in scratch from `first` on.
  template <class Begin>
  void add_messages(const std::vector<Passed>& blocks, int first, Begin begin) {
    int digit = 0;
    for (const Passed& one : blocks) {
      if (one.digit != digit) begin(digit = one.digit);
      builder_.span(Buffer::scratch, first++);
    }
  }

  void add_round(std::int64_t weight) {
    const int digits = bruck::largest_digit(ranks_, radix_, weight);
    const std::vector<Passed> out = sent(weight, digits), in = received(weight, digits);
    if (out.empty() && in.empty()) return;
    builder_.begin_round();
    int next = staging_;
    for (const Passed& one : out) builder_.copy(one.at, Span{me_, next++, Buffer::scratch});
    add_messages(out, staging_, [&](int digit) { builder_.send(peer(-digit, weight)); });
    add_messages(in, landing_, [&](int digit) { builder_.receive(peer(digit, weight)); });
    next = landing_;
    for (const Passed& one : in) builder_.copy(Span{me_, next++, Buffer::scratch}, one.at);
  }

  const Problem& problem_;
  const Sizes sizes_;
  const int ranks_, me_;
  const std::int64_t radix_;
  const int staging_, landing_;  // what a round sends and brings lies in scratch from here on
  Builder& builder_;
};

// Adds the messages of a round of an allgather among all ranks, without blocks of the receivers' nodes.
class Gather {
 public:
  Gather(const Problem& problem, const Schedule& all, Builder& builder)
      : problem_(problem), all_(all), builder_(builder) {}

  void build() {
    for (const Round& round : all_.rounds) {
      begun_ = false;
      add(round.sends, true, round.window);
      add(round.receives, false, round.window);
    }
  }

 private:
  void add(Range messages, bool sends, Window window) {
    for (const Message& message : all_.messages_of(messages)) {
      const int receiver = sends ? message.peer : problem_.me;
      bool has_any = false;
      for (const Span& span : all_.spans_of(message)) {
        const int source = span.buffer == Buffer::send ? problem_.me : span.block;
        if (problem_.nodes->share_a_node(source, receiver)) continue;
        if (!begun_) builder_.begin_round(window);
        if (!has_any) sends ? builder_.send(message.peer) : builder_.receive(message.peer);
        begun_ = has_any = true;
        builder_.span(span.buffer, span.block);
      }
    }
  }

  const Problem& problem_;
  const Schedule& all_;
  Builder& builder_;
  bool begun_ = false;  // the round
};

}  // namespace

void bruck_between_nodes(const Problem& problem, Builder& builder) {
  if (problem.nodes->nodes > 1) Bruck(problem, Sizes::known, builder).build();
}

void two_phase_bruck_between_nodes(const Problem& problem, Builder& builder) {
  if (problem.nodes->nodes > 1) Bruck(problem, Sizes::carried, builder).build();
}

void gather_between_nodes(const Problem& problem, Build among_all, Builder& builder) {
  if (problem.nodes->nodes > 1) Gather(problem, among_all(problem), builder).build();
}

}  // namespace quadrille::plan
