// A small machine on which protocols of shared memory are written down, so that explorer.hpp can run all their
// interleavings.
//
// Idea    A machine has shared cells of one byte and a few processes. A process is a list of instructions; each is one
//         atomic step, or a choice of several. An action that returns false, or touches what is not there yet, is not
//         enabled: so waiting is written as a condition.
// Memory  With a store buffer (depth > 0) what a process stores becomes visible later:
//           store    some time, in any order, but not over another one to the same cell
//           release  the same, but after all earlier stores and copies of this process
//           stream   as a store, and a release does not wait for it: only fence() does
//           copy     a load and a store: both happen some time before the next release of this process is visible
//         A load sees what its own process has stored. Loads are never early: a missing acquire is modelled by
//         exchanging the steps. With depth 0 all is visible at once.
// Cost    Depth bounds how many stores are on their way at a time; a process whose buffer is full waits. So it costs
//         little while it is large enough: nothing is forced then.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::models {

using Byte = std::uint8_t;

inline constexpr std::size_t most_state_bytes = 640;
using Bytes = std::array<Byte, most_state_bytes>;  // of a state; see Machine::seal()

enum class Late : Byte { none, store, release, stream, copy };
struct LateStore {
  Late kind;
  Byte to, value;  // of a copy: from where

  // Do both touch a cell, and one of them changes it?
  bool meets(const LateStore& other) const {
    return to == other.to || (kind == Late::copy && value == other.to) ||
           (other.kind == Late::copy && other.value == to);
  }
  // Never visible before this one, which the same process did earlier?
  bool follows(const LateStore& earlier) const {
    return meets(earlier) || (kind == Late::release && earlier.kind != Late::stream);
  }
};
static_assert(sizeof(LateStore) == 3);

using Cells = std::bitset<256>;

class Machine;

// What an instruction may do in one step of its process.
class Step {
 public:
  Step(const Machine& machine, Bytes& bytes, int process) : machine_(machine), bytes_(bytes), process_(process) {}

  Byte load(int cell);
  void store(int cell, int value) { put(Late::store, cell, value); }
  void release(int cell, int value) { put(Late::release, cell, value); }
  void stream(int cell, int value) { put(Late::stream, cell, value); }
  void copy(int to, int from) { put(Late::copy, to, from); }
  void stream_copy(int to, int from) { stream(to, load(from)); }
  // True once nothing streamed is on its way. An action that is a fence returns that.
  bool fence();
  // Memory of the process alone.
  Byte& own(int variable);
  void check(bool holds, const char* what) {
    if (!holds && !blocked_ && violation_.empty()) violation_ = what;
  }

  bool blocked() const { return blocked_; }
  const std::string& violation() const { return violation_; }
  // What the action looked at.
  const Cells& loaded() const { return loaded_; }
  // It found no room in the buffer; it is a fence that something streamed is before.
  bool is_full() const { return full_; }
  bool is_fence() const { return fence_; }

 private:
  void put(Late kind, int to, int value);

  const Machine& machine_;
  Bytes& bytes_;
  const int process_;
  bool blocked_ = false;  // something is on its way that the action needs, or the buffer is full
  bool full_ = false, fence_ = false;
  Cells loaded_;
  std::string violation_;
};

using Action = std::function<bool(Step&)>;

struct Choice {
  std::string name;  // the function of the real code, and what it does
  Action action;
  bool stays = false;  // the process comes to the same instruction again
};
struct Instruction {
  std::vector<Choice> choices;
  // Touches only memory of the process, and stores. With a buffer nobody sees that, so it may be done at once.
  bool local = false;
};

class Machine {
 public:
  Machine(int processes, int depth) : programs_(static_cast<std::size_t>(processes)), depth_(depth) {}

  // ---- Memory ----
  int cell(std::string name, Byte initial = 0) {
    if (cells_.size() == 255) throw std::length_error("too many cells");
    cells_.push_back({std::move(name), initial});
    return static_cast<int>(cells_.size()) - 1;
  }
  int own(Byte initial = 0) {
    own_.push_back(initial);
    return static_cast<int>(own_.size()) - 1;
  }

  // ---- Programs ----
  void choose(int process, std::vector<Choice> choices) { program(process).push_back({std::move(choices), false}); }
  void step(int process, std::string name, Action action) { choose(process, {{std::move(name), std::move(action)}}); }
  void local(int process, std::string name, Action action) {
    step(process, std::move(name), std::move(action));
    program(process).back().local = true;
  }
  void wait(int process, std::string name, int cell, int value) {
    step(process, std::move(name), [=](Step& s) { return s.load(cell) == value; });
  }
  void store(int process, std::string name, int cell, int value) {
    local(process, std::move(name), [=](Step& s) { return s.store(cell, value), true; });
  }
  void copy(int process, std::string name, int to, int from) {
    local(process, std::move(name), [=](Step& s) { return s.copy(to, from), true; });
  }
  // `ordered` false: a mutation forgets the release.
  void publish(int process, std::string name, int cell, int value, bool ordered = true) {
    local(process, std::move(name),
          [=](Step& s) { return ordered ? s.release(cell, value) : s.store(cell, value), true; });
  }
  // Looked at when all have finished and all is visible.
  void finally(std::function<void(Step&)> check) { checks_.push_back(std::move(check)); }

  // ---- For the explorer ----
  int processes() const { return static_cast<int>(programs_.size()); }
  int depth() const { return depth_; }
  const std::vector<Instruction>& program(int process) const { return programs_[static_cast<std::size_t>(process)]; }
  std::vector<Instruction>& program(int process) { return programs_[static_cast<std::size_t>(process)]; }
  const std::vector<std::function<void(Step&)>>& checks() const { return checks_; }
  const std::string& name_of(int cell) const { return cells_[static_cast<std::size_t>(cell)].name; }

  // A state: for each process where it is and what is on its way, cells, own memory.
  std::size_t state_bytes() const { return own_at(own_.size()); }
  Bytes initial() const {
    if (state_bytes() > most_state_bytes) throw std::length_error("the state is too large");
    Bytes bytes{};
    for (std::size_t i = 0; i < cells_.size(); ++i) bytes[cell_at(i)] = cells_[i].initial;
    for (std::size_t i = 0; i < own_.size(); ++i) bytes[own_at(i)] = own_[i];
    return bytes;
  }
  std::size_t place(const Bytes& bytes, int process) const {
    const std::size_t at = process_at(process);
    return bytes[at] + 256U * bytes[at + 1];
  }
  void advance(Bytes& bytes, int process) const {
    const std::size_t at = process_at(process);
    if (++bytes[at] == 0) ++bytes[at + 1];
  }
  bool has_finished(const Bytes& bytes, int process) const { return place(bytes, process) == program(process).size(); }
  Byte& cell_of(Bytes& bytes, int cell) const { return bytes[cell_at(static_cast<std::size_t>(cell))]; }
  Byte& own_of(Bytes& bytes, int variable) const { return bytes[own_at(static_cast<std::size_t>(variable))]; }

  // The bytes without those of stores that are not there. Returns their number.
  std::size_t pack(const Bytes& bytes, Bytes& packed) const {
    auto to = packed.begin();
    for (int p = 0; p < processes(); ++p) {
      to = std::copy_n(&bytes[process_at(p)], 3 + 3 * late_count(bytes, p), to);
    }
    to = std::copy(&bytes[cell_at(0)], bytes.data() + state_bytes(), to);
    return static_cast<std::size_t>(to - packed.begin());
  }
  Bytes unpack(const Byte* packed) const {
    Bytes bytes{};
    for (int p = 0; p < processes(); ++p) {
      const int count = 3 + 3 * packed[2];
      std::copy_n(packed, count, &bytes[process_at(p)]);
      packed += count;
    }
    std::copy_n(packed, state_bytes() - cell_at(0), &bytes[cell_at(0)]);
    return bytes;
  }

  int late_count(const Bytes& bytes, int process) const { return bytes[process_at(process) + 2]; }
  LateStore late(const Bytes& bytes, int process, int number) const {
    const std::size_t at = late_at(process, number);
    return {static_cast<Late>(bytes[at]), bytes[at + 1], bytes[at + 2]};
  }
  void add_late(Bytes& bytes, int process, const LateStore& entry) const {
    const std::size_t at = late_at(process, bytes[process_at(process) + 2]++);
    bytes[at] = static_cast<Byte>(entry.kind);
    bytes[at + 1] = entry.to;
    bytes[at + 2] = entry.value;
  }
  // May this one become visible before the earlier ones?
  bool may_be_seen(const Bytes& bytes, int process, int number) const {
    const LateStore entry = late(bytes, process, number);
    for (int i = 0; i < number; ++i) {
      const LateStore earlier = late(bytes, process, i);
      if (entry.follows(earlier)) return false;
    }
    return true;
  }
  void make_seen(Bytes& bytes, int process, int number) const {
    const LateStore entry = late(bytes, process, number);
    cell_of(bytes, entry.to) = entry.kind == Late::copy ? cell_of(bytes, entry.value) : entry.value;
    const std::size_t first = late_at(process, number), end = late_at(process, late_count(bytes, process));
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(first + 3), bytes.begin() + static_cast<std::ptrdiff_t>(end),
              bytes.begin() + static_cast<std::ptrdiff_t>(first));
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(end - 3), 3, Byte{0});
    --bytes[process_at(process) + 2];
  }

  // And before it what it must not overtake.
  void make_seen_in_order(Bytes& bytes, int process, int number) const {
    for (int i = 0; i < number;) {
      if (must_go_before(bytes, process, i, number)) {
        make_seen(bytes, process, i);
        --number;
      } else {
        ++i;
      }
    }
    make_seen(bytes, process, number);
  }

 private:
  bool must_go_before(const Bytes& bytes, int process, int first, int last) const {
    if (late(bytes, process, last).follows(late(bytes, process, first))) return true;
    for (int i = first + 1; i < last; ++i) {
      if (late(bytes, process, i).follows(late(bytes, process, first)) && must_go_before(bytes, process, i, last)) {
        return true;
      }
    }
    return false;
  }
  struct Cell {
    std::string name;
    Byte initial;
  };
  std::size_t process_at(int process) const {
    return static_cast<std::size_t>(process) * (3 + 3 * static_cast<std::size_t>(depth_));
  }
  std::size_t late_at(int process, int number) const {
    return process_at(process) + 3 + 3 * static_cast<std::size_t>(number);
  }
  std::size_t cell_at(std::size_t cell) const { return process_at(processes()) + cell; }
  std::size_t own_at(std::size_t variable) const { return cell_at(cells_.size()) + variable; }

  std::vector<std::vector<Instruction>> programs_;
  const int depth_;
  std::vector<Cell> cells_;
  std::vector<Byte> own_;
  std::vector<std::function<void(Step&)>> checks_;
};

inline Byte Step::load(int cell) {
  loaded_.set(static_cast<std::size_t>(cell));
  for (int i = machine_.late_count(bytes_, process_) - 1; i >= 0; --i) {
    const LateStore entry = machine_.late(bytes_, process_, i);
    if (entry.to != cell) continue;
    if (entry.kind != Late::copy) return entry.value;
    blocked_ = true;  // what is copied is not known yet
    return 0;
  }
  return machine_.cell_of(bytes_, cell);
}

inline bool Step::fence() {
  for (int i = 0; i < machine_.late_count(bytes_, process_); ++i) {
    if (machine_.late(bytes_, process_, i).kind != Late::stream) continue;
    fence_ = true;
    return false;
  }
  return true;
}

inline Byte& Step::own(int variable) { return machine_.own_of(bytes_, variable); }

inline void Step::put(Late kind, int to, int value) {
  if (blocked_) return;
  if (machine_.depth() == 0) {
    const Byte stored = kind == Late::copy ? machine_.cell_of(bytes_, value) : static_cast<Byte>(value);
    machine_.cell_of(bytes_, to) = stored;
  } else if (machine_.late_count(bytes_, process_) == machine_.depth()) {
    blocked_ = full_ = true;
  } else {
    machine_.add_late(bytes_, process_, {kind, static_cast<Byte>(to), static_cast<Byte>(value)});
  }
}

}  // namespace quadrille::models
