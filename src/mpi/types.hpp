// What Quadrille needs to know of a datatype, and moving typed data to and from plain bytes. And communicators of our
// own that need no team.
//
// MPI_Pack and MPI_Unpack of a few bytes cost more than a whole exchange through inboxes. So the layout
// of a datatype with gaps is read once, and its bytes are then copied by us.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "mpi/mpi.hpp"

namespace quadrille {

// Consecutive bytes of an element, `at` bytes from the element's address.
struct TypeRun {
  std::ptrdiff_t at;
  std::size_t bytes;
};

struct TypeInfo {
  std::size_t size = 0;       // bytes of data of one element
  std::ptrdiff_t extent = 0;  // bytes from one element to the next
  // n elements are n * size consecutive bytes from the buffer's address on, in order: they can be
  // copied as bytes. False when in doubt.
  bool dense = false;
  // Where the MPI refuses types that are not, and tells so. Of a type that is not, nothing is kept.
  bool committed = true;
  // Where the bytes of one element are, in the order in which they are packed. Null for dense types, and
  // where only the MPI knows. Lives as long as the type.
  const std::vector<TypeRun>* runs = nullptr;
};

// How a type was made, as MPI_Type_get_envelope() says.
struct Envelope {
  int combiner = 0;
  int integers = 0, addresses = 0, types = 0;
  bool is_large = false;  // by a function with large counts: of the rest only the combiner is known
};
// A type that comes with the MPI if that cannot tell. Returns the MPI's error.
int read_envelope(MpiType type, Envelope& envelope);
// Of a type that comes with the MPI, and is never freed. Some types of Fortran have no name, but are predefined, too.
bool is_basic(int combiner);

namespace detail {
// The types that nearly all programs use, found without asking the MPI. They are never freed, so a
// handle stays what it is.
struct KnownType {
  MpiType type;
  TypeInfo info;
};
extern std::atomic<const std::array<KnownType, 4>*> known_types;
const std::array<KnownType, 4>& find_known_types();
TypeInfo remembered_info(MpiType type);
// Null if it is another type.
inline const TypeInfo* known_info(MpiType type) {
  const auto* known = known_types.load(std::memory_order_acquire);
  for (const KnownType& one : known != nullptr ? *known : find_known_types()) {
    if (one.type == type) return &one.info;
  }
  return nullptr;
}
}  // namespace detail

// `type` is a datatype, or the null datatype, which has size zero. What was found out is kept as an attribute of the
// type.
inline TypeInfo type_info(MpiType type) {
  const TypeInfo* const known = detail::known_info(type);
  return known != nullptr ? *known : detail::remembered_info(type);
}

// Is it one of those that nearly all programs use, and that come with MPI?
inline bool is_well_known(MpiType type) { return detail::known_info(type) != nullptr; }

// The bytes of data of one element of `type`, which is not the null datatype; nothing if it is not committed. Quicker
// than type_info() for types that were looked at before.
std::optional<std::size_t> size_if_committed(MpiType type);

inline bool is_committed(MpiType type) { return size_if_committed(type).has_value(); }

// MPI_Pack and MPI_Unpack of no more than they can count, also of types with absolute addresses.
int pack_at_once(const void* from, std::size_t count, MpiType type, std::byte* bytes, std::size_t room, MpiComm comm);
int unpack_at_once(const void* to, std::size_t count, MpiType type, std::byte* bytes, std::size_t room, MpiComm comm);

// Copies `count` elements between user memory and consecutive bytes. `bytes` has room for
// count * info.size bytes. `comm` is private to Quadrille. Returns an MPI error code.
int pack(const void* from, std::size_t count, MpiType type, const TypeInfo& info, std::byte* bytes, MpiComm comm);
int unpack(const std::byte* bytes, void* to, std::size_t count, MpiType type, const TypeInfo& info, MpiComm comm);

// Reads the layout of one element of `type`, a committed type of `size` bytes of data that lie within
// [true_lower, true_lower + true_extent). False if it is too large or the MPI does not pack it byte by
// byte; then `runs` is empty.
bool find_runs(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
               std::vector<TypeRun>& runs);

// The same for elements of any size that the MPI can unpack (2 GiB), in order of addresses: for who has to know what is
// not theirs. It takes as much memory as the element and as much time as unpacking it, and is not kept.
bool find_bytes(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
                std::vector<TypeRun>& runs);

// Copies `count` elements of a type with info.runs to and from consecutive bytes.
void pack_runs(const void* from, std::size_t count, const TypeInfo& info, std::byte* bytes);
void unpack_runs(const std::byte* bytes, void* to, std::size_t count, const TypeInfo& info);

// A committed datatype of `count` elements of `type` when count does not fit an int. Free it.
int make_large_type(std::size_t count, MpiType type, MpiType& large);

// A communicator of the same ranks, made from their group: by MPI_Comm_dup the copy callbacks of the program's
// attributes would run. Collective; returns the MPI's error code.
int make_plain(MpiComm of, MpiComm* made);
// A communicator of this process alone that returns errors. Several threads may make one at a time. Returns the MPI's
// error code.
int make_alone(MpiComm* made);
// The one of Quadrille's own; MPI_COMM_SELF if the MPI cannot make it.
MpiComm own_comm();

}  // namespace quadrille
