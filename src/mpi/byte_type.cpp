#include "mpi/byte_type.hpp"

#include <cstddef>
#include <vector>

#include "mpi/types.hpp"

namespace quadrille {
namespace {

// MPI_Type_get_contents gives us handles of our own, but of basic types. Types of bytes are our own and never basic.
void free_own(MpiType type) {
  Envelope of;
  read_envelope(type, of);
  if (!is_basic(of.combiner)) mpi().Type_free(&type);
}

// How a type was made: the arguments of its constructor, as MPI_Type_get_contents orders them.
struct Construction {
  int combiner = mpi().combiner_named;
  std::vector<int> integers;
  std::vector<MpiAint> addresses;
  MpiArray<MpiType> types;
  std::size_t parts = 0;  // how many types

  Construction& operator=(Construction&&) = delete;
  ~Construction() {
    for (std::size_t p = 0; p < parts; ++p) free_own(types[p]);
  }

  int read(MpiType type) {
    Envelope made;
    if (const int error = read_envelope(type, made); error != mpi_success) return error;
    combiner = made.combiner;
    if (is_basic(combiner)) return mpi_success;
    if (made.is_large) return mpi().err_type;
    integers.resize(static_cast<std::size_t>(made.integers) + 1);  // never without memory
    addresses.resize(static_cast<std::size_t>(made.addresses) + 1);
    types.resize(static_cast<std::size_t>(made.types) + 1, {});
    const int unread = mpi().Type_get_contents(type, made.integers, made.addresses, made.types, integers.data(),
                                               addresses.data(), types.all());
    if (unread == mpi_success) parts = static_cast<std::size_t>(made.types);
    return unread;
  }
  // Replaces a part.
  void put(std::size_t part, MpiType type) {
    free_own(types[part]);
    types.set(part, type);
  }
};

MpiAint extent_of(MpiType type) {
  MpiAint lower = 0, extent = 0;
  mpi().Type_get_extent(type, &lower, &extent);
  return extent;
}

// `count` displacements in elements, as bytes.
std::vector<MpiAint> in_bytes(const int* displacements, int count, MpiType element) {
  const MpiAint extent = extent_of(element);
  std::vector<MpiAint> places;
  places.reserve(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; ++i) places.push_back(displacements[i] * extent);
  return places;
}

int blocks_of_one_length(int count, int length, const MpiAint* places, MpiType element, MpiType& made) {
  const std::vector<int> lengths(static_cast<std::size_t>(count) + 1, length);
  return mpi().Type_create_hindexed(count, lengths.data(), places, element, &made);
}

// The same construction out of other types. Bounds may differ: they follow from the alignment of basic types.
int construct(const Construction& as, MpiType& made) {
  const MpiArray<MpiType>& of = as.types;
  const int* const i = as.integers.data();
  const MpiAint* const a = as.addresses.data();
  const int count = i[0];
  const Mpi& t = mpi();
  const auto is = [&](auto... combiners) { return (false || ... || (as.combiner == combiners)); };
  if (is(t.combiner_dup, t.combiner_resized)) return t.Type_contiguous(1, of[0], &made);
  if (is(t.combiner_contiguous)) return t.Type_contiguous(count, of[0], &made);
  if (is(t.combiner_vector)) return t.Type_create_hvector(count, i[1], i[2] * extent_of(of[0]), of[0], &made);
  if (is(t.combiner_hvector)) return t.Type_create_hvector(count, i[1], a[0], of[0], &made);
  if (is(t.combiner_indexed))
    return t.Type_create_hindexed(count, i + 1, in_bytes(i + 1 + count, count, of[0]).data(), of[0], &made);
  if (is(t.combiner_hindexed)) return t.Type_create_hindexed(count, i + 1, a, of[0], &made);
  if (is(t.combiner_indexed_block))
    return blocks_of_one_length(count, i[1], in_bytes(i + 2, count, of[0]).data(), of[0], made);
  if (is(t.combiner_hindexed_block)) return blocks_of_one_length(count, i[1], a, of[0], made);
  if (is(t.combiner_struct)) return t.Type_create_struct(count, i + 1, a, of.all(), &made);
  if (is(t.combiner_subarray))
    return t.Type_create_subarray(count, i + 1, i + 1 + count, i + 1 + std::ptrdiff_t{2} * count,
                                  i[1 + std::ptrdiff_t{3} * count], of[0], &made);
  return t.err_type;
}

// A pair of a number and an index may have a gap.
int bytes_of_basic(MpiType type, MpiType& made) {
  const TypeInfo info = type_info(type);
  if (info.dense) return mpi().Type_contiguous(static_cast<int>(info.size), mpi().byte, &made);
  if (info.runs == nullptr) return mpi().err_type;
  std::vector<int> lengths;
  std::vector<MpiAint> places;
  for (const TypeRun& run : *info.runs) {
    lengths.push_back(static_cast<int>(run.bytes));
    places.push_back(run.at);
  }
  return mpi().Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), mpi().byte, &made);
}

// Replaces `made` by a type with the bounds of `type`.
int take_bounds(MpiType type, MpiType& made) {
  MpiAint lower = 0, extent = 0, made_lower = 0, made_extent = 0;
  mpi().Type_get_extent(type, &lower, &extent);
  mpi().Type_get_extent(made, &made_lower, &made_extent);
  if (lower == made_lower && extent == made_extent) return mpi_success;
  MpiType old = made;
  const int error = mpi().Type_create_resized(old, lower, extent, &made);
  mpi().Type_free(&old);
  return error;
}

// Not committed.
int bytes_of(MpiType type, MpiType& made) {
  Construction construction;
  int error = construction.read(type);
  if (error != mpi_success) return error;
  if (is_basic(construction.combiner)) {
    error = bytes_of_basic(type, made);
  } else {
    for (std::size_t p = 0; p < construction.parts; ++p) {
      MpiType bytes;
      if (error = bytes_of(construction.types[p], bytes); error != mpi_success) return error;
      construction.put(p, bytes);
    }
    error = construct(construction, made);
  }
  return error == mpi_success ? take_bounds(type, made) : error;
}

MpiCount size_of(MpiType type) {
  MpiCount size = 0;
  mpi().Type_size_x(type, &size);
  return size;
}

}  // namespace

bool make_byte_type(MpiType type, MpiType& made) {
  if (bytes_of(type, made) != mpi_success) return false;
  if (size_of(made) == size_of(type) && mpi().Type_commit(&made) == mpi_success) return true;
  mpi().Type_free(&made);
  return false;
}

ByteTypes::~ByteTypes() {
  for (auto& [type, made] : made_) mpi().Type_free(&made);
}

bool ByteTypes::find(MpiType type, MpiType& found) {
  if (const auto at = made_.find(type); at != made_.end()) {
    found = at->second;
    return true;
  }
  if (!make_byte_type(type, found)) return false;
  made_.emplace(type, found);
  return true;
}

}  // namespace quadrille
