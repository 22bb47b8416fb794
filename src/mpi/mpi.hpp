// The MPI of the running program, found at run time.
//
// No library of Quadrille is linked to an MPI. The functions that it calls are looked up in the MPI
// library that the program has loaded, under their PMPI_ names and past our own interposed symbols.
// So one build serves every MPI, whatever its library is called and however it was
// loaded (a Python extension module loads it outside the global scope).
//
// Code that uses MPI includes this header and calls mpi().Comm_rank(...), never MPI_Comm_rank(...).
// Predefined handles are addresses inside the library in Open MPI: use the members below instead.
//
// The header has, in this order: handles and statuses as words of our own; the functions and constants, and the table
// of them; what the program passes and gets; faults; what is asked once or remembered; errors; fields of a status.
#pragma once

#include <atomic>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include "collective/collective.hpp"

namespace quadrille {

// ---- Handles and statuses as words of our own: what the library knows of an MPI is the same whatever the MPI is ----
//
// A word holds the value that the MPI gave. Where its handles are pointers that is the pointer; where they are ints,
// the word's lower half, and the upper half is zero. Machines are little-endian, so an MPI function that writes a
// handle to where a word is writes the lower half, and one that is given a word takes what it needs of the register. So
// functions of all MPIs are called with words, without a layer between. Three things are left to those who deal with
// the program and the MPI: a handle that the program gives us, whose upper half may be anything (given()); one that we
// give the program (give()); arrays of handles, which lie as the MPI has them (MpiTypes, MpiRequests, MpiArray), as
// statuses do.

static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8, "see above");

// The null word, all zero, is no handle of any MPI; what an MPI calls null is in its table.
template <class Kind>
struct MpiHandle {
  std::uintptr_t word = 0;
  friend bool operator==(const MpiHandle&, const MpiHandle&) = default;
};
using MpiComm = MpiHandle<struct CommKind>;
using MpiType = MpiHandle<struct TypeKind>;
using MpiRequest = MpiHandle<struct RequestKind>;
using MpiGroup = MpiHandle<struct GroupKind>;
using MpiInfo = MpiHandle<struct InfoKind>;
using MpiOp = MpiHandle<struct OpKind>;
using MpiErrhandler = MpiHandle<struct ErrhandlerKind>;

using MpiAint = std::ptrdiff_t;
using MpiCount = std::int64_t;

// Of all MPIs.
inline constexpr int mpi_success = 0;

// As large as that of any MPI. Its fields are where the MPI has them: source_in() and so on, below.
struct MpiStatus {
  alignas(8) std::byte native[40] = {};
};

namespace detail {
// Bytes of a handle of this MPI, the part of a word that they are, and MPI_IN_PLACE. Set with the table.
inline constinit std::size_t handle_bytes = sizeof(std::uintptr_t);
inline constinit std::uintptr_t handle_mask = ~std::uintptr_t{0};
inline constinit const void* in_place = nullptr;
}  // namespace detail

// An array of handles as the MPI has it: of the program's, or of an MpiArray. Passed as its address.
template <class Handle>
struct MpiHandles {
  const void* first = nullptr;
  Handle operator[](std::size_t index) const {
    if (detail::handle_bytes == sizeof(Handle)) return static_cast<const Handle*>(first)[index];
    return {static_cast<const std::uint32_t*>(first)[index]};
  }
  // For a function of the MPI. Not to be read or written as a word.
  Handle* at(std::size_t index) const {
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(first));
    return reinterpret_cast<Handle*>(bytes + index * detail::handle_bytes);
  }
  explicit operator bool() const { return first != nullptr; }
  friend bool operator==(const MpiHandles&, const MpiHandles&) = default;
};
using MpiTypes = MpiHandles<MpiType>;
using MpiRequests = MpiHandles<MpiRequest>;

// An array of one handle, which the MPI may write.
template <class Handle>
MpiHandles<Handle> one(const Handle& handle) {
  return {&handle};
}

// An array of our own.
template <class Handle>
class MpiArray {
 public:
  MpiArray() = default;
  MpiArray(std::size_t size, Handle handle) { resize(size, handle); }
  MpiArray(std::initializer_list<Handle> handles) {
    for (const Handle handle : handles) push_back(handle);
  }

  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size() / detail::handle_bytes; }
  void reserve(std::size_t size) { bytes_.reserve(size * detail::handle_bytes); }
  void clear() { bytes_.clear(); }
  // Others are `handle`.
  void resize(std::size_t size, Handle handle) {
    const std::size_t before = this->size();
    bytes_.resize(size * detail::handle_bytes);
    for (std::size_t i = before; i < size; ++i) set(i, handle);
  }
  void push_back(Handle handle) { resize(size() + 1, handle); }
  void assign(MpiHandles<Handle> from, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(from.first);
    bytes_.assign(first, first + size * detail::handle_bytes);
  }

  Handle operator[](std::size_t index) const { return all()[index]; }
  void set(std::size_t index, Handle handle) { std::memcpy(at(index), &handle, detail::handle_bytes); }
  Handle* at(std::size_t index) { return all().at(index); }
  MpiHandles<Handle> all() const { return {bytes_.data()}; }

 private:
  std::vector<std::byte> bytes_;
};

// ---- Functions and constants ----

// The functions of the MPI that the library calls, beside those of the collectives, in words of our own: X(Name,
// result, (parameters)), where `Name` is what follows "PMPI_". Every supported MPI has them. That each is what the MPI
// declares is checked where its ABI is known (abi/constants.cpp). In a list that clang-format would spoil.
// clang-format off
#define QUADRILLE_MPI_REQUIRED(X) \
  X(Alloc_mem, int, (MpiAint, MpiInfo, void*))                                                                       \
  X(Allreduce, int, (const void*, void*, int, MpiType, MpiOp, MpiComm)) X(Barrier, int, (MpiComm))                   \
  X(Bcast, int, (void*, int, MpiType, int, MpiComm)) X(Cancel, int, (MpiRequest*))                                   \
  X(Cart_create, int, (MpiComm, int, const int*, const int*, int, MpiComm*))                                         \
  X(Cart_get, int, (MpiComm, int, int*, int*, int*)) X(Cart_rank, int, (MpiComm, const int*, int*))                  \
  X(Cartdim_get, int, (MpiComm, int*)) X(Comm_call_errhandler, int, (MpiComm, int))                                  \
  X(Comm_create, int, (MpiComm, MpiGroup, MpiComm*)) X(Comm_create_group, int, (MpiComm, MpiGroup, int, MpiComm*))   \
  X(Comm_create_keyval, int, (int (*)(MpiComm, int, void*, void*, void*, int*), int (*)(MpiComm, int, void*, void*), int*, void*)) \
  X(Comm_disconnect, int, (MpiComm*)) X(Comm_free, int, (MpiComm*))                                                  \
  X(Comm_get_attr, int, (MpiComm, int, void*, int*))                                                                 \
  X(Comm_get_errhandler, int, (MpiComm, MpiErrhandler*)) X(Comm_get_info, int, (MpiComm, MpiInfo*))                  \
  X(Comm_get_name, int, (MpiComm, char*, int*)) X(Comm_group, int, (MpiComm, MpiGroup*))                             \
  X(Comm_rank, int, (MpiComm, int*)) X(Comm_remote_size, int, (MpiComm, int*))                                       \
  X(Comm_set_attr, int, (MpiComm, int, void*)) X(Comm_set_errhandler, int, (MpiComm, MpiErrhandler))                 \
  X(Comm_size, int, (MpiComm, int*)) X(Comm_split, int, (MpiComm, int, int, MpiComm*))                               \
  X(Comm_split_type, int, (MpiComm, int, int, MpiInfo, MpiComm*)) X(Comm_test_inter, int, (MpiComm, int*))           \
  X(Dims_create, int, (int, int, int*))                                                                              \
  X(Dist_graph_create, int, (MpiComm, int, const int*, const int*, const int*, const int*, MpiInfo, int, MpiComm*))  \
  X(Dist_graph_create_adjacent, int, (MpiComm, int, const int*, const int*, int, const int*, const int*, MpiInfo, int, MpiComm*)) \
  X(Dist_graph_neighbors, int, (MpiComm, int, int*, int*, int, int*, int*))                                          \
  X(Dist_graph_neighbors_count, int, (MpiComm, int*, int*, int*)) X(Errhandler_free, int, (MpiErrhandler*))          \
  X(Error_class, int, (int, int*)) X(Finalize, int, ()) X(Finalized, int, (int*)) X(Free_mem, int, (void*))          \
  X(Gather, int, (const void*, int, MpiType, void*, int, MpiType, int, MpiComm))                                     \
  X(Get_elements_x, int, (const MpiStatus*, MpiType, MpiCount*)) X(Get_library_version, int, (char*, int*))          \
  X(Get_processor_name, int, (char*, int*)) X(Graph_neighbors, int, (MpiComm, int, int, int*))                       \
  X(Graph_neighbors_count, int, (MpiComm, int, int*)) X(Grequest_complete, int, (MpiRequest))                        \
  X(Grequest_start, int, (int (*)(void*, MpiStatus*), int (*)(void*), int (*)(void*, int), void*, MpiRequest*))      \
  X(Group_free, int, (MpiGroup*)) X(Group_range_incl, int, (MpiGroup, int, int (*)[3], MpiGroup*))                   \
  X(Group_size, int, (MpiGroup, int*)) X(Group_translate_ranks, int, (MpiGroup, int, const int*, MpiGroup, int*))    \
  X(Iallreduce, int, (const void*, void*, int, MpiType, MpiOp, MpiComm, MpiRequest*))                                \
  X(Ibarrier, int, (MpiComm, MpiRequest*)) X(Ibcast, int, (void*, int, MpiType, int, MpiComm, MpiRequest*))          \
  X(Info_create, int, (MpiInfo*)) X(Info_free, int, (MpiInfo*))                                                      \
  X(Info_get, int, (MpiInfo, const char*, int, char*, int*)) X(Info_get_nkeys, int, (MpiInfo, int*))                 \
  X(Info_get_nthkey, int, (MpiInfo, int, char*)) X(Info_set, int, (MpiInfo, const char*, const char*))               \
  X(Init, int, (int*, char***)) X(Init_thread, int, (int*, char***, int, int*)) X(Initialized, int, (int*))          \
  X(Iprobe, int, (int, int, MpiComm, int*, MpiStatus*))                                                              \
  X(Irecv, int, (void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                               \
  X(Isend, int, (const void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                         \
  X(Issend, int, (const void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                        \
  X(Pack, int, (const void*, int, MpiType, void*, int, int*, MpiComm)) X(Query_thread, int, (int*))                  \
  X(Recv_init, int, (void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                           \
  X(Request_free, int, (MpiRequest*)) X(Request_get_status, int, (MpiRequest, int*, MpiStatus*))                     \
  X(Send, int, (const void*, int, MpiType, int, int, MpiComm))                                                       \
  X(Sendrecv, int, (const void*, int, MpiType, int, int, void*, int, MpiType, int, int, MpiComm, MpiStatus*))        \
  X(Start, int, (MpiRequest*)) X(Startall, int, (int, MpiRequests)) X(Status_set_cancelled, int, (MpiStatus*, int))  \
  X(Status_set_elements, int, (MpiStatus*, MpiType, int)) X(T_cvar_get_index, int, (const char*, int*))              \
  X(T_cvar_handle_alloc, int, (int, void*, void**, int*)) X(T_cvar_handle_free, int, (void**))                       \
  X(T_cvar_write, int, (void*, const void*)) X(T_finalize, int, ()) X(T_init_thread, int, (int, int*))               \
  X(Test, int, (MpiRequest*, int*, MpiStatus*)) X(Testall, int, (int, MpiRequests, int*, MpiStatus*))                \
  X(Testany, int, (int, MpiRequests, int*, int*, MpiStatus*))                                                        \
  X(Testsome, int, (int, MpiRequests, int*, int*, MpiStatus*)) X(Topo_test, int, (MpiComm, int*))                    \
  X(Type_commit, int, (MpiType*)) X(Type_contiguous, int, (int, MpiType, MpiType*))                                  \
  X(Type_create_hindexed, int, (int, const int*, const MpiAint*, MpiType, MpiType*))                                 \
  X(Type_create_hvector, int, (int, int, MpiAint, MpiType, MpiType*))                                                \
  X(Type_create_keyval, int, (int (*)(MpiType, int, void*, void*, void*, int*), int (*)(MpiType, int, void*, void*), int*, void*)) \
  X(Type_create_resized, int, (MpiType, MpiAint, MpiAint, MpiType*))                                                 \
  X(Type_create_struct, int, (int, const int*, const MpiAint*, MpiTypes, MpiType*))                                  \
  X(Type_create_subarray, int, (int, const int*, const int*, const int*, int, MpiType, MpiType*))                    \
  X(Type_free, int, (MpiType*))                                                                                      \
  X(Type_get_attr, int, (MpiType, int, void*, int*))                                                                 \
  X(Type_get_contents, int, (MpiType, int, int, int, int*, MpiAint*, MpiTypes))                                      \
  X(Type_get_envelope, int, (MpiType, int*, int*, int*, int*))                                                       \
  X(Type_get_extent, int, (MpiType, MpiAint*, MpiAint*)) X(Type_get_true_extent, int, (MpiType, MpiAint*, MpiAint*)) \
  X(Type_set_attr, int, (MpiType, int, void*)) X(Type_size_x, int, (MpiType, MpiCount*))                             \
  X(Unpack, int, (const void*, int, int*, void*, int, MpiType, MpiComm)) X(Wait, int, (MpiRequest*, MpiStatus*))     \
  X(Waitall, int, (int, MpiRequests, MpiStatus*)) X(Waitany, int, (int, MpiRequests, int*, MpiStatus*))              \
  X(Waitsome, int, (int, MpiRequests, int*, int*, MpiStatus*)) X(Wtime, double, ())

// Functions that an MPI may lack; they are null then: X(Name, result, (parameters), name in the library).
//   Async_start, opal_progress_...   by which an MPI calls others while it makes progress (mpi/progress.hpp)
//   Comm_get_failed, ..._is_revoked  what an MPI says of a communicator where its fault tolerance is enabled
//   Comm_revoke                      ends all messages in flight on a communicator, on all of its ranks
//   GPU_query_support, Query_...     extensions: whether the MPI's functions take a device's memory
//   Request_is_complete              of MPICH: looks at a request, and at nothing else
//   Type_get_envelope_c              of MPI 4; the older function fails for types made with large counts
#define QUADRILLE_MPI_OPTIONAL(X) \
  X(Async_start, int, (int (*)(void*), void*, int), PMPIX_Async_start)                                               \
  X(Comm_get_failed, int, (MpiComm, MpiGroup*), PMPIX_Comm_get_failed)                                               \
  X(Comm_is_revoked, int, (MpiComm, int*), PMPIX_Comm_is_revoked)                                                    \
  X(Comm_revoke, int, (MpiComm), PMPIX_Comm_revoke)                                                                  \
  X(GPU_query_support, int, (int, int*), MPIX_GPU_query_support)                                                     \
  X(Query_cuda_support, int, (), MPIX_Query_cuda_support) X(Query_hip_support, int, (), MPIX_Query_hip_support)      \
  X(Query_rocm_support, int, (), MPIX_Query_rocm_support)                                                            \
  X(Request_is_complete, int, (MpiRequest), MPIX_Request_is_complete)                                                \
  X(Type_get_envelope_c, int, (MpiType, MpiCount*, MpiCount*, MpiCount*, MpiCount*, int*), PMPI_Type_get_envelope_c) \
  X(opal_progress_register, int, (int (*)()), opal_progress_register)                                                \
  X(opal_progress_unregister, int, (int (*)()), opal_progress_unregister)
// clang-format on

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
  // Blocking collectives that two threads make on two communicators wait for each other for ever, inside a node.
  bool threads_block_collectives = false;
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

// ---- What the program passes and gets ----

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

// ---- Faults: the death of a rank ----

// Whether the MPI lets a program survive the death of a rank, as this process is set up, for example by
// `mpirun --with-ft ulfm` or a file of settings. MPI must be initialised.
bool tolerates_faults();

// Whether the MPI tolerates faults, and reports failures and revocations: Open MPI from 5.0 on. MPICH and Intel MPI do
// not report revocations.
inline bool reports_faults() {
  const Mpi& t = mpi();
  const bool has_all = t.Comm_is_revoked != nullptr && t.Comm_get_failed != nullptr && t.Comm_revoke != nullptr;
  return has_all && t.abi == Abi::openmpi && t.ftmpi_enabled != nullptr && *t.ftmpi_enabled;
}
// Whether this rank's MPI knows of a failed rank of `comm`. Only where reports_faults(). `among`: the ranks of `comm`
// that count; empty: all of them. Does not wait.
bool has_failed_rank(MpiComm comm, const std::vector<int>& among = {});

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

// ---- What is asked once, and what is remembered ----

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

// From MPI_Init on until MPI_Finalize has returned: its callbacks may still call MPI.
inline bool may_call_mpi() {
  int initialized = 0, finalized = 0;
  mpi().Initialized(&initialized);
  if (initialized == 0) return false;
  mpi().Finalized(&finalized);
  return finalized == 0;
}

// The level of threads that the MPI has provided.
inline int thread_level(int unless_told) {
  static constinit FirstAnswer<int> level(-1);
  const int told = level.get([] {
    int provided = -1;
    return mpi().Query_thread(&provided) == mpi_success ? provided : -1;
  });
  return told < 0 ? unless_told : told;
}

// ---- Blocking collectives that the program knows nothing of ----

namespace detail {
// A program may have another thread in such a one, on another communicator: where the MPI is not up to that, the call
// is made by its nonblocking twin, which is. On all ranks alike, whatever levels of threads they have.
template <class Blocking, class Nonblocking, class... Arguments>
int block(Blocking* blocking, Nonblocking* nonblocking, Arguments... arguments) {
  if (!mpi().threads_block_collectives) return blocking(arguments...);
  MpiRequest request;
  const int error = nonblocking(arguments..., &request);
  return error != mpi_success ? error : mpi().Wait(&request, mpi().status_ignore);
}
}  // namespace detail

// As the MPI's functions of these names.
namespace ours {
template <class... Arguments>
int allgather(Arguments... arguments) {
  return detail::block(mpi().Allgather, mpi().Iallgather, arguments...);
}
template <class... Arguments>
int allreduce(Arguments... arguments) {
  return detail::block(mpi().Allreduce, mpi().Iallreduce, arguments...);
}
template <class... Arguments>
int alltoall(Arguments... arguments) {
  return detail::block(mpi().Alltoall, mpi().Ialltoall, arguments...);
}
template <class... Arguments>
int bcast(Arguments... arguments) {
  return detail::block(mpi().Bcast, mpi().Ibcast, arguments...);
}
}  // namespace ours

// Validity key of what threads cache of earlier calls. The key grows whenever something that is cached may be wrong: a
// datatype or communicator was freed, whose handle the MPI may give to another one, or other algorithms serve the calls
// from now on.
inline std::atomic<std::uint64_t> generation{1};

inline std::uint64_t cache_generation() { return generation.load(std::memory_order_acquire); }
inline void drop_cached_calls() { generation.fetch_add(1, std::memory_order_acq_rel); }

// ---- Errors: no exception leaves a door, or a function that an MPI calls back, as the callers are C and Fortran ----

// Does `work`. Returns what it threw as an MPI error code; MPI_SUCCESS: nothing. Only what the library throws is
// caught: a thread that is cancelled unwinds, too.
template <class Work>
int thrown_by(Work&& work) {
  try {
    work();
    return mpi_success;
  } catch (const std::bad_alloc&) {
    return mpi().err_no_mem;
  } catch (const std::exception&) {
    return mpi().err_other;
  }
}

// Keeps the first error. Peers wait for us, so an error never ends a traversal.
inline void keep(int& first, int error) {
  if (first == mpi_success) first = error;
}

// ---- Fields of a status ----

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

template <class Kind>
struct std::hash<quadrille::MpiHandle<Kind>> {
  std::size_t operator()(const quadrille::MpiHandle<Kind>& handle) const noexcept {
    return std::hash<std::uintptr_t>()(handle.word);
  }
};
