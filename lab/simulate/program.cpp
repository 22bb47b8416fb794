#include "lab/simulate/program.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::simulate {
namespace {

using plan::Buffer;
using plan::Message;
using plan::Range;
using plan::Schedule;
using plan::Span;

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
    for (const Message& message : schedule_.messages_of(messages)) {
      const auto blocks = is_none(message) ? 0 : blocks_of(message);
      program_.notes.push_back({message.peer, static_cast<std::uint32_t>(blocks), blocks > 0 ? message.told : 0});
      program_.scattered.push_back(!is_one_run(schedule_, message));
    }
    return range;
  }

  const Schedule& schedule_;
  Program& program_;
};

// The blocks of the streams that a leader exchanges.
class Streams {
 public:
  explicit Streams(const plan::LeadersPlan& plan) : plan_(plan) {
    const auto own = std::find_if(plan.streams.begin(), plan.streams.end(),
                                  [&](const plan::LeadersStream& stream) { return stream.peer == plan.me; });
    own_ = own == plan.streams.end() ? nullptr : &*own;
  }

  std::uint64_t blocks_of(const Span& span) const {
    if (span.buffer == Buffer::scratch) return plan_.slot;
    if (plan_.gathers() && span.buffer == Buffer::send) return own_->send_count;
    const plan::LeadersStream& stream = stream_of(span);
    return span.buffer == Buffer::send ? stream.send_count : stream.recv_count;
  }
  // A message of uneven blocks has parts: all of one stream.
  std::uint64_t blocks_of(const Message& message) const {
    std::uint64_t blocks = 0;
    for (std::uint32_t s = 0; s < (is_uneven() ? 1 : message.spans.count); ++s) {
      blocks += blocks_of(plan_.exchange.spans[message.spans.first + s]);
    }
    return blocks;
  }
  Copies copies(Range range) const {
    Copies copies;
    for (const plan::Copy& copy : plan_.exchange.copies_of(range)) {
      // What an allgather's node sends lies where it is received.
      if (plan_.gathers() && copy.from.buffer == Buffer::send && copy.to.buffer == Buffer::recv &&
          &stream_of(copy.to) == own_) {
        continue;
      }
      const std::uint64_t blocks = std::min(blocks_of(copy.from), blocks_of(copy.to));
      copies.shared += blocks > 0 ? 1 : 0;
      copies.shared_blocks += blocks;
    }
    return copies;
  }

 private:
  bool is_uneven() const { return plan_.kind == plan::LeadersKind::uneven; }
  const plan::LeadersStream& stream_of(const Span& span) const {
    const std::size_t parts = is_uneven() && span.buffer == Buffer::send ? 1 + plan_.members.size() : 1;
    return plan_.streams[static_cast<std::size_t>(span.block) / parts];
  }

  const plan::LeadersPlan& plan_;
  const plan::LeadersStream* own_;
};

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
    const Streams streams(plan);
    ProgramWriter(plan.exchange, program)
        .write([&](const Message& message) { return streams.blocks_of(message); },
               [&](Range range) { return streams.copies(range); });
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
