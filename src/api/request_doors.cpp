// The functions of quadrille.h that make requests: nonblocking and persistent ones.
#include "api/doors.hpp"
#include "api/requests.hpp"

using quadrille::Collective;
namespace api = quadrille::api;

// Quadrille_Ialltoall and Quadrille_Alltoall_init, and so on.
#define QUADRILLE_DEFINE_REQUESTS(collective, Name, FORM, Displacement)                                              \
  int Quadrille_I##collective(QUADRILLE_PARAMETERS_##FORM(int, Displacement), Quadrille_Request* request) {          \
    return api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), false, request);      \
  }                                                                                                                  \
  int Quadrille_##Name##_init(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info, Quadrille_Request* request) { \
    return api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), true, request);       \
  }
QUADRILLE_COLLECTIVES(QUADRILLE_DEFINE_REQUESTS)
