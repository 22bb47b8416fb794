// The exchanges of the transforms, and the time inside of them.
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
  // `staged`: the data are brought from `device` to the host, and back, around each call.
  AllToAll(MPI_Comm comm, Device* device, bool staged) : comm_(comm), device_(staged ? device : nullptr) {}
  ~AllToAll();
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  // Takes the pinned memory that calls with up to so many bytes a side need.
  void reserve(std::size_t bytes);

  // Of complex numbers. The data must be there: a device must have been waited for.
  void alltoall(const void* from, int count, void* to);
  void alltoallv(const void* from, const Blocks& out, void* to, const Blocks& in);

  // Seconds spent in the calls, with the copies to and from the host of staged ones, since the last call of this
  // function.
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
