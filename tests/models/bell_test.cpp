// Sleeping and waking, src/sys/sys.hpp. Names of steps are those of the functions there. The counter of sleepers is
// changed by both sides in one step, so all is visible at once here; nobody wakes by itself, so a bell that is not
// heard is a rank that waits forever.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expect.hpp"
#include "machine.hpp"

namespace quadrille::models::bell {
namespace {

enum class Wrong { nothing, look_before_counting, sleep_at_any_number, ask_before_storing, no_new_number, wake_one };

// Process 0 brings turn after turn, but waits for all others to have seen one before the next; they sleep for it.
class BellModel {
 public:
  BellModel(int sleepers, int turns, Wrong wrong) : wrong_(wrong), machine_(sleepers + 1, 0) {
    turn_ = machine_.cell("turn"), rung_ = machine_.cell("rung"), counted_ = machine_.cell("sleepers");
    for (int s = 0; s < sleepers; ++s) {
      asleep_.push_back(machine_.cell("asleep " + std::to_string(s)));
      seen_.push_back(machine_.cell("seen " + std::to_string(s)));
    }
    for (int turn = 1; turn <= turns; ++turn) {
      bring(turn);
      for (int s = 0; s < sleepers; ++s) wait(s, turn);
    }
  }
  BellModel(const BellModel&) = delete;
  BellModel& operator=(const BellModel&) = delete;
  const Machine& machine() const { return machine_; }

 private:
  void store(int turn) {
    const int cell = turn_;
    machine_.step(0, "Leaders::bring", [=](Step& s) { return s.store(cell, turn), true; });
  }
  void bring(int turn) {
    const auto asleep = asleep_;
    const int counted = counted_, rung = rung_, asks = machine_.own();
    const bool bumps = wrong_ != Wrong::no_new_number, all = wrong_ != Wrong::wake_one;
    if (wrong_ != Wrong::ask_before_storing) store(turn);
    machine_.step(0, "Bell::ring: sleepers", [=](Step& s) { return s.own(asks) = s.load(counted), true; });
    if (wrong_ == Wrong::ask_before_storing) store(turn);
    machine_.step(0, "Bell::ring: rung", [=](Step& s) {
      if (s.own(asks) != 0 && bumps) s.store(rung, s.load(rung) + 1);
      return true;
    });
    machine_.step(0, "wake_sleepers", [=](Step& s) {
      for (const int cell : asleep) {
        if (s.own(asks) == 0 || s.load(cell) == 0) continue;
        s.store(cell, 0);
        if (!all) break;
      }
      return true;
    });
    for (const int cell : seen_) machine_.step(0, "the next turn", [=](Step& s) { return s.load(cell) >= turn; });
  }
  void look(int process, int turn, int ready) {
    const int cell = turn_;
    machine_.step(process, "Bell::sleep_unless: ready",
                  [=](Step& s) { return s.own(ready) = s.load(cell) >= turn ? 1 : 0, true; });
  }
  void wait(int number, int turn) {
    const int process = number + 1, number_then = machine_.own(), ready = machine_.own();
    const int rung = rung_, counted = counted_, asleep = asleep_[static_cast<std::size_t>(number)], cell = turn_;
    const int seen = seen_[static_cast<std::size_t>(number)];
    const bool compares = wrong_ != Wrong::sleep_at_any_number;
    machine_.step(process, "Bell::sleep_unless: rung",
                  [=](Step& s) { return s.own(number_then) = s.load(rung), true; });
    if (wrong_ == Wrong::look_before_counting) look(process, turn, ready);
    machine_.step(process, "Bell::sleep_unless: count",
                  [=](Step& s) { return s.store(counted, s.load(counted) + 1), true; });
    if (wrong_ != Wrong::look_before_counting) look(process, turn, ready);
    machine_.step(process, "sleep_while", [=](Step& s) {
      const bool same = !compares || s.load(rung) == s.own(number_then);
      if (s.own(ready) == 0 && same) s.store(asleep, 1);
      return true;
    });
    machine_.step(process, "awake", [=](Step& s) { return s.load(asleep) == 0; });
    machine_.step(process, "Bell::sleep_unless: leave",
                  [=](Step& s) { return s.store(counted, s.load(counted) - 1), true; });
    // It wakes for nothing if the number is another; then it looks again, and gives its processor away.
    machine_.step(process, "Waiter::until", [=](Step& s) { return s.load(cell) >= turn; });
    machine_.step(process, "seen", [=](Step& s) { return s.store(seen, turn), true; });
  }

  const Wrong wrong_;
  Machine machine_;
  int turn_ = 0, rung_ = 0, counted_ = 0;
  std::vector<int> asleep_, seen_;
};

TEST(BellModel, NobodySleepsOn) {
  expect_good("bell, 1 sleeper, 4 turns", BellModel(1, 4, Wrong::nothing).machine());
  expect_good("bell, 2 sleepers, 2 turns", BellModel(2, 2, Wrong::nothing).machine());
  expect_good("bell, 3 sleepers, 1 turn", BellModel(3, 1, Wrong::nothing).machine());
}

constexpr struct {
  Wrong wrong;
  const char* name;
} mutations[] = {
    {Wrong::look_before_counting, "a sleeper counts itself after it has looked"},
    {Wrong::sleep_at_any_number, "it falls asleep though the bell was rung"},
    {Wrong::ask_before_storing, "sleepers are looked for before it is said"},
    {Wrong::no_new_number, "the bell has the number that it had"},
    {Wrong::wake_one, "one sleeper is woken"},
};

TEST(BellModel, EveryMutationIsFound) {
  for (const auto& [wrong, name] : mutations) {
    expect_found(std::string("bell, ") + name, BellModel(2, 2, wrong).machine());
  }
}

}  // namespace
}  // namespace quadrille::models::bell
