#include "tool/bench/world.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "abi/abi.hpp"
#include "sys/sys.hpp"

namespace quadrille::tools {

std::string load_mpi(const std::string& name) {
  std::vector<std::string> names;
  if (!name.empty()) {
    names = {name};
  } else if (const char* given = std::getenv("QUADRILLE_LIBMPI"); given != nullptr && *given) {
    names = {given};
  } else {
    names = abi::usual_names();
  }
  std::string errors;
  for (const std::string& candidate : names) {
    if (dlopen(candidate.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr) return mpi().usable ? "" : mpi().problem;
    const char* error = dlerror();
    errors += (errors.empty() ? "" : "; ") + std::string(error != nullptr ? error : "unknown error");
  }
  return "no MPI library could be loaded (" + errors + "); name one in QUADRILLE_LIBMPI";
}

std::uint64_t sum_over_ranks(std::uint64_t value, const World& world) {
  std::uint64_t sum = value;
  mpi().Allreduce(&value, &sum, 1, mpi().uint64, mpi().op_sum, world.comm);
  return sum;
}

Quietness check_quiet(const World& world) {
  mpi().Barrier(world.comm);
  const Quietness mine = judge_loop(time_fixed_loop(), world.ranks_here, world.processors, online_processors());
  const double own[] = {mine.p99_over_median, mine.load, mine.ranks_per_processor, mine.quiet ? 0.0 : 1.0};
  double most[] = {0, 0, 0, 0};
  mpi().Allreduce(own, most, 4, mpi().double_type, mpi().op_max, world.comm);
  return {most[3] == 0, most[0], most[1], most[2]};
}

std::string share_matrix(Traffic& traffic, const World& world) {
  auto matrix = std::make_shared<TrafficMatrix>();
  std::string error = world.rank == 0 ? read_matrix(traffic.path, world.ranks, *matrix) : "";
  if (sum_over_ranks(error.empty() ? 0 : 1, world) > 0) {
    return world.rank == 0 ? error : "rank 0 cannot read the traffic matrix";
  }
  matrix->ranks = static_cast<std::size_t>(world.ranks);
  matrix->bytes.resize(matrix->ranks * matrix->ranks);
  mpi().Bcast(matrix->bytes.data(), world.ranks * world.ranks, mpi().uint64, 0, world.comm);
  mpi().Bcast(&matrix->largest, 1, mpi().uint64, 0, world.comm);
  traffic.matrix = std::move(matrix);
  return "";
}

World make_world(MpiComm comm) {
  World world;
  world.comm = comm;
  mpi().Comm_rank(world.comm, &world.rank);
  mpi().Comm_size(world.comm, &world.ranks);
  MpiComm here = mpi().comm_null;
  mpi().Comm_split_type(world.comm, mpi().comm_type_shared, 0, mpi().info_null, &here);
  mpi().Comm_size(here, &world.ranks_here);
  const sys::ProcessorSet mine = sys::allowed_processors();
  sys::ProcessorSet all;
  mpi().Allreduce(&mine, &all, sizeof mine / 8, mpi().uint64, mpi().op_bor, here);
  world.processors = std::max(sys::count(all), 1);
  mpi().Comm_free(&here);
  return world;
}

MpiComm make_comm(const World& world) {
  MpiGroup group;
  mpi().Comm_group(world.comm, &group);
  MpiComm comm = mpi().comm_null;
  mpi().Comm_create(world.comm, group, &comm);
  mpi().Group_free(&group);
  return comm;
}

}  // namespace quadrille::tools
