#include "fake_mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "mpi/types.hpp"

namespace quadrille::test {
namespace {

enum Kind { none, byte_kind, char_kind, int_kind, double_kind, gapped_kind, packed_kind, kinds };

template <class Handle>
Handle handle_of(int number) {
  return {static_cast<std::uintptr_t>(number) << 8};
}
template <class Handle>
int number_of(Handle handle) {
  return static_cast<int>(handle.word >> 8);
}

// Elements of other types at absolute addresses, the types that are made; never freed.
struct Pieces {
  std::vector<int> lengths;
  std::vector<MpiAint> addresses;
  std::vector<MpiType> types;
  int bytes = 0;
};
std::mutex type_mutex;
std::deque<Pieces> made_types;
const Pieces* pieces_of(MpiType type) {
  if (number_of(type) < kinds) return nullptr;
  const std::lock_guard lock(type_mutex);
  return &made_types[static_cast<std::size_t>(number_of(type) - kinds)];
}

int size_of(MpiType type) {
  constexpr int sizes[kinds] = {0, 1, 1, 4, 8, 4, 1};
  const Pieces* const pieces = pieces_of(type);
  return pieces != nullptr ? pieces->bytes : sizes[number_of(type)];
}
int extent_of(MpiType type) { return number_of(type) == gapped_kind ? gapped_extent : size_of(type); }
int true_extent_of(MpiType type) { return number_of(type) == gapped_kind ? gapped_data[3] + 1 : size_of(type); }
int place_of(MpiType type, int byte) { return number_of(type) == gapped_kind ? gapped_data[byte] : byte; }

// Calls move(at, position) for each byte of data: where it is in the user's memory, and in the packed bytes.
template <class Move>
int for_each_byte(MpiType type, int count, int& position, Move move) {
  if (const Pieces* const pieces = pieces_of(type); pieces != nullptr) {
    for (std::size_t p = 0; p < pieces->lengths.size() && count > 0; ++p) {
      const MpiType of = pieces->types[p];
      for (int element = 0; element < pieces->lengths[p]; ++element) {
        const MpiAint first = pieces->addresses[p] + element * extent_of(of);
        for (int byte = 0; byte < size_of(of); ++byte) move(first + place_of(of, byte), position++);
      }
    }
    return mpi_success;
  }
  for (int element = 0; element < count; ++element) {
    for (int byte = 0; byte < size_of(type); ++byte) move(element * extent_of(type) + place_of(type, byte), position++);
  }
  return mpi_success;
}

std::atomic<void*> attributes[kinds];

void add_types(Mpi& t) {
  t.Type_size_x = [](MpiType type, MpiCount* size) {
    *size = size_of(type);
    return mpi_success;
  };
  t.Type_get_extent = [](MpiType type, MpiAint* lower, MpiAint* extent) {
    *lower = 0;
    *extent = extent_of(type);
    return mpi_success;
  };
  t.Type_get_true_extent = [](MpiType type, MpiAint* lower, MpiAint* extent) {
    *lower = 0;
    *extent = true_extent_of(type);
    return mpi_success;
  };
  t.Type_get_envelope = [](MpiType type, int* integers, int* addresses, int* types, int* combiner) {
    *integers = *addresses = *types = 0;
    *combiner = number_of(type) == gapped_kind ? mpi().combiner_indexed : mpi().combiner_named;
    return mpi_success;
  };
  t.Type_create_keyval = [](auto*, auto*, int* keyval, void*) {
    *keyval = 1;
    return mpi_success;
  };
  t.Type_get_attr = [](MpiType type, int, void* value, int* found) {
    void* kept = attributes[number_of(type)].load(std::memory_order_acquire);
    *static_cast<void**>(value) = kept;
    *found = kept != nullptr ? 1 : 0;
    return mpi_success;
  };
  t.Type_set_attr = [](MpiType type, int, void* value) {
    attributes[number_of(type)].store(value, std::memory_order_release);
    return mpi_success;
  };
  t.Type_create_struct = [](int count, const int* lengths, const MpiAint* addresses, MpiTypes types, MpiType* made) {
    Pieces pieces{{lengths, lengths + count}, {addresses, addresses + count}, {}, 0};
    for (int p = 0; p < count; ++p) {
      pieces.types.push_back(types[static_cast<std::size_t>(p)]);
      pieces.bytes += lengths[p] * size_of(pieces.types.back());
    }
    const std::lock_guard lock(type_mutex);
    made_types.push_back(std::move(pieces));
    *made = handle_of<MpiType>(kinds + static_cast<int>(made_types.size()) - 1);
    return mpi_success;
  };
  t.Type_commit = [](MpiType*) { return mpi_success; };
  t.Type_free = [](MpiType*) { return mpi_success; };
  t.Pack = [](const void* from, int count, MpiType type, void* to, int, int* position, MpiComm) {
    return for_each_byte(type, count, *position, [&](std::ptrdiff_t at, int packed) {
      static_cast<char*>(to)[packed] = static_cast<const char*>(from)[at];
    });
  };
  t.Unpack = [](const void* from, int, int* position, void* to, int count, MpiType type, MpiComm) {
    return for_each_byte(type, count, *position, [&](std::ptrdiff_t at, int packed) {
      static_cast<char*>(to)[at] = static_cast<const char*>(from)[packed];
    });
  };
}

// ---- Messages ----

struct Message {
  bool is_send, complete = false;
  int me, peer, tag;
  std::byte* at;
  int count;
  MpiType type;
  int error = mpi_success;
  std::size_t came = 0;
};

constexpr int first_comm = 16;
std::mutex message_mutex;
std::deque<Message> messages;  // by the numbers of their requests, less one
std::vector<std::size_t> open_messages;

void deliver(Message& send, Message& receive) {
  std::vector<std::byte> bytes;
  int position = 0;
  for_each_byte(send.type, send.count, position, [&](std::ptrdiff_t at, int) { bytes.push_back(send.at[at]); });
  const int whole = std::min(receive.count, static_cast<int>(bytes.size()) / std::max(1, size_of(receive.type)));
  position = 0;
  for_each_byte(receive.type, whole, position,
                [&](std::ptrdiff_t at, int packed) { receive.at[at] = bytes[static_cast<std::size_t>(packed)]; });
  if (position < static_cast<int>(bytes.size())) receive.error = mpi().err_truncate;
  receive.came = static_cast<std::size_t>(position);
  send.complete = receive.complete = true;
}

int begin_message(const Message& message, MpiRequest* request) {
  const std::lock_guard lock(message_mutex);
  messages.push_back(message);
  *request = handle_of<MpiRequest>(static_cast<int>(messages.size()));
  const auto other = std::find_if(open_messages.begin(), open_messages.end(), [&](std::size_t number) {
    const Message& m = messages[number];
    return m.is_send != message.is_send && m.me == message.peer && m.peer == message.me && m.tag == message.tag;
  });
  if (other == open_messages.end()) {
    open_messages.push_back(messages.size() - 1);
    return mpi_success;
  }
  Message& met = messages[*other];
  message.is_send ? deliver(messages.back(), met) : deliver(met, messages.back());
  open_messages.erase(other);
  return mpi_success;
}

void set_none(MpiRequests requests, int index) {
  const auto nothing = handle_of<MpiRequest>(none);
  std::memcpy(requests.at(static_cast<std::size_t>(index)), &nothing, quadrille::detail::handle_bytes);
}

int test_messages(int count, MpiRequests requests, int* flag, MpiStatus* statuses) {
  const std::lock_guard lock(message_mutex);
  const auto message_of = [](MpiRequest request) {
    const int number = number_of(request);
    return number == none ? nullptr : &messages[static_cast<std::size_t>(number - 1)];
  };
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (const Message* m = message_of(requests[static_cast<std::size_t>(i)]); m != nullptr && !m->complete) *flag = 0;
  }
  if (*flag == 0) return mpi_success;
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    const Message* m = message_of(requests[static_cast<std::size_t>(i)]);
    MpiStatus status;
    set_status(status, 0, 0, m == nullptr ? mpi_success : m->error);
    const std::size_t came = m == nullptr ? 0 : m->came;
    std::memcpy(status.native + mpi().status.count, &came, sizeof came);
    set_status_at(statuses, static_cast<std::size_t>(i), status);
    failed |= error_in(status) != mpi_success;
    set_none(requests, i);
  }
  return failed ? mpi().err_in_status : mpi_success;
}

void add_messages(Mpi& t) {
  t.Isend = [](const void* at, int count, MpiType type, int peer, int tag, MpiComm comm, MpiRequest* request) {
    auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(at));
    return begin_message({true, false, number_of(comm) - first_comm, peer, tag, bytes, count, type}, request);
  };
  t.Irecv = [](void* at, int count, MpiType type, int peer, int tag, MpiComm comm, MpiRequest* request) {
    auto* bytes = static_cast<std::byte*>(at);
    return begin_message({false, false, number_of(comm) - first_comm, peer, tag, bytes, count, type}, request);
  };
  t.Testall = test_messages;
  t.Testany = [](int count, MpiRequests requests, int* index, int* flag, MpiStatus*) {
    const std::lock_guard lock(message_mutex);
    *flag = 1;
    *index = mpi().undefined;
    for (int i = 0; i < count; ++i) {
      const int number = number_of(requests[static_cast<std::size_t>(i)]);
      if (number == none) continue;
      *flag = 0;
      const Message& message = messages[static_cast<std::size_t>(number - 1)];
      if (!message.complete) continue;
      *index = i, *flag = 1;
      set_none(requests, i);
      return message.error;
    }
    return int{mpi_success};
  };
  t.Waitall = [](int count, MpiRequests requests, MpiStatus* statuses) {
    int flag = 0;
    const int error = test_messages(count, requests, &flag, statuses);
    if (flag != 0) return error;
    std::fprintf(stderr, "a rank waits in the MPI\n");
    std::abort();
  };
}

// Each has a value of its own.
void set_constants(Mpi& t) {
  int next = 1;
#define QUADRILLE_CONSTANT(name, NAME) t.name = next++;
  QUADRILLE_MPI_CONSTANTS(QUADRILLE_CONSTANT)
#undef QUADRILLE_CONSTANT
  t.undefined = -1, t.any_source = -2, t.any_tag = -3, t.proc_null = -4, t.keyval_invalid = -5;
  static char in_place;
  t.in_place = &in_place;
  t.status = {.source = 0, .tag = 4, .error = 8, .bytes = 24, .count = 16, .count_in_halves = false};
}

Mpi* make_fake() {
  auto* t = new Mpi;
  set_constants(*t);
  add_types(*t);
  add_messages(*t);
  t->Comm_group = [](MpiComm, MpiGroup*) -> int { return mpi().err_comm; };  // packing needs none of its own
  t->comm_world = handle_of<MpiComm>(1), t->comm_self = handle_of<MpiComm>(2), t->comm_null = handle_of<MpiComm>(3);
  t->datatype_null = handle_of<MpiType>(none);
  t->byte = handle_of<MpiType>(byte_kind), t->char_type = handle_of<MpiType>(char_kind);
  t->int_type = handle_of<MpiType>(int_kind), t->double_type = handle_of<MpiType>(double_kind);
  t->packed = handle_of<MpiType>(packed_kind), t->request_null = handle_of<MpiRequest>(none);
  t->usable = true;
  return t;
}

}  // namespace

std::size_t messages_begun(int rank) {
  const std::lock_guard lock(message_mutex);
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [rank](const Message& m) { return m.me == rank; }));
}

MpiComm fake_comm(int rank) { return handle_of<MpiComm>(first_comm + rank); }

MpiType gapped_type() { return handle_of<MpiType>(gapped_kind); }

namespace {

// Whatever a test does, errors have a number.
struct InAllTests : testing::Environment {
  void SetUp() override { use_fake_mpi(); }
};
const testing::Environment* const in_all_tests = testing::AddGlobalTestEnvironment(new InAllTests);

}  // namespace

void use_fake_mpi() {
  static const Mpi* const fake = make_fake();
  quadrille::detail::mpi_table.store(fake, std::memory_order_release);
  type_info(fake->byte);
  type_info(gapped_type());
}

}  // namespace quadrille::test
