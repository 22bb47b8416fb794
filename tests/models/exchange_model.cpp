// The exchange by pairs of the model in node_model.hpp: offers, streams, messages to other nodes, and leaving.
#include <algorithm>
#include <vector>

#include "node_model.hpp"

namespace quadrille::models {

void NodeModel::exchange(const Ways& ways) {
  ++pairs_, ++inboxes_;  // Inbox::begin, Pairs::begin
  std::vector<std::vector<int>> units(static_cast<std::size_t>(ranks_));
  for (std::size_t from = 0; from < units.size(); ++from) {
    for (const Way way : ways[from]) units[from].push_back(units_of(way));
  }
  for (int me = 0; me < ranks_; ++me) {
    start_away(me, ways, 1);
    for (int step = 1; step < ranks_; ++step) offer(me, (me + step) % ranks_, ways);
    if (wrong_ == NodeWrong::reset_in_next_call) reset_late(me);
    for (int step = 1; step < ranks_; ++step) {
      const int from = (me - step + ranks_) % ranks_;
      take(me, from, way_of(ways, from, me));
    }
    if (wrong_ == NodeWrong::finish_before_streams) finish(me);
    streams(me, ways);
    for (int step = 1; step < ranks_; ++step) {
      const int to = (me + step) % ranks_;
      if (is_written(way_of(ways, me, to))) write_to(me, to, way_of(ways, me, to));
    }
    for (const Way way : ways[static_cast<std::size_t>(me)]) {
      if (way != Way::write_fails) continue;
      streams(me, ways);
      break;
    }
    finish_away(me, ways);
    leave(me, ways);
    user(me, units);
  }
  ++calls_;
}

void NodeModel::offer(int me, int to, const Ways& ways) {
  if (way_of(ways, me, to) == Way::away) return;
  const Slot at = slot(to, me);
  const int room = cell("room", me, parity(), to), number = pairs_;
  const bool may_write = is_written(way_of(ways, to, me)) && wrong_ != NodeWrong::room_not_given;
  const bool late = wrong_ == NodeWrong::room_after_offer;
  if (may_write && !late) machine_.store(me, "Pairs::give_room", room, number);
  const auto publish = [&] {
    machine_.publish(me, "Inbox::publish: sequence.store(release)", at.sequence, inboxes_ & ((1 << sequence_bits) - 1));
  };
  if (wrong_ == NodeWrong::number_before_offer) publish();
  const Way way = way_of(ways, me, to);
  machine_.store(me, "Exchange::offer: where, or the block", at.block,
                 way == Way::in_slot ? token(calls_, me, to, 0) : pairs_);
  machine_.store(me, "Inbox::publish: carried", at.head, static_cast<int>(way));
  if (wrong_ != NodeWrong::number_before_offer) publish();
  if (may_write && late) machine_.store(me, "Pairs::give_room", room, number);
  const int out = own("out", me, to), offered = own("offered", me, to), units = size_.units;
  machine_.local(me, "Exchange::offer: out, offered", [=](Step& s) {
    s.own(out) = static_cast<Byte>(way == Way::in_ring ? units : 0);
    s.own(offered) = way == Way::at_address || way == Way::read_fails;
    return true;
  });
}

void NodeModel::take(int me, int from, Way way) {
  if (way == Way::away) return;
  const Slot at = slot(me, from);
  const int number = inboxes_ & ((1 << sequence_bits) - 1), where = pairs_;
  const int in = own("in", me, from), written = own("written", me, from), units = size_.units;
  const bool reads = way != Way::in_slot;
  machine_.step(me, "Inbox::await; Exchange::take: switch", [=](Step& s) {
    if (s.load(at.sequence) != number) return false;
    s.check(s.load(at.head) == static_cast<int>(way), "carried as in another call");
    if (reads) s.check(s.load(at.block) == where, "an offer of another call");
    s.own(in) = static_cast<Byte>(way == Way::in_ring || way == Way::read_fails ? units : 0);
    s.own(written) = is_written(way);
    return true;
  });
  if (way == Way::in_slot) machine_.copy(me, "Exchange::take: unpack_block", recv(me, from, 0), at.block);
  for (int u = 0; u < size_.units && (way == Way::in_heap || way == Way::at_address); ++u) {
    machine_.copy(me, "Exchange::take: copy_in, read_process", recv(me, from, u), send(from, me, u));
  }
  if (way == Way::read_fails) machine_.publish(me, "Pairs::ask_for_ring", cell("ask", me, from), 1);
}

Choice NodeModel::answer_ask(int me, int to) {
  const int asked = cell("ask", to, me), offered = own("offered", me, to), out = own("out", me, to);
  const int units = size_.units;
  const bool resets = wrong_ != NodeWrong::ask_not_reset && wrong_ != NodeWrong::reset_in_next_call;
  const int late = own("late reset", me, to);
  return {"Exchange::answer_asks",
          [=](Step& s) {
            if (s.own(offered) == 0 || s.load(asked) == 0) return false;
            if (resets) s.store(asked, 0);
            s.own(late) = !resets;
            s.own(offered) = 0;
            s.own(out) = static_cast<Byte>(units);
            return true;
          },
          true};
}

Choice NodeModel::learn_of_failed_write(int me, int from) {
  const int failed = cell("failed write", me, from), written = own("written", me, from), in = own("in", me, from);
  const int units = size_.units;
  const bool resets = wrong_ != NodeWrong::failed_write_not_reset;
  return {"Exchange::learn_of_failed_writes",
          [=](Step& s) {
            if (s.own(written) == 0 || s.load(failed) == 0) return false;
            if (resets) s.store(failed, 0);
            s.own(written) = 0;
            s.own(in) = static_cast<Byte>(units);
            return true;
          },
          true};
}

void NodeModel::reset_late(int me) {
  for (int to = 0; to < ranks_; ++to) {
    const int asked = cell("ask", to, me), late = own("late reset", me, to);
    machine_.local(me, "the ask of the last call is reset", [=](Step& s) {
      if (s.own(late) != 0) s.store(asked, 0);
      s.own(late) = 0;
      return true;
    });
  }
}

Choice NodeModel::push(int me, int to) {
  const int pushed = cell("pushed", to, me), popped = cell("popped", to, me), out = own("out", me, to);
  const int ring = size_.ring, units = size_.units;
  std::vector<int> data, from;
  for (int i = 0; i < ring; ++i) data.push_back(cell("ring", to, me, i));
  for (int u = 0; u < units; ++u) from.push_back(send(me, to, u));
  return {"Ring::push",
          [=, this](Step& s) {
            if (s.own(out) == 0) return false;
            const int at = s.load(pushed);
            if (wrong_ != NodeWrong::ring_written_without_room && at - s.load(popped) >= ring) return false;
            const auto announce = [&] {
              wrong_ == NodeWrong::ring_announced_without_release ? s.store(pushed, at + 1) : s.release(pushed, at + 1);
            };
            if (wrong_ == NodeWrong::ring_announced_before_written) announce();
            s.copy(data[static_cast<std::size_t>(at % ring)], from[static_cast<std::size_t>(units - s.own(out))]);
            if (wrong_ != NodeWrong::ring_announced_before_written) announce();
            --s.own(out);
            return true;
          },
          true};
}

Choice NodeModel::pop(int me, int from) {
  const int pushed = cell("pushed", me, from), popped = cell("popped", me, from), in = own("in", me, from);
  const int ring = size_.ring, units = size_.units;
  std::vector<int> data, to;
  for (int i = 0; i < ring; ++i) data.push_back(cell("ring", me, from, i));
  for (int u = 0; u < units; ++u) to.push_back(recv(me, from, u));
  return {"Ring::pop",
          [=, this](Step& s) {
            if (s.own(in) == 0) return false;
            const int at = s.load(popped);
            if (s.load(pushed) == at) return false;
            const int target = to[static_cast<std::size_t>(units - s.own(in))];
            if (wrong_ == NodeWrong::ring_freed_before_read) s.release(popped, at + 1);
            s.copy(target, data[static_cast<std::size_t>(at % ring)]);
            if (wrong_ != NodeWrong::ring_freed_before_read) s.release(popped, at + 1);
            --s.own(in);
            return true;
          },
          true};
}

std::vector<Choice> NodeModel::advances(int me, const Ways& ways, int only) {
  std::vector<Choice> choices;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == me || (only >= 0 && peer != only)) continue;
    const Way out = way_of(ways, me, peer), in = way_of(ways, peer, me);
    if (out == Way::at_address || out == Way::read_fails) choices.push_back(answer_ask(me, peer));
    if (is_written(in)) choices.push_back(learn_of_failed_write(me, peer));
    const bool pushes = out == Way::in_ring || out == Way::at_address || out == Way::read_fails;
    if (pushes || is_written(out)) choices.push_back(push(me, peer));
    if (in == Way::in_ring || in == Way::read_fails || is_written(in)) choices.push_back(pop(me, peer));
  }
  return choices;
}

// Until all streams that are known of are through.
void NodeModel::streams(int me, const Ways& ways) {
  std::vector<Choice> choices = advances(me, ways);
  if (choices.empty()) return;
  std::vector<int> left;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == me) continue;
    left.push_back(own("out", me, peer));
    if (wrong_ != NodeWrong::ask_before_finish_only) left.push_back(own("in", me, peer));
  }
  choices.push_back({"Exchange::run: no streams left", [=](Step& s) {
                       return std::all_of(left.begin(), left.end(), [&](int one) { return s.own(one) == 0; });
                     }});
  machine_.choose(me, choices);
}

void NodeModel::write_to(int me, int to, Way way) {
  const int room = cell("room", to, parity(), me), number = pairs_;
  machine_.step(me, "Exchange::write_to: room_at", [=](Step& s) {
    s.check(s.load(room) == number, "a room of another call");
    return true;
  });
  // A write that fails may have moved a part.
  for (int u = 0; u < (way == Way::write_fails ? size_.units / 2 : size_.units); ++u) {
    machine_.copy(me, "Exchange::write_to: write_process", recv(to, me, u), send(me, to, u));
  }
  if (way != Way::write_fails || wrong_ == NodeWrong::failed_write_not_told) return;
  machine_.publish(me, "Pairs::report_failed_write", cell("failed write", to, me), 1);
  const int out = own("out", me, to), units = size_.units;
  machine_.local(me, "Exchange::write_to: out", [=](Step& s) { return s.own(out) = static_cast<Byte>(units), true; });
}

// AwayMessages::begin: each rank exchanges a message with one of another node in each of two batches. A message
// arrives when both have started its batch.
void NodeModel::start_away(int me, const Ways& ways, int batch) {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (way_of(ways, me, peer) != Way::away) continue;
    machine_.publish(me, "Execution::start_pair", cell("started", me), 2 * calls_ + batch);
    return;
  }
}

void NodeModel::finish_away(int me, const Ways& ways) {
  const int partner = (me + ranks_ / 2) % ranks_;
  if (way_of(ways, me, partner) != Way::away) return;
  for (int batch = 1; batch <= 2; ++batch) {
    if (batch > 1) start_away(me, ways, batch);
    std::vector<Choice> choices = advances(me, ways);
    if (wrong_ == NodeWrong::no_answers_while_away) choices.clear();
    const int started = cell("started", partner), number = 2 * calls_ + batch;
    choices.push_back({"Execution::advance_batch", [=](Step& s) { return s.load(started) >= number; }});
    machine_.choose(me, choices);
  }
}

void NodeModel::leave(int me, const Ways& ways) {
  if (wrong_ != NodeWrong::finish_before_streams) finish(me);
  std::vector<int> users;
  for (int step = 1; step < ranks_ && wrong_ != NodeWrong::no_wait_for_users; ++step) {
    const Way way = way_of(ways, me, (me + step) % ranks_);
    if (way == Way::in_heap || way == Way::at_address || way == Way::read_fails) users.push_back((me + step) % ranks_);
  }
  for (int step = 1; step < ranks_ && wrong_ != NodeWrong::no_wait_for_writers; ++step) {
    const int from = (me - step + ranks_) % ranks_;
    if (is_written(way_of(ways, from, me))) users.push_back(from);
  }
  for (const int user : users) {
    const int only = wrong_ == NodeWrong::answers_to_that_user_alone ? user : -1;
    std::vector<Choice> choices = advances(me, ways, only);
    if (wrong_ == NodeWrong::no_answers_while_leaving) choices.clear();
    const int word = finished(user), number = pairs_number();
    choices.push_back({"Exchange::leave: has_finished", [=](Step& s) { return s.load(word) == number; }});
    machine_.choose(me, choices);
  }
  empty_rings(me, ways);
}

// What peers that have finished could not write is in their rings.
void NodeModel::empty_rings(int me, const Ways& ways) {
  std::vector<int> in, failed, written;
  for (int from = 0; from < ranks_; ++from) {
    if (from == me || !is_written(way_of(ways, from, me))) continue;
    in.push_back(own("in", me, from));
    failed.push_back(cell("failed write", me, from));
    written.push_back(own("written", me, from));
  }
  if (in.empty() || wrong_ == NodeWrong::left_with_a_full_ring) return;
  std::vector<Choice> choices = advances(me, ways);
  const bool seeks = wrong_ != NodeWrong::failed_write_sought_before_finish_only;
  choices.push_back({"Exchange::leave: no streams left", [=](Step& s) {
                       for (std::size_t i = 0; i < in.size(); ++i) {
                         if (s.own(in[i]) != 0) return false;
                         if (seeks && s.own(written[i]) != 0 && s.load(failed[i]) != 0) return false;
                       }
                       return true;
                     }});
  machine_.choose(me, choices);
}

}  // namespace quadrille::models
