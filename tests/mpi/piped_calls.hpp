// What the checks of calls in chunks look at, inside a node and between nodes: what the library has made of the
// stand-in of a driver, and what all ranks return.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include "device_buffers.hpp"

namespace quadrille::test {

// ---- What the library has made of the driver, and given back ----

inline unsigned long of(const char* cuda, const char* hip) { return count(is_cuda ? cuda : hip); }
inline unsigned long registered() { return of("cuMemHostRegister_v2", "hipHostRegister"); }
inline unsigned long streams() { return of("cuStreamCreate", "hipStreamCreateWithFlags"); }
inline unsigned long marks() { return of("cuEventRecord", "hipEventRecord"); }
inline unsigned long events() { return of("cuEventCreate", "hipEventCreateWithFlags"); }
inline unsigned long waits() { return of("cuStreamSynchronize", "hipStreamSynchronize"); }
inline unsigned long pinned() { return of("cuMemAllocHost_v2", "hipHostMalloc"); }

inline unsigned long alive(const char* what) { return driver.count(what, nullptr); }
// Of the library alone, as the test makes none.
inline void check_given_back(const char* what) {
  check(alive("registrations") == 0, what);
  check(alive("streams") == 0, what);
  check(alive("events") == 0, what);
}

// Were blocking calls made in chunks, in which this rank sends or receives some? Only they mark what is in a stream,
// beside nonblocking calls. And they wait once, for what the program has put into the NULL stream; what goes over the
// host as a whole waits for it to come there, too.
struct Piped {
  unsigned long before = marks(), waited = waits();
  void expect(bool piped, unsigned long calls, const char* what) const {
    check((marks() > before) == piped, what);
    if (piped) check(waits() - waited <= calls, "what went in chunks went again");
  }
};

// What all ranks return.
inline bool all_return(int error, const On& on) {
  int least = error, most = error;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, on.comm);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, on.comm);
  check(least == most, "ranks return different errors");
  return error == MPI_SUCCESS;
}

// The cases of failures that a row of `make test` (QUADRILLE_TEST_PART, scripts/rows.py) runs at one turn: a third.
// Eager, lazy and random streams start with different thirds, so rows that differ in their streams alone run all cases
// at each turn. The third changes with the turn: a row whose siblings are in no row meets each case at some turns.
// HIP, of which there are fewer rows, runs all.
template <class Case>
std::vector<Case> part_of_row(const std::vector<Case>& cases, std::size_t turn) {
  if (std::getenv("QUADRILLE_TEST_PART") == nullptr || !is_cuda) return cases;
  const char* const streams = std::getenv("QUADRILLE_STANDIN_STREAMS");
  const std::size_t first = streams == nullptr || streams[0] == 'e' ? 0 : streams[0] == 'l' ? 1 : 2;
  std::vector<Case> own;
  for (std::size_t c = (first + turn) % 3; c < cases.size(); c += 3) own.push_back(cases[c]);
  return own;
}

struct Failed {
  int kind;   // class of the error
  bool good;  // there was none, on any rank
};
// A call of that rank's driver fails meanwhile.
inline Failed make_failing(Buffers& buffers, const On& on, const std::string& what) {
  MPI_Barrier(on.comm);
  fail(on, what.c_str());
  const int error = buffers.make(1);
  fail(on, "");
  int kind = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
  return {kind, all_return(kind, on)};
}

// ---- Cases ----

// One rank's driver refuses one of these functions: all ranks stage through the host as a whole, and do not try again.
// What the other ranks had made is given back: is_as_before() looks whether the driver has only what was there before.
template <class IsAsBefore>
void check_refused(const On& on, const std::vector<std::pair<const char*, const char*>>& functions,
                   IsAsBefore is_as_before) {
  for (const auto& [cuda, hip] : functions) {
    MPI_Comm twin;
    MPI_Comm_dup(on.comm, &twin);
    {
      const On there(twin);
      Buffers one({Form::alltoallv, 4000, false, true}, there);
      fail(on, is_cuda ? cuda : hip);
      const Piped piped;
      one.check_calls(1, "refused by one rank");
      fail(on, "");
      check(is_as_before(), "made for what was refused");
      const unsigned long tried = registered(), made = streams();
      one.check_calls(3, "refused before");
      piped.expect(false, 4, "all go over the host as a whole");
      check(tried == registered() && made == streams(), "it is tried again");
    }
    MPI_Comm_free(&twin);
    check(is_as_before(), "left of what was refused");
  }
}

// Blocks that ranks send to themselves are there when the call returns, also if nothing comes after them. Rank 0 sends
// to rank 1.
inline void check_own_blocks(const On& on, bool piped_here) {
  constexpr int n = 5000;
  const auto ranks = static_cast<std::size_t>(on.ranks), me = static_cast<std::size_t>(on.me);
  Ints send(Where::device, 2 * n), recv(Where::device, 2 * n);
  std::vector<int> sends(ranks, 0), receives(ranks, 0), places(ranks, 0), in_places(ranks, 0);
  sends[me] = receives[me] = n;
  if (on.me == 0) sends[1] = n, places[1] = n;
  if (on.me == 1) receives[0] = n, in_places[0] = n;
  for (int i = 0; i < 2 * n; ++i) send.view[i] = value(on.me, i / n, i, 0);
  recv.fill(-5);
  const Piped piped;
  MPI_Alltoallv(send.data, sends.data(), places.data(), MPI_INT, recv.data, receives.data(), in_places.data(), MPI_INT,
                on.comm);
  for (int i = 0; i < n; ++i) check(recv.view[i] == value(on.me, 0, i, 0), "a rank's own block");
  for (int i = 0; i < n && on.me == 1; ++i) check(recv.view[n + i] == value(0, 1, n + i, 0), "a block beside own ones");
  piped.expect(piped_here && on.me < 2 && leads(), 1, "only ranks 0 and 1 have something to mark");
}

// More is sent than its receiver expects: the mistake that the MPI reports, and nobody hangs.
inline void check_too_long(const On& on) {
  const auto ranks = static_cast<std::size_t>(on.ranks);
  constexpr int n = 3000;
  Ints send(Where::device, ranks * n), recv(Where::device, ranks * n);
  std::vector<int> sends(ranks, n), receives(ranks, n), places(ranks);
  for (std::size_t to = 0; to < ranks; ++to) places[to] = static_cast<int>(to) * n;
  if (on.me == 0) receives[1] = n / 3;
  recv.fill(-5);
  send.fill(8);
  const int error = MPI_Alltoallv(send.data, sends.data(), places.data(), MPI_INT, recv.data, receives.data(),
                                  places.data(), MPI_INT, on.comm);
  check((error != MPI_SUCCESS) == (on.me == 0), "a block that is too long");
  for (int i = n / 3; i < n && on.me == 0; ++i) check(recv.view[n + i] == -5, "written beyond a block");
}

}  // namespace quadrille::test
