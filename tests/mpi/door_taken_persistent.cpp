// The drop-in door for persistent calls: MPI_X_init, or MPIX_X_init in Open MPI 4.1. What is made is started twice
// where that gives the same again. libquadrille_mpi.so and libquadrille_mpi[x]_persistent.so are preloaded.
#include "named_functions.hpp"
#include "taken_door.hpp"

namespace quadrille::test {
namespace {

int start_and_complete(MPI_Request* request, int times) {
  int first = MPI_SUCCESS;
  for (int time = 0; time < times; ++time) {
    int error = time == 0 ? MPI_Start(request) : MPI_Startall(1, request);
    if (error == MPI_SUCCESS) error = complete_in_turn(request);
    if (first == MPI_SUCCESS) first = error;
  }
  const int freed = MPI_Request_free(request);
  return first != MPI_SUCCESS ? first : freed;
}

}  // namespace

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                                           \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                                     \
    using Init = int(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info, MPI_Request*);            \
    static Init* const init = function_named<Init>("MPI_" #Name "_init", "MPIX_" #Name "_init");         \
    MPI_Request request = MPI_REQUEST_NULL;                                                              \
    const int error = init(QUADRILLE_ARGUMENTS_##FORM, MPI_INFO_NULL, &request);                         \
    return error != MPI_SUCCESS ? error : start_and_complete(&request, sendbuf == MPI_IN_PLACE ? 1 : 2); \
  },
const Door tested = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "dropin, persistent";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
