// What the ranks of a node need to pull, and their lanes, are made on all of them or on none, also if one rank has no
// memory for a part.
#include <mpi.h>

#include <cstdlib>
#include <new>

#include "abi/native.hpp"
#include "memory/device_sharing.hpp"
#include "memory/device_streams.hpp"
#include "mpi/mpi.hpp"
#include "program.hpp"
#include "team/areas.hpp"
#include "team/team.hpp"

namespace own_pull_check {

// Requests of so many bytes get no memory; 0: all get some.
std::size_t refused = 0;
// So many requests until the one that gets none; below 0: all get some.
long until_refused = -1;

bool refuses(std::size_t bytes) {
  if (until_refused >= 0 && until_refused-- == 0) return true;
  return refused != 0 && bytes == refused;
}

}  // namespace own_pull_check

// Not inlined: where GCC sees one end of a pair alone, it takes malloc and delete for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = own_pull_check::refuses(bytes) ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace own_pull_check {

using namespace quadrille::test;
using quadrille::team::Team;

// The last rank gets no memory for the first of its requests, then for the second, and so on. Each time `make` does the
// same on all ranks, and at the end, where nothing is refused, it is true.
template <class Make>
void check_each_request(const char* what, const Make& make) {
  bool is_refused = true;
  for (long at = 0; is_refused; ++at) {
    must(at < 1000, "there is no end of requests for memory");
    const long until = rank == size - 1 ? at : -1;
    bool made = false;
    until_refused = until;
    const int thrown = quadrille::thrown_by([&] { made = make(); });
    is_refused = until >= 0 && until_refused < 0;
    until_refused = -1;
    // On some rank: it was made, it was not, a request was refused.
    const int mine[] = {made ? 1 : 0, made ? 0 : 1, is_refused ? 1 : 0};
    int some[3] = {};
    MPI_Allreduce(mine, some, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    is_refused = some[2] != 0;
    check(some[0] + some[1] == 1 && made != is_refused, what);
    check(thrown == quadrille::mpi_success || thrown == quadrille::mpi().err_no_mem, what);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  Team* const team = quadrille::team::team_of(quadrille::abi::comm(MPI_COMM_WORLD));
  must(team != nullptr && quadrille::team::setup(*team) == quadrille::mpi_success, "no team");
  must(team->nodes.nodes == 1 && team->group.reach().rings, "the ranks do not share a node");
  for (const std::size_t bytes : {sizeof(quadrille::memory::OwnStream), sizeof(quadrille::memory::DeviceSharing)}) {
    refused = rank == size - 1 ? bytes : 0;
    bool made = false;
    const int thrown = quadrille::thrown_by([&] { made = quadrille::team::own_pull(*team).has_value(); });
    refused = 0;
    check(thrown == quadrille::mpi_success && !made, "one rank has no memory");
  }
  check(quadrille::team::own_pull(*team).has_value(), "all ranks have memory");
  // And so is the lane of a persistent call.
  constexpr std::size_t block_bytes = 64;
  refused = rank == size - 1 ? sizeof(quadrille::team::Lane) : 0;
  bool made = false;
  const int thrown = quadrille::thrown_by([&] { made = quadrille::team::own_inbox(*team, block_bytes) != nullptr; });
  refused = 0;
  check(thrown == quadrille::mpi_success && !made, "one rank has no memory for a lane");
  check(quadrille::team::own_inbox(*team, block_bytes) != nullptr, "all ranks have memory for a lane");
  check_each_request("a lane that one rank cannot make",
                     [&] { return quadrille::team::own_inbox(*team, block_bytes) != nullptr; });
  check_each_request("lanes that one rank cannot make", [&] {
    team->lanes.reset();
    return !quadrille::team::lanes_of(*team).lanes.empty();
  });
  MPI_Finalize();
  return say_verdict();
}

}  // namespace own_pull_check
