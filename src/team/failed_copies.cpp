#include "team/failed_copies.hpp"

#include <deque>

#include "mpi/tags.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

constexpr std::uint64_t is_start = std::uint64_t{1} << 63;

bool has_messages(const Team& team) {
  return team.nodes.nodes > 1 && team.group.messages().comm != MpiComm{} &&
         team.group.messages().comm != mpi().comm_null;
}

void send_to_other_nodes(const Team& team, std::uint64_t number) {
  // What is sent stays where it is: nobody waits until it has left, and there is little of it.
  static auto& numbers = *new std::deque<std::uint64_t>;  // outlives all destructors
  const std::uint64_t& kept = numbers.emplace_back(number);
  for (int rank = 0; rank < team.group.ranks; ++rank) {
    if (team.group.local_of(rank) >= 0) continue;
    MpiRequest request;
    if (mpi().Isend(&kept, 1, mpi().uint64, rank, tags::failed_copy, team.group.messages().comm, &request) ==
        mpi_success) {
      mpi().Request_free(&request);
    }
  }
}

// They may be of calls in which this rank had nothing on a device.
void receive_from_other_nodes(Team& team) {
  const MpiComm comm = team.group.messages().comm;
  for (;;) {
    int found = 0;
    MpiStatus status;
    if (mpi().Iprobe(mpi().any_source, tags::failed_copy, comm, &found, &status) != mpi_success || found == 0) return;
    std::uint64_t number = 0;
    MpiRequest request;
    if (mpi().Irecv(&number, 1, mpi().uint64, source_in(status), tags::failed_copy, comm, &request) != mpi_success ||
        mpi().Wait(&request, mpi().status_ignore) != mpi_success) {
      return;
    }
    team.failed_calls.note(number);
  }
}

}  // namespace

std::uint64_t number_of_call(const Team& team, bool is_counted) {
  const Counters& counters = team.counted.counters;
  // A refused call is one of this rank alone, and an early one is counted only where a team was made for it.
  const std::uint64_t refused = counters.passed[counted_as(Reason::argument)];
  const std::uint64_t early = counters.passed[counted_as(Reason::early)];
  return counters.served + counters.all_passed() - refused - early + (is_counted ? 0 : 1);
}

std::uint64_t number_of_start(unsigned request, std::uint64_t start) { return is_start | (start << 32) | request; }

void tell_failed(Team& team, std::uint64_t number) {
  team.failed_calls.note(number);
  if (has_messages(team)) send_to_other_nodes(team, number);
}

bool has_failed(Team& team, std::uint64_t number, bool may_look) {
  if (may_look && has_messages(team)) receive_from_other_nodes(team);
  return team.failed_calls.has(number);
}

}  // namespace quadrille::team
