#include "tool/bench/device/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "tool/launch/launcher.hpp"

namespace quadrille::tools {
namespace {

void take_device(DeviceStart& start, int rank_here) {
  try {
    start.gpu->use(rank_here);
  } catch (const std::exception& error) {
    start.problem = error.what();
    start.gpu.reset();
  }
}

// Which of the ranks of its machine this is. Collective.
int rank_of_machine(const World& world) {
  MpiComm here = mpi().comm_null;
  int rank = 0;
  mpi().Comm_split_type(world.comm, mpi().comm_type_shared, 0, mpi().info_null, &here);
  mpi().Comm_rank(here, &rank);
  mpi().Comm_free(&here);
  return rank;
}

std::string name_of_machine() {
  std::vector<char> name(most_mpi_text + 1, '\0');
  int length = 0;
  mpi().Get_processor_name(name.data(), &length);
  return name.data();
}

// The problem of the first rank that has one, on all ranks. Collective.
std::string first_problem(const std::string& mine, const World& world) {
  const std::uint64_t lacking = sum_over_ranks(mine.empty() ? 0 : 1, world);
  if (lacking == 0) return "";
  int me = mine.empty() ? world.ranks : world.rank, first = me;
  mpi().Allreduce(&me, &first, 1, mpi().int_type, mpi().op_min, world.comm);
  std::vector<char> text(512, '\0');
  if (first == world.rank) {
    const bool all = lacking == static_cast<std::uint64_t>(world.ranks);
    const std::string said = all ? mine : fmt::format("rank {} on {}: {}", me, name_of_machine(), mine);
    said.copy(text.data(), text.size() - 1);
  }
  mpi().Bcast(text.data(), static_cast<int>(text.size()), mpi().char_type, first, world.comm);
  return text.data();
}

}  // namespace

DeviceStart start_device(DeviceKind kind) {
  DeviceStart start;
  start.gpu = Gpu::open(kind, start.problem);
  const int rank_here = local_rank_of_launcher();
  if (start.gpu != nullptr && rank_here >= 0) take_device(start, rank_here);
  return start;
}

std::string join_devices(DeviceStart start, bool wants_rates, std::shared_ptr<const DeviceRun>& run) {
  const World world = make_world(mpi().comm_world);
  const int rank_here = rank_of_machine(world);
  if (start.gpu != nullptr && !start.gpu->is_used()) take_device(start, rank_here);
  if (std::string problem = first_problem(start.problem, world); !problem.empty()) return problem;
  auto made = std::make_shared<DeviceRun>();
  made->gpu = start.gpu;
  if (wants_rates) made->rates = measure_rates(start.gpu, find_sharing(*start.gpu, world).place == 0, world.comm);
  run = std::move(made);
  return "";
}

}  // namespace quadrille::tools
