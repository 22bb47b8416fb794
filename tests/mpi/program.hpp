// What programs of ranks without googletest share: who a rank is, what it has found wrong, and how it ends.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace quadrille::test {

inline int rank = 0, size = 1;
inline std::atomic<int> wrong = 0;  // functions that a driver calls count, too
inline std::string doing;           // printed before what is wrong, if it is not empty

// Counts what is wrong, and prints the first seven of it.
inline void check(bool good, const char* what) {
  if (good || ++wrong >= 8) return;
  std::fprintf(stderr, "rank %d%s%s: %s\n", rank, doing.empty() ? "" : ", ", doing.c_str(), what);
}
inline void check(bool good, const char* what, int call) {
  if (!good && ++wrong < 8) std::fprintf(stderr, "rank %d, call %d: %s\n", rank, call, what);
}
inline void check(bool good, const std::string& what) { check(good, what.c_str()); }

// What a program cannot go on without.
inline void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  std::abort();
}

inline void find_rank() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}
inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  find_rank();
}
// Returns the level that the MPI provides.
inline int begin_with_threads(int* argc, char*** argv, int level) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, level, &provided);
  find_rank();
  return provided;
}

// The exit status.
inline int say_verdict() {
  std::printf("rank %d: %s\n", rank, wrong == 0 ? "good" : "WRONG");
  return wrong == 0 ? 0 : 1;
}

}  // namespace quadrille::test
