// The drop-in door for nonblocking calls: MPI_IX, as an unmodified program calls it, completed in turn by all functions
// that complete something. libquadrille_mpi.so is preloaded.
#include <vector>

#include "taken_door.hpp"

namespace quadrille::test {
namespace {

int ready_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
    return made;
  }();
  return keyval;
}

bool is_between(MPI_Comm comm) {
  int between = 0;
  MPI_Comm_test_inter(comm, &between);
  return between != 0;
}

// One that asks for what it needs, and one in which that is made. Nothing is wrong with these calls.
void call_both(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int kind = MPI_UNDEFINED, size = 0;
  MPI_Topo_test(comm, &kind);
  MPI_Comm_size(comm, &size);
  std::vector<int> sent(4096), got(sent.size());
  if (kind != MPI_UNDEFINED) {
    MPI_Ineighbor_alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
  } else {
    MPI_Ialltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
  }
}

}  // namespace

void get_ready(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL || is_between(comm)) return;
  MPI_Comm_get_attr(comm, ready_keyval(), &value, &found);
  if (found != 0) return;
  call_both(comm);
  MPI_Comm_set_attr(comm, ready_keyval(), nullptr);
}

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                 \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {           \
    get_ready(comm);                                                           \
    MPI_Request request = MPI_REQUEST_NULL;                                    \
    const int error = MPI_I##collective(QUADRILLE_ARGUMENTS_##FORM, &request); \
    return error != MPI_SUCCESS ? error : complete_in_turn(&request);          \
  },
const Door tested = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "dropin, nonblocking";
const bool can_force = false;

int force(MPI_Comm, Collective, const std::string&) { return MPI_ERR_ARG; }

}  // namespace quadrille::test
