// The tags of Quadrille's own messages, all in one list: two messages in flight together must have different tags. They
// are used on communicators of our own.
#pragma once

#include <atomic>

namespace quadrille::tags {

inline constexpr int rounds = 1;                // of schedules in blocking calls
inline constexpr int failed_copy = 2;           // a rank could not read its data: team/ask.cpp
inline constexpr int sparse_blocks[] = {4, 5};  // one of each pair a call: run/sparse.cpp
inline constexpr int sparse_notes[] = {6, 7};
inline constexpr int sparse_rounds = 8;   // run/sparse.cpp
inline constexpr int beside_leaders = 9;  // blocks that do not go through them: run/uneven_leaders.cpp
// Tags from 0; MPI has at least so many. Those after them, where there are any, are of communicators that have none of
// their own for messages: on that of MPI_COMM_WORLD, team/setup.cpp.
inline constexpr unsigned count = 32768;

// Of requests, api/making.cpp: nonblocking calls take one half in turn, and persistent requests the other.
inline constexpr unsigned first_request = 64, first_persistent = (first_request + count) / 2;

// Of messages from a rank to itself, in turn: two threads may send some on one communicator.
inline int next_own() {
  constexpr unsigned first = 64;
  static constinit std::atomic<unsigned> turn = 0;
  return static_cast<int>(first + turn++ % (count - first));
}

}  // namespace quadrille::tags
