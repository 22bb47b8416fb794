// Requests that the program gets from functions of the MPI's own name, completed by all of MPI's functions in turn,
// also by those of the MPI itself, which Quadrille does not see.
#pragma once

#include <mpi.h>

#include "door.hpp"

namespace quadrille::test {

// How a rank completes its requests; each one begins elsewhere.
enum class Way {
  wait,
  unseen_wait,
  test,
  unseen_test,
  all,
  any,
  some,
  test_all,
  test_any,
  test_some,
  status,
  unseen_all
};
constexpr int ways = 12;

template <class Function>
Function* unseen(const char* name, Function*) {
  return reinterpret_cast<Function*>(native_symbol(name));
}
#define QUADRILLE_UNSEEN(Name) unseen("PMPI_" #Name, &MPI_##Name)

inline int complete_by(Way way, MPI_Request* request) {
  MPI_Status status;
  int flag = 0, index = -1, error = MPI_SUCCESS, indices[1] = {-1};
  const auto until_set = [&](auto test) {
    while (error == MPI_SUCCESS && flag == 0) error = test();
    return error;
  };
  // Of lists the MPIs say that something in them went wrong. MPICH says so also of one in which nothing did, and of a
  // generalised request only that it was something: this is taken for what the tests do wrong.
  const auto in_list = [&](int code) {
    if (code != MPI_ERR_IN_STATUS) return code;
    int kind = MPI_SUCCESS;
    MPI_Error_class(status.MPI_ERROR, &kind);
    return kind == MPI_ERR_OTHER ? MPI_ERR_TRUNCATE : status.MPI_ERROR;
  };
  switch (way) {
    case Way::wait:
      return MPI_Wait(request, &status);
    case Way::unseen_wait:
      return QUADRILLE_UNSEEN(Wait)(request, &status);
    case Way::test:
      return until_set([&] { return MPI_Test(request, &flag, &status); });
    case Way::unseen_test:
      return until_set([&] { return QUADRILLE_UNSEEN(Test)(request, &flag, MPI_STATUS_IGNORE); });
    case Way::all:
      return in_list(MPI_Waitall(1, request, &status));
    case Way::unseen_all:
      return in_list(QUADRILLE_UNSEEN(Waitall)(1, request, &status));
    case Way::any:
      return MPI_Waitany(1, request, &index, &status);
    case Way::some:
      return in_list(MPI_Waitsome(1, request, &flag, indices, &status));
    case Way::test_all:
      return until_set([&] { return in_list(MPI_Testall(1, request, &flag, &status)); });
    case Way::test_any:
      return until_set([&] { return MPI_Testany(1, request, &index, &flag, &status); });
    case Way::test_some:
      return until_set([&] { return in_list(MPI_Testsome(1, request, &flag, indices, &status)); });
    case Way::status:
      until_set([&] { return MPI_Request_get_status(*request, &flag, &status); });
      return error != MPI_SUCCESS ? error : MPI_Wait(request, &status);
  }
  return MPI_ERR_INTERN;
}

inline int complete_in_turn(MPI_Request* request) {
  static int turn = [] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 5 * rank;
  }();
  return complete_by(static_cast<Way>(turn++ % ways), request);
}

// What the first nonblocking call wants on a communicator is made in the blocking one after it.
void get_ready(MPI_Comm comm);

}  // namespace quadrille::test
