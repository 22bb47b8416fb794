#include "api/trials.hpp"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "api/choose_by_load.hpp"
#include "mpi/errors.hpp"

namespace quadrille::api {
namespace {

// Bytes that this rank sends and receives.
double bytes_moved(const run::Call& call, int ranks) {
  const std::uint64_t sent = bytes_of(call.in_place ? call.recv : call.send, ranks).all;
  return static_cast<double>(sent + bytes_of(call.recv, ranks).all);
}

// Calls with blocks of about the same size share a trial: within a fifth.
int class_of(std::size_t bytes) {
  return bytes == 0 ? -1 : static_cast<int>(std::floor(4 * std::log2(static_cast<double>(bytes))));
}

team::Try& trial_of(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  if (cached.trial != nullptr) return *cached.trial;
  const int number =
      cached.follows_load ? team.asked.load[static_cast<std::size_t>(call.collective)].now : class_of(bytes);
  const auto [place, is_new] = team.asked.trials.try_emplace({call.collective, number});
  team::Try& one = place->second;
  if (is_new) {
    std::vector<choose::Choice> candidates{cached.selection.choice};
    candidates.insert(candidates.end(), cached.selection.rivals.begin(), cached.selection.rivals.end());
    one.trial = choose::make_trial(std::move(candidates), team.crowded);
  }
  cached.trial = &one;
  return one;
}

std::string name_of(const team::Try& one, std::size_t candidate) {
  return choose::to_string(one.trial.candidates[candidate]);
}

std::string names(const team::Try& one) {
  std::string all = name_of(one, 0);
  for (std::size_t c = 1; c < one.trial.candidates.size(); ++c) all += ", " + name_of(one, c);
  return all;
}

std::string tell(const team::Try& one) {
  if (!one.trial.were_alike) return "the first calls differ too much to compare " + names(one);
  std::string told = "the first calls took";
  for (std::size_t c = 0; c < one.trial.candidates.size(); ++c) {
    told += fmt::format("{} {:.1f} us with {}", c == 0 ? "" : ",", median_of(one.trial, c) * 1e6, name_of(one, c));
  }
  return told;
}

// The maxima over all ranks. A peer may wait for a call that this rank has started and left, so that is kept moving.
// False if the MPI cannot do it.
bool compare(const team::Team& team, const std::vector<double>& mine, std::vector<double>& slowest) {
  const ErrorsReturned guard(team.own());
  slowest.resize(mine.size());
  MPI_Request request;
  int error = mpi().Iallreduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), mpi().double_type,
                               mpi().op_max, team.own(), &request);
  if (error != MPI_SUCCESS) return false;
  int done = 0;
  MPI_Status status;
  team.group.waiter.until([&] {
    error = mpi().Testall(1, &request, &done, &status);
    return done != 0 || error != MPI_SUCCESS;
  });
  return error == MPI_SUCCESS;
}

// The end of a visit. If the ranks cannot compare, all of them stay with the first.
void end_visit(team::Team& team, team::Try& one) {
  std::vector<double> slowest;
  if (compare(team, choose::times_of(one.trial), slowest)) {
    choose::judge(one.trial, slowest);
    if (!one.trial.decided) return;
    one.best = choose::best_of(one.trial);
    one.why = tell(one);
  } else {
    one.trial.decided = true;
    one.why = "the ranks could not compare " + names(one);
  }
}

}  // namespace

Attempt begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  team::Try& one = trial_of(call, bytes, team, cached);
  // Where all ranks know the size, each class has a trial of its own.
  const double moved = bytes > 0 ? 0 : bytes_moved(call, team.group.ranks);
  choose::Turn turn = choose::begin_call(one.trial, moved);
  if (turn.candidate < 0 && !one.trial.decided) {
    end_visit(team, one);
    turn = choose::begin_call(one.trial, moved);
  }
  if (turn.candidate >= 0) {
    cached.selection.why = "the first calls try " + names(one);
    const choose::Choice& choice = one.trial.candidates[static_cast<std::size_t>(turn.candidate)];
    return {&one.trial, &choice, turn, mpi().Wtime()};
  }
  cached.settle(one.trial.candidates[one.best]);
  cached.selection.why = one.why;
  cached.selection.rivals.clear();
  return {};
}

void follow_load(const run::Call& call, team::Team& team, team::CachedSelection& cached) {
  choose::LoadClass& load = team.asked.load[static_cast<std::size_t>(call.collective)];
  // A trial that is under way finds out by itself whether its calls are alike.
  const bool is_tried = cached.trial != nullptr && !cached.trial->trial.decided;
  if (is_tried || !choose::must_ask(load)) return;
  std::vector<double> most;
  if (!compare(team, {bytes_moved(call, team.group.ranks)}, most) || !choose::note_load(load, most[0])) return;
  if (cached.trial == nullptr) return;  // the first call
  const std::vector<choose::Choice>& candidates = cached.trial->trial.candidates;
  cached.settle(candidates[0]);
  cached.selection.rivals.assign(candidates.begin() + 1, candidates.end());
  cached.trial = nullptr;
}

void end_attempt(const Attempt& attempt) {
  if (attempt.trial != nullptr) choose::note_call(*attempt.trial, attempt.turn, mpi().Wtime() - attempt.begin);
}

}  // namespace quadrille::api
