#include "mpi/types.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "mpi/generation.hpp"
#include "mpi/tags.hpp"
#include "mpi/type_runs.hpp"

namespace quadrille {
namespace {

// Larger elements are left to the MPI: asking whether they are dense would cost more than it gains.
constexpr std::size_t most_bytes_to_test = std::size_t{256} * 1024;

// Of this process alone, where errors come back. By MPI_Comm_dup the copy callbacks of the user's attributes would run.
MPI_Comm alone() {
  static const MPI_Comm comm = [] {
    MPI_Comm made = mpi().comm_self;
    MPI_Group group;
    if (mpi().Comm_group(mpi().comm_self, &group) != MPI_SUCCESS) return made;
    if (mpi().Comm_create(mpi().comm_self, group, &made) == MPI_SUCCESS) {
      mpi().Comm_set_errhandler(made, mpi().errors_return);
    }
    mpi().Group_free(&group);
    return made;
  }();
  return comm;
}

// MPI has no function that tells. But to pack nothing is an error as well if the type is not committed.
bool can_be_packed(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0, position = 0;
  if (mpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
      combiner == MPI_COMBINER_NAMED) {
    return true;
  }
  char in = 0, out = 0;
  return mpi().Pack(&in, 0, type, &out, 1, &position, alone()) == MPI_SUCCESS;
}

// The MPI itself says whether a type is dense: packed bytes come out as they were, in order.
// Pass k fills each byte with digit k (base 251) of its position, plus 1; two positions differ in some pass, and an
// unwritten byte stays zero.
bool packs_to_itself(MPI_Datatype type, std::size_t size) {
  constexpr std::size_t digits = 251;
  std::vector<unsigned char> in(size), out(size);
  for (std::size_t unit = 1; unit <= size; unit *= digits) {
    for (std::size_t i = 0; i < size; ++i) in[i] = static_cast<unsigned char>(i / unit % digits + 1);
    int position = 0;
    if (mpi().Pack(in.data(), 1, type, out.data(), static_cast<int>(size), &position, alone()) != MPI_SUCCESS ||
        static_cast<std::size_t>(position) != size || in != out) {
      return false;
    }
  }
  return true;
}

// A predefined type, or so many of one in a row, is as it looks: that saves the MPI the packing.
bool is_plain(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (mpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_CONTIGUOUS || integers != 1 || addresses != 0 || types != 1) return false;
  int count = 0;
  MPI_Aint none = 0;
  MPI_Datatype of;
  if (mpi().Type_get_contents(type, 1, 0, 1, &count, &none, &of) != MPI_SUCCESS) return false;
  if (mpi().Type_get_envelope(of, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  mpi().Type_free(&of);
  return false;
}

// What is kept as an attribute of a type.
struct Remembered {
  TypeInfo info;
  std::vector<TypeRun> runs;  // info.runs points here, if it is not null
};

TypeInfo examine(MPI_Datatype type, std::vector<TypeRun>& runs) {
  TypeInfo info;
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  mpi().Type_size_x(type, &size);
  mpi().Type_get_extent(type, &lower, &extent);
  mpi().Type_get_true_extent(type, &true_lower, &true_extent);
  info.extent = extent;
  info.size = static_cast<std::size_t>(size);
  info.committed = can_be_packed(type);
  if (!info.committed) return info;
  info.dense = lower == 0 && true_lower == 0 && extent == size && true_extent == size &&
               info.size <= most_bytes_to_test && (size == 0 || is_plain(type) || packs_to_itself(type, info.size));
  if (!info.dense && find_runs(type, info.size, true_lower, true_extent, runs)) info.runs = &runs;
  return info;
}

int forget_info(MPI_Datatype, int, void* value, void*) {
  forget_remembered();
  delete static_cast<Remembered*>(value);
  return MPI_SUCCESS;
}

int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int info_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    mpi().Type_create_keyval(copy_nothing, forget_info, &made, nullptr);
    return made;
  }();
  return keyval;
}

TypeInfo remembered(MPI_Datatype type) {
  void* value = nullptr;
  int found = 0;
  mpi().Type_get_attr(type, info_keyval(), &value, &found);
  if (found) return static_cast<Remembered*>(value)->info;
  auto made = std::make_unique<Remembered>();
  const TypeInfo info = made->info = examine(type, made->runs);
  if (info.committed) mpi().Type_set_attr(type, info_keyval(), made.release());
  return info;
}

using PackCall = int (*)(const void*, std::size_t, MPI_Datatype, std::byte*, std::size_t, MPI_Comm);

// A typed buffer as MPI_Pack takes it. Types of absolute addresses come with MPI_BOTTOM, and MPICH refuses
// a null address in MPI_Pack: then the address is moved one way and the type the other.
struct Packable {
  void* address;
  int count;
  MPI_Datatype type;
  bool made = false;
};

int make_packable(const void* user, std::size_t count, MPI_Datatype type, Packable& packable) {
  packable = {const_cast<void*>(user), static_cast<int>(count), type};
  if (user != nullptr) return MPI_SUCCESS;
  constexpr MPI_Aint shift = 64;
  const int length = packable.count;
  const MPI_Aint back = -shift;
  packable = {reinterpret_cast<void*>(shift), 1, type, true};
  const int error = mpi().Type_create_struct(1, &length, &back, &type, &packable.type);
  return error != MPI_SUCCESS ? error : mpi().Type_commit(&packable.type);
}

}  // namespace

int pack_at_once(const void* user, std::size_t count, MPI_Datatype type, std::byte* bytes, std::size_t room,
                 MPI_Comm comm) {
  Packable from;
  int position = 0;
  int error = make_packable(user, count, type, from);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Pack(from.address, from.count, from.type, bytes, static_cast<int>(room), &position, comm);
  if (from.made) mpi().Type_free(&from.type);
  return error;
}

int unpack_at_once(const void* user, std::size_t count, MPI_Datatype type, std::byte* bytes, std::size_t room,
                   MPI_Comm comm) {
  Packable to;
  int position = 0;
  int error = make_packable(user, count, type, to);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Unpack(bytes, static_cast<int>(room), &position, to.address, to.count, to.type, comm);
  if (to.made) mpi().Type_free(&to.type);
  return error;
}

namespace {

// Elements of more than 2 GiB do not fit MPI_Pack: one message to ourselves, typed on one side and
// bytes on the other, does the same.
int pack_huge(const void* user, std::size_t, MPI_Datatype type, std::byte* bytes, std::size_t room, MPI_Comm comm) {
  MPI_Datatype plain;
  int me = 0;
  mpi().Comm_rank(comm, &me);
  int error = make_large_type(room, mpi().byte, 1, plain);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Sendrecv(user, 1, type, me, tags::pack, bytes, 1, plain, me, tags::pack, comm, MPI_STATUS_IGNORE);
  mpi().Type_free(&plain);
  return error;
}

int unpack_huge(const void* user, std::size_t, MPI_Datatype type, std::byte* bytes, std::size_t room, MPI_Comm comm) {
  MPI_Datatype plain;
  int me = 0;
  mpi().Comm_rank(comm, &me);
  int error = make_large_type(room, mpi().byte, 1, plain);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Sendrecv(bytes, 1, plain, me, tags::pack, const_cast<void*>(user), 1, type, me, tags::pack, comm,
                         MPI_STATUS_IGNORE);
  mpi().Type_free(&plain);
  return error;
}

// MPI_Pack counts bytes in an int: go in pieces that fit.
int in_pieces(PackCall call, const void* user, std::size_t count, MPI_Datatype type, const TypeInfo& info,
              std::byte* bytes, MPI_Comm comm) {
  if (info.size == 0 || count == 0) return MPI_SUCCESS;
  const std::size_t most = std::max<std::size_t>(1, (std::size_t{1} << 30) / info.size);
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t now = std::min(most, count - done);
    const auto* at = static_cast<const std::byte*>(user) + static_cast<std::ptrdiff_t>(done) * info.extent;
    const int error = call(at, now, type, bytes + done * info.size, now * info.size, comm);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

}  // namespace

namespace detail {

const std::array<KnownType, 4>& find_known_types() {
  static const std::array<KnownType, 4> known = [] {
    std::array<KnownType, 4> types{};
    const MPI_Datatype handles[] = {mpi().byte, mpi().char_type, mpi().int_type, mpi().double_type};
    for (std::size_t i = 0; i < types.size(); ++i) {
      std::vector<TypeRun> none;  // these types are dense
      types[i] = {handles[i], examine(handles[i], none)};
      types[i].info.runs = nullptr;
    }
    return types;
  }();
  known_types.store(&known, std::memory_order_release);
  return known;
}

std::atomic<const std::array<KnownType, 4>*> known_types{nullptr};

TypeInfo remembered_info(MPI_Datatype type) {
  return type == mpi().datatype_null ? TypeInfo{0, 0, true} : remembered(type);
}

}  // namespace detail

std::optional<std::size_t> size_if_committed(MPI_Datatype type) {
  // Types that were committed in this generation, of all threads. `turn` is odd while one of them writes, and what a
  // reader has found counts if the turn is still the same.
  struct Seen {
    std::atomic<std::uint32_t> turn = 0;
    std::atomic<MPI_Datatype> type{};
    std::atomic<std::uint64_t> generation = 0;
    std::atomic<std::size_t> size = 0;
  };
  static constinit Seen seen[16];
  const auto handle = static_cast<std::uint64_t>((std::uintptr_t)type);  // int or pointer
  Seen& place = seen[handle * 0x9e3779b97f4a7c15ULL >> 60];
  const std::uint64_t now = generation_now();
  std::uint32_t turn = place.turn;
  const bool is_here = turn % 2 == 0 && place.type == type && place.generation == now;
  if (const std::size_t size = place.size; is_here && place.turn == turn) return size;
  const TypeInfo info = type_info(type);
  if (!info.committed) return std::nullopt;
  if (turn % 2 == 0 && place.turn.compare_exchange_strong(turn, turn + 1)) {
    place.type = type, place.generation = now, place.size = info.size;
    place.turn = turn + 2;
  }
  return info.size;
}

int pack(const void* from, std::size_t count, MPI_Datatype type, const TypeInfo& info, std::byte* bytes,
         MPI_Comm comm) {
  if (info.runs != nullptr) {
    pack_runs(from, count, info, bytes);
    return MPI_SUCCESS;
  }
  if (!info.dense) {
    const PackCall call = info.size > INT_MAX ? pack_huge : pack_at_once;
    return in_pieces(call, from, count, type, info, bytes, comm);
  }
  if (count > 0) std::memcpy(bytes, from, count * info.size);
  return MPI_SUCCESS;
}

int unpack(const std::byte* bytes, void* to, std::size_t count, MPI_Datatype type, const TypeInfo& info,
           MPI_Comm comm) {
  if (info.runs != nullptr) {
    unpack_runs(bytes, to, count, info);
    return MPI_SUCCESS;
  }
  if (!info.dense) {
    const PackCall call = info.size > INT_MAX ? unpack_huge : unpack_at_once;
    return in_pieces(call, to, count, type, info, const_cast<std::byte*>(bytes), comm);
  }
  if (count > 0) std::memcpy(to, bytes, count * info.size);
  return MPI_SUCCESS;
}

int make_large_type(std::size_t count, MPI_Datatype type, std::ptrdiff_t extent, MPI_Datatype& large) {
  // Groups of 2^30 elements, and what is left behind them.
  constexpr std::size_t group = std::size_t{1} << 30;
  const std::size_t groups = count / group, rest = count % group;
  MPI_Datatype one_group, all_groups;
  if (const int error = mpi().Type_contiguous(static_cast<int>(group), type, &one_group); error != MPI_SUCCESS) {
    return error;
  }
  int error = mpi().Type_contiguous(static_cast<int>(groups), one_group, &all_groups);
  mpi().Type_free(&one_group);
  if (error != MPI_SUCCESS) return error;
  const int lengths[] = {1, static_cast<int>(rest)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(groups * group) * extent};
  const MPI_Datatype types[] = {all_groups, type};
  error = mpi().Type_create_struct(2, lengths, places, types, &large);
  mpi().Type_free(&all_groups);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Type_commit(&large);
  if (error != MPI_SUCCESS) mpi().Type_free(&large);
  return error;
}

}  // namespace quadrille
