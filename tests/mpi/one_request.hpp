// A call as a request, with data that are checked.
#pragma once

#include <quadrille.h>

#include <algorithm>
#include <vector>

#include "world.hpp"

namespace quadrille::test {

// An all-to-all or an allgather of `count` ints a block, whose content tells who sent what in which turn.
struct One {
  MPI_Comm comm;
  int me = 0, ranks = 1, count, turn = 0;
  bool gather;
  std::vector<int> sent, got;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;

  One(MPI_Comm on, int elements, bool is_gather) : comm(on), count(elements), gather(is_gather) {
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    sent.resize(static_cast<std::size_t>((gather ? 1 : ranks) * count));
    got.resize(static_cast<std::size_t>(ranks * count));
  }
  static int value(int from, int to, int turn, int i) { return ((from * 37 + to) * 1009 + turn) * 7 + i; }
  void fill(int now) {
    turn = now;
    for (int to = 0; to < (gather ? 1 : ranks); ++to) {
      for (int i = 0; i < count; ++i)
        sent[static_cast<std::size_t>(to * count + i)] = value(me, gather ? 0 : to, turn, i);
    }
    std::fill(got.begin(), got.end(), -1);
  }
  void start() {
    const int error =
        gather ? Quadrille_Iallgather(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm, &request)
               : Quadrille_Ialltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm, &request);
    EXPECT_EQ(error, MPI_SUCCESS);
  }
  void make_persistent() {
    const int error = gather ? Quadrille_Allgather_init(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm,
                                                        MPI_INFO_NULL, &request)
                             : Quadrille_Alltoall_init(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm,
                                                       MPI_INFO_NULL, &request);
    EXPECT_EQ(error, MPI_SUCCESS);
  }
  void expect_right() const {
    int wrong = 0;
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < count; ++i) {
        wrong += got[static_cast<std::size_t>(from * count + i)] != value(from, gather ? 0 : me, turn, i);
      }
    }
    EXPECT_EQ(wrong, 0) << "of " << got.size() << " in turn " << turn;
  }
};

// Several sizes: through rings at once, as far as they go, and from where they lie.
inline std::vector<One> several(MPI_Comm comm, int number) {
  std::vector<One> all;
  for (int k = 0; k < number; ++k)
    all.emplace_back(comm, std::vector<int>{1, 16, 500, 20'000, 3}[static_cast<std::size_t>(k % 5)], k % 3 == 1);
  return all;
}

}  // namespace quadrille::test
