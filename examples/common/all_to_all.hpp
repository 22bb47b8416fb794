// The exchanges of the transforms, and the time inside them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <utility>

#include "device.hpp"

namespace examples {

// Counts and displacements of one side, in numbers.
struct Blocks {
  const int* counts;
  const int* displacements;
};

class AllToAll {
 public:
  // `staged`: the data are copied from `device` to the host before each call, and back after it.
  AllToAll(MPI_Comm comm, Device* device, bool staged) : comm_(comm), device_(staged ? device : nullptr) {}
  ~AllToAll();
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  // Allocates the pinned memory for calls with up to this number of bytes on each side.
  void reserve(std::size_t bytes);

  // Exchanges complex numbers. The caller has waited for the device.
  void alltoall(const void* from, int count, void* to);
  void alltoallv(const void* from, const Blocks& out, void* to, const Blocks& in);

  // Seconds in the calls since the last call of this function, including the copies of staged calls.
  double take_seconds() { return std::exchange(seconds_, 0.0); }

 private:
  template <typename Call>
  void around(const void* from, std::size_t out_bytes, void* to, std::size_t in_bytes, Call call);

  MPI_Comm comm_;
  Device* device_;  // null: nothing is staged
  void* out_ = nullptr;
  void* in_ = nullptr;
  double seconds_ = 0;
};

}  // namespace examples
