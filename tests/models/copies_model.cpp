// The ordered copies of the model in node_model.hpp, and the meetings in which ranks enter and leave them.
#include <algorithm>
#include <string>
#include <vector>

#include "node_model.hpp"

namespace quadrille::models {

void NodeModel::copies(const CopiesCall& call) {
  ++meetings_;  // Meeting::begin
  const bool good = call.not_shared_by < 0 && call.failed_by < 0;
  for (int me = 0; me < ranks_; ++me) {
    write_down_and_enter(me, call);
    copy_all(me, call);
    finish_copies(me, call);
    const int units = size_.units;
    if (good)
      user(me, std::vector(static_cast<std::size_t>(ranks_), std::vector(static_cast<std::size_t>(ranks_), units)));
  }
  if (good) ++calls_;
}

void NodeModel::write_down_and_enter(int me, const CopiesCall& call) {
  const auto places = [&] { machine_.store(me, "Copies::write_down", cell("places", me), meetings_); };
  if (wrong_ != NodeWrong::places_after_entry) places();
  const bool shares = me != call.not_shared_by;
  const int all = own("all", me);
  machine_.local(me, "Meeting::come: shares", [=](Step& s) { return s.own(all) = shares, true; });
  meet(me, 0, all);
  // By the next meeting: a rank writes down what others may still look at.
  if (wrong_ == NodeWrong::places_after_entry) places();
}

void NodeModel::tell(int me, const std::string& step, int word, int yes, bool ordered) {
  const int number = meeting_number();
  const bool all = wrong_ != NodeWrong::failure_not_told;
  machine_.local(me, step, [=](Step& s) {
    const int said = 2 * number + (all ? s.own(yes) : 1);
    ordered ? s.release(word, said) : s.store(word, said);
    return true;
  });
}

void NodeModel::hear(int me, const std::string& step, int word, int yes) {
  const int number = meeting_number();
  const bool reads = wrong_ != NodeWrong::failure_not_read;
  machine_.step(me, step, [=](Step& s) {
    const int said = s.load(word);
    if (said / 2 != number) return false;
    if (reads) s.own(yes) &= said & 1;
    return true;
  });
}

void NodeModel::meet(int me, int moment, int yes) {
  const bool entering = moment == 0;
  const bool waits = wrong_ != (entering ? NodeWrong::no_wait_to_enter : NodeWrong::no_wait_to_finish);
  const bool ordered = wrong_ != (entering ? NodeWrong::entry_without_release : NodeWrong::finish_without_release);
  const int at = wrong_ == NodeWrong::one_word_for_both ? 0 : moment;
  if (size_.radix == 0) {
    tell(me, "Meeting::say", cell("word", me, at), yes, ordered);
    for (int peer = 0; peer < ranks_ && waits; ++peer) {
      if (peer == me) continue;
      if (!entering && wrong_ == NodeWrong::wait_for_one_alone && peer != (me + 1) % ranks_) continue;
      hear(me, "Meeting::look_at_all", cell("word", peer, at), yes);
    }
    return;
  }
  const int first = std::min(size_.radix * me + 1, ranks_), end = std::min(first + size_.radix, ranks_);
  const int only_mine = own("only mine", me);
  machine_.local(me, "(a mistake needs it)", [=](Step& s) { return s.own(only_mine) = s.own(yes), true; });
  const auto tell_children = [&] {
    if (first < end) tell(me, "Meeting::tell_children", cell("down", me, at), yes, ordered);
  };
  for (int child = first; child < end && wrong_ != NodeWrong::children_not_awaited; ++child) {
    hear(me, "Meeting::look_at_tree: children", cell("up", child, at), yes);
  }
  if (me != 0) {
    tell(me, "Meeting::look_at_tree: tell parent", cell("up", me, at),
         wrong_ == NodeWrong::verdict_of_one_alone ? only_mine : yes, ordered);
    if (wrong_ == NodeWrong::told_before_parent_tells) tell_children();
    if (waits) hear(me, "Meeting::look_at_tree: parent", cell("down", (me - 1) / size_.radix, at), yes);
  }
  if (me == 0 || wrong_ != NodeWrong::told_before_parent_tells) tell_children();
}

// With three ranks each pair's block is copied by the third rank, with two by the source and the destination in turn.
int NodeModel::copier_of(int from, int to) const {
  return ranks_ == 3 ? 3 - from - to : meetings_ % 2 == 0 ? from : to;
}

void NodeModel::copy_all(int me, const CopiesCall& call) {
  const int all = own("all", me), copied = own("copied", me), number = meetings_;
  const bool fails = me == call.failed_by;
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      if (from == to || copier_of(from, to) != me) continue;
      const int source = cell("places", from), destination = cell("places", to);
      machine_.step(me, "Copies::copy_one: look_up", [=](Step& s) {
        if (s.own(all) == 0) return true;
        s.check(s.load(source) == number && s.load(destination) == number, "places of another call");
        return true;
      });
      for (int u = 0; u < size_.units && !fails; ++u) {
        const int a = send(from, to, u), b = recv(to, from, u);
        const bool streamed = call.streamed;
        const Action copy = [=](Step& s) {
          if (s.own(all) != 0) streamed ? s.stream_copy(b, a) : s.copy(b, a);
          return true;
        };
        // What is streamed was loaded before.
        streamed ? machine_.step(me, "Copies::copy_one: streaming copy", copy)
                 : machine_.local(me, "Copies::copy_one: copy", copy);
      }
    }
  }
  machine_.local(me, "Copies::run: copied", [=](Step& s) {
    s.own(copied) = s.own(all) != 0 && !fails;
    return true;
  });
}

void NodeModel::finish_copies(int me, const CopiesCall& call) {
  const int copied = own("copied", me);
  const auto fence = [&] { machine_.step(me, "NodeCopy::done: stream_fence", [](Step& s) { return s.fence(); }); };
  const bool is_late = wrong_ == NodeWrong::fence_after_finish;
  if (call.streamed && wrong_ != NodeWrong::no_stream_fence && !is_late) fence();
  meet(me, 1, copied);
  if (call.streamed && is_late) fence();
  const bool good = call.not_shared_by < 0 && call.failed_by < 0;
  machine_.local(me, "Copies::run returns", [=](Step& s) {
    s.check((s.own(copied) != 0) == good, "a rank believes that the copies were made, or that they were not");
    return true;
  });
}

}  // namespace quadrille::models
