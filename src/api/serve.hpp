// The way of a call from a door through the rooms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "api/admission.hpp"
#include "api/on_host.hpp"
#include "api/trials.hpp"
#include "mpi/errors.hpp"
#include "mpi/thrown.hpp"
#include "run/bound_run.hpp"
#include "run/call.hpp"
#include "team/failed_copies.hpp"
#include "team/faults.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// While we serve a call, collectives that the MPI calls by itself go straight to it. That is so on
// this thread while there is one of these.
struct Serving {
  Serving();
  Serving& operator=(Serving&&) = delete;
  ~Serving();

 private:
  const bool before_;
};
bool is_serving();

// Serves a call, or returns false: then the caller hands it to the MPI unchanged, and ends the attempt when that is
// done. When it returns true, `error` is what the collective returns; errors have been raised through the error
// handler.
bool serve(const run::Call& call, Door door, int& error, Attempt& attempt);

// A call that goes to the MPI's own function: with buffers of the host in the place of a device's, if it has any and
// the MPI takes none, or `buffers` says so. Null: as it is. `team` is that of its communicator, or null if no rank can
// have brought its data to the host. Throws std::bad_alloc.
std::unique_ptr<OnHost> on_host_for_the_mpi(const run::Call& call, choose::HostBuffers buffers, team::Team*& team);

// What the call's error becomes if a rank has told that it could not bring its data to the host
// (team/failed_copies.hpp). `is_counted`: as team::number_of_call().
int with_failed_copies(team::Team* team, int error, bool is_counted, bool may_look);

// Brings the data to the host, and tells the others if that fails.
inline void fetch(OnHost& on_host, team::Team& team, bool is_counted) {
  if (!on_host.fetch()) team::tell_failed(team, team::number_of_call(team, is_counted));
}

// Makes a call that is not counted yet by `run`, with buffers of the host where its own are a device's. Returns an MPI
// error code.
template <class Run>
int run_over_host(OnHost& on_host, team::Team& team, const Run& run) {
  fetch(on_host, team, false);
  return on_host.finish(with_failed_copies(&team, run(on_host.call()), false, on_host.is_needed()));
}

// How many blocks the sides of a call have on this rank; none where the MPI is to find out what is wrong with the
// communicator.
struct BlockNumbers {
  int send = 0, recv = 0;
};
BlockNumbers blocks_of(const run::Call& call, team::Team& team);
// Those of them that hold data on this rank. A Cartesian communicator may lack neighbours.
UsedBlocks used_blocks(const run::Call& call, team::Team& team);

// The same of a call as it comes.
template <class Run>
int run_over_host(const run::Call& call, team::Team& team, choose::HostBuffers buffers, const Run& run) {
  if (memory::device_driver() == nullptr) return with_failed_copies(&team, run(call), false, false);
  OnHost on_host(call, used_blocks(call, team), buffers);
  return run_over_host(on_host, team, run);
}

// ---- Errors ----
//
// An error handler of the program may throw a C++ exception or end its thread. So no handler is called while frames of
// ours wait for it to return: raise() notes the error, and the door calls the handler as its last act.

// Notes an error for leave(). The first one counts. Returns `error`.
int raise(MpiComm comm, int error);
// The same of an error that a function of the MPI has returned to us instead of calling the handler.
int raise_of_the_mpi(MpiComm comm, int error);
// Calls the error handler for what was noted. If the handler returns, returns `error`, or what the MPI returns then.
[[gnu::cold, gnu::noinline]] int call_noted_handler(int error);
// The end of each door: `return leave(...)`. The MPI has called the handler for errors of its own functions.
[[gnu::always_inline]] inline int leave(int error) { return error == mpi_success ? error : call_noted_handler(error); }

// Calls a function of the MPI on `comm`. A handler of the program is called by the door, after our frames have
// returned: it may throw, and some MPIs hide an error that such a handler was given.
template <class Forward>
int handled_later(MpiComm comm, Forward forward) {
  if (!has_own_handler(comm)) return forward();
  int error = mpi_success;
  {
    const ErrorsReturned guard(comm);
    error = forward();
  }
  return error == mpi_success ? error : raise_of_the_mpi(comm, error);
}

// With fault tolerance, errors on `comm` are returned while this lives: a fault that ends a question of ours becomes
// the error of the call, and the program's handler sees it only then.
struct FaultsReturned {
  explicit FaultsReturned(MpiComm comm) {
    if (team::watches_faults()) returned.emplace(comm);
  }
  std::optional<ErrorsReturned> returned;
};

// Collective: MPI_SUCCESS if all ranks give the same, and it is `sound` here; else MPI_ERR_ARG or, where the MPI itself
// has failed instead, its error. A rank that `tells` says what is `wrong` with `what`.
int error_unless_alike(MpiComm comm, std::uint64_t given, bool sound, bool tells, std::string_view what,
                       std::string_view wrong);

// Forwards a call that has counted something. The error is known also where the MPI hides it.
template <class Forward>
int error_of(MpiComm comm, const CountedAhead& ahead, Forward forward) {
  const bool has_counted = ahead.early || ahead.wants || ahead.changed > 0;
  return hides_handled_errors() && has_counted ? handled_later(comm, forward) : forward();
}

// Does the `work` of a door, which returns an MPI error code. What it throws is raised: the others may be in the middle
// of the call, so it cannot go to the MPI. `work` calls functions of the MPI that may fail by handled_later(): an
// exception of the program would be taken for one of ours.
template <class Work>
[[gnu::noinline]] int guarded(MpiComm comm, Work&& work) {
  int error = mpi_success;
  const int thrown = thrown_by([&] { error = work(); });
  return thrown == mpi_success ? error : raise(comm, team::error_of_thrown(comm, thrown));
}

}  // namespace quadrille::api
