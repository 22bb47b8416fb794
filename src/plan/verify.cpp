#include "plan/verify.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>

#include "plan/additive_basis.hpp"
#include "plan/verify_parts.hpp"

namespace quadrille::plan {
namespace proof {

Subject::Subject(const std::vector<Schedule>& all, const NodeMap& node_map, const Wishes& what, Goal how)
    : schedules(all), nodes(node_map), wishes(what), goal(how), ranks(static_cast<int>(all.size())) {
  for (int rank = 0; rank < ranks; ++rank) {
    first_.push_back(first_.back() + blocks_in(rank, Buffer::send) + blocks_in(rank, Buffer::recv) +
                     blocks_in(rank, Buffer::scratch));
  }
}

namespace {

// ---- What can be seen without running anything: form, races inside a rank, messages beside others, matching ----

template <class T>
bool lies_in(Range range, const std::vector<T>& array) {
  return range.first <= array.size() && range.count <= array.size() - range.first;
}

// Checks the form of one rank's schedule.
class FormOfRank {
 public:
  FormOfRank(const Subject& subject, int me)
      : subject_(subject), schedule_(subject.schedules[static_cast<std::size_t>(me)]), me_(me) {}

  Report check() {
    for (round_ = 0; round_ < schedule_.rounds.size(); ++round_) {
      const Round& round = schedule_.rounds[round_];
      if (!lies_in(round.before, schedule_.copies) || !lies_in(round.after, schedule_.copies) ||
          !lies_in(round.sends, schedule_.messages) || !lies_in(round.receives, schedule_.messages)) {
        return at_fault("points outside the arrays of the schedule");
      }
      if (!follows(round.sends) || !follows(round.receives)) {
        return at_fault("its messages do not follow those of the round before in the array");
      }
      if (Report r = copies(round.before); !r.ok) return r;
      if (Report r = messages(round.sends, "send to", false); !r.ok) return r;
      if (Report r = messages(round.receives, "receive from", true); !r.ok) return r;
      if (Report r = copies(round.after); !r.ok) return r;
    }
    return {};
  }

 private:
  Report at_fault(const std::string& what) const {
    return wrong(fmt::format("form: rank {}, round {}: {}", me_, round_, what));
  }

  // Messages lie in program order, each in one round: the matching relies on it.
  bool follows(Range messages) {
    if (messages.count == 0) return true;
    if (messages.first < next_message_) return false;
    next_message_ = messages.first + messages.count;
    return true;
  }

  bool exists(const Span& span) const {
    return span.owner >= 0 && span.owner < subject_.ranks && span.block >= 0 &&
           static_cast<std::size_t>(span.block) < subject_.blocks_in(span.owner, span.buffer);
  }

  Report copies(Range range) const {
    for (const Copy& copy : schedule_.copies_of(range)) {
      for (const Span& span : {copy.from, copy.to}) {
        if (!exists(span)) {
          return at_fault(fmt::format("a copy names {}, which does not exist", name_of(span, me_)));
        }
        if (!subject_.nodes.share_a_node(span.owner, me_)) {
          return at_fault(fmt::format("a copy reaches {}, which is on another node", name_of(span, me_)));
        }
      }
      if (copy.to.buffer == Buffer::send) {
        return at_fault(fmt::format("a copy writes {}; send buffers are read-only", name_of(copy.to, me_)));
      }
      if (copy.from == copy.to) {
        return at_fault(fmt::format("a copy moves {} onto itself", name_of(copy.to, me_)));
      }
    }
    return {};
  }

  Report messages(Range range, const char* what, bool writes) const {
    for (const Message& message : schedule_.messages_of(range)) {
      if (message.peer < 0 || message.peer >= subject_.ranks || message.peer == me_) {
        return at_fault(fmt::format("{} {}, which is not another rank", what, message.peer));
      }
      if (!lies_in(message.spans, schedule_.spans)) {
        return at_fault("points outside the arrays of the schedule");
      }
      for (const Span& span : schedule_.spans_of(message)) {
        if (span.owner != me_ || !exists(span)) {
          return at_fault(
              fmt::format("the {} {} names {}, which the rank does not have", what, message.peer, name_of(span, me_)));
        }
        if (schedule_.sizes != Sizes::known && span.buffer != Buffer::scratch) {
          return at_fault(fmt::format("the {} {} names {}; what carries sizes along moves blocks of scratch alone",
                                      what, message.peer, name_of(span, me_)));
        }
        if (writes && span.buffer == Buffer::send) {
          return at_fault(fmt::format("the receive from {} writes {}; send buffers are read-only", message.peer,
                                      name_of(span, me_)));
        }
      }
    }
    return {};
  }

  const Subject& subject_;
  const Schedule& schedule_;
  const int me_;
  std::size_t round_ = 0;
  std::uint32_t next_message_ = 0;
};

// Which message touched a place last, and in which batch.
struct Touch {
  std::uint32_t batch = 0;
  std::int32_t peer = 0;
};

// Finds spans of a rank that two messages of one batch touch, one of them writing.
Report races_of(const Subject& subject, int me) {
  const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
  const std::size_t first_place = subject.place({me, 0, Buffer::send});
  const auto place = [&](const Span& span) { return subject.place(span) - first_place; };
  std::vector<Touch> sent(subject.blocks_in(me, Buffer::send) + subject.blocks_in(me, Buffer::recv) +
                          subject.blocks_in(me, Buffer::scratch));
  std::vector<Touch> received(sent.size());
  std::uint32_t batch = 0;
  for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
    const Round& round = schedule.rounds[r];
    const std::uint32_t size = batch_size(round);
    for (std::uint32_t first = 0; first < pairs_of(round); first += size) {
      ++batch;
      for (const Message& message : schedule.messages_of(part_of(round.sends, first, first + size))) {
        for (const Span& span : schedule.spans_of(message)) sent[place(span)] = {batch, message.peer};
      }
      for (const Message& message : schedule.messages_of(part_of(round.receives, first, first + size))) {
        for (const Span& span : schedule.spans_of(message)) {
          const Touch reader = sent[place(span)], writer = received[place(span)];
          received[place(span)] = {batch, message.peer};
          if (reader.batch != batch && writer.batch != batch) continue;
          const std::string other = reader.batch == batch ? fmt::format("send to {} reads", reader.peer)
                                                          : fmt::format("receive from {} writes", writer.peer);
          return wrong(fmt::format("race: rank {}, round {}: the receive from {} writes {} while the {} it", me, r,
                                   message.peer, name_of(span, me), other));
        }
      }
    }
  }
  return {};
}

// What messages that may be in flight during the rounds before theirs do with a place.
enum class Use : std::uint8_t { none, read, written };

// Whether a round can be beside those before it.
Report check_beside_form(const Schedule& schedule, int me, std::size_t r) {
  const std::span<const Round> rounds = schedule.rounds;
  const bool is_earlier = std::ranges::any_of(rounds.first(r), [](const Round& other) { return pairs_of(other) > 0; });
  if (!is_earlier && r + 1 == rounds.size() && rounds[r].before.count + rounds[r].after.count == 0) return {};
  return wrong(
      fmt::format("beside: rank {}, round {}: it copies, is not the last, or not the first with messages", me, r));
}

// A message as the matching sees it. Messages of one channel are in the order of their index.
struct Posted {
  std::int32_t sender, receiver;
  std::uint32_t message;  // index at the rank that posted it

  std::pair<int, int> channel() const { return {sender, receiver}; }
  auto operator<=>(const Posted& other) const = default;
};

// All sends, or all receives.
std::vector<Posted> posted(const Subject& subject, Range Round::*side) {
  std::vector<Posted> list;
  for (int me = 0; me < subject.ranks; ++me) {
    const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
    for (const Round& round : schedule.rounds) {
      for (std::uint32_t at = (round.*side).first, end = at + (round.*side).count; at < end; ++at) {
        const Message& message = schedule.messages[at];
        if (is_none(message)) continue;
        list.push_back(side == &Round::sends ? Posted{me, message.peer, at} : Posted{message.peer, me, at});
      }
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

Report check_form(const Subject& subject) {
  for (int me = 0; me < subject.ranks; ++me) {
    if (Report r = FormOfRank(subject, me).check(); !r.ok) return r;
    if (subject.schedules[static_cast<std::size_t>(me)].sizes != subject.schedules[0].sizes) {
      return wrong(fmt::format("form: ranks 0 and {} disagree on whether sizes are carried", me));
    }
  }
  return {};
}

Report check_races(const Subject& subject) {
  for (int me = 0; me < subject.ranks; ++me) {
    if (Report r = races_of(subject, me); !r.ok) return r;
  }
  return {};
}

Report check_beside(const Subject& subject) {
  std::vector<Use> uses(subject.places(), Use::none);
  bool there_are = false;
  for (int me = 0; me < subject.ranks; ++me) {
    const Schedule& schedule = subject.schedules[static_cast<std::size_t>(me)];
    const auto mark = [&](Range messages, Use as) {
      for (const Message& message : schedule.messages_of(messages)) {
        for (const Span& span : schedule.spans_of(message)) uses[subject.place(span)] = as;
      }
    };
    for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
      if (!schedule.rounds[r].beside) continue;
      if (Report report = check_beside_form(schedule, me, r); !report.ok) return report;
      there_are = true;
      mark(schedule.rounds[r].sends, Use::read);
      mark(schedule.rounds[r].receives, Use::written);
    }
  }
  for (int me = 0; me < subject.ranks && there_are; ++me) {
    for (const Copy& copy : subject.schedules[static_cast<std::size_t>(me)].copies) {
      const bool reads = uses[subject.place(copy.from)] == Use::written;
      if (!reads && uses[subject.place(copy.to)] == Use::none) continue;
      return wrong(fmt::format("beside: rank {}: a copy {} {} while a message may", me, reads ? "reads" : "writes",
                               name_of(reads ? copy.from : copy.to, me)));
    }
  }
  return {};
}

Report check_matching(const Subject& subject, Partners& partners) {
  const std::vector<Posted> sends = posted(subject, &Round::sends), receives = posted(subject, &Round::receives);
  partners.clear();
  for (const Schedule& schedule : subject.schedules) {
    partners.emplace_back(schedule.messages.size());
  }
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    const bool receive_left = i >= sends.size() || (i < receives.size() && receives[i].channel() < sends[i].channel());
    if (receive_left) {
      return wrong(fmt::format("matching: rank {} receives from rank {} more often than that sends",
                               receives[i].receiver, receives[i].sender));
    }
    if (i >= receives.size() || sends[i].channel() < receives[i].channel()) {
      return wrong(fmt::format("matching: rank {} sends to rank {} more often than that receives", sends[i].sender,
                               sends[i].receiver));
    }
    const auto sender = static_cast<std::size_t>(sends[i].sender);
    const auto receiver = static_cast<std::size_t>(sends[i].receiver);
    const std::uint32_t sent = subject.schedules[sender].messages[sends[i].message].spans.count;
    const std::uint32_t expected = subject.schedules[receiver].messages[receives[i].message].spans.count;
    if (sent != expected) {
      return wrong(fmt::format("matching: rank {} sends {} blocks to rank {}, which expects {}", sender, sent, receiver,
                               expected));
    }
    partners[sender][sends[i].message] = receives[i].message;
    partners[receiver][receives[i].message] = sends[i].message;
  }
  return {};
}

Wishes wishes_of(const NodeMap& nodes, Goal goal) {
  const bool gathers = goal.pattern == Pattern::allgather;
  const auto ranks = static_cast<std::size_t>(nodes.ranks());
  Wishes wishes{std::vector<int>(ranks, gathers ? 1 : nodes.ranks()), {ranks, std::vector<Wish>(ranks)}};
  wishes.dense = true;
  for (int me = 0; me < nodes.ranks(); ++me) {
    for (int source = 0; source < nodes.ranks(); ++source) {
      if (goal.between_nodes && nodes.share_a_node(source, me)) continue;
      wishes.recv[static_cast<std::size_t>(me)][static_cast<std::size_t>(source)] = {source, gathers ? 0 : me};
    }
  }
  return wishes;
}

}  // namespace

Report check_all(const Subject& subject, int orders, std::uint64_t seed) {
  Partners partners;
  if (Report r = check_form(subject); !r.ok) return r;
  if (Report r = check_races(subject); !r.ok) return r;
  if (Report r = check_beside(subject); !r.ok) return r;
  if (Report r = check_matching(subject, partners); !r.ok) return r;
  const int last = std::max(orders, 1) - 1;
  for (int order = 0; order <= last; ++order) {
    const std::uint64_t mix = seed * 1000003u + static_cast<std::uint64_t>(order);
    if (Report r = check_flow(subject, partners, order > 0, mix, order == last); !r.ok) return r;
  }
  return {};
}

}  // namespace proof

std::vector<Schedule> build_all(Build build, const NodeMap& nodes, const Parameters& parameters,
                                std::span<const int> domains, int away_steps) {
  std::vector<Schedule> schedules;
  schedules.reserve(nodes.node_of.size());
  for (int me = 0; me < nodes.ranks(); ++me) {
    schedules.push_back(build({nodes.ranks(), me, &nodes, parameters, domains, away_steps}));
  }
  return schedules;
}

Report verify(const std::vector<Schedule>& schedules, const NodeMap& nodes, Goal goal, int orders, std::uint64_t seed) {
  if (schedules.empty() || schedules.size() != nodes.node_of.size()) {
    return proof::wrong(
        fmt::format("{} schedules, but the node map has {} ranks", schedules.size(), nodes.node_of.size()));
  }
  const proof::Wishes wishes = proof::wishes_of(nodes, goal);
  return proof::check_all(proof::Subject(schedules, nodes, wishes, goal), orders, seed);
}

bool ignores_nodes(const std::vector<Schedule>& schedules) {
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    if (proof::reaches_out(schedules[rank], static_cast<int>(rank))) return false;
    if (std::ranges::any_of(schedules[rank].rounds, &Round::node_fence)) return false;
  }
  return true;
}

// ---- Neighbours ----

namespace {

Report check(const std::vector<Schedule>& schedules, const proof::Wishes& wishes, int orders, std::uint64_t seed,
             bool one_memory = false) {
  if (schedules.empty() || schedules.size() != wishes.recv.size()) {
    return proof::wrong(fmt::format("{} schedules for {} ranks", schedules.size(), wishes.recv.size()));
  }
  const NodeMap nodes = one_node(static_cast<int>(schedules.size()));
  if (!one_memory && !ignores_nodes(schedules)) return proof::wrong("form: a rank reaches into another");
  return proof::check_all(proof::Subject(schedules, nodes, wishes), orders, seed);
}

// [rank] the ends of its edges, in their order.
std::vector<EdgeEnds> in_order(const std::vector<std::vector<int>>& peers) {
  std::vector<EdgeEnds> ends;
  for (const std::vector<int>& of_rank : peers) {
    ends.push_back({of_rank, std::vector<int>(of_rank.size())});
    std::iota(ends.back().blocks.begin(), ends.back().blocks.end(), 0);
  }
  return ends;
}

}  // namespace

std::vector<Schedule> build_all(BuildNeighbors build, const Grid& grid, const Neighborhood& neighborhood,
                                const Parameters& parameters) {
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(grid.ranks()));
  LastBasis last_basis;
  for (int me = 0; me < grid.ranks(); ++me) {
    schedules.push_back(build({&grid, &neighborhood, me, parameters, &last_basis}));
  }
  return schedules;
}

Report verify_neighbors(const std::vector<Schedule>& schedules, const Grid& grid, const Neighborhood& neighborhood,
                        Pattern pattern, int orders, std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  wishes.sized = !one;
  for (int me = 0; me < grid.ranks(); ++me) {
    wishes.send_blocks.push_back(one ? 1 : neighborhood.size());
    auto& recv = wishes.recv.emplace_back();
    for (int i = 0; i < neighborhood.size(); ++i) {
      recv.push_back({rank_at(grid, me, neighborhood.offset(i), -1), one ? 0 : i});
    }
  }
  return check(schedules, wishes, orders, seed);
}

Report verify_graph(const std::vector<Schedule>& schedules, const std::vector<std::vector<int>>& sources,
                    const std::vector<std::vector<int>>& destinations, Pattern pattern, int orders,
                    std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  for (std::size_t me = 0; me < sources.size(); ++me) {
    wishes.send_blocks.push_back(one ? 1 : static_cast<int>(destinations[me].size()));
    wishes.recv.emplace_back(sources[me].size());
  }
  for (const EdgeCopy& edge : join_edges(in_order(destinations), in_order(sources))) {
    auto& recv = wishes.recv[static_cast<std::size_t>(edge.destination)];
    recv[static_cast<std::size_t>(edge.recv_block)] = {edge.source, one ? 0 : edge.send_block};
  }
  for (std::size_t me = 0; me < sources.size(); ++me) {
    for (std::size_t k = 0; k < sources[me].size(); ++k) {
      if (sources[me][k] < 0 || wishes.recv[me][k].rank >= 0) continue;
      return proof::wrong(fmt::format("graph: rank {} names source {}, which has no edge to it", me, sources[me][k]));
    }
  }
  return check(schedules, wishes, orders, seed);
}

Report verify_edges(const std::vector<Schedule>& schedules, std::span<const EdgeCopy> edges, Pattern pattern,
                    int orders, std::uint64_t seed) {
  const bool one = pattern == Pattern::allgather;
  proof::Wishes wishes;
  wishes.send_blocks.assign(schedules.size(), one ? 1 : 0);
  wishes.recv.resize(schedules.size());
  for (const EdgeCopy& edge : edges) {
    const int sent = one ? 0 : edge.send_block;
    int& blocks = wishes.send_blocks[static_cast<std::size_t>(edge.source)];
    blocks = std::max(blocks, sent + 1);
    auto& recv = wishes.recv[static_cast<std::size_t>(edge.destination)];
    const auto block = static_cast<std::size_t>(edge.recv_block);
    if (recv.size() <= block) recv.resize(block + 1);
    recv[block] = {edge.source, sent};
  }
  return check(schedules, wishes, orders, seed, true);
}

}  // namespace quadrille::plan
