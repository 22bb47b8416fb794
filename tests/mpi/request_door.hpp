// Calls of Quadrille's requests as if they were blocking: so all tests of blocking calls are tests of requests, too.
#pragma once

#include <quadrille.h>

namespace quadrille::test {

// Started by a nonblocking function, and completed.
template <class Make>
int complete(Make make) {
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  if (const int error = make(&request); error != MPI_SUCCESS) return error;
  return Quadrille_Wait(&request);
}

// A persistent request that is started `times` times, also after an error: the others start theirs as often.
template <class Make>
int complete_persistent(Make make, int times) {
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  if (const int error = make(&request); error != MPI_SUCCESS) return error;
  int first = MPI_SUCCESS;
  for (int time = 0; time < times; ++time) {
    int error = Quadrille_Start(&request);
    if (error == MPI_SUCCESS) error = Quadrille_Wait(&request);
    if (first == MPI_SUCCESS) first = error;
  }
  const int freed = Quadrille_Request_free(&request);
  return first != MPI_SUCCESS ? first : freed;
}

}  // namespace quadrille::test
