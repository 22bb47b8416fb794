// What the ranks of a node need to pull is made on all of them or on none, also if one rank has no memory for a part.
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

}  // namespace own_pull_check

// Not inlined: where GCC sees one end of a pair alone, it takes malloc and delete for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool is_refused = own_pull_check::refused != 0 && bytes == own_pull_check::refused;
  void* const memory = is_refused ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace own_pull_check {

using namespace quadrille::test;
using quadrille::team::Team;

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
  MPI_Finalize();
  return say_verdict();
}

}  // namespace own_pull_check
