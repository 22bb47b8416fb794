// Runs all interleavings of the processes of a machine (machine.hpp): a search of all states that can be reached.
//
// A state is a string of bytes; those that were seen are kept, each with the step that led to it. What is found:
// a check that fails, and a state in which nobody can go on and not all have finished. Not found: processes that go on
// for ever and get nowhere, for which the models have no steps (waiting is a condition, not a loop).
//
// Where some process is at a step that nobody else can see, only that step is followed: it commutes with all others.
// And of the stores that are on their way, only those become visible that somebody is about to look at, and what goes
// before them: to see another one later makes no difference. Search::all does without both, to test that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"

namespace quadrille::models {

struct Found {
  std::string violation;           // empty: none
  std::vector<std::string> trace;  // the steps that led there
  std::size_t states = 0;
  bool complete = false;  // all states were seen

  bool good() const { return complete && violation.empty(); }
  std::string text() const {
    if (good()) return std::to_string(states) + " states";
    std::string all = violation.empty() ? "not all states were seen" : violation;
    for (const std::string& step : trace) all += "\n  " + step;
    return all;
  }
};

struct Search {
  bool shortest = false;  // the states next to the first come first: a short trace
  bool all = false;       // all states, also those that differ in nothing that anybody sees
  std::size_t most_states = 3'000'000;
};

class Explorer {
 public:
  Explorer(const Machine& machine, const Search& search) : machine_(machine), search_(search) {}

  Found run() {
    table_.assign(1 << 12, 0);
    add(machine_.initial(), 0, {});
    while (next_ < open_.size() && found_.violation.empty() && origins_.size() < search_.most_states) {
      std::uint32_t state;
      if (!search_.shortest) {
        state = open_.back();
        open_.pop_back();
      } else {
        state = open_[next_++];
      }
      expand(state);
    }
    found_.states = origins_.size();
    found_.complete = found_.violation.empty() && next_ >= open_.size();
    return found_;
  }

 private:
  // How a state was reached. `number`: of the choice, or of what became visible.
  struct Did {
    Byte process = 0, number = 0;
    bool became_visible = false;
  };
  struct Origin {
    std::uint32_t from;
    Did did;
  };

  // What the next step of a process looks at.
  struct Needs {
    Cells loaded;
    bool full = false, fence = false;
    bool moves = false;
  };

  void expand(std::uint32_t state) {
    const Bytes now = state_at(state);
    const int processes = machine_.processes();
    if (machine_.depth() > 0 && !search_.all && expand_local(state, now)) return;
    bool moved = false, finished = true;
    needs_.assign(static_cast<std::size_t>(processes), {});
    for (int p = 0; p < processes; ++p) {
      if (machine_.has_finished(now, p)) continue;
      finished = false;
      needs_[static_cast<std::size_t>(p)] = take_choices(state, now, p);
      if (!found_.violation.empty()) return;
      moved |= needs_[static_cast<std::size_t>(p)].moves;
    }
    find_wanted(now);
    moved |= show(state, now, search_.all);
    if (!moved) moved = show(state, now, true);
    if (moved) return;
    if (!finished) return fail("deadlock", state, nullptr);
    Bytes last = now;
    for (const auto& check : machine_.checks()) {
      Step step(machine_, last, 0);
      check(step);
      if (!step.violation().empty()) return fail(step.violation(), state, nullptr);
    }
  }

  // Of what is on its way: what somebody is about to look at, what must be visible before that, and what meets one of
  // these.
  void find_wanted(const Bytes& now) {
    late_.clear();
    for (int p = 0; p < machine_.processes(); ++p) {
      for (int i = 0; i < machine_.late_count(now, p); ++i) late_.push_back({machine_.late(now, p, i), p, i});
    }
    for (OnItsWay& late : late_) {
      for (int p = 0; p < machine_.processes(); ++p) {
        const Needs& needs = needs_[static_cast<std::size_t>(p)];
        late.wanted |= needs.loaded.test(late.store.to);
        if (p == late.process) late.wanted |= needs.full || (needs.fence && late.store.kind == Late::stream);
      }
    }
    for (bool more = true; more;) {
      more = false;
      for (const OnItsWay& one : late_) {
        if (!one.wanted && !one.before_wanted) continue;
        for (OnItsWay& other : late_) {
          if (other.process != one.process) {
            if (other.wanted || !one.store.meets(other.store)) continue;
            other.wanted = more = true;
          } else if (other.number < one.number && !other.before_wanted && one.store.follows(other.store)) {
            other.before_wanted = more = true;
          }
        }
      }
    }
  }

  // What may become visible does, with what must go before it. True if something did.
  bool show(std::uint32_t state, const Bytes& now, bool all) {
    bool shown = false;
    for (const OnItsWay& late : late_) {
      if (all ? !machine_.may_be_seen(now, late.process, late.number) : !late.wanted) continue;
      Bytes next = now;
      machine_.make_seen_in_order(next, late.process, late.number);
      add(next, state, {static_cast<Byte>(late.process), static_cast<Byte>(late.number), true});
      shown = true;
    }
    return shown;
  }

  bool expand_local(std::uint32_t state, const Bytes& now) {
    for (int p = 0; p < machine_.processes(); ++p) {
      if (machine_.has_finished(now, p) || !machine_.program(p)[machine_.place(now, p)].local) continue;
      if (take_choices(state, now, p).moves) return true;
    }
    return false;
  }

  Needs take_choices(std::uint32_t state, const Bytes& now, int p) {
    const Instruction& instruction = machine_.program(p)[machine_.place(now, p)];
    Needs needs;
    for (std::size_t c = 0; c < instruction.choices.size(); ++c) {
      Bytes next = now;
      Step step(machine_, next, p);
      const bool enabled = instruction.choices[c].action(step);
      needs.loaded |= step.loaded();
      needs.full |= step.is_full();
      needs.fence |= step.is_fence();
      if (!enabled || step.blocked()) continue;
      needs.moves = true;
      const Did did{static_cast<Byte>(p), static_cast<Byte>(c), false};
      if (!step.violation().empty()) {
        fail(step.violation(), state, &did);
        return needs;
      }
      if (!instruction.choices[c].stays) machine_.advance(next, p);
      add(next, state, did);
    }
    return needs;
  }

  // ---- The states that were seen ----

  void add(const Bytes& state, std::uint32_t from, const Did& did) {
    Bytes packed;
    const std::size_t size = machine_.pack(state, packed);
    std::uint32_t& entry = find({reinterpret_cast<const char*>(packed.data()), size});
    if (entry != 0) return;
    const auto number = static_cast<std::uint32_t>(origins_.size());
    entry = number + 1;
    states_.insert(states_.end(), packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    ends_.push_back(states_.size());
    origins_.push_back({from, did});
    open_.push_back(number);
    if (2 * origins_.size() > table_.size()) grow();
  }
  Bytes state_at(std::uint32_t number) const { return machine_.unpack(&states_[number == 0 ? 0 : ends_[number - 1]]); }
  std::string_view key_of(std::uint32_t number) const {
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {reinterpret_cast<const char*>(&states_[begin]), ends_[number] - begin};
  }
  std::uint32_t& find(std::string_view key) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = std::hash<std::string_view>{}(key)&mask;; at = (at + 1) & mask) {
      if (table_[at] == 0 || key_of(table_[at] - 1) == key) return table_[at];
    }
  }
  void grow() {
    table_.assign(table_.size() * 4, 0);
    for (std::uint32_t i = 0; i < origins_.size(); ++i) find(key_of(i)) = i + 1;
  }

  // ---- What is reported ----

  void fail(const std::string& violation, std::uint32_t state, const Did* last) {
    found_.violation = violation;
    if (last != nullptr) found_.trace.push_back(text_of(state, *last));
    for (; state != 0; state = origins_[state].from) {
      found_.trace.push_back(text_of(origins_[state].from, origins_[state].did));
    }
    std::reverse(found_.trace.begin(), found_.trace.end());
  }
  std::string text_of(std::uint32_t before, const Did& did) const {
    const Bytes bytes = state_at(before);
    const std::string who = std::to_string(did.process) + ": ";
    if (!did.became_visible) {
      return who + machine_.program(did.process)[machine_.place(bytes, did.process)].choices[did.number].name;
    }
    const LateStore seen = machine_.late(bytes, did.process, did.number);
    return who + "    now visible: " + machine_.name_of(seen.to) + " = " +
           (seen.kind == Late::copy ? machine_.name_of(seen.value) : std::to_string(seen.value));
  }

  const Machine& machine_;
  const Search search_;
  std::vector<Byte> states_;  // packed, one behind the other
  std::vector<std::size_t> ends_;
  std::vector<Origin> origins_;
  std::vector<std::uint32_t> table_;  // number of the state + 1, by its hash
  std::vector<std::uint32_t> open_;   // not yet expanded
  std::size_t next_ = 0;
  struct OnItsWay {
    LateStore store;
    int process, number;
    bool wanted = false, before_wanted = false;
  };
  std::vector<Needs> needs_;  // [process] of the state that is being expanded
  std::vector<OnItsWay> late_;
  Found found_;
};

inline Found explore(const Machine& machine, const Search& search = {}) { return Explorer(machine, search).run(); }

}  // namespace quadrille::models
