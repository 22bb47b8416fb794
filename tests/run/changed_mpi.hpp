// The fake MPI with other functions, as long as a test lasts. For tests of one thread.
#pragma once

#include "fake_mpi.hpp"

namespace quadrille::test {

class ChangedMpi {
 public:
  ChangedMpi() {
    use_fake_mpi();
    before_ = &mpi();
    table_ = *before_;
    quadrille::detail::mpi_table.store(&table_, std::memory_order_release);
  }
  ~ChangedMpi() { quadrille::detail::mpi_table.store(before_, std::memory_order_release); }
  ChangedMpi(const ChangedMpi&) = delete;
  ChangedMpi& operator=(const ChangedMpi&) = delete;
  Mpi& table() { return table_; }

 private:
  const Mpi* before_ = nullptr;
  Mpi table_;
};

}  // namespace quadrille::test
