#include "mpi/errors.hpp"

#include <mutex>

namespace quadrille {
namespace {

std::mutex guards_mutex;
ErrorsReturned* guards = nullptr;

}  // namespace

ErrorsReturned::ErrorsReturned(MPI_Comm comm) : comm_(comm) {
  const std::lock_guard lock(guards_mutex);
  if (other() == nullptr) {
    has_before_ = mpi().Comm_get_errhandler(comm, &before_) == MPI_SUCCESS &&
                  mpi().Comm_set_errhandler(comm, mpi().errors_return) == MPI_SUCCESS;
  }
  next_ = guards;
  guards = this;
}

ErrorsReturned::~ErrorsReturned() {
  const std::lock_guard lock(guards_mutex);
  ErrorsReturned** place = &guards;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
  if (!has_before_) return;
  if (ErrorsReturned* const heir = other()) {
    heir->before_ = before_;
    heir->has_before_ = true;
  } else {
    give_back();
  }
}

// Another one of the same communicator.
ErrorsReturned* ErrorsReturned::other() const {
  for (ErrorsReturned* one = guards; one != nullptr; one = one->next_) {
    if (one->comm_ == comm_) return one;
  }
  return nullptr;
}

void ErrorsReturned::give_back() {
  MPI_Errhandler now;
  bool is_ours = true;
  if (mpi().Comm_get_errhandler(comm_, &now) == MPI_SUCCESS) {
    is_ours = now == mpi().errors_return;
    mpi().Errhandler_free(&now);
  }
  if (is_ours) mpi().Comm_set_errhandler(comm_, before_);
  mpi().Errhandler_free(&before_);
}

bool has_own_handler(MPI_Comm comm) {
  MPI_Errhandler handler;
  if (comm == mpi().comm_null || mpi().Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  const bool of_the_mpi = handler == mpi().errors_return || handler == mpi().errors_are_fatal;
  mpi().Errhandler_free(&handler);
  return !of_the_mpi;
}

}  // namespace quadrille
