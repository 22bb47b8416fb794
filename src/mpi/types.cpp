#include "mpi/types.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/copy_kernels.hpp"
#include "mpi/tags.hpp"

namespace quadrille {
namespace {

// The layout of a larger element is not read: that costs more than it gains, and the MPI's packing costs little there.
constexpr std::size_t most_bytes_with_gaps = std::size_t{64} * 1024, most_bytes_to_read = std::size_t{256} * 1024;

constexpr std::size_t most_runs = 4096;
constexpr std::ptrdiff_t most_extent = 1 << 20;  // below 2^24: positions are told by three bytes

// Where runs are found and copied, addresses are numbers: with MPI_BOTTOM the element's address is null, and the runs
// are addresses.

// Packs one element whose byte at position i is digit(i). Types of absolute addresses work too: no byte
// is read but those of `memory`.
template <class Digit>
bool pack_pattern(MpiType type, std::ptrdiff_t true_lower, std::vector<unsigned char>& memory,
                  std::vector<unsigned char>& packed, Digit digit) {
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = digit(i);
  int position = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(true_lower);
  return mpi().Pack(reinterpret_cast<void*>(address), 1, type, packed.data(), static_cast<int>(packed.size()),
                    &position, own_comm()) == mpi_success &&
         static_cast<std::size_t>(position) == packed.size();
}

// MPI has no function that tells. But to pack nothing is an error as well if the type is not committed.
bool can_be_packed(MpiType type) {
  Envelope envelope;
  if (read_envelope(type, envelope) == mpi_success && is_basic(envelope.combiner)) return true;
  char in = 0, out = 0;
  int position = 0;
  return mpi().Pack(&in, 0, type, &out, 1, &position, own_comm()) == mpi_success;
}

// A predefined type, or so many of one in a row, is as it looks, of any size: that saves the MPI the packing.
bool is_plain(MpiType type) {
  Envelope made;
  if (read_envelope(type, made) != mpi_success) return false;
  if (is_basic(made.combiner)) return true;
  if (made.combiner != mpi().combiner_contiguous || made.integers != 1 || made.addresses != 0 || made.types != 1)
    return false;
  int count = 0;
  MpiAint none = 0;
  MpiType of;
  if (mpi().Type_get_contents(type, 1, 0, 1, &count, &none, one(of)) != mpi_success) return false;
  if (read_envelope(of, made) != mpi_success) return false;
  if (is_basic(made.combiner)) return true;
  mpi().Type_free(&of);
  return false;
}

// What is kept as an attribute of a type.
struct Remembered {
  MpiType type{};
  TypeInfo info;
  std::vector<TypeRun> runs;         // info.runs points here, if it is not null
  std::unique_ptr<Remembered> next;  // found by another thread, whose calls use it
};

TypeInfo examine(MpiType type, std::vector<TypeRun>& runs) {
  TypeInfo info;
  MpiCount size = 0;
  MpiAint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  mpi().Type_size_x(type, &size);
  mpi().Type_get_extent(type, &lower, &extent);
  mpi().Type_get_true_extent(type, &true_lower, &true_extent);
  info.extent = extent;
  info.size = static_cast<std::size_t>(size);
  info.committed = can_be_packed(type);
  if (!info.committed) return info;
  const bool has_gaps = lower != 0 || true_lower != 0 || extent != size || true_extent != size;
  info.dense = !has_gaps && (size == 0 || is_plain(type));
  const bool is_small = info.size <= (has_gaps ? most_bytes_with_gaps : most_bytes_to_read);
  if (info.dense || !is_small || !find_runs(type, info.size, true_lower, true_extent, runs)) return info;
  info.dense = !has_gaps && runs.size() == 1;  // the MPI itself says so: packed bytes come out as they were
  if (!info.dense) info.runs = &runs;
  return info;
}

int forget_info(MpiType, int, void* value, void*) {
  drop_cached_calls();
  delete static_cast<Remembered*>(value);
  return mpi_success;
}

int copy_nothing(MpiType, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return mpi_success;
}

int info_keyval() {
  static constinit FirstAnswer<int> keyval(no_keyval);
  return keyval.get([] {
    int made = mpi().keyval_invalid;
    mpi().Type_create_keyval(copy_nothing, forget_info, &made, nullptr);
    return made;
  });
}

using PackCall = int (*)(const void*, std::size_t, MpiType, std::byte*, std::size_t, MpiComm);

// Calls `work` with a typed buffer as MPI_Pack takes it. Types of absolute addresses come with MPI_BOTTOM, and MPICH
// refuses a null address in MPI_Pack: then the address is moved one way and the type the other.
template <class Work>
int with_address(const void* user, std::size_t count, MpiType type, const Work& work) {
  const int elements = static_cast<int>(count);
  if (user != nullptr) return work(const_cast<void*>(user), elements, type);
  constexpr MpiAint shift = 64, back = -shift;
  MpiType moved;
  int error = mpi().Type_create_struct(1, &elements, &back, one(type), &moved);
  if (error != mpi_success) return error;
  error = mpi().Type_commit(&moved);
  if (error == mpi_success) error = work(reinterpret_cast<void*>(shift), 1, moved);
  mpi().Type_free(&moved);
  return error;
}

// Elements of more than 2 GiB do not fit MPI_Pack: one message to ourselves, typed on one side and
// bytes on the other, does the same.
template <bool unpacks>
int by_message(const void* user, std::size_t, MpiType type, std::byte* bytes, std::size_t room, MpiComm comm) {
  MpiType plain;
  int me = 0;
  mpi().Comm_rank(comm, &me);
  int error = make_large_type(room, mpi().byte, plain);
  if (error != mpi_success) return error;
  void *from = const_cast<void*>(user), *to = bytes;
  MpiType sent = type, received = plain;
  if (unpacks) std::swap(from, to), std::swap(sent, received);
  const int tag = tags::next_own();
  error = mpi().Sendrecv(from, 1, sent, me, tag, to, 1, received, me, tag, comm, mpi().status_ignore);
  mpi().Type_free(&plain);
  return error;
}

// MPI_Pack counts bytes in an int: go in pieces that fit.
int in_pieces(PackCall call, const void* user, std::size_t count, MpiType type, const TypeInfo& info, std::byte* bytes,
              MpiComm comm) {
  if (info.size == 0 || count == 0) return mpi_success;
  const std::size_t most = std::max<std::size_t>(1, (std::size_t{1} << 30) / info.size);
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t now = std::min(most, count - done);
    const auto* at = static_cast<const std::byte*>(user) + static_cast<std::ptrdiff_t>(done) * info.extent;
    const int error = call(at, now, type, bytes + done * info.size, now * info.size, comm);
    if (error != mpi_success) return error;
  }
  return mpi_success;
}

// What is remembered of a type; null: nothing yet.
Remembered* remembered(MpiType type) {
  void* value = nullptr;
  int found = 0;
  mpi().Type_get_attr(type, info_keyval(), &value, &found);
  return found != 0 ? static_cast<Remembered*>(value) : nullptr;
}

// `made` lives as long as `first`, the attribute of the same type.
void keep_with(Remembered& first, std::unique_ptr<Remembered> made) {
  Remembered* last = made.get();
  while (last->next != nullptr) last = last->next.get();
  last->next = std::move(first.next);
  first.next = std::move(made);
}

// Makes `made` the attribute of its type, unless another thread comes first: what that thread's calls use is not
// replaced. The lock is never held in the MPI, which may call us under a lock of its own.
void remember(std::unique_ptr<Remembered> made) {
  static constinit std::mutex mutex;
  static auto* const coming = new std::vector<Remembered*>;  // about to become attributes, one for each type
  // Also if an error handler of the program throws.
  struct Coming {
    Remembered* made;
    ~Coming() {
      const std::lock_guard lock(mutex);
      std::erase(*coming, made);
    }
  };
  const MpiType type = made->type;
  std::unique_lock lock(mutex);
  const auto other = std::ranges::find(*coming, type, &Remembered::type);
  if (other != coming->end()) return keep_with(**other, std::move(made));
  coming->push_back(made.get());
  lock.unlock();
  Remembered* const mine = made.release();  // other threads may use what hangs on it, whatever fails
  const Coming guard{mine};
  Remembered* const first = remembered(type);  // by a thread that has come and gone
  if (first == nullptr) {
    mpi().Type_set_attr(type, info_keyval(), mine);
    return;
  }
  const std::lock_guard again(mutex);
  keep_with(*first, std::unique_ptr<Remembered>(mine));
}

}  // namespace

bool is_basic(int combiner) {
  return combiner == mpi().combiner_named || combiner == mpi().combiner_f90_integer ||
         combiner == mpi().combiner_f90_real || combiner == mpi().combiner_f90_complex;
}

int read_envelope(MpiType type, Envelope& envelope) {
  envelope = {.combiner = mpi().combiner_named};
  if (mpi().Type_get_envelope_c == nullptr)
    return mpi().Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.types, &envelope.combiner);
  MpiCount integers = 0, addresses = 0, counts = 0, types = 0;
  const int error = mpi().Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &envelope.combiner);
  envelope.is_large = counts > 0;
  if (envelope.is_large) return error;
  envelope.integers = static_cast<int>(integers);
  envelope.addresses = static_cast<int>(addresses);
  envelope.types = static_cast<int>(types);
  return error;
}

int pack_at_once(const void* user, std::size_t count, MpiType type, std::byte* bytes, std::size_t room, MpiComm comm) {
  return with_address(user, count, type, [&](const void* from, int elements, MpiType of) {
    int position = 0;
    return mpi().Pack(from, elements, of, bytes, static_cast<int>(room), &position, comm);
  });
}

int unpack_at_once(const void* user, std::size_t count, MpiType type, std::byte* bytes, std::size_t room,
                   MpiComm comm) {
  return with_address(user, count, type, [&](void* to, int elements, MpiType of) {
    int position = 0;
    return mpi().Unpack(bytes, static_cast<int>(room), &position, to, elements, of, comm);
  });
}

namespace detail {

const std::array<KnownType, 4>& find_known_types() {
  static const std::array<KnownType, 4> known = [] {
    std::array<KnownType, 4> types{};
    const MpiType handles[] = {mpi().byte, mpi().char_type, mpi().int_type, mpi().double_type};
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

TypeInfo remembered_info(MpiType type) {
  if (type == mpi().datatype_null) return {0, 0, true};
  if (const Remembered* const known = remembered(type)) return known->info;
  auto made = std::make_unique<Remembered>();
  made->type = type;
  const TypeInfo info = made->info = examine(type, made->runs);
  if (info.committed) remember(std::move(made));
  return info;
}

}  // namespace detail

std::optional<std::size_t> size_if_committed(MpiType type) {
  // Types that were committed in this generation.
  constexpr std::size_t places = 16;
  struct Seen {
    std::uint64_t generation = 0;
    MpiType type{};
    std::size_t size = 0;
  };
  static thread_local Seen seen[places];
  Seen& place = seen[type.word * 0x9e3779b97f4a7c15ULL >> 60];
  const std::uint64_t now = cache_generation();
  if (place.generation == now && place.type == type) return place.size;
  const TypeInfo info = type_info(type);
  if (!info.committed) return std::nullopt;
  place = {now, type, info.size};
  return info.size;
}

bool find_runs(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
               std::vector<TypeRun>& runs) {
  runs.clear();
  if (size == 0 || true_extent <= 0 || true_extent > most_extent) return false;
  std::vector<unsigned char> memory(static_cast<std::size_t>(true_extent)), packed(size);
  std::vector<std::uint32_t> source(size, 0);
  for (int shift = 0; shift < 24; shift += 8) {
    const auto digit = [=](std::size_t i) { return static_cast<unsigned char>(i >> shift); };
    if (!pack_pattern(type, true_lower, memory, packed, digit)) return false;
    for (std::size_t j = 0; j < size; ++j) source[j] |= std::uint32_t{packed[j]} << shift;
  }
  // Once more with another pattern: bytes that are changed by packing, or come from nowhere, show.
  const auto check = [](std::size_t i) { return static_cast<unsigned char>(i * 167 + 91); };
  if (!pack_pattern(type, true_lower, memory, packed, check)) return false;
  for (std::size_t j = 0; j < size; ++j) {
    if (source[j] >= memory.size() || packed[j] != check(source[j])) return false;
  }
  for (std::size_t j = 0; j < size; ++j) {
    const std::ptrdiff_t at = true_lower + static_cast<std::ptrdiff_t>(source[j]);
    if (!runs.empty() && runs.back().at + static_cast<std::ptrdiff_t>(runs.back().bytes) == at) {
      ++runs.back().bytes;
    } else if (runs.size() == most_runs) {
      runs.clear();
      return false;
    } else {
      runs.push_back({at, 1});
    }
  }
  return true;
}

bool find_bytes(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
                std::vector<TypeRun>& runs) {
  runs.clear();
  if (size == 0 || size > INT_MAX || true_extent <= 0) return false;
  const auto extent = static_cast<std::size_t>(true_extent);
  // Ones are unpacked into zeros.
  constexpr unsigned char one = 0xFF;
  std::vector<unsigned char> memory, packed;
  try {
    memory.resize(extent);
    packed.resize(size, one);
  } catch (const std::bad_alloc&) {
    return false;
  }
  int position = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(true_lower);
  if (mpi().Unpack(packed.data(), static_cast<int>(size), &position, reinterpret_cast<void*>(address), 1, type,
                   mpi().comm_self) != mpi_success) {
    return false;
  }
  const auto next = [&](std::size_t from, int byte) {
    const void* const found = std::memchr(memory.data() + from, byte, extent - from);
    if (found == nullptr) return extent;
    return static_cast<std::size_t>(static_cast<const unsigned char*>(found) - memory.data());
  };
  for (std::size_t begin = next(0, one); begin < extent;) {
    const std::size_t end = next(begin, 0);
    runs.push_back({true_lower + static_cast<std::ptrdiff_t>(begin), end - begin});
    begin = next(end, one);
  }
  return !runs.empty();
}

void pack_runs(const void* from, std::size_t count, const TypeInfo& info, std::byte* bytes) {
  auto element = reinterpret_cast<std::intptr_t>(from);
  for (std::size_t e = 0; e < count; ++e, element += info.extent) {
    for (const TypeRun& run : *info.runs) {
      memory::copy_bytes(bytes, reinterpret_cast<const std::byte*>(element + run.at), run.bytes);
      bytes += run.bytes;
    }
  }
}

void unpack_runs(const std::byte* bytes, void* to, std::size_t count, const TypeInfo& info) {
  auto element = reinterpret_cast<std::intptr_t>(to);
  for (std::size_t e = 0; e < count; ++e, element += info.extent) {
    for (const TypeRun& run : *info.runs) {
      memory::copy_bytes(reinterpret_cast<std::byte*>(element + run.at), bytes, run.bytes);
      bytes += run.bytes;
    }
  }
}

int pack(const void* from, std::size_t count, MpiType type, const TypeInfo& info, std::byte* bytes, MpiComm comm) {
  if (info.runs != nullptr) {
    pack_runs(from, count, info, bytes);
    return mpi_success;
  }
  if (!info.dense) {
    return in_pieces(info.size > INT_MAX ? by_message<false> : pack_at_once, from, count, type, info, bytes, comm);
  }
  if (count > 0) std::memcpy(bytes, from, count * info.size);
  return mpi_success;
}

int unpack(const std::byte* bytes, void* to, std::size_t count, MpiType type, const TypeInfo& info, MpiComm comm) {
  if (info.runs != nullptr) {
    unpack_runs(bytes, to, count, info);
    return mpi_success;
  }
  if (!info.dense) {
    return in_pieces(info.size > INT_MAX ? by_message<true> : unpack_at_once, to, count, type, info,
                     const_cast<std::byte*>(bytes), comm);
  }
  if (count > 0) std::memcpy(to, bytes, count * info.size);
  return mpi_success;
}

int make_large_type(std::size_t count, MpiType type, MpiType& large) {
  // Groups of 2^30 elements, and what is left behind them.
  constexpr std::size_t group = std::size_t{1} << 30;
  const std::size_t groups = count / group, rest = count % group;
  MpiType one_group, all_groups;
  MpiAint lower = 0, extent = 0;
  int error = mpi().Type_get_extent(type, &lower, &extent);
  if (error == mpi_success) error = mpi().Type_contiguous(static_cast<int>(group), type, &one_group);
  if (error != mpi_success) return error;
  error = mpi().Type_contiguous(static_cast<int>(groups), one_group, &all_groups);
  mpi().Type_free(&one_group);
  if (error != mpi_success) return error;
  const int lengths[] = {1, static_cast<int>(rest)};
  const MpiAint places[] = {0, static_cast<MpiAint>(groups * group) * extent};
  const MpiArray<MpiType> types = {all_groups, type};
  error = mpi().Type_create_struct(2, lengths, places, types.all(), &large);
  mpi().Type_free(&all_groups);
  if (error != mpi_success) return error;
  error = mpi().Type_commit(&large);
  if (error != mpi_success) mpi().Type_free(&large);
  return error;
}

int make_plain(MpiComm of, MpiComm* made) {
  MpiGroup group;
  int error = mpi().Comm_group(of, &group);
  if (error != mpi_success) return error;
  error = mpi().Comm_create(of, group, made);
  mpi().Group_free(&group);
  return error;
}

// Not collective over MPI_COMM_SELF, on which the program's own collectives may run at the time: each by a tag of its
// own.
int make_alone(MpiComm* made) {
  static constinit std::atomic<unsigned> turn{0};
  MpiGroup group;
  int error = mpi().Comm_group(mpi().comm_self, &group);
  if (error != mpi_success) return error;
  error = mpi().Comm_create_group(mpi().comm_self, group, static_cast<int>(turn++ % 32768), made);
  mpi().Group_free(&group);
  if (error == mpi_success) mpi().Comm_set_errhandler(*made, mpi().errors_return);
  return error;
}

MpiComm own_comm() {
  static constinit FirstAnswer<MpiComm> comm(MpiComm{});
  MpiComm made;
  const MpiComm kept = comm.get([&] {
    if (make_alone(&made) != mpi_success) made = mpi().comm_self;
    return made;
  });
  const bool is_spare = made != MpiComm{} && made != mpi().comm_self && made != kept;
  if (is_spare) mpi().Comm_free(&made);
  return kept;
}

}  // namespace quadrille
