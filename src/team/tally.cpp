#include "team/tally.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "team/communicator.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

constexpr std::uint64_t group_of_one_rank = 1;

// A line for each reason.
void add_lines(const PassedCounts& counts, const char* form, std::vector<std::string>& lines) {
  for (std::size_t r = 0; r < counted_reasons; ++r) {
    if (counts[r] == 0) continue;
    lines.push_back(
        fmt::format("summary: {} forwarded {}{}", counts[r], form, text::summary_words_of(static_cast<Reason>(r))));
  }
}

// How many communicators of a group there were.
std::int32_t turn_of(std::uint64_t group) {
  static auto* const mutex = new std::mutex;
  static auto* const turns = new std::map<std::uint64_t, std::int32_t>;
  const std::lock_guard lock(*mutex);
  return (*turns)[group]++;
}

void take_name(MpiComm comm, Tally& tally) {
  char name[most_mpi_text + 1] = {};
  int length = 0;
  if (mpi().Comm_get_name(comm, name, &length) != mpi_success) return;
  std::memcpy(tally.name, name, std::min(sizeof tally.name - 1, static_cast<std::size_t>(length)));
}

bool has_more_calls(const Tally& a, const Tally& b) {
  return std::pair(a.calls(), b.turn) > std::pair(b.calls(), a.turn);
}

// Adds up what all but the first communicators have in the last element, which is of no single one.
void keep_first(std::vector<Tally>& tallies) {
  std::ranges::stable_sort(tallies, has_more_calls);
  Tally rest;
  for (std::size_t i = most_lines; i < tallies.size(); ++i) rest.add(tallies[i]);
  tallies.resize(std::min(tallies.size(), most_lines));
  tallies.push_back(rest);
}

std::string line_of(const Tally& tally) {
  const std::string calls = fmt::format("{} served, {} forwarded", tally.served, tally.passed);
  if (tally.ranks == 0) return fmt::format("summary: {} more communicators: {}", tally.communicators, calls);
  if (tally.communicators > 1) {
    return fmt::format("summary: {} communicators of one rank: {}", tally.communicators, calls);
  }
  const std::string name = tally.name[0] != '\0' ? fmt::format("{}, ", tally.name) : "";
  const std::string part = tally.told < tally.ranks ? fmt::format(" (counted on {} of them)", tally.told) : "";
  return fmt::format("summary: {}{} rank{}: {}{}", name, tally.ranks, tally.ranks == 1 ? "" : "s", calls, part);
}

// What ranks say of one communicator becomes one tally.
std::vector<Tally> merge(const std::vector<Part>& parts) {
  std::map<std::pair<std::uint64_t, std::int32_t>, Tally> all;
  Tally rest;
  for (const Part& part : parts) {
    for (const Tally& tally : part.tallies) {
      if (tally.ranks == 0) {
        rest.add(tally);
        continue;
      }
      const auto [place, is_new] = all.try_emplace({tally.group, tally.turn}, tally);
      if (is_new) continue;
      place->second.add(tally);
      ++place->second.told;
    }
  }
  std::vector<Tally> tallies;
  tallies.reserve(all.size());
  for (const auto& [key, tally] : all) tallies.push_back(tally);
  keep_first(tallies);
  tallies.back().add(rest);
  return tallies;
}

}  // namespace

void Counters::add(const Counters& other) {
  served += other.served;
  std::ranges::transform(passed, other.passed, passed.begin(), std::plus());
}

Tally begin_tally(const Team& team) {
  Tally tally;
  if (!team.counted.explains) return tally;
  tally.communicators = rank_in(team.user) == 0 ? 1 : 0;
  if (team.why_not == Reason::intercommunicator) return tally;  // told with the others
  tally.ranks = size_of(team.user);
  tally.group = group_of_one_rank;  // all of them are told in one line, by each rank
  if (tally.ranks == 1) return tally;
  tally.group = text::Hash().add_all(ranks_in_world(team.user)).value();
  tally.turn = turn_of(tally.group);
  return tally;
}

Tally end_tally(const Team& team) {
  Tally tally = team.counted.tally;
  tally.served = team.counted.counters.served;
  tally.passed = team.counted.counters.all_passed();
  if (team.user != mpi().comm_null && tally.ranks > 1) take_name(team.user, tally);
  return tally;
}

Part make_part(const Counters& all, std::vector<Tally> tallies) {
  Part part;
  part.all = all;
  // Of one rank: one line for all.
  Tally alone{.group = group_of_one_rank, .ranks = 1};
  std::erase_if(tallies, [&](const Tally& tally) {
    if (tally.ranks != 1) return tally.calls() == 0;
    alone.add(tally);
    return true;
  });
  if (alone.calls() > 0) tallies.push_back(alone);
  keep_first(tallies);
  std::copy(tallies.begin(), tallies.end(), part.tallies);
  return part;
}

std::vector<std::string> summary_lines(const std::vector<Part>& parts, bool alone) {
  Counters all, nonblocking, persistent;
  for (const Part& part : parts) {
    all.add(part.all);
    nonblocking.add(part.nonblocking);
    persistent.add(part.persistent);
  }
  const std::uint64_t forwarded = all.all_passed() + nonblocking.all_passed() + persistent.all_passed();
  std::vector<std::string> lines = {
      fmt::format("summary: {} calls served, {} forwarded to the MPI, {}", all.served, forwarded,
                  alone ? "counted on this rank only" : fmt::format("counted on {} ranks", parts.size()))};
  add_lines(all.passed, "", lines);
  add_lines(nonblocking.passed, "nonblocking, ", lines);
  add_lines(persistent.passed, "for persistent requests, ", lines);
  for (const Tally& tally : merge(parts)) {
    if (tally.calls() > 0) lines.push_back(line_of(tally));
  }
  return lines;
}

}  // namespace quadrille::team
