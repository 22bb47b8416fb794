// The ints of an all-to-all or an allgather, `count` a block, whose content tells who sent what in which turn.
#pragma once

#include <algorithm>
#include <vector>

#include "world.hpp"

namespace quadrille::test {

struct IntsOfATurn {
  MPI_Comm comm;
  int me = 0, ranks = 1, count, turn = 0;
  bool gather;
  std::vector<int> sent, got;

  IntsOfATurn(MPI_Comm on, int elements, bool is_gather) : comm(on), count(elements), gather(is_gather) {
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

}  // namespace quadrille::test
