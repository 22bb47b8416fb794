#include "api/refused.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "api/admission.hpp"
#include "api/serve.hpp"
#include "api/taken.hpp"
#include "mpi/errors.hpp"
#include "run/native_run.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using run::Side;

// ---- Arguments ----
//
// Only true mistakes count: whatever is legal on one rank alone must be served, or ranks would part ways. Legal are
// MPI_BOTTOM (address zero) with types of absolute addresses, or with displacements that lead to addresses, or where no
// data move, and, in practice, send and receive buffers that start at one address.

bool block_is_sound(const Side& side, int block) {
  const std::ptrdiff_t count = side.count_of(block);
  if (count == 0) return true;
  const MpiType type = side.type_of(block);
  if (count < 0 || type == mpi().datatype_null || !is_committed(type)) return false;
  if (side.base != nullptr) return true;
  const TypeInfo info = type_info(type);
  return !info.dense || info.size == 0 || side.displacement_of(block, 0) != 0;
}

// As block_is_sound(), where the block before was sound and has the same type.
bool is_sound_too(const Side& side, int block) {
  return side.count_of(block) >= 0 && (side.base != nullptr || block_is_sound(side, block));
}

bool blocks_are_sound(const Side& side, Form form, int blocks) {
  for (int b = 0; b < (has_arrays(form) ? blocks : 1); ++b) {
    const bool again = b > 0 && side.count_of(b - 1) > 0 && side.type_of(b) == side.type_of(b - 1);
    if (!(again ? is_sound_too(side, b) : block_is_sound(side, b))) return false;
  }
  return true;
}

// None of the arrays that blocks of this form need is missing.
bool arrays_given(const Side& side, Form form) {
  if (!has_arrays(form)) return true;
  const bool counts = side.counts != nullptr || side.counts_large != nullptr;
  return counts && (side.displacements != nullptr || side.displacements_large != nullptr) &&
         (form == Form::arrays || side.types);
}

// A type that is none, or not committed, is a mistake even if nothing moves: so all MPIs say, but not of types that
// are given one a block.
bool dense_side_is_sound(const Side& side, Form form, int blocks) {
  if (!arrays_given(side, form)) return false;
  if (!side.types && (side.type == mpi().datatype_null || !is_committed(side.type))) return false;
  return blocks_are_sound(side, form, blocks);
}

bool neighbor_side_is_sound(const Side& side, Form form, int blocks) {
  return blocks == 0 || (arrays_given(side, form) && blocks_are_sound(side, form, blocks));
}

std::size_t bytes_of_block(const Side& side, int block) {
  return static_cast<std::size_t>(side.count_of(block)) * type_info(side.type_of(block)).size;
}

// ---- Sizes ----
//
// We serve a call that sends a rank more or less than it receives from itself. Open MPI refuses such calls before it
// sends anything, with the error that others return of a message that was too long.

// `call` is sound.
bool is_uneven(const Call& call) {
  if (call.in_place || is_inter(call.comm)) return false;
  const bool has_one_size = is_regular(call.collective);
  if (!has_one_size && is_neighbor(call.collective)) return false;
  int own = 0;
  if (!has_one_size) mpi().Comm_rank(call.comm, &own);
  return bytes_of_block(call.send, own) != bytes_of_block(call.recv, own);
}

// A communicator of this process alone, on which no call waits, for neighbours a grid; null if the MPI cannot make it.
// Of one thread, as its calls are.
struct Alone {
  MpiComm comm = mpi().comm_null;

  explicit Alone(bool as_grid) {
    MpiComm plain;
    if (make_alone(&plain) != mpi_success) return;
    if (!as_grid) {
      comm = plain;
      return;
    }
    const int one = 1, periodic = 1;
    if (mpi().Cart_create(plain, 1, &one, &periodic, 0, &comm) != mpi_success) comm = mpi().comm_null;
    if (comm != mpi().comm_null) mpi().Comm_set_errhandler(comm, mpi().errors_return);
    mpi().Comm_free(&plain);
  }
  Alone& operator=(Alone&&) = delete;
  ~Alone() {
    if (comm != mpi().comm_null) mpi().Comm_free(&comm);
  }
};

// One int is sent where two fit. An MPI that does not check sizes copies one.
bool refuses_one_for_two(Collective collective) {
  if (!row_of(collective).of_mpi) return false;
  const Alone alone(is_neighbor(collective));
  if (alone.comm == mpi().comm_null) return false;
  int sent[2] = {}, received[4] = {};  // the grid's one process has two neighbours: itself, twice
  const int ones[2] = {1, 1}, twos[2] = {2, 2}, places[2] = {};
  const MpiAint far_places[2] = {};
  const MpiArray<MpiType> ints(2, mpi().int_type);
  const CollectiveRow& row = row_of(collective);
  const auto side_of = [&](void* base, Form form, const int* counts) {
    Side side;
    side.base = static_cast<std::byte*>(base);
    side.count = static_cast<std::size_t>(counts[0]);
    side.type = ints[0];
    if (!has_arrays(form)) return side;
    side.counts = counts;
    side.displacements = places;
    if (form != Form::arrays) side.types = ints.all(), side.displacements_large = far_places;
    return side;
  };
  const Call call{collective, side_of(sent, row.send, ones), side_of(received, row.recv, twos), false, alone.comm};
  return run::run_native(call, alone.comm) != mpi_success;
}

// Asked for each collective after the first error of that kind. Each thread that comes before there is an answer gets
// the same one.
bool refuses_uneven(Collective collective) {
  enum : signed char { unknown, no, yes };
  static constinit std::array<std::atomic<signed char>, collective_count> known{};
  std::atomic<signed char>& answer = known[static_cast<std::size_t>(collective)];
  if (answer.load(std::memory_order_relaxed) == unknown) {
    const Serving guard;
    answer.store(refuses_one_for_two(collective) ? yes : no, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == yes;
}

// ---- Errors ----

// A class of errors in arguments. Others also come of communication, in which the other ranks have counted the call.
bool is_of_arguments(int its_class) {
  const int classes[] = {mpi().err_buffer, mpi().err_count, mpi().err_type,    mpi().err_comm,
                         mpi().err_arg,    mpi().err_group, mpi().err_request, mpi().err_topology};
  return std::ranges::find(classes, its_class) != std::end(classes);
}

bool was_refused(const CountedAhead& ahead, const Call& call, int error) {
  if (error == mpi_success) return false;
  const int its_class = class_of(error);
  if (is_of_arguments(its_class)) return true;
  if (its_class == mpi().err_truncate) return is_uneven(call) && refuses_uneven(call.collective);
  return ahead.team != nullptr && is_refused(call, *ahead.team);
}

// An error handler of the program may have freed the communicator, and the team with it.
bool is_gone(const CountedAhead& ahead, MpiComm comm) {
  return ahead.team != nullptr && !team::is_there(*ahead.team, comm);
}

void undo(const CountedAhead& ahead) {
  for (std::size_t c = 0; c < ahead.changed; ++c) *ahead.changes[c].number += ahead.changes[c].back;
  if (ahead.passed == nullptr) return;
  --*ahead.passed;
  pass(*ahead.team, Reason::argument);
}

}  // namespace

bool is_refused(const Call& call, team::Team& team) {
  const bool neighbors = is_neighbor(call.collective);
  if (neighbors && (call.in_place || team::neighbors_of(team) == nullptr)) return true;
  if (call.recv.base == mpi().in_place) return true;
  const BlockNumbers blocks = blocks_of(call, team);
  const auto is_sound = neighbors ? neighbor_side_is_sound : dense_side_is_sound;
  const CollectiveRow& row = row_of(call.collective);
  return !is_sound(call.recv, row.recv, blocks.recv) || (!call.in_place && !is_sound(call.send, row.send, blocks.send));
}

bool keep_or_undo_at_length(const CountedAhead& ahead, const Call& call, int error) {
  bool refused = true;
  // What the communicator needs cannot be begun: it is lost then, and its next call says so.
  static_cast<void>(thrown_by([&] {
    if (error != mpi_success && is_gone(ahead, call.comm)) return;
    refused = was_refused(ahead, call, error);
    if (refused) return undo(ahead);
    if (ahead.early) team::count_early(call.comm);
    if (ahead.wants && error == mpi_success) want_to_be_ready(call);
  }));
  return !refused;
}

void UndoUnlessReturned::undo() const {
  static_cast<void>(thrown_by([&] {
    if (!is_gone(ahead_, comm_)) api::undo(ahead_);
  }));
}

}  // namespace quadrille::api
