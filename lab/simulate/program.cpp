#include "lab/simulate/program.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::simulate {
namespace {

using plan::Message;
using plan::Range;
using plan::Schedule;

class ProgramWriter {
 public:
  ProgramWriter(const Schedule& schedule, Program& program) : schedule_(schedule), program_(program) {}

  // blocks_of(message) tells how many blocks a message has; copies_of(range) what copies are.
  template <class BlocksOf, class CopiesOf>
  void write(const BlocksOf& blocks_of, const CopiesOf& copies_of) {
    program_.notes.reserve(schedule_.messages.size());
    for (const plan::Round& round : schedule_.rounds) {
      Stage stage;
      stage.before = copies_of(round.before);
      stage.sends = notes(round.sends, blocks_of);
      stage.receives = notes(round.receives, blocks_of);
      stage.window = round.window;
      stage.after = copies_of(round.after);
      stage.fence = round.node_fence;
      stage.beside = round.beside;
      program_.stages.push_back(stage);
    }
    if (std::find(program_.scattered.begin(), program_.scattered.end(), true) == program_.scattered.end()) {
      program_.scattered.clear();
    }
  }

 private:
  template <class BlocksOf>
  Range notes(Range messages, const BlocksOf& blocks_of) {
    const Range range{static_cast<std::uint32_t>(program_.notes.size()), messages.count};
    const bool tells = schedule_.sizes != plan::Sizes::known;
    for (const Message& message : schedule_.messages_of(messages)) {
      const auto blocks = static_cast<std::uint32_t>(is_none(message) ? 0 : blocks_of(message));
      program_.notes.push_back({message.peer, blocks, tells ? blocks : 0});
      program_.scattered.push_back(!is_one_run(schedule_, message));
    }
    return range;
  }

  const Schedule& schedule_;
  Program& program_;
};

// Of the streams that a leader exchanges.
Copies copies_of_streams(const plan::LeadersPlan& plan, Range range) {
  Copies copies;
  for (const plan::Copy& copy : plan.exchange.copies_of(range)) {
    const std::uint64_t blocks = plan.blocks_of(copy);
    copies.shared += blocks > 0 ? 1 : 0;
    copies.shared_blocks += blocks;
  }
  return copies;
}

Stage copying(std::uint64_t copies, std::uint64_t blocks, bool fence) {
  Stage stage;
  stage.before.shared = copies;
  stage.before.shared_blocks = blocks;
  stage.fence = fence;
  return stage;
}

}  // namespace

Program reduce(const Schedule& schedule, int me) {
  Program program;
  program.sizes = schedule.sizes;
  const auto copies_of = [&](Range range) {
    Copies copies;
    for (const plan::Copy& copy : schedule.copies_of(range)) {
      const bool shared = copy.from.owner != me || copy.to.owner != me;
      (shared ? copies.shared : copies.own) += 1;
    }
    copies.shared_blocks = copies.shared;
    return copies;
  };
  ProgramWriter(schedule, program).write([](const Message& message) { return message.spans.count; }, copies_of);
  return program;
}

Program reduce(const plan::LeadersPlan& plan) {
  Program program;
  const auto here = static_cast<std::uint64_t>(plan.ranks);
  const std::uint64_t packed = plan.gathers() ? 1 : here;
  program.stages.push_back(copying(packed, packed, true));
  if (plan.leads >= 0) {
    ProgramWriter(plan.exchange, program)
        .write([&](const Message& message) { return plan.blocks_of(message); },
               [&](Range range) { return copies_of_streams(plan, range); });
    // Whole streams lie side by side.
    program.scattered.clear();
  }
  program.stages.push_back(copying(0, 0, true));
  const bool uneven = plan.kind == plan::LeadersKind::uneven;
  program.stages.push_back(copying(uneven ? here : plan.received.size(), here, false));
  program.fence_first = plan.members[0];
  program.fence_ranks = plan.here();
  const auto place = static_cast<double>(plan::most_a_place(plan));
  // Of an uneven block its size lies in its place, too.
  if (uneven) program.size_beside = 4;
  program.piece = std::min(static_cast<double>(plan.piece), place - program.size_beside);
  return program;
}

std::vector<Stage> pairs_in_node(int ranks_on_node) {
  const auto count = static_cast<std::uint64_t>(ranks_on_node);
  Stage read = copying(count, count, false);
  read.up_to = most_of_inbox;
  return {copying(count, count, true), read};
}

std::size_t memory_bytes(const Program& program) {
  return program.stages.capacity() * sizeof(Stage) + program.notes.capacity() * sizeof(Note) +
         program.scattered.capacity() / 8;
}

}  // namespace quadrille::simulate
