// What `quadrille tune --algorithms` wrote, between real ranks: all ranks go by rank 0's table, whatever their own
// says, also where one takes the short way of a call that it knows and another cannot. One case a run:
//   differ   each rank has a table of its own
//   inbox    the same, and QUADRILLE_INBOX=200 comes before it
//   none     rank 0 has no table
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choose/tuning.hpp"
#include "program.hpp"
#include "quadrille.h"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace algorithms_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using namespace quadrille::test;

constexpr int ranks_of_test = 3;

int number(const char* a, const char* b) {
  const char* text = std::getenv(a) != nullptr ? std::getenv(a) : std::getenv(b);
  return text != nullptr ? std::atoi(text) : 0;
}

// The default way up to 100 bytes, then rank 0 says one thing and each other rank another. On one node blocks of 1000
// bytes would go through inboxes by default.
choose::AlgorithmEntry entry(Collective collective, int rank, bool one_node, bool crowded) {
  choose::AlgorithmEntry e{
      collective, ranks_of_test, one_node ? ranks_of_test : 1, one_node ? 1 : ranks_of_test, crowded, {}};
  const char* const of_rank_0 = one_node ? "hint-hilbert" : "spread-out";
  e.choices.push_back({100, {}});
  e.choices.push_back({3000, choose::plain(collective, rank == 0 ? of_rank_0 : "mpi")});
  return e;
}

std::string write_table(const std::string& file, const std::string& name, int rank) {
  choose::TuningTable table{team::this_machine(), {}};
  for (const bool crowded : {false, true}) {
    choose::SwitchPoints points = choose::default_switch_points();
    points.inbox_limit.fill(2000);
    table.entries.push_back({ranks_of_test, crowded, points});
    for (const Collective c : {Collective::alltoall, Collective::allgather}) {
      for (const bool one_node : {false, true}) table.algorithms.push_back(entry(c, rank, one_node, crowded));
    }
  }
  std::string why = choose::write_tuning_file(file, table);
  if (name == "none" && rank == 0) std::filesystem::remove(file);
  return why;
}

char value(int from, int to, int at) { return static_cast<char>(from * 31 + to * 7 + at); }

// Blocks of so many bytes, an even number, as `count` elements of `type`.
bool exchanges(int ranks, int rank, int bytes, MPI_Datatype type, int count) {
  std::vector<char> send(static_cast<std::size_t>(ranks * bytes)), recv(send.size());
  for (int to = 0; to < ranks; ++to) {
    for (int i = 0; i < bytes; ++i) send[static_cast<std::size_t>(to * bytes + i)] = value(rank, to, i);
  }
  Quadrille_Alltoall(send.data(), count, type, recv.data(), count, type, MPI_COMM_WORLD);
  bool good = true;
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < bytes; ++i)
      good = good && recv[static_cast<std::size_t>(from * bytes + i)] == value(from, rank, i);
  }
  Quadrille_Allgather(send.data(), count, type, recv.data(), count, type, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < bytes; ++i)
      good = good && recv[static_cast<std::size_t>(from * bytes + i)] == value(from, 0, i);
  }
  return good;
}

std::string chosen(Collective collective, std::size_t bytes) {
  return to_string(team::selection_of(*team::team_of(abi::comm(MPI_COMM_WORLD)), collective, bytes).selection.choice);
}

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const std::string file = "/tmp/quadrille_algorithms_check_" + std::to_string(getpid()) + ".json";
  const std::string problem = write_table(file, name, number("OMPI_COMM_WORLD_RANK", "PMI_RANK"));
  setenv("QUADRILLE_TUNING", file.c_str(), 1);
  begin(&argc, &argv);
  doing = name;
  check(problem.empty() && size == ranks_of_test, "the table cannot be written");
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_CHAR, &pair);
  MPI_Type_commit(&pair);
  // What a rank knows of the small block must not lead it another way with a larger one than the rank that comes with
  // another type.
  for (const int bytes : {50, 50, 1000, 1000, 50, 4000}) {
    const bool differs = rank == 1 && bytes == 1000;
    check(exchanges(size, rank, bytes, differs ? pair : MPI_CHAR, differs ? bytes / 2 : bytes), "wrong data");
  }
  const team::Team* team = team::team_of(abi::comm(MPI_COMM_WORLD));
  const bool one_node = team->nodes.nodes == 1;
  const std::string measured = one_node ? "hint-hilbert:rows=auto" : "spread-out";
  for (const Collective c : {Collective::alltoall, Collective::allgather, Collective::allgatherv}) {
    check((chosen(c, 1000) == measured) == (name != "none"), "1000 bytes go by " + chosen(c, 1000));
    check((chosen(c, 150) == measured) == (name == "differ" || (name == "inbox" && !one_node)),
          "150 bytes go by " + chosen(c, 150));
    check(chosen(c, 100) != measured && chosen(c, 4000) != measured, "the default way is not kept");
  }
  check(chosen(Collective::alltoallv, 0) != measured, "alltoallv goes by the entry of alltoall");
  std::remove(file.c_str());
  MPI_Type_free(&pair);
  MPI_Finalize();
  return say_verdict();
}

}  // namespace algorithms_check
