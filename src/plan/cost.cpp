#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::plan {
namespace {

// Batches, but for those without messages.
std::uint64_t batches(const Schedule& schedule, const Round& round) {
  const auto has_some = [&](Range messages) { return !std::ranges::all_of(schedule.messages_of(messages), is_none); };
  const std::uint32_t pairs = pairs_of(round), window = window_of(round);
  std::uint64_t count = 0;
  for (std::uint32_t first = 0; first < pairs; first += window) {
    const std::uint32_t end = first + window;
    count += has_some(part_of(round.sends, first, end)) || has_some(part_of(round.receives, first, end)) ? 1 : 0;
  }
  return count;
}

}  // namespace

Counts count(const Schedule& schedule) {
  Counts counts;
  counts.scratch_blocks = schedule.scratch_blocks;
  for (const Round& round : schedule.rounds) {
    counts.rounds += batches(schedule, round);
    counts.blocks_copied += round.before.count + round.after.count;
    for (const Range range : {round.sends, round.receives}) {
      for (const Message& message : schedule.messages_of(range)) {
        counts.derived_messages += is_one_run(schedule, message) ? 0 : 1;
      }
    }
    for (const Message& message : schedule.messages_of(round.sends)) {
      counts.messages += is_none(message) ? 0 : 1;
      counts.blocks_sent += message.spans.count;
    }
  }
  if (schedule.sizes == Sizes::known) return counts;
  counts.size_messages = counts.messages;
  counts.sizes_sent = counts.blocks_sent;
  return counts;
}

Machine one_class(Machine machine) {
  machine.near_message = machine.alpha;
  machine.near_byte = machine.beta;
  machine.shared_byte = machine.gamma;
  machine.shared_block = machine.delta;
  machine.fence = machine.rho;
  return machine;
}

Machine flat(const Machine& machine, int per_node) {
  Machine plain{machine.alpha + per_node * machine.node_message, machine.beta + per_node * machine.node_byte,
                machine.gamma, machine.delta, machine.rho};
  plain.flight = machine.flight;
  return plain;
}

double doublings(double number) {
  double power = 1, count = 0;
  while (2 * power <= number) power *= 2, count += 1;
  return count + (number - power) / power;
}

double cut_off(const Machine& machine, std::int64_t s, std::int64_t D, std::int64_t V) {
  const double saved = machine.alpha * static_cast<double>(s - D) - machine.rho * static_cast<double>(D - 1);
  const double more = machine.beta * static_cast<double>(V - s);
  if (D >= s || saved <= 0) return 0;
  return more <= 0 ? std::numeric_limits<double>::infinity() : saved / more;
}

// ---- Where several ranks share a node ----

namespace {

constexpr double bytes_of_a_size = 4;
// Of blocks with sizes in one buffer the length always travels alone.
constexpr double always_alone = 1e300;

// Of `pairs` messages in flight together.
double flight_of(double pairs) { return pairs > 1 ? pairs * doublings(pairs) : 0; }

// What rank `me` does in a round of its schedule. blocks_of(message) tells how many blocks a message has.
template <class BlocksOf>
RoundWork work_in(const Round& round, const Schedule& schedule, int me, const NodeMap& nodes, double scattered,
                  BlocksOf blocks_of) {
  RoundWork work;
  // How many there are.
  const auto add = [&](Range messages, bool sends) {
    double count = 0;
    for (const Message& message : schedule.messages_of(messages)) {
      if (is_none(message)) continue;
      count += 1;
      const double blocks = blocks_of(message);
      const bool away = !nodes.share_a_node(me, message.peer);
      (away ? (sends ? work.away_out : work.away_in) : (sends ? work.near_out : work.near_in)) += 1;
      (away ? (sends ? work.away_blocks_out : work.away_blocks_in)
            : (sends ? work.near_blocks_out : work.near_blocks_in)) += blocks;
      if (away) work.longest = std::max(work.longest, blocks);
      if (!is_one_run(schedule, message)) work.copied += scattered * blocks;
      if (!sends) continue;
      work.most_sent = std::max(work.most_sent, blocks);
      if (schedule.sizes != Sizes::known) (away ? work.away_sizes : work.near_sizes) += blocks;
    }
    return count;
  };
  const std::uint32_t pairs = pairs_of(round), window = window_of(round);
  for (std::uint32_t first = 0; first < pairs; first += window) {
    const double sent = add(part_of(round.sends, first, first + window), true);
    const double received = add(part_of(round.receives, first, first + window), false);
    const double together = std::max(sent, received);
    work.rounds += together > 0 ? 1 : 0;
    work.flight += flight_of(together);
  }
  for (const Range range : {round.before, round.after}) {
    for (const Copy& copy : schedule.copies_of(range)) {
      const bool shared = copy.from.owner != me || copy.to.owner != me;
      (shared ? work.shared : work.copied) += 1;
      work.shared_data += shared ? 1 : 0;
    }
  }
  work.fences = round.node_fence ? 1 : 0;
  return work;
}

void join(RoundWork& work, const RoundWork& other, double weight, double& (*keep)(double&, double)) {
  constexpr double RoundWork::*all[] = {
      &RoundWork::away_out,        &RoundWork::away_in,        &RoundWork::near_out,        &RoundWork::near_in,
      &RoundWork::away_blocks_out, &RoundWork::away_blocks_in, &RoundWork::near_blocks_out, &RoundWork::near_blocks_in,
      &RoundWork::away_sizes,      &RoundWork::near_sizes,     &RoundWork::most_sent,       &RoundWork::longest,
      &RoundWork::copied,          &RoundWork::shared,         &RoundWork::shared_data,     &RoundWork::rounds,
      &RoundWork::flight,          &RoundWork::fences};
  for (const auto field : all) keep(work.*field, other.*field * weight);
}
double& larger(double& a, double b) { return a = std::max(a, b); }
double& plus(double& a, double b) { return a += b; }

// The amounts of the busiest so far.
void raise(Amounts& amounts, Term term, double amount) { larger(of(amounts, term), amount); }

}  // namespace

constexpr std::array<TermRow, terms> term_rows = {{
    {Term::message, "message", &Machine::alpha, "messages between nodes of a rank"},
    {Term::byte, "byte", &Machine::beta, "bytes between nodes of a rank"},
    {Term::node_message, "node_message", &Machine::node_message, "messages between nodes of a node's adapter"},
    {Term::node_byte, "node_byte", &Machine::node_byte, "bytes between nodes of a node's adapter"},
    {Term::near_message, "near_message", &Machine::near_message, "messages inside a node"},
    {Term::near_byte, "near_byte", &Machine::near_byte, "bytes of messages inside a node"},
    {Term::copied_byte, "copied_byte", &Machine::gamma, "bytes copied in a rank's own memory"},
    {Term::copied_block, "copied_block", &Machine::delta, "blocks copied in a rank's own memory"},
    {Term::shared_byte, "shared_byte", &Machine::shared_byte, "bytes copied through a node's shared memory"},
    {Term::shared_block, "shared_block", &Machine::shared_block, "blocks copied through a node's shared memory"},
    {Term::round, "round", &Machine::rho, "rounds of waiting for peers"},
    {Term::fence, "fence", &Machine::fence, "waits of a node's ranks for each other"},
    {Term::flight, "flight", &Machine::flight, "doublings of the messages in flight"},
    {Term::handshake, "handshake", &Machine::handshake,
     "rounds with messages that wait until their receivers have answered"},
}};

void add(Amounts& sum, const Amounts& more, double weight) {
  for (std::size_t t = 0; t < terms; ++t) sum[t] += weight * more[t];
}

double time(const Amounts& amounts, const Machine& machine) {
  double seconds = 0;
  for (const TermRow& row : term_rows) {
    const double amount = of(amounts, row.term);
    if (amount > 0) seconds += amount * machine.*row.constant;
  }
  return seconds;
}

Amounts amounts(const PlacedCost& cost, const BlockBytes& bytes, double at_once) {
  const double pieces = cost.piece > 0 ? std::max(1.0, std::ceil(bytes.largest / cost.piece)) : 1;
  Amounts result{};
  for (std::size_t t = 0; t < terms; ++t) {
    const bool of_node = static_cast<Term>(t) == Term::node_byte;
    result[t] = cost.fixed[t] * pieces + cost.per_byte[t] * (of_node ? bytes.node : bytes.rank);
  }
  for (const auto& [blocks, alone] : cost.told) {
    if (blocks * bytes.rank > cost.eager) add(result, alone);
  }
  const double moving = cost.piece > 0 ? std::min(bytes.rank, cost.piece) : bytes.rank;
  for (const auto& [blocks, rounds] : cost.longest) {
    if (blocks * moving > at_once) of(result, Term::handshake) += rounds * pieces;
  }
  return result;
}

std::vector<SampledNode> sample_ranks(const NodeMap& nodes, SampleLimits limits) {
  const std::vector<std::vector<int>> members = nodes.members();
  // `count` of `all` numbers at equal distances, the first and the last among them.
  const auto spread = [](std::size_t all, int most) {
    const std::size_t count = std::min(all, static_cast<std::size_t>(most));
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(count == 1 ? 0 : i * (all - 1) / (count - 1));
    return list;
  };
  std::vector<std::size_t> chosen = spread(members.size(), limits.nodes);
  const auto fullest =
      static_cast<std::size_t>(std::max_element(members.begin(), members.end(),
                                                [](const auto& a, const auto& b) { return a.size() < b.size(); }) -
                               members.begin());
  const bool has_fullest = std::any_of(chosen.begin(), chosen.end(),
                                       [&](std::size_t n) { return members[n].size() == members[fullest].size(); });
  if (!has_fullest) chosen.push_back(fullest);
  std::vector<SampledNode> sampled;
  for (const std::size_t node : chosen) {
    SampledNode ranks;
    const auto at = spread(members[node].size(), limits.ranks);
    const auto all = static_cast<double>(members[node].size()), some = static_cast<double>(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool outer = at.size() > 2 && (i == 0 || i + 1 == at.size());
      ranks.push_back({members[node][at[i]], outer ? 1 : at.size() > 2 ? (all - 2) / (some - 2) : all / some});
    }
    sampled.push_back(std::move(ranks));
  }
  return sampled;
}

RankWork work_of(const Schedule& schedule, int me, const NodeMap& nodes, double scattered) {
  const auto blocks_of = [](const Message& message) { return static_cast<double>(message.spans.count); };
  RankWork work(1);
  for (const Round& round : schedule.rounds) {
    work.back().push_back(work_in(round, schedule, me, nodes, scattered, blocks_of));
    if (round.node_fence) work.emplace_back();
  }
  return work;
}

RankWork work_of(const LeadersPlan& plan, const NodeMap& nodes) {
  const bool uneven = plan.kind == LeadersKind::uneven;
  RankWork work(3);
  RoundWork pack, unpack;
  pack.shared = pack.shared_data = plan.gathers() ? 1 : plan.ranks;
  pack.fences = 1;
  work[0].push_back(pack);
  // Blocks of one size that lie one behind the other are copied together.
  unpack.shared = uneven ? plan.ranks : static_cast<double>(plan.received.size());
  unpack.shared_data = plan.ranks;
  work[2].push_back(unpack);

  const auto blocks_of = [&](const Message& message) { return static_cast<double>(plan.blocks_of(message)); };
  std::vector<RoundWork>& rounds = work[1];
  for (const Round& round : plan.exchange.rounds) {  // none, unless this rank leads
    RoundWork one = work_in(round, plan.exchange, plan.me, nodes, 0, blocks_of);
    if (uneven) one.away_sizes = one.away_blocks_out;
    // Copies of the exchange are of streams, within shared memory.
    one.copied = one.shared = one.shared_data = 0;
    for (const Range range : {round.before, round.after}) {
      for (const Copy& copy : plan.exchange.copies_of(range)) {
        const auto blocks = static_cast<double>(plan.blocks_of(copy));
        one.shared += blocks > 0 ? 1 : 0;
        one.shared_data += blocks;
      }
    }
    rounds.push_back(one);
  }
  if (rounds.empty()) rounds.emplace_back();
  rounds.front().fences = 1;
  return work;
}

void CostSum::add(const RankWork& work, double weight) {
  if (rounds_.size() < work.size()) rounds_.resize(work.size());
  for (std::size_t phase = 0; phase < work.size(); ++phase) {
    std::vector<Round>& rounds = rounds_[phase];
    if (rounds.size() < work[phase].size()) rounds.resize(work[phase].size());
    for (std::size_t r = 0; r < work[phase].size(); ++r) {
      join(rounds[r].most, work[phase][r], 1, larger);
      join(rounds[r].sum, work[phase][r], weight, plus);
    }
  }
}

void CostSum::end_node(int ranks_on_node) {
  for (std::vector<Round>& rounds : rounds_) {
    for (Round& round : rounds) close(round, ranks_on_node);
  }
}

void CostSum::close(Round& round, int ranks_on_node) const {
  const RoundWork &most = round.most, &sum = round.sum;
  // What needs a processor.
  const auto work = [&](double RoundWork::*field) {
    return processors_ > 0 ? std::max(most.*field, sum.*field / processors_) : most.*field;
  };
  const auto either = [&](const RoundWork& of, double RoundWork::*out, double RoundWork::*in) {
    return std::max(of.*out, of.*in);
  };
  raise(round.fixed, Term::message, std::max(work(&RoundWork::away_out), work(&RoundWork::away_in)));
  raise(round.fixed, Term::node_message, either(sum, &RoundWork::away_out, &RoundWork::away_in));
  raise(round.fixed, Term::near_message, std::max(work(&RoundWork::near_out), work(&RoundWork::near_in)));
  raise(round.fixed, Term::byte, bytes_of_a_size * most.away_sizes);
  raise(round.fixed, Term::node_byte, bytes_of_a_size * sum.away_sizes);
  raise(round.fixed, Term::near_byte, bytes_of_a_size * work(&RoundWork::near_sizes));
  raise(round.fixed, Term::copied_block, work(&RoundWork::copied));
  raise(round.fixed, Term::shared_block, work(&RoundWork::shared));
  raise(round.fixed, Term::round, most.rounds);
  raise(round.fixed, Term::flight, most.flight);
  const double waits = doublings(ranks_on_node);
  raise(round.fixed, Term::fence,
        most.fences * (processors_ > 0 ? std::max(waits, (ranks_on_node - 1) / processors_) : waits));
  raise(round.per_byte, Term::byte, either(most, &RoundWork::away_blocks_out, &RoundWork::away_blocks_in));
  raise(round.per_byte, Term::node_byte, either(sum, &RoundWork::away_blocks_out, &RoundWork::away_blocks_in));
  raise(round.per_byte, Term::near_byte, std::max(work(&RoundWork::near_blocks_out), work(&RoundWork::near_blocks_in)));
  raise(round.per_byte, Term::copied_byte, work(&RoundWork::copied));
  raise(round.per_byte, Term::shared_byte, work(&RoundWork::shared_data));
  if (sizes_ != Sizes::known && most.most_sent > 0) {
    raise(round.alone, Term::message, work(&RoundWork::away_out));
    raise(round.alone, Term::node_message, sum.away_out);
    raise(round.alone, Term::near_message, work(&RoundWork::near_out));
    raise(round.alone, Term::round, most.rounds);
    larger(round.most_told, sizes_ == Sizes::coupled ? always_alone : most.most_sent);
  }
  larger(round.longest, most.longest);
  round.most = round.sum = {};
}

PlacedCost CostSum::take() const {
  PlacedCost cost;
  for (const std::vector<Round>& rounds : rounds_) {
    for (const Round& round : rounds) {
      plan::add(cost.fixed, round.fixed);
      plan::add(cost.per_byte, round.per_byte);
      if (round.longest > 0) cost.longest[round.longest] += of(round.fixed, Term::round);
      if (round.most_told > 0) plan::add(cost.told[round.most_told], round.alone);
    }
  }
  return cost;
}

}  // namespace quadrille::plan
