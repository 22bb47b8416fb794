#include "mpi/byte_type.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "mpi/types.hpp"

namespace quadrille {
namespace {

// Some types of Fortran have no name, but are predefined, too.
bool is_basic(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

// How a type was made: the arguments of its constructor, as MPI_Type_get_contents orders them.
struct Construction {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;

  Construction() = default;
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;
  // The MPI gives handles of our own of all types but basic ones.
  ~Construction() {
    for (MPI_Datatype& type : types) {
      int unused = 0, of = MPI_COMBINER_NAMED;
      mpi().Type_get_envelope(type, &unused, &unused, &unused, &of);
      if (!is_basic(of)) mpi().Type_free(&type);
    }
  }

  int read(MPI_Datatype type) {
    int numbers = 0, places = 0, parts = 0;
    const int error = mpi().Type_get_envelope(type, &numbers, &places, &parts, &combiner);
    if (error != MPI_SUCCESS || is_basic(combiner)) return error;
    integers.resize(static_cast<std::size_t>(numbers) + 1);  // never without memory
    addresses.resize(static_cast<std::size_t>(places) + 1);
    std::vector<MPI_Datatype> found(static_cast<std::size_t>(parts) + 1);
    const int unread =
        mpi().Type_get_contents(type, numbers, places, parts, integers.data(), addresses.data(), found.data());
    if (unread != MPI_SUCCESS) return unread;
    found.pop_back();
    types = std::move(found);
    return MPI_SUCCESS;
  }
};

struct OwnTypes : std::vector<MPI_Datatype> {
  OwnTypes() = default;
  OwnTypes(const OwnTypes&) = delete;
  OwnTypes& operator=(const OwnTypes&) = delete;
  ~OwnTypes() {
    for (MPI_Datatype& type : *this) mpi().Type_free(&type);
  }
};

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  mpi().Type_get_extent(type, &lower, &extent);
  return extent;
}

// `count` displacements in elements, as bytes.
std::vector<MPI_Aint> in_bytes(const int* displacements, int count, MPI_Datatype element) {
  const MPI_Aint extent = extent_of(element);
  std::vector<MPI_Aint> places;
  places.reserve(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; ++i) places.push_back(displacements[i] * extent);
  return places;
}

int blocks_of_one_length(int count, int length, const MPI_Aint* places, MPI_Datatype element, MPI_Datatype& made) {
  const std::vector<int> lengths(static_cast<std::size_t>(count) + 1, length);
  return mpi().Type_create_hindexed(count, lengths.data(), places, element, &made);
}

// The same construction out of other types. Bounds may differ: they follow from the alignment of basic types.
int construct(const Construction& as, const std::vector<MPI_Datatype>& of, MPI_Datatype& made) {
  const int* const i = as.integers.data();
  const MPI_Aint* const a = as.addresses.data();
  const int count = i[0];
  switch (as.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return mpi().Type_contiguous(1, of[0], &made);
    case MPI_COMBINER_CONTIGUOUS:
      return mpi().Type_contiguous(count, of[0], &made);
    case MPI_COMBINER_VECTOR:
      return mpi().Type_create_hvector(count, i[1], i[2] * extent_of(of[0]), of[0], &made);
    case MPI_COMBINER_HVECTOR:
      return mpi().Type_create_hvector(count, i[1], a[0], of[0], &made);
    case MPI_COMBINER_INDEXED:
      return mpi().Type_create_hindexed(count, i + 1, in_bytes(i + 1 + count, count, of[0]).data(), of[0], &made);
    case MPI_COMBINER_HINDEXED:
      return mpi().Type_create_hindexed(count, i + 1, a, of[0], &made);
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks_of_one_length(count, i[1], in_bytes(i + 2, count, of[0]).data(), of[0], made);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks_of_one_length(count, i[1], a, of[0], made);
    case MPI_COMBINER_STRUCT:
      return mpi().Type_create_struct(count, i + 1, a, of.data(), &made);
    case MPI_COMBINER_SUBARRAY:
      return mpi().Type_create_subarray(count, i + 1, i + 1 + count, i + 1 + std::ptrdiff_t{2} * count,
                                        i[1 + std::ptrdiff_t{3} * count], of[0], &made);
    default:
      return MPI_ERR_TYPE;
  }
}

// A pair of a number and an index may have a gap.
int bytes_of_basic(MPI_Datatype type, MPI_Datatype& made) {
  const TypeInfo info = type_info(type);
  if (info.dense) return mpi().Type_contiguous(static_cast<int>(info.size), mpi().byte, &made);
  if (info.runs == nullptr) return MPI_ERR_TYPE;
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (const TypeRun& run : *info.runs) {
    lengths.push_back(static_cast<int>(run.bytes));
    places.push_back(run.at);
  }
  return mpi().Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), mpi().byte, &made);
}

// Replaces `made` by a type with the bounds of `type`.
int take_bounds(MPI_Datatype type, MPI_Datatype& made) {
  MPI_Aint lower = 0, extent = 0, made_lower = 0, made_extent = 0;
  mpi().Type_get_extent(type, &lower, &extent);
  mpi().Type_get_extent(made, &made_lower, &made_extent);
  if (lower == made_lower && extent == made_extent) return MPI_SUCCESS;
  MPI_Datatype old = made;
  const int error = mpi().Type_create_resized(old, lower, extent, &made);
  mpi().Type_free(&old);
  return error;
}

// Not committed.
int bytes_of(MPI_Datatype type, MPI_Datatype& made) {
  Construction construction;
  int error = construction.read(type);
  if (error != MPI_SUCCESS) return error;
  if (is_basic(construction.combiner)) {
    error = bytes_of_basic(type, made);
  } else {
    OwnTypes parts;
    for (const MPI_Datatype part : construction.types) {
      MPI_Datatype bytes;
      if (error = bytes_of(part, bytes); error != MPI_SUCCESS) return error;
      parts.push_back(bytes);
    }
    error = construct(construction, parts, made);
  }
  return error == MPI_SUCCESS ? take_bounds(type, made) : error;
}

MPI_Count size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  mpi().Type_size_x(type, &size);
  return size;
}

}  // namespace

bool make_byte_type(MPI_Datatype type, MPI_Datatype& made) {
  if (bytes_of(type, made) != MPI_SUCCESS) return false;
  if (size_of(made) == size_of(type) && mpi().Type_commit(&made) == MPI_SUCCESS) return true;
  mpi().Type_free(&made);
  return false;
}

ByteTypes::~ByteTypes() {
  for (auto& [type, made] : made_) mpi().Type_free(&made);
}

bool ByteTypes::find(MPI_Datatype type, MPI_Datatype& found) {
  if (const auto at = made_.find(type); at != made_.end()) {
    found = at->second;
    return true;
  }
  if (!make_byte_type(type, found)) return false;
  made_.emplace(type, found);
  return true;
}

}  // namespace quadrille
