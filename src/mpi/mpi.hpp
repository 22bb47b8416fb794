// The MPI of the running program, found at run time.
//
// No library of Quadrille is linked to an MPI. The functions that it calls are looked up in the MPI
// library that the program has loaded, under their PMPI_ names and past our own interposed symbols.
// So one build serves every MPI, whatever its library is called and however it was
// loaded (a Python extension module loads it outside the global scope).
//
// Code that uses MPI includes this header and calls mpi().Comm_rank(...), never MPI_Comm_rank(...).
// Predefined handles are addresses inside the library in Open MPI: use the members below instead.
#pragma once

#include <atomic>
#include <climits>
#include <string>

#include "collective/signatures.hpp"
#include "mpi/functions.hpp"
#include "mpi/words.hpp"

namespace quadrille {

// What an MPI calls one thing and another MPI another, as its ABI has it: X(member, what follows "MPI_"). In a list
// that clang-format would spoil.
// clang-format off
#define QUADRILLE_MPI_CONSTANTS(X) \
  X(any_source, ANY_SOURCE) X(any_tag, ANY_TAG) X(cart, CART) X(combiner_contiguous, COMBINER_CONTIGUOUS)            \
  X(combiner_dup, COMBINER_DUP) X(combiner_f90_complex, COMBINER_F90_COMPLEX)                                        \
  X(combiner_f90_integer, COMBINER_F90_INTEGER) X(combiner_f90_real, COMBINER_F90_REAL)                              \
  X(combiner_hindexed, COMBINER_HINDEXED) X(combiner_hindexed_block, COMBINER_HINDEXED_BLOCK)                        \
  X(combiner_hvector, COMBINER_HVECTOR) X(combiner_indexed, COMBINER_INDEXED)                                        \
  X(combiner_indexed_block, COMBINER_INDEXED_BLOCK) X(combiner_named, COMBINER_NAMED)                                \
  X(combiner_resized, COMBINER_RESIZED) X(combiner_struct, COMBINER_STRUCT) X(combiner_subarray, COMBINER_SUBARRAY)  \
  X(combiner_vector, COMBINER_VECTOR) X(comm_type_shared, COMM_TYPE_SHARED) X(dist_graph, DIST_GRAPH)                \
  X(err_arg, ERR_ARG) X(err_buffer, ERR_BUFFER) X(err_comm, ERR_COMM) X(err_count, ERR_COUNT)                        \
  X(err_group, ERR_GROUP) X(err_in_status, ERR_IN_STATUS) X(err_intern, ERR_INTERN) X(err_no_mem, ERR_NO_MEM)        \
  X(err_other, ERR_OTHER) X(err_pending, ERR_PENDING) X(err_rank, ERR_RANK) X(err_request, ERR_REQUEST)              \
  X(err_topology, ERR_TOPOLOGY) X(err_truncate, ERR_TRUNCATE) X(err_type, ERR_TYPE) X(graph, GRAPH)                  \
  X(keyval_invalid, KEYVAL_INVALID) X(max_info_val, MAX_INFO_VAL) X(proc_null, PROC_NULL) X(tag_ub, TAG_UB)          \
  X(thread_multiple, THREAD_MULTIPLE) X(thread_single, THREAD_SINGLE) X(undefined, UNDEFINED)
// clang-format on

// No name of an object, key or value of an info, or description of a library is longer, in any MPI.
inline constexpr std::size_t most_mpi_text = 8192;

// Several MPIs have that of the MPI standard (libmpi_abi.so.1): what an MPI does is asked by Mpi::is_openmpi().
enum class Abi { openmpi, mpich, standard };

struct Mpi {
#define QUADRILLE_MEMBER(Name, result, parameters, ...) result(*Name) parameters = nullptr;
  QUADRILLE_MPI_REQUIRED(QUADRILLE_MEMBER)
  QUADRILLE_MPI_OPTIONAL(QUADRILLE_MEMBER)
#undef QUADRILLE_MEMBER
  // Of each collective the blocking and the nonblocking function; and the forms of MPI 4, null if the library that is
  // loaded has none. Those of Open MPI 4.1 have a name of their own, MPIX_.
#define QUADRILLE_MEMBERS(collective, Name, FORM, Displacement)                                    \
  int (*Name)(QUADRILLE_WORDS_##FORM(int, Displacement)) = nullptr;                                \
  int (*I##collective)(QUADRILLE_WORDS_##FORM(int, Displacement), MpiRequest*) = nullptr;          \
  int (*Name##_c)(QUADRILLE_WORDS_##FORM(MpiCount, MpiAint)) = nullptr;                            \
  int (*Name##_init)(QUADRILLE_WORDS_##FORM(int, Displacement), MpiInfo, MpiRequest*) = nullptr;   \
  int (*Name##_init_c)(QUADRILLE_WORDS_##FORM(MpiCount, MpiAint), MpiInfo, MpiRequest*) = nullptr; \
  int (*I##collective##_c)(QUADRILLE_WORDS_##FORM(MpiCount, MpiAint), MpiRequest*) = nullptr;
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MEMBERS)
#undef QUADRILLE_MEMBERS

  // Open MPI: its fault tolerance (ULFM) is enabled. Null where it has none.
  const bool* ftmpi_enabled = nullptr;

  MpiComm comm_world, comm_self, comm_null;
  MpiGroup group_null;
  MpiInfo info_null;
  MpiRequest request_null;
  MpiErrhandler errors_return, errors_are_fatal;
  MpiType datatype_null, byte, packed, char_type, int_type, uint64, double_type;
  MpiOp op_max, op_min, op_sum, op_bor;
  int* unweighted = nullptr;
  void* in_place = nullptr;
  MpiStatus *status_ignore = nullptr, *statuses_ignore = nullptr;
#define QUADRILLE_CONSTANT(name, NAME) int name = 0;
  QUADRILLE_MPI_CONSTANTS(QUADRILLE_CONSTANT)
#undef QUADRILLE_CONSTANT
  // Where the fields of a status are, in bytes, and how long it is in an array.
  struct {
    std::size_t source = 0, tag = 0, error = 0, bytes = 0;
    std::size_t count = 0;  // of bytes that have come
    bool count_in_halves = false, count_is_hidden = false;
  } status;
  Abi abi{};

  // False if the library that was found has an ABI that this build does not know, or lacks something. No handle of ours
  // may be used then.
  bool usable = false;
  // Nothing is known of the handles of the library that was found: not even the program's own calls can be forwarded.
  bool foreign = false;
  // This MPI cuts what is longer than its receive block, and reports no error: in allgathers, among neighbours.
  bool cuts_long_gathers = false, cuts_long_neighbors = false;
  // It takes no data out of a device's memory into a type with gaps, wherever that is.
  bool device_lacks_gaps = false;
  // It is an Open MPI, by the ABI of the MPI standard: 6 and later.
  bool openmpi_by_standard = false;
  // If not, it is an MPICH or an MPI that is made from one.
  bool is_openmpi() const { return abi == Abi::openmpi || openmpi_by_standard; }
  std::string library;  // path of the MPI library
  // Where that is in memory: it calls its own PMPI_ functions.
  const std::byte *begin = nullptr, *end = nullptr;
  bool holds(const void* address) const { return address >= begin && address < end; }
  std::string problem;  // one line, when not usable
};

namespace detail {
extern std::atomic<const Mpi*> mpi_table;
const Mpi& find_mpi();
// Which MPI it is, by the description of its library, and what that MPI does otherwise than others.
void load_customs(Mpi& table);
}  // namespace detail

// The table. Looked up on first use, in what the program has loaded. Without any MPI in the process
// this ends the program with one line on stderr: nothing could go on.
inline const Mpi& mpi() {
  const Mpi* table = detail::mpi_table.load(std::memory_order_acquire);
  return table != nullptr ? *table : detail::find_mpi();
}

// Whether a function lies in the library of mpi(), or, before the first use, in the library that mpi() would find now.
// Waits for no other thread, and does not set up the table: dlsym() asks, also while mpi() looks functions up.
bool is_of_the_mpi(const void* function) noexcept;

// A handle that the program, or the MPI, has passed as an argument.
template <class Kind>
MpiHandle<Kind> given(MpiHandle<Kind> handle) {
  static_cast<void>(mpi());  // which sets the mask
  return {handle.word & detail::handle_mask};
}
template <class Other>
Other given(Other argument) {
  return argument;
}
// `make(&word)` may write a handle for the program, to where the program wants it. Its result is returned.
template <class Handle, class Make>
int give(Handle* to, const Make& make) {
  static_cast<void>(mpi());
  if (to == nullptr || detail::handle_bytes == sizeof(Handle)) return make(to);
  Handle made;
  std::memcpy(&made, to, detail::handle_bytes);
  const int error = make(&made);
  std::memcpy(to, &made, detail::handle_bytes);
  return error;
}

inline bool is_inter(MpiComm comm) {
  int inter = 0;
  mpi().Comm_test_inter(comm, &inter);
  return inter != 0;
}

// Whether a program may survive the death of a rank (mpi/fault_tolerance.hpp), and the MPI reports failures and
// revocations: Open MPI from 5.0 on. MPICH and Intel MPI do not report revocations.
inline bool reports_faults() {
  const Mpi& t = mpi();
  const bool has_all = t.Comm_is_revoked != nullptr && t.Comm_get_failed != nullptr && t.Comm_revoke != nullptr;
  return has_all && t.abi == Abi::openmpi && t.ftmpi_enabled != nullptr && *t.ftmpi_enabled;
}
// The error codes of failures: MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING (of a probe for any source), and
// MPIX_ERR_REVOKED. In Open MPI they are classes, too.
constexpr int err_proc_failed() { return 75; }
constexpr int err_proc_failed_pending() { return 76; }
constexpr int err_revoked() { return 77; }
inline bool is_fault(int error) {
  return (error == err_proc_failed() || error == err_proc_failed_pending() || error == err_revoked()) &&
         reports_faults();
}
// Ends all messages in flight on `comm` in an error, on all of its ranks. Does not wait.
inline void revoke(MpiComm comm) { mpi().Comm_revoke(comm); }
// Whether this rank's MPI knows of a revocation.
inline bool is_revoked(MpiComm comm) {
  int flag = 0;
  return mpi().Comm_is_revoked(comm, &flag) == mpi_success && flag != 0;
}
// Whether messages may be sent on `comm`. On a revoked communicator Open MPI still sends small ones, and a rank that
// does not know of the revocation yet receives them.
inline bool takes_messages(MpiComm comm) { return !reports_faults() || !is_revoked(comm); }

// What the MPI is asked for once: a key of attributes, a communicator, what it can.
//
// A static of a function that is made by a call of the MPI would be made under the compiler's lock. A thread may wait
// in that call for another one, which is in the MPI, too, and which a callback there brings to the same lock. Here no
// thread waits: of two that come first at a time both ask, and both go by one answer.
template <class Value>
class FirstAnswer {
 public:
  // `none` is no answer.
  constexpr explicit FirstAnswer(Value none) : none_(none), kept_(none) {}

  bool is_known() const { return kept_.load(std::memory_order_acquire) != none_; }
  // As it is kept, or as `ask` says.
  template <class Ask>
  Value get(const Ask& ask) {
    Value known = kept_.load(std::memory_order_acquire);
    if (known != none_) return known;
    const Value mine = ask();
    return kept_.compare_exchange_strong(known, mine, std::memory_order_acq_rel) ? mine : known;
  }

 private:
  const Value none_;
  std::atomic<Value> kept_;
};

// No MPI has such a key.
inline constexpr int no_keyval = INT_MIN;

namespace detail {
inline int field_of(const MpiStatus& status, std::size_t at) {
  int value = 0;
  std::memcpy(&value, status.native + at, sizeof value);
  return value;
}
}  // namespace detail
inline int source_in(const MpiStatus& status) { return detail::field_of(status, mpi().status.source); }
inline int tag_in(const MpiStatus& status) { return detail::field_of(status, mpi().status.tag); }
inline int error_in(const MpiStatus& status) { return detail::field_of(status, mpi().status.error); }
inline void set_status(MpiStatus& status, int source, int tag, int error) {
  std::memcpy(status.native + mpi().status.source, &source, sizeof source);
  std::memcpy(status.native + mpi().status.tag, &tag, sizeof tag);
  std::memcpy(status.native + mpi().status.error, &error, sizeof error);
}
// How many bytes have come, of plain ones.
inline std::size_t bytes_in(const MpiStatus& status) {
  const auto& layout = mpi().status;
  std::uint64_t count = 0;
  if (layout.count_is_hidden) {
    MpiCount asked = 0;
    mpi().Get_elements_x(&status, mpi().byte, &asked);
    return static_cast<std::size_t>(asked);
  }
  std::memcpy(&count, status.native + layout.count, sizeof count);
  // Where it is in two halves, the lowest bit of the upper one says whether the message was cancelled.
  return layout.count_in_halves ? (count >> 33 << 32) | (count & 0xffffffff) : count;
}
// Of statuses that a function of the MPI has written from `first` on.
inline MpiStatus status_at(const MpiStatus* first, std::size_t index) {
  MpiStatus one;
  std::memcpy(one.native, reinterpret_cast<const std::byte*>(first) + index * mpi().status.bytes, mpi().status.bytes);
  return one;
}
inline void set_status_at(MpiStatus* first, std::size_t index, const MpiStatus& status) {
  std::memcpy(reinterpret_cast<std::byte*>(first) + index * mpi().status.bytes, status.native, mpi().status.bytes);
}

}  // namespace quadrille
