// The arguments of a call with int counts, as the same call with large counts takes them.
#pragma once

#include <mpi.h>

#include <vector>

#include "native_signatures.hpp"

namespace quadrille::test {

// Arrays of one side. Null stays null.
class LargeSide {
 public:
  template <class Displacement>
  LargeSide(const int* counts, const Displacement* displacements, int blocks)
      : has_counts_(counts != nullptr), has_displacements_(displacements != nullptr) {
    if (has_counts_) counts_.assign(counts, counts + blocks);
    if (has_displacements_) displacements_.assign(displacements, displacements + blocks);
    counts_.resize(counts_.size() + 1, guard), displacements_.resize(displacements_.size() + 1, guard);
    before_ = {counts_, displacements_};
  }
  const MPI_Count* counts() const { return has_counts_ ? counts_.data() : nullptr; }
  const MPI_Aint* displacements() const { return has_displacements_ ? displacements_.data() : nullptr; }
  bool is_unchanged() const { return counts_ == before_.counts && displacements_ == before_.displacements; }

 private:
  static constexpr long guard = -77;
  struct Copy {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displacements;
  };
  bool has_counts_, has_displacements_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Aint> displacements_;
  Copy before_;
};

// What a call returned, unless it changed its arguments.
inline int checked(int code, const LargeSide& one, const LargeSide& other) {
  return one.is_unchanged() && other.is_unchanged() ? code : MPI_ERR_INTERN;
}

// ---- A call, by a function with large counts ----

// How many blocks the arrays of the two sides describe.
struct Degrees {
  int in = 0, out = 0;
};

inline Degrees among_all(MPI_Comm comm) {
  int size = 0, between = 0;
  if (comm == MPI_COMM_NULL) return {};
  MPI_Comm_test_inter(comm, &between);
  between != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
  return {size, size};
}

inline Degrees among_neighbors(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, count = 0, me = 0, weighted = 0;
  if (comm == MPI_COMM_NULL) return {};
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &count);
    return {2 * count, 2 * count};
  }
  if (kind == MPI_GRAPH) {
    MPI_Comm_rank(comm, &me);
    MPI_Graph_neighbors_count(comm, me, &count);
    return {count, count};
  }
  Degrees degrees;
  if (kind == MPI_DIST_GRAPH) MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted);
  return degrees;
}

inline Degrees degrees_of(Collective collective, MPI_Comm comm) {
  return is_neighbor(collective) ? among_neighbors(comm) : among_all(comm);
}

// By `function`, which has large counts.
template <Collective, class Function>
int with_large(Function function, QUADRILLE_PARAMETERS_UNIFORM(int, int)) {
  return function(QUADRILLE_ARGUMENTS_UNIFORM);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_VECTOR(int, Displacement)) {
  const auto [in, out] = degrees_of(collective, comm);
  const LargeSide send(sendcounts, sdispls, out), recv(recvcounts, rdispls, in);
  return checked(function(sendbuf, send.counts(), send.displacements(), sendtype, recvbuf, recv.counts(),
                          recv.displacements(), recvtype, comm),
                 send, recv);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_TYPED(int, Displacement)) {
  const auto [in, out] = degrees_of(collective, comm);
  const LargeSide send(sendcounts, sdispls, out), recv(recvcounts, rdispls, in);
  return checked(function(sendbuf, send.counts(), send.displacements(), sendtypes, recvbuf, recv.counts(),
                          recv.displacements(), recvtypes, comm),
                 send, recv);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_GATHERV(int, Displacement)) {
  const LargeSide recv(recvcounts, displs, degrees_of(collective, comm).in);
  return checked(function(sendbuf, sendcount, sendtype, recvbuf, recv.counts(), recv.displacements(), recvtype, comm),
                 recv, recv);
}

template <Collective collective, class Function, class Displacement>
int with_large(Function function, QUADRILLE_PARAMETERS_GATHERW(int, Displacement)) {
  const LargeSide recv(recvcounts, rdispls, degrees_of(collective, comm).in);
  return checked(function(sendbuf, sendcount, sendtype, recvbuf, recv.counts(), recv.displacements(), recvtypes, comm),
                 recv, recv);
}

}  // namespace quadrille::test
