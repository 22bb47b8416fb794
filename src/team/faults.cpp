#include "team/faults.hpp"

#include <stdexcept>

#include "mpi/fault_tolerance.hpp"
#include "mpi/generation.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

constexpr double seconds_between_looks = 2e-3, seconds_to_be_told = 1;

// Nothing on this communicator is served any more.
void leave(Team& team, int fault) {
  team.fault = fault;
  team.failed_calls.note_left(fault);
  team.lost = false;
  team.why_not = Reason::rank_failed;
  team.change_standing(Standing::ineligible);
  drop_cached_calls();
}

// Has a rank failed? Where the communicator is gone and a request is left, that of the whole program is asked. The MPI
// makes a list of the failed ranks, so it is not asked each time.
bool has_failed_rank(Team& team) {
  const double now = mpi().Wtime();
  if (now < team.next_look.load(std::memory_order_relaxed)) return false;
  team.next_look.store(now + seconds_between_looks, std::memory_order_relaxed);
  if (team.user != mpi().comm_null) return has_failed_rank(team.user);
  return team.quiet != nullptr && has_failed_rank(team.quiet->comm, team.world_ranks);
}

// MPI_SUCCESS if this rank knows of none. The communicator may have no team.
int fault_of(MpiComm comm, Team* team) {
  if (team != nullptr) return leave_if_faulty(*team);
  if (is_revoked(comm)) return err_revoked();
  return quadrille::has_failed_rank(comm) ? err_proc_failed() : mpi_success;
}

// A call of ours has failed: the MPI may report the fault a little later. MPI_SUCCESS if it does not.
int await_fault(MpiComm comm, Team* team) {
  for (const double end = mpi().Wtime() + seconds_to_be_told; mpi().Wtime() < end; sys::yield()) {
    if (const int fault = fault_of(comm, team); fault != mpi_success) return fault;
    int flag = 0;
    mpi().Iprobe(0, mpi().any_tag, mpi().comm_self, &flag, mpi().status_ignore);  // makes progress
  }
  return mpi_success;
}

}  // namespace

bool watches_faults() { return config().watches_faults; }

int leave_if_told(Team& team) {
  if (const int known = team.fault.load(std::memory_order_relaxed); known != mpi_success) return known;
  int fault = team.failed_calls.left();
  if (fault == mpi_success && team.user != mpi().comm_null && is_revoked(team.user)) fault = err_revoked();
  if (fault != mpi_success) leave(team, fault);
  return fault;
}

int leave_if_faulty(Team& team) {
  if (const int told = leave_if_told(team); told != mpi_success) return told;
  if (!has_failed_rank(team)) return mpi_success;
  leave(team, err_proc_failed());
  return err_proc_failed();
}

void throw_if_faulty(Team& team) {
  if (leave_if_faulty(team) != mpi_success)
    throw std::runtime_error("a rank has failed, or the communicator is revoked");
}

int error_of_thrown(MpiComm comm, int error) {
  if (!watches_faults() || error == mpi().err_no_mem || comm == mpi().comm_null) return error;
  Team* const team = find_team(comm);
  if (team != nullptr && !team->eligible() && team->fault == mpi_success) return error;
  const int fault = await_fault(comm, team);
  return fault != mpi_success ? fault : error;
}

int error_after_call(Team& team, int error) {
  if (!watches_faults()) return error;
  if (is_fault(error)) await_fault(team.user, &team);
  return team.failed_calls.left() != mpi_success ? leave_if_faulty(team) : error_of_step(team, error);
}

int error_of_step(Team& team, int error) {
  if (!is_fault(error)) return error;
  if (leave_if_faulty(team) == mpi_success) leave(team, error);
  return team.fault;
}

}  // namespace quadrille::team
