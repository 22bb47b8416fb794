// The explicit door in all forms. While a call is in flight, bytes that belong to no block change (placed.hpp).
#include <quadrille.h>

#include "forms_door.hpp"
#include "placed.hpp"

namespace quadrille::test {
namespace {

void put_all(bool inverted) {
  for (Placed* placed : Placed::all()) placed->put(inverted);
}

int end(Quadrille_Request* request) {
  for (Placed* placed : Placed::all()) placed->change_gaps();
  return Quadrille_Wait(request);
}

// With other data in the starts before the last one: what is kept of them may not serve it.
int start_again_and_again(Quadrille_Request* request) {
  constexpr int starts = 3;
  int first = MPI_SUCCESS;
  for (int start = 1; start <= starts; ++start) {
    put_all(start < starts);
    if (start == starts && before_last_start) before_last_start();
    int error = Quadrille_Start(request);
    if (error == MPI_SUCCESS) error = end(request);
    if (start == starts && after_last_start) after_last_start();
    if (first == MPI_SUCCESS) first = error;
  }
  const int freed = Quadrille_Request_free(request);
  return first != MPI_SUCCESS ? first : freed;
}

}  // namespace

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                                                  \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                                            \
    if (call_form == CallForm::blocking) return Quadrille_##Name(QUADRILLE_ARGUMENTS_##FORM);                   \
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;                                                         \
    const bool persistent = call_form == CallForm::persistent;                                                  \
    const int error = persistent ? Quadrille_##Name##_init(QUADRILLE_ARGUMENTS_##FORM, MPI_INFO_NULL, &request) \
                                 : Quadrille_I##collective(QUADRILLE_ARGUMENTS_##FORM, &request);               \
    if (error != MPI_SUCCESS) return error;                                                                     \
    return persistent ? start_again_and_again(&request) : end(&request);                                        \
  },
const Door tested = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "api, all forms";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
