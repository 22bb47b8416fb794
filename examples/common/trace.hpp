// Sizes and times of each exchange of an iterative program, as a table in a file: `--trace FILE`.
// Source: Fan et al., "Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication", HPDC 2022, figure 12.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/world.hpp"

namespace examples {

class Trace {
 public:
  // Adds an exchange of this rank: the bytes of its largest block and of all blocks, and its seconds for counts and
  // data.
  void add(std::uint64_t largest, std::uint64_t bytes, double counts, double data) {
    largest_.push_back(largest);
    bytes_.push_back(bytes);
    seconds_.push_back(counts);
    seconds_.push_back(data);
  }
  void clear() { *this = {}; }

  // Writes a line for each exchange, with the largest block of all ranks, the mean block, and the seconds of the
  // slowest rank. Collective; every rank has the same number of exchanges. No message is sent before, so as not to
  // disturb them.
  void write(const std::string& file, const World& world) const {
    Trace all = *this;
    const int exchanges = static_cast<int>(bytes_.size());
    MPI_Allreduce(MPI_IN_PLACE, all.largest_.data(), exchanges, MPI_UINT64_T, MPI_MAX, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, all.bytes_.data(), exchanges, MPI_UINT64_T, MPI_SUM, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, all.seconds_.data(), 2 * exchanges, MPI_DOUBLE, MPI_MAX, world.comm);
    on_first_rank(world, [&] {
      std::ofstream out(file);
      out.precision(12);
      out << "iteration,largest_block_bytes,mean_block_bytes,counts_seconds,data_seconds\n";
      const double blocks = static_cast<double>(world.ranks) * world.ranks;
      for (std::size_t i = 0; i < all.bytes_.size(); ++i) {
        out << i + 1 << ',' << all.largest_[i] << ',' << static_cast<double>(all.bytes_[i]) / blocks << ','
            << all.seconds_[2 * i] << ',' << all.seconds_[2 * i + 1] << '\n';
      }
      out.close();
      if (!out) throw std::runtime_error("cannot write " + file);
    });
  }

 private:
  std::vector<std::uint64_t> largest_, bytes_;  // [exchange]
  std::vector<double> seconds_;                 // for counts and data, in turn
};

// Checks before a long run whether the file can be written. Empties the file. Collective.
inline void open_trace(const std::string& file, const World& world) {
  if (file.empty()) return;
  on_first_rank(world, [&] {
    if (!std::ofstream(file)) throw std::runtime_error("cannot write " + file);
  });
}

}  // namespace examples
