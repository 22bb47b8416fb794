// The explicit door: the functions of quadrille.h.
#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "team/config.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"

using namespace quadrille;

namespace {

// Reads what Quadrille_Set_algorithm was given. Returns an empty string, or what is wrong.
std::string read_request(const char* collective, const char* algorithm, Collective& which, choose::Choice& choice) {
  if (collective == nullptr || !choose::collective_from_name(collective, which)) {
    return std::string("unknown collective \"") + (collective != nullptr ? collective : "") + "\"; known are " +
           choose::collective_names();
  }
  if (algorithm == nullptr || *algorithm == '\0') return {};
  return choose::parse_choice(which, algorithm, choice);
}

int set_algorithm(MpiComm comm, const char* collective, const char* algorithm) {
  Collective which{};
  choose::Choice choice;
  const std::string wrong = read_request(collective, algorithm, which, choice);
  team::Team* team = team::team_of(comm);
  // One rank alone can have neighbours: itself.
  const bool alone = team != nullptr && !team->eligible() && team->group.ranks == 1;
  if (team == nullptr || (!team->eligible() && !alone && wrong.empty())) {
    return team == nullptr ? api::raise(comm, mpi().err_comm) : mpi_success;
  }
  if (team->eligible()) {
    if (!team->ready()) {
      if (const int error = team::setup(*team); error != mpi_success) return error;
    }
    const std::string request =
        std::string(collective != nullptr ? collective : "") + "=" + (algorithm != nullptr ? algorithm : "");
    if (!team::all_agree(team->user, text::Hash().add(request).value())) {
      if (team->group.me == 0) team::say("Quadrille_Set_algorithm: the ranks gave different names");
      return api::raise(comm, mpi().err_arg);
    }
  }
  if (!wrong.empty()) {
    if (team->group.me == 0) team::say("Quadrille_Set_algorithm: " + wrong);
    return api::raise(comm, mpi().err_arg);
  }
  const auto index = static_cast<std::size_t>(which);
  team::force(*team, which, choice.algorithm != nullptr ? choice : team::config().forced.by_collective[index]);
  return mpi_success;
}

}  // namespace

int Quadrille_Version(void) { return quadrille::abi::version(); }

#define QUADRILLE_DEFINE(collective, Name, FORM, Displacement)                                                        \
  int Quadrille_##Name(QUADRILLE_WORDS_##FORM(int, Displacement)) {                                                   \
    return api::leave(                                                                                                \
        api::serve_or_pass<Collective::collective>(api::Door::explicit_api, &Mpi::Name, QUADRILLE_ARGUMENTS_##FORM)); \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_DEFINE)

int Quadrille_Set_algorithm(MpiComm comm, const char* collective, const char* algorithm) {
  return api::leave(api::guarded(given(comm), [&] { return set_algorithm(given(comm), collective, algorithm); }));
}
