// The explicit door: the functions of quadrille.h.
#include <algorithm>
#include <vector>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/requests.hpp"
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
    const api::FaultsReturned guard(comm);
    if (!team::all_agree(team->user, text::Hash().add(request).value())) {
      const int error = team::error_of_thrown(comm, mpi().err_arg);  // the MPI may have failed instead
      if (team->group.me == 0 && error == mpi().err_arg)
        team::say("Quadrille_Set_algorithm: the ranks gave different names");
      return api::raise(comm, error);
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

// No MPI has the w form of the allgather. Its w form of the all-to-all moves the same data, if the block for each
// destination is one and the same.
int allgatherw_of_the_mpi(const run::Call& call) {
  if (!mpi().usable) return api::raise(call.comm, mpi().err_other);
  if (call.comm == mpi().comm_null) return api::raise(mpi().comm_world, mpi().err_comm);
  team::Team* const team = team::team_of(call.comm);
  const bool has_blocks = team != nullptr && !is_inter(call.comm);
  const api::BlockNumbers blocks = has_blocks ? api::blocks_of(call, *team) : api::BlockNumbers();
  const run::Side& recv = call.recv;
  const bool arrays = recv.counts != nullptr && recv.displacements_large != nullptr && recv.types;
  // Not all MPIs look at these.
  if (call.in_place || recv.base == mpi().in_place || (blocks.recv > 0 && !arrays)) {
    return api::raise(call.comm, mpi().err_arg);
  }
  const auto places = static_cast<std::size_t>(std::max(blocks.send, 1));  // some MPIs refuse a null array
  const std::vector<int> counts(places, static_cast<int>(call.send.count_of(0)));
  const std::vector<MpiAint> displacements(places, 0);
  const MpiArray<MpiType> types(places, call.send.type);
  return api::handled_later(call.comm, [&] {
    return mpi().Neighbor_alltoallw(call.send.base, counts.data(), displacements.data(), types.all(), recv.base,
                                    recv.counts, recv.displacements_large, recv.types, call.comm);
  });
}

}  // namespace

int Quadrille_Version(void) { return quadrille::abi::version(); }

#define QUADRILLE_DEFINE(collective, Name, FORM, Displacement)                                                    \
  int Quadrille_##Name(QUADRILLE_WORDS_##FORM(int, Displacement)) {                                               \
    const auto native = [](auto... all) { return mpi().Name(all...); };                                           \
    return api::leave(                                                                                            \
        api::serve_or_pass<Collective::collective>(api::Door::explicit_api, native, QUADRILLE_ARGUMENTS_##FORM)); \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_DEFINE)

// The one collective that no MPI has.
int Quadrille_Neighbor_allgatherw(QUADRILLE_WORDS_GATHERW(int, MpiAint)) {
  const auto native = [](auto... arguments) {
    const run::Call call = api::call_of(Collective::neighbor_allgatherw, arguments...);
    return api::guarded(call.comm, [&] { return allgatherw_of_the_mpi(call); });
  };
  return api::leave(api::serve_or_pass<Collective::neighbor_allgatherw>(api::Door::explicit_api, native,
                                                                        QUADRILLE_ARGUMENTS_GATHERW));
}

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

int Quadrille_Set_algorithm(MpiComm comm, const char* collective, const char* algorithm) {
  return api::leave(api::guarded(given(comm), [&] { return set_algorithm(given(comm), collective, algorithm); }));
}
