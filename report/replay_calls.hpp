// The calls of one implementation, in the form in which the program made them: blocking, or started and waited for.
#pragma once

#include <string>
#include <string_view>

#include "abi/functions.hpp"
#include "mpi/mpi.hpp"
#include "tool/bench/data.hpp"
#include "tool/bench/timing.hpp"

namespace quadrille::tools {

enum class CallForm : std::uint8_t { blocking, nonblocking, persistent };

// As read.hpp names them.
CallForm call_form_from_name(std::string_view name);

class ReplayCalls {
 public:
  // Collective over the communicator: makes the request of a persistent call. The communicator and the data outlive it.
  ReplayCalls(CallForm form, BenchData& data, const Implementation& by);
  ReplayCalls(const ReplayCalls&) = delete;
  ReplayCalls& operator=(const ReplayCalls&) = delete;
  ~ReplayCalls();

  // False: this rank has no request.
  bool is_good() const { return error_ == mpi_success; }
  // So many calls, one after the other.
  void run(long times);

 private:
  void start();
  void wait();

  CallForm form_;
  BenchData& data_;
  const Implementation by_;
  int error_ = mpi_success;
  MpiRequest theirs_ = mpi().request_null;
  Quadrille_Request ours_ = QUADRILLE_REQUEST_NULL;
};

}  // namespace quadrille::tools
