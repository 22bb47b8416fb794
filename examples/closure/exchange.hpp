// The all-to-all exchange of tuples: first how many, then the tuples themselves.
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

// Of one rank, since the beginning.
struct Traffic {
  double count_seconds = 0;  // in MPI_Alltoall, which exchanges the counts
  double data_seconds = 0;   // in the all-to-all exchange of tuples
  std::int64_t tuples = 0;   // sent
  std::int64_t tuples_to_others = 0;
};

class Exchange {
 public:
  // `algorithm` is who exchanges the tuples: "mpi" for MPI_Alltoallv, "auto" for
  // Quadrille_Alltoallv, else the algorithm that Quadrille shall use, as `quadrille list` prints
  // it.
  Exchange(const World& world, std::string algorithm);

  // Sends blocks[r] to rank r. Returns what all ranks sent here, in the order of the ranks.
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

// Tells Quadrille which algorithm to use for the exchanges of tuples. Returns false if it knows
// none of that name; it has said so on standard error then.
bool force_algorithm(const World& world, const std::string& algorithm);

}  // namespace closure
