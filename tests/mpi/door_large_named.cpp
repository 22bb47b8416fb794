// The explicit door for large counts: Quadrille_X_c. Compiled three times: LARGE_FORM is `blocking`, `started` or
// `persistent`.
#include "door.hpp"
#include "large_arguments.hpp"
#include "request_door.hpp"

namespace quadrille::test {
namespace {

enum class CallForm { blocking, started, persistent };

// By the function of that form.
template <CallForm form, class Call, class Start, class Make>
int in_form(bool in_place, Call call, Start start, Make make) {
  if constexpr (form == CallForm::blocking) {
    return call();
  } else if constexpr (form == CallForm::started) {
    return complete(start);
  } else {
    return complete_persistent(make, in_place ? 1 : 2);
  }
}

}  // namespace

#define QUADRILLE_MEMBER(collective, Name, FORM, Displacement)                                       \
  .collective = [](QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {                                 \
    const auto large = [](QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint)) {                        \
      return in_form<CallForm::LARGE_FORM>(                                                          \
          sendbuf == MPI_IN_PLACE, [&] { return Quadrille_##Name##_c(QUADRILLE_ARGUMENTS_##FORM); }, \
          [&](Quadrille_Request* request) {                                                          \
            return Quadrille_I##collective##_c(QUADRILLE_ARGUMENTS_##FORM, request);                 \
          },                                                                                         \
          [&](Quadrille_Request* request) {                                                          \
            return Quadrille_##Name##_init_c(QUADRILLE_ARGUMENTS_##FORM, MPI_INFO_NULL, request);    \
          });                                                                                        \
    };                                                                                               \
    return with_large<Collective::collective>(large, QUADRILLE_ARGUMENTS_##FORM);                    \
  },
const Door tested = {QUADRILLE_COLLECTIVES(QUADRILLE_MEMBER)};
#undef QUADRILLE_MEMBER
const char* const door_name = "api, large counts";
const bool can_force = true;

int force(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return Quadrille_Set_algorithm(comm, std::string(name_of(collective)).c_str(), algorithm.c_str());
}

}  // namespace quadrille::test
