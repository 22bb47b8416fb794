#include "run/native_run.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"
#include "mpi/progress.hpp"
#include "mpi/types.hpp"

namespace quadrille::run {
namespace {

#define QUADRILLE_NONBLOCKING(collective, ...) \
  auto nonblocking(Of<Collective::collective>) { return mpi().I##collective; }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_NONBLOCKING)
#undef QUADRILLE_NONBLOCKING
#define QUADRILLE_BLOCKING(collective, Name, ...) \
  auto blocking(Of<Collective::collective>) { return mpi().Name; }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_BLOCKING)
#undef QUADRILLE_BLOCKING

// As many as make_large_type() takes.
constexpr std::size_t most_elements = std::size_t{INT_MAX} << 30;

// No MPI has the w form of the allgather. The w form of the all-to-all moves the same data, if the block for each
// destination is one and the same.
constexpr Collective function_for(Collective collective) {
  return row_of(collective).of_mpi ? collective : Collective::neighbor_alltoallw;
}

// Types and arrays that are made for a call, and go with it.
class LentToCall {
 public:
  ~LentToCall() {
    for (int i = 0; i < made_; ++i) mpi().Type_free(&types_[i]);
  }
  LentToCall& operator=(LentToCall&&) = delete;
  // Takes `made`, but with this extent: an MPI may round up that of a structure, and the next block begins behind it.
  int add(MpiType made, std::ptrdiff_t extent) {
    MpiAint lower = 0, rounded = 0;
    mpi().Type_get_extent(made, &lower, &rounded);
    int error = mpi().Type_create_resized(made, lower, extent, &types_[made_]);
    mpi().Type_free(&made);
    if (error != mpi_success) return error;
    return mpi().Type_commit(&types_[made_++]);
  }
  MpiType last() const { return types_[made_ - 1]; }

  // Of the blocks that an allgatherw sends.
  std::vector<int> counts;
  std::vector<MpiAint> displacements;
  MpiArray<MpiType> types;

 private:
  MpiType types_[2] = {};
  int made_ = 0;
};

// Of both sides as the MPI takes them.
struct BothSides {
  BothSides(const Call& call, int send_blocks)
      : send(arguments_of(call.in_place ? mpi().in_place : call.send.base, call.send)),
        recv(arguments_of(call.recv.base, call.recv)) {
    error = lend(send, call.send);
    if (error == mpi_success) error = lend(recv, call.recv);
    if (!row_of(call.collective).of_mpi) send_to_each(send_blocks);
  }
  NativeRun::Arguments send, recv;
  // Held until the call is over: a program may free types earlier, but some MPIs still used them. Null: lends nothing.
  std::shared_ptr<LentToCall> lent;
  int error = mpi_success;

 private:
  static NativeRun::Arguments arguments_of(const void* buffer, const Side& side) {
    return {const_cast<void*>(buffer), static_cast<int>(side.count), side.type, side.counts, side.displacements,
            side.displacements,        side.displacements_large,     side.types};
  }

  // One element in the place of more than an int counts. A count that is negative, or too large for any data, stays a
  // mistake.
  int lend(NativeRun::Arguments& arguments, const Side& side) {
    if (side.count <= INT_MAX) return mpi_success;
    arguments.count = -1;
    if (side.count > most_elements || side.type == mpi().datatype_null) return mpi_success;
    if (lent == nullptr) lent = std::make_shared<LentToCall>();
    MpiType made = mpi().datatype_null;
    if (const int wrong = make_large_type(side.count, side.type, made); wrong != mpi_success) return wrong;
    const int wrong = lent->add(made, type_info(side.type).extent * static_cast<std::ptrdiff_t>(side.count));
    if (wrong == mpi_success) arguments.count = 1, arguments.type = lent->last();
    return wrong;
  }

  void send_to_each(int blocks) {
    const auto places = static_cast<std::size_t>(std::max(blocks, 1));  // some MPIs refuse a null array
    if (lent == nullptr) lent = std::make_shared<LentToCall>();
    lent->counts.assign(places, send.count);
    lent->displacements.assign(places, 0);
    lent->types = MpiArray<MpiType>(places, send.type);
    send.counts = lent->counts.data(), send.addresses = lent->displacements.data(), send.types = lent->types.all();
  }
};

// In place the send type does not count, but some MPIs look at it.
Call with_any_send_type(Call call) {
  if (!call.in_place) return call;
  call.send = {};
  call.send.type = !call.recv.types ? call.recv.type : mpi().byte;
  return call;
}

bool several_threads_call_mpi() { return thread_level(mpi().thread_multiple) == mpi().thread_multiple; }

// While it lives, no error handler of the program is called for a request. Some MPIs report what is wrong with one on
// MPI_COMM_WORLD. Another thread of the program must not lose its errors meanwhile: then the MPI calls the handler.
class NoHandlers {
 public:
  explicit NoHandlers(MpiComm comm) {
    if (several_threads_call_mpi()) return;
    if (has_own_handler(comm)) on_comm_.emplace(comm);
    if (has_own_handler(mpi().comm_world)) on_world_.emplace(mpi().comm_world);
  }
  bool any() const { return on_comm_ || on_world_; }

 private:
  std::optional<ErrorsReturned> on_comm_, on_world_;
};

}  // namespace

NativeRun::NativeRun(const Call& call, int send_blocks, const MpiComm& user)
    : call_(with_any_send_type(call)), user_(user), send_blocks_(send_blocks) {}

NativeRun::NativeRun(MpiRequest made, bool persistent, const MpiComm& user)
    : call_(), user_(user), send_blocks_(0), request_(made), made_(persistent ? Made::to_be_started : Made::before) {}

NativeRun::~NativeRun() {
  if (made_ == Made::to_be_started && request_ != mpi().request_null) mpi().Request_free(&request_);
}

int NativeRun::start() {
  has_raised_ = false;
  if (made_ != Made::by_start) {
    const NoHandlers guard(user_);
    const int error = made_ == Made::before ? mpi_success : mpi().Start(&request_);
    under_way_ = error == mpi_success;
    return error;
  }
  const BothSides sides(call_, send_blocks_);
  if (sides.error != mpi_success) return sides.error;
  const ErrorsReturned guard(call_.comm);  // the caller raises them
  const NoHandlers of_world(mpi().comm_null);
  request_ = mpi().request_null;
  const int error = do_as(
      call_.collective,
      [&](auto collective) {
        constexpr Collective by = function_for(collective);
        return call_with<by>(nonblocking(Of<by>()), sides.send, sides.recv, call_.comm, &request_);
      },
      mpi().err_other);
  under_way_ = error == mpi_success;
  lent_ = under_way_ ? sides.lent : nullptr;
  return error;
}

bool has_function(const Call& call) {
  if (!call.large || is_regular(call.collective)) return true;
  return mpi().Alltoallv_c != nullptr;
}

int run_native(const Call& given, MpiComm comm, int send_blocks) {
  const Call call = with_any_send_type(given);
  const BothSides sides(call, send_blocks);
  if (sides.error != mpi_success) return sides.error;
  return do_as(
      call.collective,
      [&](auto collective) {
        constexpr Collective by = function_for(collective);
        return call_with<by>(blocking(Of<by>()), sides.send, sides.recv, comm);
      },
      mpi().err_other);
}

int NativeRun::advance() {
  if (!under_way_) return mpi_success;
  int flag = 0;
  const NoHandlers guard(user_);
  const int error = test_one(&request_, &flag, mpi().status_ignore);
  under_way_ = error == mpi_success && flag == 0;
  has_raised_ = error != mpi_success && !guard.any();
  if (!under_way_) lent_.reset();
  return error;
}

}  // namespace quadrille::run
