// All-to-all and allgather of several nodes through leaders: leaders.
//
// Idea    The ranks of a node share an area of memory. Every rank writes its blocks straight into it, sorted by
//         destination node, destination and source, so what goes to a node lies in one piece. Leaders send these
//         pieces, and receive those of other nodes into the same area; then every rank reads its blocks, which lie one
//         behind the other for each node. With k leaders a node, leader j sends to leader j of each other node what is
//         for the j-th share of that node's ranks. So messages are few and large, and no rank gathers or scatters for
//         others. Of blocks of different sizes each source packs what is for a share one behind the other, and their
//         sizes, which a leader sends along (run/uneven_leaders.cpp). Blocks that stay in the node go through the area
//         as well: ranks that share processors wait as rarely as that.
// Source  Li, Zhang and Hoefler, section 2.5 (one leader, topology-aware); several leaders and the choice of their
//         number: Kinkead et al., "Scaling all-to-all operations across emerging many-core supercomputers", SC
//         Workshops 2025. The exchange among leaders is any other algorithm.
// Cost    Of N nodes with p ranks each and k leaders: a leader sends N - 1 messages of p^2 / k blocks, if the exchange
//         is direct (an allgather: p / k blocks). Each block is copied twice, once at its source and once at its
//         destination. Two fences. An area of 2 p P places (an allgather: P + p), a place a block.
//
// With the parameter `group` nodes are split into groups, and each acts as a node: fewer ranks wait for each other, and
// share memory that is near. So it is the same plan, of another map.
//
// On ragged nodes two nodes exchange as many streams as the smaller of them has leaders, and a share is a range of
// ranks. An exchange that forwards pieces (Bruck's, that in Morton order) needs pieces of one size: where nodes are of
// different sizes, spread-out stands in. In an allgather all nodes have as many leaders as the smallest can have.
//
// Example, P = 4, ranks 0 and 1 on one node, 2 and 3 on the other, 1 leader; "sd" is the block from s to d.
//   ranks 0 and 1 copy    area of their node: own 00 10 01 11, to the other node 02 12 03 13
//   fence
//   rank 0 sends          02 12 03 13 to rank 2, receives 20 30 21 31
//   fence
//   rank 1 copies         01 11 from own, 21 31 from what came
#include "plan/leaders.hpp"

#include <algorithm>
#include <bit>

#include "plan/algorithms.hpp"

namespace quadrille::plan {
namespace {

struct Share {
  int first, count;
};
Share share_of(int members, int shares, int number) {
  const auto at = [&](int n) { return static_cast<int>(static_cast<std::int64_t>(members) * n / shares); };
  return {at(number), at(number + 1) - at(number)};
}

void by_domains(std::vector<int>& members, std::span<const int> domains) {
  if (domains.empty()) return;
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return domains[static_cast<std::size_t>(a)] < domains[static_cast<std::size_t>(b)];
  });
}

// The nodes, their ranks and leaders. All ranks make the same.
class Crews {
 public:
  Crews(const Problem& problem, std::int64_t leaders, bool as_many) : members_(problem.nodes->members()) {
    std::int64_t least = leaders;
    for (const auto& node : members_) least = std::min<std::int64_t>(least, std::ssize(node));
    for (const auto& node : members_) {
      leaders_.push_back(chosen(node, problem.domains,
                                static_cast<int>(std::min<std::int64_t>(as_many ? least : leaders, std::ssize(node)))));
    }
  }
  std::size_t nodes() const { return members_.size(); }
  const std::vector<int>& members(std::size_t node) const { return members_[node]; }
  int size(std::size_t node) const { return static_cast<int>(members_[node].size()); }
  const std::vector<int>& leaders(std::size_t node) const { return leaders_[node]; }
  int streams(std::size_t a, std::size_t b) const {
    return static_cast<int>(std::min(leaders_[a].size(), leaders_[b].size()));
  }
  // Ranks of `node` that stream `number` between it and `other` is for.
  Share share(std::size_t node, std::size_t other, int number) const {
    return share_of(size(node), streams(node, other), number);
  }

 private:
  // Spread over the NUMA domains: members by their domains, then at equal distances.
  static std::vector<int> chosen(std::vector<int> members, std::span<const int> domains, int count) {
    by_domains(members, domains);
    std::vector<int> leaders;
    leaders.reserve(static_cast<std::size_t>(count));
    for (int j = 0; j < count; ++j) {
      leaders.push_back(members[static_cast<std::size_t>(share_of(static_cast<int>(members.size()), count, j).first)]);
    }
    return leaders;
  }

  std::vector<std::vector<int>> members_, leaders_;
};

// Where the places of a node's area are: two sets of own ones, then those of what goes to other nodes (not of an
// allgather, which sends its own), of what comes from them, and the scratch of exchanges, by leaders.
class Area {
 public:
  Area(const Crews& crews, std::size_t node, bool gathers) : crews_(crews), node_(node), gathers_(gathers) {
    const auto here = static_cast<std::size_t>(crews.size(node));
    own_ = gathers ? here : here * here;
    for (std::size_t other = 0; other < crews.nodes(); ++other) {
      base_.push_back(one_way_);
      if (other == node) continue;
      one_way_ += (gathers ? 1 : here) * static_cast<std::size_t>(crews.size(other));
    }
    in_ = 2 * own_ + (gathers ? 0 : one_way_);
    scratch_ = in_ + one_way_;
  }
  std::size_t own_places() const { return own_; }
  // Of the blocks from member `source` to member `destination` of this node; an allgather: to all.
  std::size_t own(int source, int destination) const {
    return gathers_ ? static_cast<std::size_t>(source)
                    : times(destination, crews_.size(node_)) + static_cast<std::size_t>(source);
  }
  // Of the block from member `source` of this node to member `destination` of `other`, not of an allgather, and of the
  // one the other way. By destinations, so that what is for a share of them is one stream.
  std::size_t out(std::size_t other, int source, int destination) const {
    return 2 * own_ + base_[other] + times(destination, crews_.size(node_)) + static_cast<std::size_t>(source);
  }
  std::size_t in(std::size_t other, int source, int destination) const {
    const std::size_t before = gathers_ ? 0 : times(destination, crews_.size(other));
    return in_ + base_[other] + before + static_cast<std::size_t>(source);
  }
  // The first place of stream `number` to or from `other`.
  std::size_t send_slot(std::size_t other, int number) const {
    if (gathers_) return own(crews_.share(node_, other, number).first, 0);
    return out(other, 0, crews_.share(other, node_, number).first);
  }
  std::size_t recv_slot(std::size_t other, int number) const {
    if (gathers_) return in(other, crews_.share(other, node_, number).first, 0);
    return in(other, 0, crews_.share(node_, other, number).first);
  }
  // Of `blocks` for each leader, a block as large as what it exchanges with a node of the same size.
  std::size_t scratch(std::uint32_t blocks, int leader) const {
    const int leaders = static_cast<int>(crews_.leaders(node_).size());
    return scratch_ + blocks * times(share_of(crews_.size(node_), leaders, leader).first, crews_.size(node_));
  }
  // The first place of each part, and the end; `blocks` of scratch for each leader.
  std::array<std::size_t, leaders_parts + 1> parts(std::uint32_t blocks) const {
    return {0, own_, 2 * own_, in_, scratch_, scratch_ + blocks * times(crews_.size(node_), crews_.size(node_))};
  }

 private:
  static std::size_t times(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

  const Crews& crews_;
  const std::size_t node_;
  const bool gathers_;
  std::size_t own_ = 0, one_way_ = 0;  // places of one set, and of what comes from all other nodes
  std::size_t in_ = 0, scratch_ = 0;   // the first place of what comes, and of scratch
  std::vector<std::size_t> base_;      // [node]
};

int number_of(const std::vector<int>& list, int rank) {
  const auto found = std::find(list.begin(), list.end(), rank);
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

bool is_even(const NodeMap& nodes) { return nodes.ranks_on_fullest_node() * nodes.nodes == nodes.ranks(); }

Build exchange_of(const Problem& problem, LeadersKind kind) {
  const bool gathers = kind == LeadersKind::gather;
  const Build wanted = build_of(problem.parameters, "exchange", gathers ? allgather_spread_out : spread_out);
  return gathers || is_even(*problem.nodes) || direct_window(wanted) ? wanted : spread_out;
}

// An exchange among one leader of each node in `group`, as the leader number `me` sees it, with ranks for peers.
Schedule schedule_among(const std::vector<int>& group, int me, const Build build, const Parameters& parameters) {
  const NodeMap apart = node_map_from_labels(group);
  Schedule schedule = build({apart.nodes, me, &apart, parameters, {}});
  for (Message& message : schedule.messages) message.peer = group[static_cast<std::size_t>(message.peer)];
  return schedule;
}

// Makes the plan of one rank, and tells of any node who owns a place: in the proof memory has owners.
class Planner {
 public:
  Planner(const Problem& problem, LeadersKind kind)
      : groups_(leaders_groups(problem)),
        problem_{problem.ranks, problem.me, &groups_, problem.parameters, problem.domains},
        kind_(kind),
        gathers_(kind == LeadersKind::gather),
        exchange_(exchange_of(problem_, kind)),
        passes_on_(!gathers_ && !direct_window(exchange_)),
        crews_(problem_, value_of(problem_.parameters, "leaders", 1), gathers_),
        node_(static_cast<std::size_t>(groups_.node_of[static_cast<std::size_t>(problem_.me)])),
        area_(crews_, node_, gathers_),
        scratch_(most_scratch()) {}

  LeadersPlan plan() const {
    LeadersPlan plan;
    plan.kind = kind_;
    plan.piece = static_cast<std::size_t>(value_of(problem_.parameters, "piece", 65536));
    plan.me = problem_.me;
    plan.ranks = problem_.ranks;
    plan.members = crews_.members(node_);
    plan.number = member_number();
    plan.node = node_;
    plan.nodes = crews_.nodes();
    plan.leaders = static_cast<int>(crews_.leaders(node_).size());
    plan.leads = number_of(crews_.leaders(node_), problem_.me);
    if (!gathers_) order_sends(plan);
    place_blocks(plan);
    if (kind_ == LeadersKind::uneven) list_streams(plan);
    if (plan.leads >= 0) lead(plan);
    count_places(plan);
    return plan;
  }

  // [place] of one set of own places, and of what goes to and comes from other nodes: the leader that sends or receives
  // it.
  std::vector<int> owners(std::size_t places) const {
    std::vector<int> owner(places, crews_.members(node_)[0]);
    const auto mark = [&](std::size_t at, std::size_t count, int rank) {
      for (std::size_t p = at; p < at + count; ++p) owner[p] = rank;
    };
    for (std::size_t other = 0; other < crews_.nodes(); ++other) {
      if (other == node_) continue;
      for (int j = 0; j < crews_.streams(node_, other); ++j) {
        const LeadersStream stream = stream_with(other, j);
        const int leader = crews_.leaders(node_)[static_cast<std::size_t>(j)];
        mark(stream.send_at, stream.send_count, leader);
        mark(stream.recv_at, stream.recv_count, leader);
      }
    }
    return owner;
  }

 private:
  int member_number() const { return number_of(crews_.members(node_), problem_.me); }
  // The place of the block for member `d` of node `other`, and of the one from member `s`.
  std::size_t place_for(std::size_t other, int d) const {
    const int me = member_number();
    return other == node_ || gathers_ ? area_.own(me, d) : area_.out(other, me, d);
  }
  std::size_t place_from(std::size_t other, int s) const {
    const int me = member_number();
    return other == node_ ? area_.own(s, me) : area_.in(other, s, me);
  }

  // The places of the ranks of a node for one destination lie side by side. In order of ranks all write to the same
  // lines at the same time; else each begins elsewhere: one after the other, or as the Z curve passes the square of
  // pairs.
  void order_sends(LeadersPlan& plan) const {
    const auto order = static_cast<LeadersOrder>(value_of(problem_.parameters, "order", 0));
    const bool morton = order == LeadersOrder::morton;
    const int me = member_number();
    for (std::size_t other = 0; other < crews_.nodes(); ++other) {
      const int count = crews_.size(other), first = order == LeadersOrder::rotated ? me : 0;
      const auto square = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(count, crews_.size(node_)))));
      for (int i = 0, steps = morton ? square : count; i < steps; ++i) {
        const int d = morton ? me ^ i : (first + i) % count;
        if (d >= count) continue;  // xor goes beyond numbers that are no powers of two
        plan.packs.push_back(crews_.members(other)[static_cast<std::size_t>(d)]);
      }
    }
  }

  void place_blocks(LeadersPlan& plan) const {
    std::vector<std::size_t> at(static_cast<std::size_t>(problem_.ranks));
    plan.send_at.resize(at.size());
    for (std::size_t other = 0; other < crews_.nodes(); ++other) {
      for (int n = 0; n < crews_.size(other); ++n) {
        const auto rank = static_cast<std::size_t>(crews_.members(other)[static_cast<std::size_t>(n)]);
        plan.send_at[rank] = place_for(other, n);
        at[rank] = place_from(other, n);
      }
    }
    if (gathers_) plan.source_of.resize(at.size() + area_.own_places());
    // Own places change from call to call, so a run has them alone.
    const auto continues = [&](const LeadersRun& run, int rank, std::size_t place) {
      return place == run.at + static_cast<std::size_t>(run.count) && rank == run.first + run.count &&
             (place < area_.own_places()) == (run.at < area_.own_places());
    };
    for (int r = 0; r < problem_.ranks; ++r) {
      const std::size_t place = at[static_cast<std::size_t>(r)];
      if (gathers_) plan.source_of[place] = r;
      if (gathers_ && place < area_.own_places()) plan.source_of[place + area_.own_places()] = r;
      if (!plan.received.empty() && continues(plan.received.back(), r, place)) {
        ++plan.received.back().count;
      } else {
        plan.received.push_back({r, 1, place});
      }
    }
  }

  void list_streams(LeadersPlan& plan) const {
    for (std::size_t other = 0; other < crews_.nodes(); ++other) {
      if (other == node_) continue;
      for (int j = 0; j < crews_.streams(node_, other); ++j) {
        const Share share = crews_.share(other, node_, j);
        const auto first = crews_.members(other).begin() + share.first;
        plan.outs.push_back({area_.send_slot(other, j), {first, first + share.count}});
      }
      int j = 0;  // the stream in whose share this rank is
      while (plan.number >= crews_.share(node_, other, j).first + crews_.share(node_, other, j).count) ++j;
      const Share share = crews_.share(node_, other, j);
      plan.ins.push_back(
          {other, area_.recv_slot(other, j), crews_.members(other), share.count, plan.number - share.first});
    }
  }

  LeadersStream stream_with(std::size_t other, int number) const {
    const auto to = static_cast<std::size_t>(crews_.share(other, node_, number).count);
    const Share own = crews_.share(node_, other, number);
    const auto mine = static_cast<std::size_t>(own.count);
    const auto here = static_cast<std::size_t>(crews_.size(node_)),
               there = static_cast<std::size_t>(crews_.size(other));
    return {crews_.leaders(other)[static_cast<std::size_t>(number)],
            other,
            own.first,
            own.count,
            area_.send_slot(other, number),
            gathers_ ? mine : to * here,
            area_.recv_slot(other, number),
            gathers_ ? to : mine * there};
  }

  void lead(LeadersPlan& plan) const {
    std::vector<int> group;
    for (std::size_t other = 0; other < crews_.nodes(); ++other) {
      if (std::ssize(crews_.leaders(other)) <= plan.leads) continue;
      group.push_back(crews_.leaders(other)[static_cast<std::size_t>(plan.leads)]);
      plan.streams.push_back(other == node_ ? own_stream(plan.leads) : stream_with(other, plan.leads));
    }
    plan.exchange = schedule_among(group, number_of(group, problem_.me), exchange_, problem_.parameters);
    if (kind_ == LeadersKind::uneven) send_in_parts(plan);
    plan.scratch_at = area_.scratch(scratch_, plan.leads);
    const Share share = share_of(plan.here(), plan.leaders, plan.leads);
    if (passes_on_) plan.slot = static_cast<std::size_t>(share.count) * plan.members.size();
  }
  // A message of sizes, and what each member has packed. What stays in the node is not copied by leaders.
  static void send_in_parts(LeadersPlan& plan) {
    const auto parts = static_cast<std::uint32_t>(1 + plan.members.size());
    std::vector<Span> spans;
    plan.exchange.copies.clear();
    for (Round& round : plan.exchange.rounds) {
      round.before = round.after = {};
      for (const auto& [range, count] : {std::pair(round.sends, parts), std::pair(round.receives, 1U)}) {
        for (std::uint32_t m = range.first; m < range.first + range.count; ++m) {
          Message& message = plan.exchange.messages[m];
          const Span whole = plan.exchange.spans[message.spans.first];
          message.spans = {static_cast<std::uint32_t>(spans.size()), count};
          for (std::uint32_t p = 0; p < count; ++p) {
            spans.push_back({whole.owner, whole.block * static_cast<std::int32_t>(count) + static_cast<std::int32_t>(p),
                             whole.buffer});
          }
        }
      }
    }
    plan.exchange.spans = std::move(spans);
  }

  // Of an allgather, what the node sends; it lies where it is received.
  LeadersStream own_stream(int number) const {
    if (!gathers_) return {problem_.me, node_, 0, 0, 0, 0, 0, 0};
    const Share share = share_of(crews_.size(node_), static_cast<int>(crews_.leaders(node_).size()), number);
    const auto at = static_cast<std::size_t>(share.first), count = static_cast<std::size_t>(share.count);
    return {problem_.me, node_, share.first, share.count, at, count, at, count};
  }

  // Blocks of scratch of the exchange, on the rank that has most.
  std::uint32_t most_scratch() const {
    std::uint32_t most = 0;
    if (!passes_on_) return most;
    const NodeMap apart = one_node(static_cast<int>(crews_.nodes()));
    for (int r = 0; r < apart.ranks(); ++r) {
      most = std::max(most, exchange_({apart.ranks(), r, &apart, problem_.parameters, {}}).scratch_blocks);
    }
    return most;
  }

  void count_places(LeadersPlan& plan) const {
    for (std::size_t node = 0; node < crews_.nodes(); ++node) {
      const auto parts = Area(crews_, node, gathers_).parts(scratch_);
      const auto members = static_cast<std::size_t>(crews_.size(node));
      for (std::size_t p = 0; p < leaders_parts; ++p) {
        plan.most_places[p] = std::max(plan.most_places[p], (parts[p + 1] - parts[p] + members - 1) / members);
      }
      if (node == node_) plan.parts = parts;
    }
  }

  const NodeMap groups_;
  const Problem problem_;
  const LeadersKind kind_;
  const bool gathers_;
  const Build exchange_;
  const bool passes_on_;  // blocks of an all-to-all
  const Crews crews_;
  const std::size_t node_;
  const Area area_;
  const std::uint32_t scratch_;  // blocks of the exchange
};

// ---- The schedule of a plan, block by block ----

class Writer {
 public:
  Writer(const LeadersPlan& plan, const std::vector<int>& owners) : plan_(plan), owners_(owners), builder_(plan.me) {
    builder_.scratch(static_cast<std::uint32_t>(plan.places()));
    if (plan.kind == LeadersKind::uneven) builder_.sizes(Sizes::carried);
  }

  Schedule write() {
    builder_.begin_round();
    builder_.node_fence();  // what the area holds of the call before
    builder_.begin_round();
    if (plan_.gathers()) {
      builder_.copy({plan_.me, 0, Buffer::send}, in_area(plan_.send_at[static_cast<std::size_t>(plan_.me)]));
    } else {
      for (const int r : plan_.packs) {
        builder_.copy({plan_.me, r, Buffer::send}, in_area(plan_.send_at[static_cast<std::size_t>(r)]));
      }
    }
    builder_.node_fence();
    for (const Round& round : plan_.exchange.rounds) write(round);
    builder_.begin_round();
    builder_.node_fence();
    builder_.begin_round();
    for (const LeadersRun& run : plan_.received) {
      for (int i = 0; i < run.count; ++i) {
        builder_.copy(in_area(run.at + static_cast<std::size_t>(i)), {plan_.me, run.first + i, Buffer::recv});
      }
    }
    builder_.node_fence();
    return builder_.take();
  }

 private:
  Span in_area(std::size_t place) const { return {owners_[place], static_cast<std::int32_t>(place), Buffer::scratch}; }
  void write(const Round& round) {
    builder_.begin_round(round.window);
    copies(round.before);
    messages(round.sends, true);
    messages(round.receives, false);
    if (round.after.count == 0) return;
    builder_.begin_round();
    copies(round.after);
  }
  void copies(Range range) {
    for (const Copy& copy : plan_.exchange.copies_of(range)) {
      const std::size_t from = plan_.places_of(copy.from).at, to = plan_.places_of(copy.to).at;
      for (std::size_t b = 0, blocks = plan_.blocks_of(copy); b < blocks; ++b) {
        builder_.copy(Buffer::scratch, static_cast<int>(from + b), Buffer::scratch, static_cast<int>(to + b));
      }
    }
  }
  void messages(Range range, bool sends) {
    for (const Message& message : plan_.exchange.messages_of(range)) {
      sends ? builder_.send(message.peer) : builder_.receive(message.peer);
      const std::span<const Span> spans = plan_.exchange.spans_of(message);
      if (plan_.kind == LeadersKind::uneven) {
        spans_by_source(spans.front());
        continue;
      }
      for (const Span& span : spans) {
        const auto [at, count] = plan_.places_of(span);
        for (std::size_t b = 0; b < count; ++b) builder_.span(Buffer::scratch, static_cast<int>(at + b));
      }
    }
  }
  // Uneven blocks come as their sources packed them, and their sizes with them.
  void spans_by_source(const Span& first) {
    const auto [at, count] = plan_.places_of(first);
    const std::size_t sources = first.buffer == Buffer::send
                                    ? plan_.members.size()
                                    : count / static_cast<std::size_t>(plan_.stream_of(first).share_count);
    for (std::size_t source = 0; source < sources; ++source) {
      for (std::size_t b = source; b < count; b += sources) {
        builder_.span(Buffer::scratch, static_cast<int>(at + b));
      }
    }
  }

  const LeadersPlan& plan_;
  const std::vector<int>& owners_;
  Builder builder_;
};

Schedule schedule_of(const Problem& problem, LeadersKind kind) {
  Planner planner(problem, kind);
  const LeadersPlan plan = planner.plan();
  return Writer(plan, planner.owners(plan.places())).write();
}

}  // namespace

bool fits_among_leaders(Build exchange, LeadersKind kind) {
  if (kind == LeadersKind::uneven) return direct_window(exchange).has_value();
  return kind == LeadersKind::gather ? gathers_in_place(exchange) : sets_own_block_apart(exchange);
}

NodeMap leaders_groups(const Problem& problem) {
  const std::int64_t group = value_of(problem.parameters, "group", problem.ranks);
  if (group >= problem.nodes->ranks_on_fullest_node()) return *problem.nodes;
  std::vector<int> labels(static_cast<std::size_t>(problem.ranks));
  for (std::vector<int>& node : problem.nodes->members()) {
    by_domains(node, problem.domains);
    const auto count = static_cast<int>(node.size());
    const int groups = static_cast<int>((count + group - 1) / group);
    for (int g = 0; g < groups; ++g) {
      const Share share = share_of(count, groups, g);
      for (int i = share.first; i < share.first + share.count; ++i) {
        labels[static_cast<std::size_t>(node[static_cast<std::size_t>(i)])] =
            node[static_cast<std::size_t>(share.first)];
      }
    }
  }
  return node_map_from_labels(labels);
}

const LeadersStream& LeadersPlan::stream_of(const Span& span) const {
  if (gathers() && span.buffer == Buffer::send) return *std::ranges::find(streams, me, &LeadersStream::peer);
  const std::size_t parts = kind == LeadersKind::uneven && span.buffer == Buffer::send ? 1 + members.size() : 1;
  return streams[static_cast<std::size_t>(span.block) / parts];
}

LeadersPlan::Places LeadersPlan::places_of(const Span& span) const {
  if (span.buffer == Buffer::scratch) return {scratch_at + static_cast<std::size_t>(span.block) * slot, slot};
  const LeadersStream& of = stream_of(span);
  return span.buffer == Buffer::send ? Places{of.send_at, of.send_count} : Places{of.recv_at, of.recv_count};
}

std::size_t LeadersPlan::blocks_of(const Message& message) const {
  std::size_t blocks = 0;
  for (const Span& span : exchange.spans_of(message)) {
    blocks += places_of(span).count;
    if (kind == LeadersKind::uneven) break;  // its spans are parts of one stream
  }
  return blocks;
}

std::size_t LeadersPlan::blocks_of(const Copy& copy) const {
  const Places from = places_of(copy.from), to = places_of(copy.to);
  return from.at == to.at ? 0 : std::min(from.count, to.count);
}

std::size_t most_a_place(const LeadersPlan& plan, const std::array<std::size_t, leaders_parts>& parts) {
  std::size_t most = SIZE_MAX;
  for (std::size_t part = 0; part < leaders_parts; ++part) {
    if (plan.most_places[part] > 0) most = std::min(most, parts[part] / plan.most_places[part]);
  }
  return most;
}

LeadersPlan leaders_plan(const Problem& problem, LeadersKind kind) { return Planner(problem, kind).plan(); }

Schedule leaders(const Problem& problem) { return schedule_of(problem, LeadersKind::uniform); }
Schedule uneven_leaders(const Problem& problem) { return schedule_of(problem, LeadersKind::uneven); }
Schedule allgather_leaders(const Problem& problem) { return schedule_of(problem, LeadersKind::gather); }

}  // namespace quadrille::plan
