#include "report/replay_calls.hpp"

#include "mpi/errors.hpp"

namespace quadrille::tools {

CallForm call_form_from_name(std::string_view name) {
  if (name == "nonblocking") return CallForm::nonblocking;
  return name == "persistent" ? CallForm::persistent : CallForm::blocking;
}

ReplayCalls::ReplayCalls(CallForm form, BenchData& data, const Implementation& by) : form_(form), data_(data), by_(by) {
  if (form != CallForm::persistent) return;
  const ErrorsReturned returned(by.comm);
  error_ = by.native ? data.make_mpi(by.comm, theirs_) : data.make_quadrille(by.comm, ours_);
}

ReplayCalls::~ReplayCalls() {
  if (form_ != CallForm::persistent || !is_good()) return;
  by_.native ? mpi().Request_free(&theirs_) : Quadrille_Request_free(&ours_);
}

// Errors end the program: communicators keep MPI_ERRORS_ARE_FATAL.
void ReplayCalls::start() {
  if (form_ == CallForm::persistent) {
    by_.native ? mpi().Start(&theirs_) : Quadrille_Start(&ours_);
  } else {
    by_.native ? data_.start_mpi(by_.comm, theirs_) : data_.start_quadrille(by_.comm, ours_);
  }
}

void ReplayCalls::wait() {
  MpiStatus status;
  by_.native ? mpi().Waitall(1, one(theirs_), &status) : Quadrille_Wait(&ours_);
}

void ReplayCalls::run(long times) {
  if (form_ == CallForm::blocking) return call_times(times, data_, by_);
  for (long i = 0; i < times; ++i) {
    start();
    wait();
  }
}

}  // namespace quadrille::tools
