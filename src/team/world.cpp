#include "team/world.hpp"

#include <atomic>
#include <mutex>
#include <numeric>
#include <utility>

#include "mpi/mpi.hpp"
#include "sys/sys.hpp"
#include "team/communicator.hpp"

namespace quadrille::team {
namespace {

// Communicators that the control memory of a world has room for; others make their own.
constexpr std::size_t areas_of_world = 64;

struct Known {
  std::mutex mutex;
  std::shared_ptr<const Processes> processes;
  std::atomic<bool> met{false};
};
Known& known() { return sys::immortal<Known>(); }

void keep(Processes processes) {
  const std::lock_guard lock(known().mutex);
  if (known().processes == nullptr) {
    known().processes = std::make_shared<const Processes>(std::move(processes));
  }
}

}  // namespace

bool meet_world(const memory::Ways& ways) {
  std::shared_ptr<QuietComm> quiet = make_quiet(mpi().comm_world, true);
  if (quiet == nullptr) return false;
  Processes processes = meet(mpi().comm_world, ways, areas_of_world, std::move(quiet), true);
  if (processes.quiet == nullptr) return false;
  keep(std::move(processes));
  known().met = true;
  return true;
}

Processes meet_here(MpiComm comm, const memory::Ways& ways, const std::vector<int>& world_ranks) {
  if (world_ranks.size() != static_cast<std::size_t>(size_of(mpi().comm_world)))
    return meet(comm, ways, areas_of_one, nullptr, true);
  Processes processes = meet(comm, ways, areas_of_world, nullptr, true);
  if (processes.quiet == nullptr) return processes;
  std::vector<int> here(world_ranks.size());
  for (std::size_t r = 0; r < here.size(); ++r) {
    here[static_cast<std::size_t>(world_ranks[r])] = static_cast<int>(r);
  }
  keep(pick(processes, here));
  return processes;
}

std::shared_ptr<const Processes> world() {
  const std::lock_guard lock(known().mutex);
  return known().processes;
}

bool world_has_met() { return known().met; }

void forget_world() {
  known().met = false;
  const std::lock_guard lock(known().mutex);
  known().processes.reset();
}

bool shares_a_node(const std::vector<int>& world_ranks) {
  const std::shared_ptr<const Processes> all = world();
  return all != nullptr && plan::nodes_of(all->nodes, world_ranks).nodes == 1;
}

std::vector<int> ranks_in_world(MpiComm comm) {
  const int ranks = size_of(comm);
  MpiGroup group, all;
  mpi().Comm_group(comm, &group);
  mpi().Comm_group(mpi().comm_world, &all);
  std::vector<int> here(static_cast<std::size_t>(ranks)), there(here.size());
  std::iota(here.begin(), here.end(), 0);
  mpi().Group_translate_ranks(group, ranks, here.data(), all, there.data());
  mpi().Group_free(&group);
  mpi().Group_free(&all);
  return there;
}

}  // namespace quadrille::team
