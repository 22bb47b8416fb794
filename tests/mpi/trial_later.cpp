// Cases of trial_check.cpp about what comes after a decision: checks, which may find something else, and requests.
#include <mpi.h>

#include <string>
#include <vector>

#include "abi/native.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "team/team.hpp"
#include "trial_check.hpp"

namespace trial_check {

// ---- What is checked ----

// Also what a communicator has taken over.
void check_what_was_kept(const World& w) {
  slow_down("slow-mpi");
  expect(tries_on(w, {0, 1, 2, 3}, Collective::alltoall), "nothing is tried", Collective::alltoall);
  const_cast<Mpi&>(mpi()) = real;
  slow_down("slow-ours");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int call = 0; call < quadrille::tuner::Pause::usual + 5 * calls; ++call) {
    exchange(w, {Collective::alltoall, 3000}, call, comm);
    const bool is_ours = choose::to_string(selection(Collective::alltoall, comm).choice) != "mpi";
    if (call == 0 && !is_ours) fail("rank %d: what was found is not taken over\n", w.rank);
    if (call == 0 && !team::is_decided(last_of(Collective::alltoall, comm))) fail("rank %d: it is tried\n", w.rank);
  }
  if (choose::to_string(selection(Collective::alltoall, comm).choice) != "mpi")
    fail("rank %d: what was taken over is not checked\n", w.rank);
  MPI_Comm_free(&comm);
}

// Rank 1 caches no call, as it explains. All ranks count alike.
void call_until_checked(const World& w, const Case& c, int most_calls, bool by_mpi) {
  team::team_of(abi::comm(MPI_COMM_WORLD))->counted.explains = w.rank == 1;
  for (int call = 0; call < most_calls; ++call) exchange(w, c, call);
  // The last call of all ranks selects, as what is cached does not.
  quadrille::drop_cached_calls();
  exchange(w, c, 0);
  const team::CachedSelection& last = last_of(c.collective);
  const std::string chosen = choose::to_string(last.selection.choice);
  if ((chosen == "mpi") != by_mpi || !team::is_decided(last))
    fail("rank %d: %s was chosen: %s\n", w.rank, chosen.c_str(), quadrille::text::words_of(last.selection.why).c_str());
  const int left = last.trial->trial.pause.left, mine[] = {left, -left};
  int most[2];
  MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (most[0] != -most[1]) fail("rank %d: it counts %d calls, another rank %d\n", w.rank, left, most[0]);
}

// The race that the next call begins, until all ranks have decided.
void call_through_race(const World& w, const Case& c) {
  constexpr int most_calls = 3 * calls, between_looks = 25;
  for (int call = 0, decided = 0; call < most_calls && decided == 0; ++call) {
    exchange(w, c, call);
    if (call % between_looks != between_looks - 1) continue;
    const int mine = last_of(c.collective).trial->trial.contest.decided() ? 1 : 0;
    MPI_Allreduce(&mine, &decided, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
}

void change_later(const World& w) {
  using quadrille::tuner::Pause;
  slow_down("slow-mpi");
  for (const Collective c : all_collectives) call_until_checked(w, {c, most_block}, 2 * calls, false);
  const_cast<Mpi&>(mpi()) = real;
  slow_down("slow-ours");
  for (const Collective c : all_collectives) call_until_checked(w, {c, most_block}, Pause::usual + 5 * calls, true);
}

// What is cached before the first decision, which is for the MPI, is not used after it. Rank 1 caches nothing, as it
// explains.
void request_before_and_after(const World& w) {
  const Case c{Collective::alltoall, 512};
  const auto n = static_cast<std::size_t>(w.ranks), block = static_cast<std::size_t>(c.block);
  std::vector<char> send(n * block), recv(n * block);
  const auto request = [&](int call) {
    for (std::size_t i = 0; i < n * block; ++i) send[i] = byte_of(w.rank, static_cast<int>(i / block), call);
    Quadrille_Request made;
    Quadrille_Ialltoall(send.data(), c.block, MPI_CHAR, recv.data(), c.block, MPI_CHAR, MPI_COMM_WORLD, &made);
    Quadrille_Wait(&made);
    for (std::size_t i = 0; i < n * block; ++i) {
      if (recv[i] != byte_of(static_cast<int>(i / block), w.rank, call))
        return fail("rank %d: wrong data in request %d\n", w.rank, call);
    }
  };
  team::team_of(abi::comm(MPI_COMM_WORLD))->counted.explains = w.rank == 1;
  ours = 4e-3;
  for (int call = 0; call < 3; ++call) request(call);
  for (int call = 0; call < 4 * calls; ++call) exchange(w, c, call);
  if (choose::to_string(selection(c.collective).choice) != "mpi") fail("rank %d: the MPI is not chosen\n", w.rank);
  for (int call = 0; call < 3; ++call) request(call);
  ours = 0.1e-3;
}

void change_later_inside(const World& w) {
  const Case served{Collective::alltoall, 20000, false, true}, forwarded{Collective::alltoall, 10000, false, true};
  const Case small{Collective::alltoall, 64};
  real = mpi();
  show_time();
  show_time_of<&Mpi::Alltoall>();
  request_before_and_after(w);
  call_until_checked(w, served, 4 * calls, false);
  call_until_checked(w, small, 4 * calls, false);
  ours = 4e-3;
  call_until_checked(w, forwarded, 4 * calls, true);
  ours = 0.1e-3;
  // Cached calls count what is left of the pause; trial-later waits for all of it.
  last_of(forwarded.collective).trial->trial.pause.left = 2 * calls;
  call_until_checked(w, forwarded, 2 * calls + 5 * calls, false);
  // A check races a few candidates: one of the next ones is the MPI's own.
  ours = 4e-3;
  for (const Case& c : {served, small}) {
    for (int check = 0; check < 8; ++check) {
      quadrille::drop_cached_calls();
      exchange(w, c, 0);
      if (choose::to_string(selection(c.collective).choice) == "mpi") break;
      last_of(c.collective).trial->trial.pause.left = 0;
      call_through_race(w, c);
    }
    call_until_checked(w, c, 1, true);
  }
}

// ---- Requests ----

// Makes a request for such calls. All ranks must have chosen the same, and what the last decision said.
void request(const World& w, const Case& c, bool by_mpi) {
  const auto bytes = static_cast<std::size_t>(w.ranks) * static_cast<std::size_t>(c.block);
  std::vector<char> send(bytes), recv(bytes);
  Quadrille_Request made;
  Quadrille_Alltoall_init(send.data(), c.block, MPI_CHAR, recv.data(), c.block, MPI_CHAR, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &made);
  const std::string chosen = choose::to_string(selection(c.collective).choice);
  if ((chosen == "mpi") != by_mpi) fail("rank %d: a request goes by %s\n", w.rank, chosen.c_str());
  Quadrille_Request_free(&made);
}

void request_what_was_decided(const World& w) {
  const Case first{Collective::alltoall, most_block}, alike{Collective::alltoall, most_block + 20};
  const auto forget = [&] {
    if (w.rank == 1) team::team_of(abi::comm(MPI_COMM_WORLD))->chosen.selections[0].forget();
  };
  static_assert(static_cast<int>(Collective::alltoall) == 0);
  slow_down("slow-mpi");
  for (int call = 0; call < calls; ++call) exchange(w, first, call);
  forget();
  request(w, first, false);
  // These share the trial, and a check finds something else.
  const_cast<Mpi&>(mpi()) = real;
  slow_down("slow-ours");
  for (int call = 0; call < quadrille::tuner::Pause::usual + 5 * calls; ++call) exchange(w, alike, call);
  forget();
  request(w, first, true);
  request(w, alike, true);
}

}  // namespace trial_check
