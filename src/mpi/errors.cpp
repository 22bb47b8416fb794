#include "mpi/errors.hpp"

#include <array>
#include <mutex>

namespace quadrille {
namespace {

// The handler of a communicator, while errors are returned.
struct Lent {
  MpiComm comm{};
  MpiErrhandler handler{};
  int guards = 0;
  bool is_lent = false;
};
// What a program leaves by longjmp() stays for ever: more than these are not counted.
std::array<Lent, 64> all_lent;
std::mutex lent_mutex;

Lent* place_of(MpiComm comm) {
  Lent* unused = nullptr;
  for (Lent& one : all_lent) {
    if (one.guards > 0 && one.comm == comm) return &one;
    if (one.guards == 0) unused = &one;
  }
  return unused;
}

void give_back(Lent& lent) {
  MpiErrhandler now;
  bool is_ours = true;
  if (mpi().Comm_get_errhandler(lent.comm, &now) == mpi_success) {
    is_ours = now == mpi().errors_return;
    mpi().Errhandler_free(&now);
  }
  if (is_ours) mpi().Comm_set_errhandler(lent.comm, lent.handler);
  mpi().Errhandler_free(&lent.handler);
}

}  // namespace

ErrorsReturned::ErrorsReturned(MpiComm comm) {
  const std::lock_guard lock(lent_mutex);
  Lent* const lent = place_of(comm);
  if (lent == nullptr) return;
  place_ = static_cast<int>(lent - all_lent.data());
  if (lent->guards++ > 0) return;
  lent->comm = comm;
  lent->is_lent = mpi().Comm_get_errhandler(comm, &lent->handler) == mpi_success &&
                  mpi().Comm_set_errhandler(comm, mpi().errors_return) == mpi_success;
}

ErrorsReturned::~ErrorsReturned() {
  if (place_ < 0) return;
  const std::lock_guard lock(lent_mutex);
  Lent& lent = all_lent[static_cast<std::size_t>(place_)];
  if (--lent.guards == 0 && lent.is_lent) give_back(lent);
}

bool has_own_handler(MpiComm comm) {
  MpiErrhandler handler;
  if (comm == mpi().comm_null || mpi().Comm_get_errhandler(comm, &handler) != mpi_success) return false;
  const bool of_the_mpi = handler == mpi().errors_return || handler == mpi().errors_are_fatal;
  mpi().Errhandler_free(&handler);
  return !of_the_mpi;
}

}  // namespace quadrille
