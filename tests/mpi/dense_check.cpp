// All five dense collectives, also in place, by each of the named algorithms ("default" is Quadrille's own choice), on
// MPI_COMM_WORLD and on the rows and columns of a grid of its ranks. Every element is checked. For many ranks.
//   dense NAME...     QUADRILLE_TEST_HOSTS: on how many hosts the ranks must be
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "forms.hpp"

namespace dense_check {

using quadrille::Collective;
using quadrille::test::begin_call;
using quadrille::test::CallForm;
using quadrille::test::CallSide;

int wrong = 0;

struct On {
  MPI_Comm comm;
  int rank = 0, size = 0;
  std::vector<int> world;  // [rank]
};

On on(MPI_Comm comm) {
  On on{comm, 0, 0, {}};
  MPI_Comm_rank(comm, &on.rank);
  MPI_Comm_size(comm, &on.size);
  int mine = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  on.world.resize(static_cast<std::size_t>(on.size));
  MPI_Allgather(&mine, 1, MPI_INT, on.world.data(), 1, MPI_INT, comm);
  return on;
}

int value(const On& on, int from, int to, int call, int place) {
  const int target = to < 0 ? -1 : on.world[static_cast<std::size_t>(to)];
  return ((on.world[static_cast<std::size_t>(from)] * 131 + target) * 1009 + call) * 17 + place;
}

// What goes from one rank to another: of the v and w forms more or less, or nothing.
int count_between(int from, int to, int block, bool uneven) {
  return uneven ? (from * 5 + to * 3) % 4 * block / 2 : block;
}

// One side of a call: blocks one behind the other, and places for all three forms.
struct Side {
  std::vector<int> counts, places, bytes, data;
  std::vector<MPI_Datatype> types;
};
template <class Count>
Side side(int size, const Count& count_of) {
  Side side;
  int at = 0;
  for (int r = 0; r < size; ++r) {
    side.counts.push_back(count_of(r));
    side.places.push_back(at);
    side.bytes.push_back(at * static_cast<int>(sizeof(int)));
    at += side.counts.back();
  }
  side.types.assign(static_cast<std::size_t>(size), MPI_INT);
  side.data.assign(static_cast<std::size_t>(at) + 1, -7);
  return side;
}

template <class Value>
void fill(Side& side, int rank, const Value& value_of) {
  for (int i = 0; i < side.counts[static_cast<std::size_t>(rank)]; ++i) {
    side.data[static_cast<std::size_t>(side.places[static_cast<std::size_t>(rank)] + i)] = value_of(i);
  }
}

void compare(const On& on, const Side& received, bool gathers, int call, const char* what, const char* name) {
  for (int from = 0; from < on.size; ++from) {
    for (int i = 0; i < received.counts[static_cast<std::size_t>(from)]; ++i) {
      const int got = received.data[static_cast<std::size_t>(received.places[static_cast<std::size_t>(from)] + i)];
      if (got == value(on, from, gathers ? -1 : on.rank, call, i)) continue;
      if (++wrong < 4)
        std::fprintf(stderr, "rank %d of %d: %s by %s: wrong from %d\n", on.rank, on.size, what, name, from);
      return;
    }
  }
  if (received.data.back() != -7) ++wrong;
}

void exchange(const On& on, Collective collective, int block, int call, bool in_place, const char* name) {
  const bool gathers = is_allgather(collective);
  // In place a rank gets as much as it sends.
  const auto count = [&](int from, int to) {
    if (gathers) to = 1;
    if (!gathers && in_place && from > to) std::swap(from, to);
    return count_between(from, to, block, !is_regular(collective));
  };
  Side sent = side(gathers ? 1 : on.size, [&](int to) { return count(on.rank, to); });
  Side came = side(on.size, [&](int from) { return count(from, on.rank); });
  for (int to = 0; to < on.size; ++to) {
    if (gathers && to != (in_place ? on.rank : 0)) continue;
    fill(in_place ? came : sent, to, [&](int i) { return value(on, on.rank, gathers ? -1 : to, call, i); });
  }
  const auto side_of = [&](Side& s, void* buffer) -> CallSide {
    return {buffer, s.counts[0], MPI_INT, s.counts.data(), s.places.data(), s.bytes.data(), nullptr, s.types.data()};
  };
  begin_call(CallForm::blocking, collective, side_of(sent, in_place ? MPI_IN_PLACE : sent.data.data()),
             side_of(came, came.data.data()), on.comm);
  compare(on, came, gathers, call, name_of(collective).data(), name);
}

void call_all(const On& on, const std::string& name) {
  for (const char* const of : {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"}) {
    // By name, where the collective has such an algorithm.
    if (Quadrille_Set_algorithm(on.comm, of, name.c_str()) != MPI_SUCCESS) {
      Quadrille_Set_algorithm(on.comm, of, "default");
    }
  }
  int call = 0;
  for (const int block : {2, 300, 3000}) {
    for (const bool in_place : {false, true}) {
      for (const Collective collective : quadrille::those(quadrille::is_dense))
        exchange(on, collective, block, ++call, in_place, name.c_str());
    }
  }
}

int count_hosts(int rank) {
  MPI_Comm host;
  int on_host = 0, hosts = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &on_host);
  MPI_Comm_free(&host);
  const int first = on_host == 0 ? 1 : 0;
  MPI_Allreduce(&first, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return hosts;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, extents[2] = {0, 0}, periods[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // for algorithms that a collective has not
  MPI_Comm grid, row, column;
  MPI_Dims_create(ranks, 2, extents);
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid);
  const int along_row[] = {0, 1}, along_column[] = {1, 0};
  MPI_Cart_sub(grid, along_row, &row);
  MPI_Cart_sub(grid, along_column, &column);
  for (MPI_Comm comm : {row, column}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int a = 1; a < argc; ++a) {
    for (MPI_Comm comm : {MPI_COMM_WORLD, row, column}) call_all(on(comm), argv[a]);
  }
  const int hosts = count_hosts(rank);
  if (const char* const wanted = std::getenv("QUADRILLE_TEST_HOSTS"); wanted != nullptr && std::atoi(wanted) != hosts) {
    std::fprintf(stderr, "the ranks are on %d hosts, not on %s\n", hosts, wanted);
    ++wrong;
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%d ranks on %d hosts, grid of %d x %d: %s\n", ranks, hosts, extents[0], extents[1],
                all == 0 ? "all right" : "wrong data");
  for (MPI_Comm* comm : {&row, &column, &grid}) MPI_Comm_free(comm);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

}  // namespace dense_check
