#include "tool/plans/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace quadrille::plan {
namespace {

// One side of a message that is posted.
struct Posted {
  const Message* message;
  std::size_t pair;  // of its round
};

// From one rank to another: messages meet in the order in which they are posted.
struct Channel {
  std::deque<Posted> sends, receives;
};

// Where a rank is.
struct Progress {
  std::size_t round = 0;
  bool inside = false;  // its copies before the messages are done
  bool at_fence = false;
  std::size_t posted = 0;  // pairs of messages of the round
  std::vector<int> open;   // [pair]: messages that are not complete
};

class Playing {
 public:
  Playing(std::span<const Schedule> schedules, const NodeMap& nodes)
      : schedules_(schedules), nodes_(nodes), ranks_(schedules.size()) {}

  std::string play(std::vector<Step>& steps) {
    while (!is_over()) {
      went_on_ = false;
      step_.clear();
      for (std::size_t r = 0; r < ranks_.size(); ++r) enter(r);
      for (std::size_t r = 0; r < ranks_.size(); ++r) post(r);
      meet();
      for (std::size_t r = 0; r < ranks_.size(); ++r) leave(r);
      pass_fences();
      if (!went_on_) return "no rank can proceed";
      if (!step_.empty()) steps.push_back(std::move(step_));
    }
    for (const auto& [ends, channel] : channels_) {
      if (!channel.sends.empty() || !channel.receives.empty())
        return fmt::format("a message from {} to {} has one side", ends.first, ends.second);
    }
    return "";
  }

 private:
  bool is_done(std::size_t r) const { return ranks_[r].round == schedules_[r].rounds.size(); }
  bool is_over() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!is_done(r)) return false;
    }
    return true;
  }
  const Round& round_of(std::size_t r) const { return schedules_[r].rounds[ranks_[r].round]; }

  void copies(std::size_t r, const Range& range) {
    const std::span<const Copy> all = schedules_[r].copies_of(range);
    if (!all.empty()) step_.push_back({static_cast<int>(r), -1, {all.begin(), all.end()}});
  }

  void enter(std::size_t r) {
    Progress& rank = ranks_[r];
    if (is_done(r) || rank.inside || rank.at_fence) return;
    const Round& round = round_of(r);
    copies(r, round.before);
    rank.open.assign(pairs_of(round), 0);
    rank.posted = 0;
    rank.inside = went_on_ = true;
  }

  // The number of further pairs that may be in flight.
  std::size_t room(const Progress& rank, const Window& window) const {
    const std::size_t left = rank.open.size() - rank.posted;
    if (window.pairs == 0) return left;
    const auto under_way =
        static_cast<std::size_t>(std::count_if(rank.open.begin(), rank.open.end(), [](int open) { return open > 0; }));
    if (window.wait == Window::Wait::all && under_way > 0) return 0;
    return std::min<std::size_t>(left, window.pairs - std::min<std::size_t>(under_way, window.pairs));
  }

  void post(std::size_t r) {
    Progress& rank = ranks_[r];
    if (!rank.inside) return;
    const Round& round = round_of(r);
    const int me = static_cast<int>(r);
    for (std::size_t more = room(rank, round.window); more > 0; --more) {
      const std::size_t pair = rank.posted++;
      went_on_ = true;
      if (pair < round.sends.count) {
        const Message& send = schedules_[r].messages[round.sends.first + pair];
        channels_[{me, send.peer}].sends.push_back({&send, pair});
        ++rank.open[pair];
      }
      if (pair < round.receives.count) {
        const Message& receive = schedules_[r].messages[round.receives.first + pair];
        channels_[{receive.peer, me}].receives.push_back({&receive, pair});
        ++rank.open[pair];
      }
    }
  }

  void meet() {
    for (auto& [ends, channel] : channels_) {
      while (!channel.sends.empty() && !channel.receives.empty()) {
        const Posted send = channel.sends.front(), receive = channel.receives.front();
        channel.sends.pop_front();
        channel.receives.pop_front();
        deliver(ends.first, *send.message, ends.second, *receive.message);
        --ranks_[static_cast<std::size_t>(ends.first)].open[send.pair];
        --ranks_[static_cast<std::size_t>(ends.second)].open[receive.pair];
        went_on_ = true;
      }
    }
  }

  void deliver(int from, const Message& send, int to, const Message& receive) {
    if (is_none(send)) return;
    Move move{from, to, {}};
    const auto sent = schedules_[static_cast<std::size_t>(from)].spans_of(send);
    const auto received = schedules_[static_cast<std::size_t>(to)].spans_of(receive);
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
      move.blocks.push_back({sent[i], received[i]});
    }
    step_.push_back(std::move(move));
  }

  void leave(std::size_t r) {
    Progress& rank = ranks_[r];
    if (!rank.inside || rank.posted < rank.open.size()) return;
    if (std::any_of(rank.open.begin(), rank.open.end(), [](int open) { return open > 0; })) return;
    copies(r, round_of(r).after);
    rank.inside = false;
    rank.at_fence = round_of(r).node_fence;
    if (!rank.at_fence) ++rank.round;
    went_on_ = true;
  }

  void pass_fences() {
    for (int node = 0; node < nodes_.nodes; ++node) {
      bool all = true;
      for (std::size_t r = 0; r < ranks_.size(); ++r) all &= nodes_.node_of[r] != node || ranks_[r].at_fence;
      for (std::size_t r = 0; all && r < ranks_.size(); ++r) {
        if (nodes_.node_of[r] != node) continue;
        ranks_[r].at_fence = false;
        ++ranks_[r].round;
        went_on_ = true;
      }
    }
  }

  std::span<const Schedule> schedules_;
  const NodeMap& nodes_;
  std::vector<Progress> ranks_;
  std::map<std::pair<int, int>, Channel> channels_;
  Step step_;
  bool went_on_ = false;
};

}  // namespace

std::string play(std::span<const Schedule> schedules, const NodeMap& nodes, std::vector<Step>& steps) {
  return Playing(schedules, nodes).play(steps);
}

std::vector<Step> copy_by_copy(std::vector<Step> steps) {
  std::vector<Step> finer;
  for (Step& step : steps) {
    if (std::any_of(step.begin(), step.end(), [](const Move& move) { return move.to >= 0; })) {
      finer.push_back(std::move(step));
      continue;
    }
    std::size_t most = 0;
    for (const Move& move : step) most = std::max(most, move.blocks.size());
    for (std::size_t k = 0; k < most; ++k) {
      finer.emplace_back();
      for (const Move& move : step) {
        if (k < move.blocks.size()) finer.back().push_back({move.by, -1, {move.blocks[k]}});
      }
    }
  }
  return finer;
}

}  // namespace quadrille::plan
