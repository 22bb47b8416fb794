// A model of a call that copies out of other ranks' memory, where a rank may die at any step: src/team/team.cpp and
// the exchange of src/run/node_exchange.cpp, or the blocks that src/run/node_neighbors.cpp offers. Every other rank
// comes to the end of the call, and one for which it succeeds has what the others sent. Of a call by messages:
// run_messages() of src/run/engines.hpp. And of how a request under the MPI's name ends.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "expect.hpp"

namespace quadrille::models::faults {
namespace {

enum class Wrong {
  nothing,
  never_leaves,       // a rank waits for the one that has died
  says_nothing,       // it leaves, and the others are not told
  writes_at_once,     // its program goes on before the others can see that it has left
  looks_before_copy,  // whether some rank has left, and not after the last copy
};
constexpr struct {
  Wrong wrong;
  const char* name;
} mutations[] = {
    {Wrong::never_leaves, "no rank leaves"},
    {Wrong::says_nothing, "a rank leaves and does not say so"},
    {Wrong::writes_at_once, "a rank leaves and writes before it is seen"},
    {Wrong::looks_before_copy, "looks before the copies, not after"},
};

// Who copies from whom: the owner waits for the reader before it leaves.
using Reads = std::vector<std::pair<int, int>>;

class FaultsModel {
 public:
  FaultsModel(int ranks, const Reads& reads, Wrong wrong) : ranks_(ranks), wrong_(wrong), machine_(ranks, 8) {
    dead_ = machine_.cell("some rank is dead, as the MPI tells");
    left_ = machine_.cell("some rank has left");
    for (int r = 0; r < ranks_; ++r) {
      const std::string rank = " of rank " + std::to_string(r);
      sent_.push_back(machine_.cell("send block" + rank, sent_by(r)));
      here_.push_back(machine_.cell("announcement" + rank));
      state_.push_back(machine_.own(in_call));
    }
    for (const auto& [reader, owner] : reads) {
      const std::string pair = std::to_string(reader) + " of " + std::to_string(owner);
      done_.push_back(machine_.cell("finished by " + pair));
      got_.push_back(machine_.own());
    }
    for (int me = 0; me < ranks_; ++me) add(me, reads);
  }
  const Machine& machine() const { return machine_; }

 private:
  static constexpr Byte in_call = 0, has_left = 1, is_dead = 2, has_succeeded = 3;
  static Byte sent_by(int rank) { return static_cast<Byte>(10 + rank); }
  static constexpr Byte written_later = 99;

  // What a rank does in the call unless it has left it or is dead. Before each step rank 1 may die.
  void act(int me, const std::string& name, Action action, bool waits = false) {
    const int state = state_[static_cast<std::size_t>(me)];
    std::vector<Choice> choices{{name, [=](Step& s) { return s.own(state) == in_call && action(s); }},
                                {"(the rank is out)", [=](Step& s) { return s.own(state) != in_call; }}};
    if (me == 1) {
      choices.push_back({"dies before " + name, [=, this](Step& s) {
                           if (s.own(state) != in_call) return false;
                           s.own(state) = is_dead;
                           s.release(dead_, 1);
                           return true;
                         }});
    }
    if (waits && wrong_ != Wrong::never_leaves) {
      choices.push_back({"throw_if_faulty: leaves " + name, [=, this](Step& s) {
                           if (s.own(state) != in_call || (s.load(dead_) == 0 && s.load(left_) == 0)) return false;
                           leave(s, state);
                           return true;
                         }});
    }
    machine_.choose(me, std::move(choices));
  }

  void leave(Step& s, int state) {
    s.own(state) = has_left;
    if (wrong_ == Wrong::writes_at_once) s.store(left_, 1);
    if (wrong_ != Wrong::writes_at_once && wrong_ != Wrong::says_nothing) s.stream(left_, 1);
  }

  void look(int me) {
    act(me, "error_after_call", [=, this](Step& s) {
      if (s.load(left_) != 0) leave(s, state_[static_cast<std::size_t>(me)]);
      return true;
    });
  }

  void add(int me, const Reads& reads) {
    const int state = state_[static_cast<std::size_t>(me)];
    act(me, "offer", [=, this](Step& s) { return s.release(here_[static_cast<std::size_t>(me)], 1), true; });
    if (wrong_ == Wrong::looks_before_copy) look(me);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const auto [reader, owner] = reads[i];
      const auto from = static_cast<std::size_t>(owner);
      if (reader != me) continue;
      act(
          me, "await", [=, this](Step& s) { return s.load(here_[from]) == 1; }, true);
      act(me, "copy", [=, this](Step& s) { return s.own(got_[i]) = s.load(sent_[from]), true; });
      act(me, "finish", [=, this](Step& s) { return s.release(done_[i], 1), true; });
    }
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (reads[i].second == me)
        act(
            me, "await_users", [=, this](Step& s) { return s.load(done_[i]) == 1; }, true);
    }
    if (wrong_ != Wrong::looks_before_copy) look(me);
    // The program goes on, unless the rank is dead.
    machine_.choose(me, {{"returns", [=](Step& s) {
                            if (s.own(state) == in_call) s.own(state) = has_succeeded;
                            return s.fence();
                          }}});
    machine_.choose(me, {{"the program writes", [=, this](Step& s) {
                            if (s.own(state) != is_dead) s.store(sent_[static_cast<std::size_t>(me)], written_later);
                            return true;
                          }}});
    machine_.finally([=, this](Step& s) {
      if (s.own(state) != has_succeeded) return;
      for (std::size_t i = 0; i < reads.size(); ++i) {
        const bool good = reads[i].first != me || s.own(got_[i]) == sent_by(reads[i].second);
        s.check(good, "a call succeeds with what a rank has written after it had left");
      }
    });
  }

  const int ranks_;
  const Wrong wrong_;
  Machine machine_;
  int dead_ = 0, left_ = 0;
  std::vector<int> sent_, here_, state_, done_, got_;
};

// Rank 1 may die. Rank 2 has nothing from it, and needs nothing of rank 0 but its block.
const Reads from_one_to_the_next{{0, 1}, {2, 0}};
const Reads all_to_all{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};

TEST(FaultsModel, AllOthersComeToTheEndAndNoneTakesWhatIsNotSent) {
  expect_good("a death, from one rank to the next", FaultsModel(3, from_one_to_the_next, Wrong::nothing).machine());
  expect_good("a death, all to all", FaultsModel(3, all_to_all, Wrong::nothing).machine());
}

TEST(FaultsModel, EveryMutationIsFound) {
  for (const auto& [wrong, name] : mutations) {
    expect_found(std::string("a death, ") + name, FaultsModel(3, from_one_to_the_next, wrong).machine());
  }
}

// ---- Messages ----

enum class WrongEnd {
  nothing,
  sends_on,         // what it has not received
  sends_revoked,    // the same, after the revocation, of which the receiver may not have heard
  says_nothing,     // it leaves, and does not revoke
  returns_at_once,  // while the MPI may still write to its memory
};
constexpr struct {
  WrongEnd wrong;
  const char* name;
} wrong_ends[] = {
    {WrongEnd::sends_on, "a rank sends what it lacks"},
    {WrongEnd::sends_revoked, "a rank revokes and sends what it lacks"},
    {WrongEnd::says_nothing, "a rank leaves and does not revoke"},
    {WrongEnd::returns_at_once, "a rank returns before its messages end"},
};

// Rank 1 forwards a block of rank 0, which may die before or after it sends that, to rank 2.
Machine messages_model(WrongEnd wrong) {
  constexpr int network = 3;  // brings the data of a message that has found its receive
  constexpr Byte sent = 10, nothing_sent = 98, written_later = 99;
  constexpr Byte in_call = 0, has_failed = 1, has_succeeded = 2;
  Machine m(4, 0);
  const int dead = m.cell("rank 0 is dead, as the MPI tells"), revoked = m.cell("the communicator is revoked");
  const int first = m.cell("message of rank 0"), second = m.cell("message of rank 1");
  const int matched = m.cell("it has found its receive"), buffer = m.cell("receive buffer of rank 2");
  const int over = m.cell("the program of rank 2 goes on");
  const int block = m.own(), forwarder = m.own(in_call), receiver = m.own(in_call);

  m.choose(0, {{"sends", [=](Step& s) { return s.store(first, sent), true; }},
               {"dies", [=](Step& s) { return s.store(dead, 1), true; }}});
  m.choose(0, {{"ends", [](Step&) { return true; }}, {"dies later", [=](Step& s) { return s.store(dead, 1), true; }}});

  m.choose(1, {{"receives",
                [=](Step& s) {
                  if (s.load(first) != sent) return false;
                  s.own(block) = sent;
                  return true;
                }},
               {"its receive fails", [=](Step& s) {
                  if (s.load(dead) == 0) return false;
                  s.own(block) = nothing_sent;
                  s.own(forwarder) = has_failed;
                  if (wrong != WrongEnd::sends_on && wrong != WrongEnd::says_nothing) s.store(revoked, 1);
                  return true;
                }}});
  const bool sends_all = wrong == WrongEnd::sends_on || wrong == WrongEnd::sends_revoked;
  const auto sends = [=](Step& s) { return s.own(forwarder) != has_failed || sends_all; };
  m.choose(1, {{"sends",
                [=](Step& s) {
                  if (!sends(s) || (s.load(revoked) != 0 && wrong != WrongEnd::sends_revoked)) return false;
                  s.store(second, s.own(block));
                  return true;
                }},
               {"leaves", [=](Step& s) { return !sends(s); }}});
  m.choose(1, {{"ends", [](Step&) { return true; }}, {"leaves late", [=](Step& s) {
                                                        if (s.own(forwarder) == has_failed || s.load(dead) == 0)
                                                          return false;
                                                        s.store(revoked, 1);
                                                        return true;
                                                      }}});

  m.choose(2, {{"its receive is found",
                [=](Step& s) {
                  if (s.load(second) == 0) return false;
                  s.store(matched, 1);
                  return true;
                }},
               {"its receive is cancelled", [=](Step& s) {
                  if (s.load(revoked) == 0) return false;
                  s.own(receiver) = has_failed;
                  return true;
                }}});
  m.choose(2, {{"has the data",
                [=](Step& s) {
                  if (s.own(receiver) != in_call || s.load(buffer) == 0) return false;
                  s.own(receiver) = has_succeeded;
                  return true;
                }},
               {"returns at once",
                [=](Step& s) {
                  if (wrong != WrongEnd::returns_at_once || s.load(revoked) == 0) return false;
                  s.own(receiver) = has_failed;
                  return true;
                }},
               {"(it has failed)", [=](Step& s) { return s.own(receiver) == has_failed; }}});
  m.step(2, "the program writes", [=](Step& s) {
    s.store(over, 1);
    if (s.own(receiver) == has_failed) s.store(buffer, written_later);
    return true;
  });

  m.choose(network, {{"brings the data",
                      [=](Step& s) {
                        if (s.load(matched) == 0) return false;
                        s.store(buffer, s.load(second));
                        return true;
                      }},
                     {"has nothing to bring", [=](Step& s) { return s.load(over) == 1 && s.load(matched) == 0; }}});
  m.finally([=](Step& s) {
    const bool succeeded = s.own(receiver) == has_succeeded;
    s.check(!succeeded || s.load(buffer) == sent, "a call succeeds with what the rank that sent it lacked");
    s.check(succeeded || s.load(buffer) == written_later, "the MPI writes to the program's memory after the call");
  });
  return m;
}

TEST(FaultsModel, MessagesEndBeforeTheCall) {
  expect_good("a death, messages", messages_model(WrongEnd::nothing));
  for (const auto& [wrong, name] : wrong_ends) {
    expect_found(std::string("a death, ") + name, messages_model(wrong));
  }
}

// ---- Requests under the MPI's names ----

// A request fails in another thread while the door of MPI_Test has the MPI look at it: tell_status() of
// src/api/taken.cpp and by_the_mpi() of src/api/completion_names.cpp. `only_known` is the mistake: the door keeps the
// fault only if the request had failed before.
Machine completion_model(bool only_known) {
  constexpr Byte not_raised = 0, by_the_door = 1, by_the_mpi = 2;
  Machine m(2, 0);
  const int failed = m.cell("the request has failed");
  const int known = m.own(), raised = m.own(not_raised);
  const auto look = [=](Step& s) {
    s.own(known) = s.load(failed);
    return true;
  };
  const auto complete = [=](Step& s) {
    if (s.load(failed) == 0) return false;
    s.own(raised) = only_known && s.own(known) == 0 ? by_the_mpi : by_the_door;
    return true;
  };
  m.step(0, "find_what_may_fail", look);
  m.choose(0, {{"the MPI completes it", complete}, {"in flight", [=](Step& s) { return s.load(failed) == 0; }}});
  m.step(0, "find_what_may_fail again", look);
  m.step(0, "the MPI completes it at last", [=](Step& s) { return s.own(raised) != not_raised || complete(s); });
  m.step(1, "fails", [=](Step& s) { return s.store(failed, 1), true; });
  m.finally([=](Step& s) { s.check(s.own(raised) == by_the_door, "the MPI raises the fault, elsewhere"); });
  return m;
}

TEST(FaultsModel, TheDoorRaisesTheFaultOfARequest) {
  expect_good("a death, a request of the MPI", completion_model(false));
  expect_found("a death, the door keeps what it knows", completion_model(true));
}

}  // namespace
}  // namespace quadrille::models::faults
