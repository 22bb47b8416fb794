// MPI's handles and statuses as words of our own: what the library knows of an MPI is the same whatever the MPI is.
//
// A word holds the value that the MPI gave. Where its handles are pointers that is the pointer; where they are ints,
// the word's lower half, and the upper half is zero. Machines are little-endian, so an MPI function that writes a
// handle to where a word is writes the lower half, and one that is given a word takes what it needs of the register. So
// functions of all MPIs are called with words, without a layer between. Three things are left to those who deal with
// the program and the MPI: a handle that the program gives us, whose upper half may be anything (given()); one that we
// give the program (give()); arrays of handles, which lie as the MPI has them (MpiTypes, MpiRequests, MpiArray), as
// statuses do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <vector>

namespace quadrille {

static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8, "see above");

// The null word, all zero, is no handle of any MPI; what an MPI calls null is in its table (mpi/mpi.hpp).
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

// As large as that of any MPI. Its fields are where the MPI has them: source_in() and so on, in mpi/mpi.hpp.
struct MpiStatus {
  alignas(8) std::byte native[40] = {};
};

namespace detail {
// Bytes of a handle of this MPI, the part of a word that they are, and MPI_IN_PLACE. Set with the table (mpi/mpi.hpp).
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

}  // namespace quadrille

template <class Kind>
struct std::hash<quadrille::MpiHandle<Kind>> {
  std::size_t operator()(const quadrille::MpiHandle<Kind>& handle) const noexcept {
    return std::hash<std::uintptr_t>()(handle.word);
  }
};
