// The all-to-all exchange of an iteration, by the MPI or by Quadrille, and its times.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trace.hpp"
#include "outbox.hpp"

namespace kcfa {

// Totals of one rank over all iterations, including the blocks that it keeps.
struct Traffic {
  double counts = 0;     // seconds in MPI_Alltoall of the counts
  double data = 0;       // seconds in the exchange of the tuples
  double agreement = 0;  // seconds in MPI_Allreduce
  std::uint64_t bytes = 0;
  std::uint64_t largest_block = 0;  // bytes
};

class Exchange {
 public:
  // Collective. `algorithm`: "mpi" for MPI_Alltoallv, "auto" for Quadrille's choice, or the name of an algorithm of
  // Quadrille. valid() is false for an unknown name, which Quadrille has reported.
  Exchange(MPI_Comm comm, const std::string& algorithm, std::size_t width);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool valid() const { return valid_; }

  // Sends each rank its tuples and empties the outbox. Returns the received tuples, which stay valid until the next
  // call.
  std::span<const Word> operator()(Outbox& outbox);

  // Sums over the ranks.
  void sum(std::span<std::uint64_t> numbers);

  Traffic traffic;
  examples::Trace trace;

 private:
  void exchange_counts(const Outbox& outbox);
  void pack(const Outbox& outbox);

  MPI_Comm comm_;
  bool quadrille_;
  bool valid_ = true;
  std::size_t width_;
  MPI_Datatype tuple_;
  std::vector<int> send_counts_, send_starts_, receive_counts_, receive_starts_;  // in tuples
  std::vector<Word> sent_, received_;
};

}  // namespace kcfa
