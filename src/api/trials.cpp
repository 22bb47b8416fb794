#include "api/trials.hpp"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

namespace quadrille::api {
namespace {

double bytes_of(const run::Side& side, int ranks) {
  double bytes = 0;
  for (int b = 0; b < ranks; ++b) {
    if (side.count_of(b) <= 0) continue;
    bytes += static_cast<double>(side.count_of(b)) * static_cast<double>(type_info(side.type_of(b)).size);
  }
  return bytes;
}

// Calls with blocks of about the same size share a trial: within a fifth. All v calls do, and all w calls.
int class_of(std::size_t bytes) {
  return bytes == 0 ? -1 : static_cast<int>(std::floor(4 * std::log2(static_cast<double>(bytes))));
}

team::Try& trial_of(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  if (cached.trial != nullptr) return *cached.trial;
  const auto [place, is_new] = team.trials.try_emplace({call.collective, class_of(bytes)});
  team::Try& one = place->second;
  if (is_new) {
    std::vector<choose::Choice> candidates{cached.selection.choice};
    candidates.insert(candidates.end(), cached.selection.rivals.begin(), cached.selection.rivals.end());
    one.trial = choose::make_trial(std::move(candidates));
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

std::string tell(const team::Try& one, const choose::Verdict& verdict, const std::vector<double>& slowest) {
  if (!verdict.alike) return "the first calls differ too much to compare " + names(one);
  std::string told = "the first calls took";
  for (std::size_t c = 0; c < one.trial.candidates.size(); ++c) {
    told += fmt::format("{} {:.1f} us with {}", c == 0 ? "" : ",", slowest[c] * 1e6, name_of(one, c));
  }
  return told;
}

// If the ranks cannot agree, all of them stay with the first.
void decide(team::Team& team, team::Try& one) {
  one.trial.decided = true;
  one.why = "the ranks could not compare " + names(one);
  if (team::prepare_messages(team) != MPI_SUCCESS) return;
  const std::vector<double> mine = choose::times_of(one.trial);
  std::vector<double> slowest(mine.size());
  if (mpi().Allreduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), mpi().double_type, mpi().op_max,
                      team.group.comm) != MPI_SUCCESS) {
    return;
  }
  const choose::Verdict verdict = choose::verdict_of(slowest);
  one.best = verdict.best;
  one.why = tell(one, verdict, slowest);
}

}  // namespace

Attempt begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  team::Try& one = trial_of(call, bytes, team, cached);
  const int candidate = choose::candidate_of_next_call(one.trial);
  if (candidate >= 0) {
    cached.selection.why = "the first calls try " + names(one);
    // Where all ranks know the size, each class has a trial of its own.
    const int ranks = team.group.ranks;
    double moved = 0;
    if (bytes == 0) moved = bytes_of(call.in_place ? call.recv : call.send, ranks) + bytes_of(call.recv, ranks);
    return {&one.trial, &one.trial.candidates[static_cast<std::size_t>(candidate)], mpi().Wtime(), moved};
  }
  if (!one.trial.decided) decide(team, one);
  cached.selection.choice = one.trial.candidates[one.best];
  cached.selection.why = one.why;
  cached.selection.rivals.clear();
  cached.explained = false;
  return {};
}

void end_attempt(const Attempt& attempt) {
  if (attempt.trial != nullptr) choose::note_call(*attempt.trial, mpi().Wtime() - attempt.begin, attempt.bytes);
}

}  // namespace quadrille::api
