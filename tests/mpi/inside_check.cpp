// What a tuning table says of neighbour collectives inside a node, between real ranks, each with a table of its own:
// that of rank 0 counts, for neighbourhoods that all ranks know, also behind graphs, and nowhere else. Three ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choose/tuning.hpp"
#include "program.hpp"
#include "quadrille.h"
#include "ring.hpp"
#include "sys/sys.hpp"
#include "team/neighbors.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace inside_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using quadrille::test::check;
using quadrille::test::rank;

constexpr int ranks = 3;
constexpr auto alltoall = Collective::neighbor_alltoall;

// One order up to 1000 bytes by rank 0's table, another up to 5000 by those of the others; for 2 neighbours, and for 1.
std::string write_table(const std::string& file, int mine) {
  choose::TuningTable table{team::this_machine(), {}};
  for (const bool crowded : {false, true}) {
    for (const std::int64_t neighbors : {1, 2}) {
      const choose::SizedChoice best = {mine == 0 ? 1000U : 5000U,
                                        choose::plain(alltoall, mine == 0 ? "sh-co" : "sh-naive")};
      table.inside.push_back({alltoall, ranks, crowded, {neighbors, neighbors, neighbors}, {best}});
    }
  }
  return choose::write_tuning_file(file, table);
}

struct Neighbours {
  std::vector<int> sources, destinations;
};

MPI_Comm graph_of(const Neighbours& n) {
  MPI_Comm comm;
  const int none = 0;
  const auto data = [&](const std::vector<int>& list) { return list.empty() ? &none : list.data(); };
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(n.sources.size()), data(n.sources), MPI_UNWEIGHTED,
                                 static_cast<int>(n.destinations.size()), data(n.destinations), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  return comm;
}

// Rank r sends r * 16 + i as its block i of so many bytes. One without neighbours gives no bytes at all. Returns what
// served it, and frees the communicator.
std::string served(MPI_Comm comm, const Neighbours& n, int bytes, bool vector = false) {
  const std::size_t out = n.destinations.size(), in = n.sources.size();
  const int mine = out + in == 0 ? 0 : bytes;
  const auto block = static_cast<std::size_t>(bytes);
  std::vector<char> send(out * block + 1), recv(in * block + 1);
  for (std::size_t i = 0; i < out * block; ++i) send[i] = static_cast<char>(rank * 16 + static_cast<int>(i / block));
  if (vector) {
    std::vector<int> counts(out + in + 1, bytes), places(out + in + 1);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i * block);
    Quadrille_Neighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_CHAR, recv.data(), counts.data(),
                                 places.data(), MPI_CHAR, comm);
  } else {
    Quadrille_Neighbor_alltoall(send.data(), mine, MPI_CHAR, recv.data(), mine, MPI_CHAR, comm);
  }
  for (std::size_t i = 0; i < in * block; ++i) {
    check(recv[i] / 16 == n.sources[i / block], "a block of another rank");
    if (recv[i] / 16 != n.sources[i / block]) break;
  }
  const auto index = static_cast<std::size_t>(vector ? Collective::neighbor_alltoallv : alltoall);
  return std::string(team::team_of(abi::comm(comm))->chosen.selections[index].last()->selection.choice.algorithm->name);
}

int main(int argc, char** argv) {
  // The launcher's words, because the table's name must be there before MPI starts.
  const std::string file = "/tmp/quadrille_inside_check_" + std::to_string(getpid()) + ".json";
  const std::string problem = write_table(file, std::atoi(quadrille::sys::launched_rank().c_str()));
  setenv("QUADRILLE_TUNING", file.c_str(), 1);
  quadrille::test::begin(&argc, &argv);
  check(problem.empty(), "the table cannot be written");
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  const Neighbours around = {{left, right}, {left, right}};
  // One byte more than rank 0 knows, and less than the others would.
  const auto expect_served = [&](const char* what, auto make, const Neighbours& n, const std::string& small,
                                 bool vector) {
    for (const int bytes : {64, 1000, 1001}) {
      MPI_Comm comm = make();
      const std::string by = served(comm, n, bytes, vector);
      check(by == (bytes > 1000 ? "rings" : small), std::string(what) + " is served by " + by);
      MPI_Comm_free(&comm);
    }
  };
  const auto cart = [] { return quadrille::test::ring_of_world(); };
  const auto asserted = [&] {
    MPI_Comm comm = cart();
    Quadrille_Set_iso_sizes(comm, 1);
    return comm;
  };
  // Some MPIs drop keys that they do not know.
  bool kept = false;
  const auto with_info = [&] {
    MPI_Comm comm = cart(), copy;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "quadrille_iso_sizes", "true");
    MPI_Comm_dup_with_info(comm, info, &copy);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
    return copy;
  };
  {
    MPI_Comm comm = with_info();
    MPI_Info info;
    int found = 0, length = 0;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_valuelen(info, "quadrille_iso_sizes", &length, &found);
    kept = found != 0;
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
  }
  const auto forced = [&] {
    MPI_Comm comm = cart();
    Quadrille_Set_algorithm(comm, "neighbor_alltoall", "rings");
    return comm;
  };
  expect_served("a ring", cart, around, "sh-co", false);
  expect_served("a ring with block sizes of each rank's own", cart, around, "rings", true);
  expect_served("a ring with equal block sizes", asserted, around, "sh-co", true);
  expect_served("a ring whose info says so", with_info, around, kept ? "sh-co" : "rings", true);
  expect_served("a ring for which rings are forced", forced, around, "rings", false);
  expect_served(
      "a graph that is a ring", [&] { return graph_of(around); }, around, "sh-co", false);
  const Neighbours path = rank == 1 ? around : Neighbours{{1}, {1}};
  expect_served(
      "a graph that is a mesh", [&] { return graph_of(path); }, path, "sh-co", false);
  const Neighbours star = rank == 0 ? Neighbours{{1, 2}, {1, 2}} : Neighbours{{0}, {0}};
  const Neighbours crooked = rank == 1 ? Neighbours{{0, 0}, {0}} : rank == 0 ? Neighbours{{1}, {1, 1}} : Neighbours{};
  expect_served(
      "a graph that is no grid", [&] { return graph_of(crooked); }, crooked, "rings", false);
  expect_served(
      "a star", [&] { return graph_of(star); }, star, "rings", false);
  // A mesh of three in which two are neighbours two steps away; the third gives no bytes.
  const Neighbours far = rank == 1 ? Neighbours{} : Neighbours{{2 - rank}, {2 - rank}};
  expect_served(
      "a mesh in which one is alone", [&] { return graph_of(far); }, far, "rings", false);
  std::remove(file.c_str());
  MPI_Finalize();
  return quadrille::test::say_verdict();
}

}  // namespace inside_check
