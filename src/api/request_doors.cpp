// The functions of quadrille.h that make requests: nonblocking and persistent ones.
#include "api/doors.hpp"
#include "api/requests.hpp"

using namespace quadrille;

// Quadrille_Ialltoall and Quadrille_Alltoall_init, and so on.
#define QUADRILLE_DEFINE_REQUESTS(SUFFIX, Count, collective, Name, FORM, Displacement)                           \
  int Quadrille_I##collective##SUFFIX(QUADRILLE_WORDS_##FORM(Count, Displacement), Quadrille_Request* request) { \
    return api::leave(api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), false, \
                                        request, __builtin_return_address(0)));                                  \
  }                                                                                                              \
  int Quadrille_##Name##_init##SUFFIX(QUADRILLE_WORDS_##FORM(Count, Displacement), MpiInfo,                      \
                                      Quadrille_Request* request) {                                              \
    return api::leave(api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), true,  \
                                        request, __builtin_return_address(0)));                                  \
  }
#define QUADRILLE_DEFINE_INTS(...) QUADRILLE_DEFINE_REQUESTS(, int, __VA_ARGS__)
QUADRILLE_COLLECTIVES(QUADRILLE_DEFINE_INTS)
#define QUADRILLE_DEFINE_LARGE_REQUESTS(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE_REQUESTS(_c, MpiCount, collective, Name, FORM, MpiAint)
QUADRILLE_COLLECTIVES(QUADRILLE_DEFINE_LARGE_REQUESTS)
