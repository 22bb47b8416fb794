// One run of the engine: the state of ranks, adapters and processors, and what events do to it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "lab/simulate/engine.hpp"
#include "lab/simulate/engine_state.hpp"

namespace quadrille::simulate {
namespace {

using plan::Window;
using namespace running;

class Run {
 public:
  Run(const Engine& engine, const Network& network, const Load& load, const Watch& watch)
      : engine_(engine),
        network_(network),
        watch_(watch),
        states_(engine.ranks()),
        adapters_(engine.nodes()),
        memory_(engine.nodes()) {
    const Program& any = engine.crowd().programs[0];
    parts_ = any.sizes == plan::Sizes::known ? 1 : 2;
    outcome_.turns = any.piece > 0 ? std::max(1.0, std::ceil(load.largest / any.piece)) : 1;
    block_ = load.mean / outcome_.turns + any.size_beside;
    largest_ = load.largest;
    arrived_.assign(static_cast<std::size_t>(engine.notes()) * parts_, 0);
    posted_.assign(arrived_.size(), 0);
    if (network.processors > 0) {
      pools_.assign(network.one_machine > 0 ? 1 : engine.nodes(),
                    std::vector<Processor>(static_cast<std::size_t>(std::max(1.0, network.processors))));
    }
    if (network.group_nodes > 0)
      groups_.resize(engine.crowd().map.nodes / static_cast<std::size_t>(network.group_nodes) + 1);
    find_pairs();
    find_fences();
  }

  Outcome go() {
    for (std::uint32_t r = 0; r < states_.size(); ++r) {
      begin_turn(states_[r], program(r));
      schedule_step(r, 0);
    }
    while (!events_.empty() && outcome_.problem.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      happen(event);
      if ((++outcome_.events & 0xffff) == 0 && watch_ && !watch_(outcome_, done_, states_.size())) {
        outcome_.problem = "stopped";
      }
    }
    if (outcome_.problem.empty() && done_ < states_.size()) outcome_.problem = who_waits();
    for (const Adapter& adapter : adapters_) {
      outcome_.busiest_adapter = std::max(outcome_.busiest_adapter, static_cast<double>(adapter.busy) * 1e-12);
    }
    return outcome_;
  }

 private:
  const Program& program(std::uint32_t rank) const { return engine_.crowd().programs[rank]; }

  // ---- Beforehand ----

  // Windows that are refilled count how much of each pair is open.
  static bool is_refilled(const Stage& stage) {
    return stage.window.wait != Window::Wait::all && stage.window.pairs > 0 && stage.window.pairs < pairs_of(stage);
  }
  static std::uint32_t pairs_of(const Stage& stage) { return std::max(stage.sends.count, stage.receives.count); }
  static std::uint32_t window_of(const Stage& stage) {
    const std::uint32_t pairs = pairs_of(stage);
    return stage.window.pairs == 0 ? pairs : std::min(stage.window.pairs, pairs);
  }
  void find_pairs() {
    std::size_t all = 0;
    for (std::uint32_t r = 0; r < states_.size(); ++r) {
      std::uint32_t most = 0;
      for (const Stage& stage : program(r).stages) most = std::max(most, is_refilled(stage) ? pairs_of(stage) : 0);
      first_pair_.push_back(all);
      all += most;
    }
    open_halves_.assign(all, 0);
  }
  void find_fences() {
    std::vector<int> group_of(static_cast<std::size_t>(engine_.crowd().map.ranks()), -1);
    for (std::uint32_t r = 0; r < states_.size(); ++r) {
      int& group = group_of[static_cast<std::size_t>(program(r).fence_first)];
      if (group < 0) group = static_cast<int>(fences_.size()), fences_.emplace_back();
      fences_[static_cast<std::size_t>(group)].members.push_back(r);
      fence_of_.push_back(static_cast<std::uint32_t>(group));
    }
  }

  // ---- What things take ----

  double bytes_of(const Note& note, int part, const Program& whose) const {
    const double data = note.blocks * block_, sizes = 4.0 * note.told;
    if (whose.sizes == plan::Sizes::known) return std::round(data);
    if (whose.sizes == plan::Sizes::coupled) return part == 0 ? (note.blocks > 0 ? 8 : 0) : std::round(data + sizes);
    const bool together = note.told > 0 && data <= whose.with_sizes;
    if (part == 0) return note.told == 0 ? 0 : std::round(sizes + (together ? data : 0));
    return together ? 0 : std::round(data);
  }
  const Note& note_of(std::uint32_t rank, std::uint32_t note) const {
    return program(rank).notes[note - engine_.first_note(rank)];
  }
  double bytes_of(std::uint32_t rank, std::uint32_t note, int part) const {
    return bytes_of(note_of(rank, note), part, program(rank));
  }
  bool asks(bool away, double bytes) const { return bytes > (away ? network_.eager : network_.near_eager); }
  Time on_adapter(Kind kind, double bytes) const {
    return picoseconds(network_.gap + (kind == Kind::question ? 0 : bytes * network_.gap_byte));
  }

  // Copies by rank `r` that begin now; returns their end. The node's memory is shared.
  Time copies_until(std::uint32_t r, double blocks, double shared, double shared_blocks) {
    const double bytes = (blocks + shared_blocks) * block_;
    outcome_.copied_bytes += static_cast<std::uint64_t>(bytes);
    const double alone = blocks * (network_.copied_block + block_ * network_.copied_byte) +
                         shared * network_.shared_block + shared_blocks * block_ * network_.shared_byte;
    Time& memory = memory_[engine_.node_of(r)];
    memory = std::max(memory, now_) + picoseconds(bytes * network_.memory_byte);
    return std::max(now_ + picoseconds(alone), memory);
  }
  Time packing_until(std::uint32_t r, const Note& note, std::uint32_t index) {
    const Program& program = this->program(r);
    if (program.scattered.empty() || !program.scattered[index]) return now_;
    return copies_until(r, program.scattered_copies * note.blocks, 0, 0);
  }

  // ---- Ranks ----

  void schedule(Time at, What what, std::uint64_t order, std::uint32_t subject, Packet packet = {}) {
    events_.push({at, (static_cast<std::uint64_t>(what) << 60) | order, subject, packet.part, packet.kind, what});
  }
  void schedule_step(std::uint32_t r, Time at) { schedule(at, What::step, engine_.number_on_node(r), r); }

  // Rank `r` is at work until `end`; then it goes on.
  void work(std::uint32_t r, Time end, Then then = Then::nothing, std::uint32_t note = 0, std::uint8_t part = 0) {
    State& state = states_[r];
    state.then = then;
    state.note = note;
    state.note_part = part;
    if (!pools_.empty() && end > now_) end = on_processor(r, end - now_);
    schedule_step(r, end);
  }
  Time on_processor(std::uint32_t r, Time takes) {
    std::vector<Processor>& pool = pools_[pools_.size() == 1 ? 0 : engine_.node_of(r)];
    const auto mine =
        std::find_if(pool.begin(), pool.end(), [&](const Processor& one) { return one.last == r && one.free <= now_; });
    const auto best = mine != pool.end()
                          ? mine
                          : std::min_element(pool.begin(), pool.end(),
                                             [](const Processor& a, const Processor& b) { return a.free < b.free; });
    const Time turn = best->last == r ? 0 : picoseconds(network_.turn);
    best->free = std::max(best->free, now_) + turn + takes;
    best->last = r;
    return best->free;
  }

  void begin_turn(State& state, const Program& program) {
    state.stage = 0;
    state.ahead = false;
    state.phase = Phase::enter;
    const auto beside =
        std::find_if(program.stages.begin(), program.stages.end(), [](const Stage& stage) { return stage.beside; });
    if (beside == program.stages.end() || beside == program.stages.begin() || parts_ > 1) return;
    state.stage = static_cast<std::uint32_t>(beside - program.stages.begin());
    state.phase = Phase::ahead;
    begin_part(state, *beside);
  }
  void begin_part(State& state, const Stage& stage) {
    state.next_pair = state.open = 0;
    state.batch_end = window_of(stage);
  }

  // One thing that takes time, or a wait. Then it is called again.
  void step(std::uint32_t r) {
    State& state = states_[r];
    finish(r, state);
    const Program& program = this->program(r);
    while (true) {
      if (state.stage == program.stages.size()) {
        if (++state.turn < static_cast<std::uint32_t>(outcome_.turns)) {
          begin_turn(state, program);
          continue;
        }
        return end(state);
      }
      const Stage& stage = program.stages[state.stage];
      if (largest_ > stage.up_to) {
        ++state.stage;
        continue;
      }
      switch (state.phase) {
        case Phase::ahead:
          if (may_post(state, stage)) {
            if (post(r, state, stage)) return;
            break;
          }
          state.ahead = true;
          state.stage = 0;
          state.phase = Phase::enter;
          break;
        case Phase::enter:
          state.phase = Phase::messages;
          state.part = 0;
          if (pairs_of(stage) > 0 && !(stage.beside && state.ahead)) begin_part(state, stage);
          if (does(r, stage.before)) return;
          break;
        case Phase::messages:
          if (pairs_of(stage) == 0) {
            state.phase = Phase::leave;
            if (does(r, stage.after)) return;
          } else if (may_post(state, stage)) {
            if (post(r, state, stage)) return;
          } else if (!state.ready.empty()) {
            if (handle(r, state, state.ready.pop())) return;
          } else if (state.open > 0) {
            state.waiting = true;
            return;
          } else if (state.next_pair < pairs_of(stage)) {
            state.batch_end = std::min(state.batch_end + window_of(stage), pairs_of(stage));
          } else if (++state.part < parts_) {
            begin_part(state, stage);
          } else {
            state.phase = Phase::leave;
            if (does(r, stage.after)) return;
          }
          break;
        case Phase::leave:
          state.phase = Phase::fence;
          if (stage.fence && fence(r)) return;
          break;
        case Phase::fence:
          ++state.stage;
          state.phase = Phase::enter;
          break;
        case Phase::done:
          return;
      }
    }
  }

  bool does(std::uint32_t r, const Copies& copies) {
    if (copies.own + copies.shared == 0) return false;
    work(r, copies_until(r, static_cast<double>(copies.own), static_cast<double>(copies.shared),
                         static_cast<double>(copies.shared_blocks)));
    return true;
  }
  void end(State& state) {
    state.phase = Phase::done;
    if (++done_ == 1) outcome_.first_seconds = static_cast<double>(now_) * 1e-12;
    outcome_.seconds = static_cast<double>(now_) * 1e-12;
  }
  bool fence(std::uint32_t r) {
    FenceGroup& group = fences_[fence_of_[r]];
    if (++group.there < group.members.size()) return true;
    group.there = 0;
    const double ranks = static_cast<double>(group.members.size());
    double waits = std::ceil(std::log2(ranks));
    if (network_.processors > 0) waits = std::max(waits, (ranks - 1) / network_.processors);
    for (const std::uint32_t member : group.members) schedule_step(member, now_ + picoseconds(network_.fence * waits));
    return true;
  }

  // ---- Messages of a rank ----

  bool may_post(const State& state, const Stage& stage) const {
    if (is_refilled(stage)) return state.next_pair < pairs_of(stage) && state.open < stage.window.pairs;
    return state.next_pair < state.batch_end;
  }
  // Of a refilled window `open` counts pairs, else messages.
  void opened(std::uint32_t r, State& state, const Stage& stage, std::uint32_t pair) {
    if (!is_refilled(stage))
      ++state.open;
    else if (open_halves_[first_pair_[r] + pair]++ == 0)
      ++state.open;
  }
  void completed(std::uint32_t r, State& state, std::uint32_t note) {
    const Stage& stage = program(r).stages[state.stage];
    if (!is_refilled(stage)) {
      --state.open;
      return;
    }
    const std::uint32_t index = note - engine_.first_note(r);
    const bool sends = index >= stage.sends.first && index < stage.sends.first + stage.sends.count;
    const std::uint32_t pair = index - (sends ? stage.sends.first : stage.receives.first);
    if (--open_halves_[first_pair_[r] + pair] == 0) --state.open;
  }

  // The next pair. False if that takes no time.
  bool post(std::uint32_t r, State& state, const Stage& stage) {
    const std::uint32_t pair = state.next_pair++;
    const Program& program = this->program(r);
    const std::uint32_t first = engine_.first_note(r);
    const bool receives =
        pair < stage.receives.count && bytes_of(program.notes[stage.receives.first + pair], state.part, program) > 0;
    const bool sends =
        pair < stage.sends.count && bytes_of(program.notes[stage.sends.first + pair], state.part, program) > 0;
    if (receives) opened(r, state, stage, pair);
    if (sends) opened(r, state, stage, pair);
    if (receives) expect(r, first + stage.receives.first + pair, state.part);
    if (!sends) return false;
    const std::uint32_t index = stage.sends.first + pair;
    const Note& note = program.notes[index];
    const double bytes = bytes_of(note, state.part, program);
    const bool away = engine_.way(r, note.peer).away;
    double takes = away ? network_.overhead : network_.near_overhead;
    if (!asks(away, bytes)) takes += bytes * (away ? network_.overhead_byte : network_.near_byte);
    const Time packed =
        state.part + 1 == parts_ || bytes_of(note, 1, program) == 0 ? packing_until(r, note, index) : now_;
    work(r, packed + picoseconds(takes), Then::leaves, first + index, state.part);
    return true;
  }
  void expect(std::uint32_t r, std::uint32_t note, std::uint8_t part) {
    const std::size_t at = static_cast<std::size_t>(note) * parts_ + part;
    if (arrived_[at] > 0) {
      --arrived_[at];
      found(r, note, part);
    } else {
      posted_[at] = 1;
    }
  }
  // A message or a question that has come has met its receive.
  void found(std::uint32_t r, std::uint32_t note, std::uint8_t part) {
    const Note& one = note_of(r, note);
    tell(r, {note, part, asks(is_away(r, one), bytes_of(r, note, part)) ? Task::answer : Task::take});
  }
  // Of a message received: where its sender is.
  bool is_away(std::uint32_t r, const Note& note) const {
    return engine_.crowd().one_node ? static_cast<std::size_t>(note.peer) >= engine_.ranks()
                                    : engine_.node_of(r) != engine_.node_of(static_cast<std::uint32_t>(note.peer));
  }
  void tell(std::uint32_t r, Item item) {
    State& state = states_[r];
    state.ready.push(item);
    if (!state.waiting) return;
    state.waiting = false;
    schedule_step(r, now_);
  }

  bool handle(std::uint32_t r, State& state, Item item) {
    if (item.task == Task::sent) {
      completed(r, state, item.note);
      return false;
    }
    const std::uint32_t index = item.note - engine_.first_note(r);
    const Note& note = program(r).notes[index];
    const double bytes = bytes_of(r, item.note, item.part);
    const bool away = is_away(r, note);
    const double takes = away ? network_.overhead : network_.near_overhead;
    if (item.task == Task::send_data) {
      work(r, now_ + picoseconds(takes), Then::data_leaves, item.note, item.part);
      return true;
    }
    if (item.task == Task::answer && away) {
      work(r, now_ + picoseconds(takes), Then::answered, item.note, item.part);
      return true;
    }
    double copying = 0;
    if (!away) copying = bytes * network_.near_byte;
    if (away && !asks(away, bytes)) copying = bytes * network_.overhead_byte;
    const bool last = item.part + 1 == parts_ || bytes_of(note, 1, program(r)) == 0;
    const Time unpacked = last ? packing_until(r, note, index) : now_;
    work(r, unpacked + picoseconds(takes + copying), Then::complete_take, item.note, item.part);
    return true;
  }

  // What the rank did is done.
  void finish(std::uint32_t r, State& state) {
    const Then then = state.then;
    state.then = Then::nothing;
    const std::uint32_t note = state.note;
    const std::uint8_t part = state.note_part;
    switch (then) {
      case Then::nothing:
        return;
      case Then::leaves:
        return leave(r, state, note, part);
      case Then::data_leaves:
        return to_adapter(r, {note, part, Kind::data});
      case Then::complete_take: {
        outcome_.received_bytes += static_cast<std::uint64_t>(bytes_of(r, note, part));
        completed(r, state, note);
        // Inside a node who has asked is told that its data were taken.
        if (const Note& one = note_of(r, note); !is_away(r, one) && asks(false, bytes_of(r, note, part))) {
          schedule(now_ + picoseconds(network_.near_latency), What::seen, place_of(note), engine_.other_half(note),
                   {0, part, Kind::data});
        }
        return;
      }
      case Then::answered:
        schedule(now_ + picoseconds(network_.latency), What::answer, place_of(note), engine_.other_half(note),
                 {0, part, Kind::data});
        return;
    }
  }
  // Places relative to each other: of a note its rank's number on the node, and its own in the program.
  std::uint64_t place_of(std::uint32_t note) const {
    const std::uint32_t r = engine_.rank_of(note);
    return (static_cast<std::uint64_t>(engine_.number_on_node(r)) << 28) | (note - engine_.first_note(r));
  }

  void leave(std::uint32_t r, State& state, std::uint32_t note, std::uint8_t part) {
    const double bytes = bytes_of(r, note, part);
    const Engine::Way way = engine_.way(r, note_of(r, note).peer);
    (way.away ? outcome_.messages : outcome_.near_messages) += 1;
    (way.away ? outcome_.bytes : outcome_.near_bytes) += static_cast<std::uint64_t>(bytes);
    const Kind kind = asks(way.away, bytes) ? Kind::question : Kind::whole;
    if (kind == Kind::whole) completed(r, state, note);
    if (way.away) return to_adapter(r, {note, part, kind});
    schedule(now_ + picoseconds(network_.near_latency), What::near, order_of(r, note, way), note, {note, part, kind});
  }
  // Of messages that come to a node at one time.
  std::uint64_t order_of(std::uint32_t r, std::uint32_t note, const Engine::Way& way) const {
    return (static_cast<std::uint64_t>(way.distance) << 42) |
           (static_cast<std::uint64_t>(engine_.number_on_node(r)) << 28) | ((note - engine_.first_note(r)) & 0xfffffff);
  }

  // ---- The network ----

  void to_adapter(std::uint32_t r, Packet packet) {
    const std::uint32_t node = engine_.node_of(r);
    Adapter& adapter = adapters_[node];
    adapter.out.push(packet);
    if (!adapter.sending) send_next(node);
  }
  void send_next(std::uint32_t node) {
    Adapter& adapter = adapters_[node];
    adapter.sending = !adapter.out.empty();
    if (!adapter.sending) return;
    const Packet packet = adapter.out.front();
    const std::uint32_t r = engine_.rank_of(packet.note);
    const Time takes = on_adapter(packet.kind, bytes_of(r, packet.note, packet.part));
    adapter.busy += takes;
    const Engine::Way way = engine_.way(r, note_of(r, packet.note).peer);
    const bool far = !groups_.empty() && group_of(node) != group_of(engine_.node_of(way.to));
    schedule(now_ + takes, What::adapter_free, 0, node);
    schedule(now_ + picoseconds(network_.latency), far ? What::link : What::arrive, order_of(r, packet.note, way),
             packet.note, packet);
  }
  std::size_t group_of(std::uint32_t node) const { return node / static_cast<std::size_t>(network_.group_nodes); }

  void adapter_is_free(std::uint32_t node) {
    const Packet packet = adapters_[node].out.pop();
    if (packet.kind == Kind::data) tell(engine_.rank_of(packet.note), {packet.note, packet.part, Task::sent});
    send_next(node);
  }
  // Out by the links of one group, in by those of the other.
  void pass_links(const Event& event) {
    const std::uint32_t r = engine_.rank_of(event.subject);
    const Engine::Way way = engine_.way(r, note_of(r, event.subject).peer);
    const Time takes =
        picoseconds((event.kind == Kind::question ? 0 : bytes_of(r, event.subject, event.part)) * network_.group_byte);
    Group &from = groups_[group_of(engine_.node_of(r))], &to = groups_[group_of(engine_.node_of(way.to))];
    const Time out = std::max(now_, from.out_free);
    from.out_free = out + takes;
    const Time in = std::max(out + picoseconds(network_.group_latency), to.in_free);
    to.in_free = in + takes;
    schedule(in, What::arrive, order_of(r, event.subject, way), event.subject, {event.subject, event.part, event.kind});
  }
  void arrive(const Event& event) {
    const std::uint32_t r = engine_.rank_of(event.subject);
    const Engine::Way way = engine_.way(r, note_of(r, event.subject).peer);
    Time& free = adapters_[engine_.node_of(way.to)].in_free;
    free = std::max(free, now_) + on_adapter(event.kind, bytes_of(r, event.subject, event.part));
    schedule(free, What::deliver, order_of(r, event.subject, way), event.subject,
             {event.subject, event.part, event.kind});
  }
  void deliver(const Event& event) {
    const std::uint32_t note = engine_.other_half(event.subject);
    const std::uint32_t r = engine_.rank_of(note);
    if (event.kind == Kind::data) return tell(r, {note, event.part, Task::take});
    const std::size_t at = static_cast<std::size_t>(note) * parts_ + event.part;
    if (posted_[at] == 0) {
      if (++arrived_[at] == 0) outcome_.problem = "a message overtakes 255 others";
      return;
    }
    posted_[at] = 0;
    found(r, note, event.part);
  }

  void happen(const Event& event) {
    switch (event.what) {
      case What::step:
        return step(event.subject);
      case What::adapter_free:
        return adapter_is_free(event.subject);
      case What::link:
        return pass_links(event);
      case What::arrive:
        return arrive(event);
      case What::deliver:
      case What::near:
        return deliver(event);
      case What::answer:
        return tell(engine_.rank_of(event.subject), {event.subject, event.part, Task::send_data});
      case What::seen:
        return tell(engine_.rank_of(event.subject), {event.subject, event.part, Task::sent});
    }
  }

  std::string who_waits() const {
    std::string text =
        fmt::format("deadlock: {} of {} ranks do not come to their end", states_.size() - done_, states_.size());
    int named = 0;
    for (std::uint32_t r = 0; r < states_.size() && named < 3; ++r) {
      const State& state = states_[r];
      if (state.phase == Phase::done) continue;
      text += fmt::format("; rank {} waits in round {}", r, state.stage + 1);
      ++named;
      if (state.phase == Phase::fence) {
        text += " for the ranks of its node";
        continue;
      }
      const plan::Range receives = program(r).stages[state.stage].receives;
      for (std::uint32_t i = receives.first; i < receives.first + receives.count; ++i) {
        if (posted_[static_cast<std::size_t>(engine_.first_note(r) + i) * parts_ + state.part] == 0) continue;
        text += fmt::format(" for a message from {}", program(r).notes[i].peer);
        break;
      }
    }
    return text;
  }

  const Engine& engine_;
  const Network& network_;
  const Watch& watch_;
  Outcome outcome_;
  Time now_ = 0;
  std::uint8_t parts_ = 1;
  double block_ = 0, largest_ = 0;
  std::size_t done_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<State> states_;
  std::vector<Adapter> adapters_;
  std::vector<Time> memory_;
  std::vector<std::vector<Processor>> pools_;
  std::vector<Group> groups_;
  std::vector<FenceGroup> fences_;
  std::vector<std::uint32_t> fence_of_;
  std::vector<std::uint8_t> arrived_, posted_;  // [note][part] messages that found no receive; a receive waits
  std::vector<std::size_t> first_pair_;
  std::vector<std::uint8_t> open_halves_;
};

}  // namespace

Outcome Engine::run(const Network& network, const Load& load, const Watch& watch) const {
  if (!problem_.empty()) {
    Outcome outcome;
    outcome.problem = problem_;
    return outcome;
  }
  return Run(*this, network, load, watch).go();
}

}  // namespace quadrille::simulate
