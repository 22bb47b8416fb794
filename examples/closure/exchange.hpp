// The all-to-all exchange of tuples: first the counts, then the tuples.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "common/trace.hpp"
#include "common/world.hpp"
#include "relation.hpp"

namespace closure {

using examples::World;

// The datatype of one tuple. Counts are in tuples throughout, so that blocks may have more bytes
// than an int can count.
class TupleType {
 public:
  TupleType();
  ~TupleType();
  TupleType(const TupleType&) = delete;
  TupleType& operator=(const TupleType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

// Totals of one rank.
struct Traffic {
  double count_seconds = 0;  // in MPI_Alltoall, which exchanges the counts
  double data_seconds = 0;   // in the all-to-all exchange of tuples
  std::int64_t tuples = 0;   // sent
  std::int64_t tuples_to_others = 0;
};

class Exchange {
 public:
  // `algorithm`: "mpi" for MPI_Alltoallv, "auto" for Quadrille_Alltoallv, else an algorithm of
  // `quadrille list`.
  Exchange(const World& world, std::string algorithm);

  // Sends blocks[r] to rank r. Returns the received tuples, in the order of the ranks.
  std::vector<Pair> operator()(Blocks blocks);

  Traffic traffic;
  examples::Trace trace;

 private:
  std::vector<std::int64_t> exchange_counts(const std::vector<std::int64_t>& counts);
  void exchange_tuples(const std::vector<Pair>& out, const Layout& out_layout, std::vector<Pair>& in,
                       const Layout& in_layout);

  World world_;
  std::string algorithm_;
  TupleType tuple_;
};

// Forces Quadrille's algorithm for the exchanges of tuples. Returns false for an unknown name, which
// Quadrille has reported on standard error.
bool force_algorithm(const World& world, const std::string& algorithm);

}  // namespace closure
