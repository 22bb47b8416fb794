// The first calls on several nodes try the MPI's own and the node's part: the faster one must stay, on all ranks, and
// all data must arrive. One case a run:
//   slow-mpi    the MPI's own takes long on one rank
//   slow-ours   messages of ours do
//   unlike      v and w calls move so different amounts that they compare nothing
//   off         nothing is tried
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "sys/sys.hpp"
#include "team/team.hpp"

namespace {

namespace choose = quadrille::choose;
namespace team = quadrille::team;
using choose::Collective;
using quadrille::Mpi;
using quadrille::mpi;

constexpr int calls = 30, most_block = 3000;

Mpi real;  // the MPI's functions as they are

void dawdle() {
  const double end = MPI_Wtime() + 0.002;
  while (MPI_Wtime() < end) {
  }
}

template <auto Function>
struct Slow;
template <class... Arguments, int (*Mpi::*Function)(Arguments...)>
struct Slow<Function> {
  static int call(Arguments... arguments) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // Afterwards, so that the others do not notice before they are told.
    const int error = (real.*Function)(arguments...);
    if (rank == 1) dawdle();
    return error;
  }
};

template <auto Function>
void slow_down() {
  const_cast<Mpi&>(mpi()).*Function = Slow<Function>::call;
}

void slow_down(const std::string& name) {
  real = mpi();
  if (name == "slow-mpi") {
    slow_down<&Mpi::Alltoall>();
    slow_down<&Mpi::Alltoallv>();
    slow_down<&Mpi::Alltoallw>();
    slow_down<&Mpi::Allgather>();
    slow_down<&Mpi::Allgatherv>();
  }
  if (name == "slow-ours") slow_down<&Mpi::Isend>();
}

struct World {
  int rank = 0, ranks = 1;
};

char byte_of(int from, int to, int call) { return static_cast<char>(from * 31 + to * 7 + call); }

// One call with blocks of `block` bytes; true if all arrived.
bool exchange(const World& w, Collective collective, int block, int call) {
  const bool gather = collective == Collective::allgather || collective == Collective::allgatherv;
  const auto n = static_cast<std::size_t>(w.ranks);
  std::vector<char> send(n * static_cast<std::size_t>(block)), recv(send.size());
  std::vector<int> counts(n, block), places(n);
  std::vector<MPI_Datatype> types(n, MPI_CHAR);
  for (int r = 0; r < w.ranks; ++r) {
    const auto at = static_cast<std::size_t>(r) * static_cast<std::size_t>(block);
    places[static_cast<std::size_t>(r)] = r * block;
    std::memset(&send[at], byte_of(w.rank, gather ? 0 : r, call), static_cast<std::size_t>(block));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const char* s = send.data();
  char* r = recv.data();
  const int *c = counts.data(), *d = places.data();
  switch (collective) {
    case Collective::alltoall:
      Quadrille_Alltoall(s, block, MPI_CHAR, r, block, MPI_CHAR, MPI_COMM_WORLD);
      break;
    case Collective::alltoallv:
      Quadrille_Alltoallv(s, c, d, MPI_CHAR, r, c, d, MPI_CHAR, MPI_COMM_WORLD);
      break;
    case Collective::alltoallw:
      Quadrille_Alltoallw(s, c, d, types.data(), r, c, d, types.data(), MPI_COMM_WORLD);
      break;
    case Collective::allgather:
      Quadrille_Allgather(s, block, MPI_CHAR, r, block, MPI_CHAR, MPI_COMM_WORLD);
      break;
    default:
      Quadrille_Allgatherv(s, block, MPI_CHAR, r, c, d, MPI_CHAR, MPI_COMM_WORLD);
  }
  for (std::size_t i = 0; i < recv.size(); ++i) {
    const int from = static_cast<int>(i) / block;
    if (recv[i] != byte_of(from, gather ? 0 : w.rank, call)) return false;
  }
  return true;
}

std::string wanted(const std::string& name, Collective collective) {
  const bool is_sized = collective != Collective::alltoallv && collective != Collective::alltoallw;
  if (name == "slow-mpi" || (name == "unlike" && is_sized)) return "single-copy";
  return "mpi";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  World w;
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  slow_down(name == "unlike" ? "slow-mpi" : name);
  int failures = 0;
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv, Collective::alltoallw,
                                      Collective::allgather, Collective::allgatherv}) {
    const bool is_sized = collective != Collective::alltoallv && collective != Collective::alltoallw;
    for (const int size : {50, most_block}) {
      if (!is_sized && size != most_block) continue;  // v and w calls are of one kind
      for (int call = 0; call < calls; ++call) {
        const int block = name == "unlike" && call == 4 && !is_sized ? 10 * size : size;
        if (exchange(w, collective, block, call)) continue;
        ++failures;
        std::fprintf(stderr, "rank %d, %s: wrong data in call %d\n", w.rank, name.c_str(), call);
      }
      const team::Team* team = team::team_of(MPI_COMM_WORLD);
      const choose::Selection& used = team->selections[static_cast<std::size_t>(collective)].selection;
      const std::string chosen = choose::to_string(used.choice);
      if (chosen == wanted(name, collective) && used.rivals.empty()) continue;
      ++failures;
      std::fprintf(stderr, "rank %d, %s: %s was chosen for %s: %s\n", w.rank, name.c_str(), chosen.c_str(),
                   std::string(choose::name_of(collective)).c_str(), used.why.c_str());
    }
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
