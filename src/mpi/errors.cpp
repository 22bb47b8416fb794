#include "mpi/errors.hpp"

#include <array>
#include <cstdint>
#include <mutex>

namespace quadrille {

// The handler of a communicator, while errors are returned. The lock is held for these alone, never in the MPI, which
// may call us under a lock of its own.
struct Lent {
  MpiComm comm{};
  MpiErrhandler handler{};
  int guards = 0;
  bool met = false;  // by a guard, since the handler began to go back
  enum class State : std::uint8_t { of_the_program, kept, lent, going_back } state = State::of_the_program;
};

namespace {

// What a program leaves by longjmp() stays for ever: more than these are not counted.
std::array<Lent, 64> all_lent;
std::mutex lent_mutex;

Lent* place_of(MpiComm comm) {
  Lent* unused = nullptr;
  for (Lent& one : all_lent) {
    const bool is_used = one.guards > 0 || one.state != Lent::State::of_the_program;
    if (is_used && one.comm == comm) return &one;
    if (!is_used) unused = &one;
  }
  return unused;
}

// In MPICH the handler of MPI_COMM_WORLD also serves MPI_COMM_SELF until one is set there, and nothing undoes that.
// MPICH calls it for requests of ours that are tested together, too. Where both end the program, nothing is lost.
bool must_stay(MpiComm comm, MpiErrhandler handler) {
  if (comm != mpi().comm_self || handler != mpi().errors_are_fatal || mpi().is_openmpi()) return false;
  MpiErrhandler of_world;
  if (mpi().Comm_get_errhandler(mpi().comm_world, &of_world) != mpi_success) return false;
  const bool is_served_by_world = of_world != mpi().errors_are_fatal;
  mpi().Errhandler_free(&of_world);
  return is_served_by_world;
}

// Two threads may do this at a time: the first one that finds the program's handler keeps it, and none sets ours before
// it has looked.
void lend(Lent& lent, MpiComm comm) {
  using State = Lent::State;
  MpiErrhandler handler;
  if (mpi().Comm_get_errhandler(comm, &handler) != mpi_success) return;
  bool is_kept = false;
  const bool is_left = must_stay(comm, handler);
  if (handler != mpi().errors_return && !is_left) {
    const std::lock_guard lock(lent_mutex);
    is_kept = lent.state == State::of_the_program;
    if (is_kept) lent.handler = handler, lent.state = State::kept;
  }
  if (!is_kept) mpi().Errhandler_free(&handler);
  if (is_left || mpi().Comm_set_errhandler(comm, mpi().errors_return) != mpi_success) return;
  const std::lock_guard lock(lent_mutex);
  if (lent.state == State::kept) lent.state = State::lent;
}

// Sets `next` in the place of `last`, unless the program has set another one meanwhile.
void replace(MpiComm comm, MpiErrhandler last, MpiErrhandler next) {
  MpiErrhandler now;
  bool is_last = true;
  if (mpi().Comm_get_errhandler(comm, &now) == mpi_success) {
    is_last = now == last;
    mpi().Errhandler_free(&now);
  }
  if (is_last) mpi().Comm_set_errhandler(comm, next);
}

// True if nobody has come meanwhile: then the place is unused. One that has come and gone may have set ours.
bool ends(Lent& lent) {
  const std::lock_guard lock(lent_mutex);
  if (lent.met) return false;
  lent.state = Lent::State::of_the_program;
  return true;
}
// True if somebody is there who needs it: then that one gives the handler back.
bool stays(Lent& lent) {
  const std::lock_guard lock(lent_mutex);
  lent.met = false;
  if (lent.guards > 0) lent.state = Lent::State::lent;
  return lent.guards > 0;
}

void give_back(Lent& lent, MpiComm comm, MpiErrhandler handler) {
  for (;;) {
    replace(comm, mpi().errors_return, handler);
    if (ends(lent)) break;
    replace(comm, handler, mpi().errors_return);
    if (stays(lent)) return;
  }
  mpi().Errhandler_free(&handler);
}

}  // namespace

ErrorsReturned::ErrorsReturned(MpiComm comm) {
  {
    const std::lock_guard lock(lent_mutex);
    lent_ = place_of(comm);
    if (lent_ == nullptr) return;
    lent_->comm = comm;
    lent_->met = true;
    if (lent_->guards++ > 0 && lent_->state == Lent::State::lent) return;
  }
  lend(*lent_, comm);
}

ErrorsReturned::~ErrorsReturned() {
  if (lent_ == nullptr) return;
  Lent& lent = *lent_;
  MpiComm comm;
  MpiErrhandler handler;
  {
    const std::lock_guard lock(lent_mutex);
    const bool is_ours = lent.state == Lent::State::kept || lent.state == Lent::State::lent;
    if (--lent.guards > 0 || !is_ours) return;
    lent.state = Lent::State::going_back;
    lent.met = false;
    comm = lent.comm, handler = lent.handler;
  }
  give_back(lent, comm, handler);
}

bool has_own_handler(MpiComm comm) {
  MpiErrhandler handler;
  if (comm == mpi().comm_null || mpi().Comm_get_errhandler(comm, &handler) != mpi_success) return false;
  const bool of_the_mpi = handler == mpi().errors_return || handler == mpi().errors_are_fatal;
  mpi().Errhandler_free(&handler);
  return !of_the_mpi;
}

}  // namespace quadrille
