// Tuning tables between real ranks: all ranks have the switch points of rank 0's table, and between nodes its model and
// its neighbourhoods, whatever their own is; without a good table of this machine all have the defaults. One case a
// run:
//   differ   each rank has a table of its own
//   bad      rank 0's table is wrong, the others' are good
//   other    rank 0's table is of another machine
//   none     rank 0 has none
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choose/tuning.hpp"
#include "program.hpp"
#include "quadrille.h"
#include "sys/sys.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace tuning_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using namespace quadrille::test;

choose::SwitchPoints points_of(int rank) {
  choose::SwitchPoints points;
  const auto own = static_cast<std::size_t>(rank + 1);
  points.inbox_limit = {1000 * own, 1001 * own, 1002 * own, 1003 * own, 1004 * own};
  points.cma_from = 7 * own;
  return points;
}

// What holds for three ranks of one rank a node, if anything does.
choose::ModelEntry model_of(int rank, bool crowded) {
  return {3, 1, crowded, {{1e-6 * (rank + 1), 1e-9, 0}, {1, 1e-9, 0}}};
}
std::vector<choose::NeighborEntry> neighbors_of(int rank, bool crowded) {
  std::vector<choose::NeighborEntry> entries;
  for (const Collective c : {Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
    for (int kind = 0; kind < 3 + rank; ++kind) {
      entries.push_back({c, 3, 1, crowded, {26 + kind, 6, 54}, static_cast<std::size_t>(100 * rank + kind)});
    }
  }
  return entries;
}

// The launcher's words, because the table's name must be there before MPI starts.
int rank_before_init() { return std::atoi(quadrille::sys::launched_rank().c_str()); }

std::string write_table(const std::string& file, const std::string& name, int rank) {
  choose::TuningTable table{team::this_machine(), {}};
  for (const bool crowded : {false, true}) {
    table.entries.push_back({2, crowded, points_of(rank)});
    table.models.push_back(model_of(rank, crowded));
    for (const choose::NeighborEntry& entry : neighbors_of(rank, crowded)) table.neighbors.push_back(entry);
  }
  if (name == "other" && rank == 0) table.machine.processor += "x";
  std::string why = choose::write_tuning_file(file, table);
  if (name == "bad" && rank == 0) std::ofstream(file, std::ios::app) << "}";
  if (name == "none" && rank == 0) std::filesystem::remove(file);
  return why;
}

// Blocks around the limits arrive whole.
bool exchanges(int ranks, int rank, int block) {
  std::vector<char> send(static_cast<std::size_t>(ranks * block)), recv(send.size());
  for (int to = 0; to < ranks; ++to) {
    std::memset(&send[static_cast<std::size_t>(to * block)], rank * 16 + to, static_cast<std::size_t>(block));
  }
  Quadrille_Alltoall(send.data(), block, MPI_CHAR, recv.data(), block, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < ranks * block; ++i) {
    if (recv[static_cast<std::size_t>(i)] != static_cast<char>(i / block * 16 + rank)) return false;
  }
  return true;
}

bool is_on_all_ranks(choose::SwitchPoints points) {
  choose::SwitchPoints first = points;
  MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
  int same = first == points ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return same == 1;
}

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const std::string file = "/tmp/quadrille_tuning_check_" + std::to_string(getpid()) + ".json";
  const std::string problem = write_table(file, name, rank_before_init());
  setenv("QUADRILLE_TUNING", file.c_str(), 1);
  begin(&argc, &argv);
  doing = name;
  check(problem.empty(), "the table cannot be written");
  check(rank == rank_before_init(), "the launcher counts otherwise");
  for (const int block : {8, 999, 1000, 1001, 2001, 50000}) {
    check(exchanges(size, rank, block), "wrong data");
  }
  team::Team* team = team::team_of(abi::comm(MPI_COMM_WORLD));
  const choose::SwitchPoints& points = team->group.reach().points;
  check(team->ready() && is_on_all_ranks(points), "the ranks have different switch points");
  if (name == "differ") check(points == points_of(0), "other switch points");
  // Without a table the points are guessed or measured.
  for (int r = 0; name != "differ" && r < size; ++r) check(points != points_of(r), "points of a table");
  const bool holds = name == "differ" && team->nodes.nodes == size;
  check(team->agreed().measured == (holds ? neighbors_of(0, team->crowded) : std::vector<choose::NeighborEntry>()),
        "other neighbourhoods");
  // It was written with six digits.
  const double alpha = holds ? 1e-6 : 0;
  check(std::abs(team->agreed().model.quadrille.alpha - alpha) < 1e-12, "another model");
  std::remove(file.c_str());
  MPI_Finalize();
  return say_verdict();
}

}  // namespace tuning_check
