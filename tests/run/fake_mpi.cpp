#include "fake_mpi.hpp"

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

// A handle is a number in some MPIs, and an address in others.
template <class Handle>
Handle handle_of(int number) {
  return (Handle)(static_cast<std::uintptr_t>(number) << 8);
}
template <class Handle>
int number_of(Handle handle) {
  return static_cast<int>((std::uintptr_t)handle >> 8);
}

// Elements of other types at absolute addresses, the types that are made; never freed.
struct Pieces {
  std::vector<int> lengths;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  int bytes = 0;
};
std::mutex type_mutex;
std::deque<Pieces> made_types;
const Pieces* pieces_of(MPI_Datatype type) {
  if (number_of(type) < kinds) return nullptr;
  const std::lock_guard lock(type_mutex);
  return &made_types[static_cast<std::size_t>(number_of(type) - kinds)];
}

int size_of(MPI_Datatype type) {
  constexpr int sizes[kinds] = {0, 1, 1, 4, 8, 4, 1};
  const Pieces* const pieces = pieces_of(type);
  return pieces != nullptr ? pieces->bytes : sizes[number_of(type)];
}
int extent_of(MPI_Datatype type) { return number_of(type) == gapped_kind ? gapped_extent : size_of(type); }
int true_extent_of(MPI_Datatype type) { return number_of(type) == gapped_kind ? gapped_data[3] + 1 : size_of(type); }
int place_of(MPI_Datatype type, int byte) { return number_of(type) == gapped_kind ? gapped_data[byte] : byte; }

// Calls move(at, position) for each byte of data: where it is in the user's memory, and in the packed bytes.
template <class Move>
int for_each_byte(MPI_Datatype type, int count, int& position, Move move) {
  if (const Pieces* const pieces = pieces_of(type); pieces != nullptr) {
    for (std::size_t p = 0; p < pieces->lengths.size() && count > 0; ++p) {
      const MPI_Datatype of = pieces->types[p];
      for (int element = 0; element < pieces->lengths[p]; ++element) {
        const MPI_Aint first = pieces->addresses[p] + element * extent_of(of);
        for (int byte = 0; byte < size_of(of); ++byte) move(first + place_of(of, byte), position++);
      }
    }
    return MPI_SUCCESS;
  }
  for (int element = 0; element < count; ++element) {
    for (int byte = 0; byte < size_of(type); ++byte) move(element * extent_of(type) + place_of(type, byte), position++);
  }
  return MPI_SUCCESS;
}

std::atomic<void*> attributes[kinds];

void add_types(Mpi& t) {
  t.Type_size_x = [](MPI_Datatype type, MPI_Count* size) {
    *size = size_of(type);
    return MPI_SUCCESS;
  };
  t.Type_get_extent = [](MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
    *lower = 0;
    *extent = extent_of(type);
    return MPI_SUCCESS;
  };
  t.Type_get_true_extent = [](MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
    *lower = 0;
    *extent = true_extent_of(type);
    return MPI_SUCCESS;
  };
  t.Type_get_envelope = [](MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner) {
    *integers = *addresses = *types = 0;
    *combiner = number_of(type) == gapped_kind ? MPI_COMBINER_INDEXED : MPI_COMBINER_NAMED;
    return MPI_SUCCESS;
  };
  t.Type_create_keyval = [](MPI_Type_copy_attr_function*, MPI_Type_delete_attr_function*, int* keyval, void*) {
    *keyval = 1;
    return MPI_SUCCESS;
  };
  t.Type_get_attr = [](MPI_Datatype type, int, void* value, int* found) {
    void* kept = attributes[number_of(type)].load(std::memory_order_acquire);
    *static_cast<void**>(value) = kept;
    *found = kept != nullptr ? 1 : 0;
    return MPI_SUCCESS;
  };
  t.Type_set_attr = [](MPI_Datatype type, int, void* value) {
    attributes[number_of(type)].store(value, std::memory_order_release);
    return MPI_SUCCESS;
  };
  t.Type_create_struct = [](int count, const int* lengths, const MPI_Aint* addresses, const MPI_Datatype* types,
                            MPI_Datatype* made) {
    Pieces pieces{{lengths, lengths + count}, {addresses, addresses + count}, {types, types + count}, 0};
    for (int p = 0; p < count; ++p) pieces.bytes += lengths[p] * size_of(types[p]);
    const std::lock_guard lock(type_mutex);
    made_types.push_back(std::move(pieces));
    *made = handle_of<MPI_Datatype>(kinds + static_cast<int>(made_types.size()) - 1);
    return MPI_SUCCESS;
  };
  t.Type_commit = [](MPI_Datatype*) { return MPI_SUCCESS; };
  t.Type_free = [](MPI_Datatype*) { return MPI_SUCCESS; };
  t.Pack = [](const void* from, int count, MPI_Datatype type, void* to, int, int* position, MPI_Comm) {
    return for_each_byte(type, count, *position, [&](std::ptrdiff_t at, int packed) {
      static_cast<char*>(to)[packed] = static_cast<const char*>(from)[at];
    });
  };
  t.Unpack = [](const void* from, int, int* position, void* to, int count, MPI_Datatype type, MPI_Comm) {
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
  MPI_Datatype type;
  int error = MPI_SUCCESS;
  std::size_t came = 0;
};

// As this MPI keeps the bytes that came.
void set_bytes(MPI_Status& status, std::size_t bytes) {
#if defined(OPEN_MPI)
  status._ucount = bytes;
#else
  status.count_lo = static_cast<int>(bytes);
  status.count_hi_and_cancelled = 0;
#endif
}

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
  if (position < static_cast<int>(bytes.size())) receive.error = MPI_ERR_TRUNCATE;
  receive.came = static_cast<std::size_t>(position);
  send.complete = receive.complete = true;
}

int begin_message(const Message& message, MPI_Request* request) {
  const std::lock_guard lock(message_mutex);
  messages.push_back(message);
  *request = handle_of<MPI_Request>(static_cast<int>(messages.size()));
  const auto other = std::find_if(open_messages.begin(), open_messages.end(), [&](std::size_t number) {
    const Message& m = messages[number];
    return m.is_send != message.is_send && m.me == message.peer && m.peer == message.me && m.tag == message.tag;
  });
  if (other == open_messages.end()) {
    open_messages.push_back(messages.size() - 1);
    return MPI_SUCCESS;
  }
  Message& met = messages[*other];
  message.is_send ? deliver(messages.back(), met) : deliver(met, messages.back());
  open_messages.erase(other);
  return MPI_SUCCESS;
}

int test_messages(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const std::lock_guard lock(message_mutex);
  const auto message_of = [](MPI_Request request) {
    const int number = number_of(request);
    return number == none ? nullptr : &messages[static_cast<std::size_t>(number - 1)];
  };
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (const Message* m = message_of(requests[i]); m != nullptr && !m->complete) *flag = 0;
  }
  if (*flag == 0) return MPI_SUCCESS;
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    const Message* m = message_of(requests[i]);
    statuses[i].MPI_ERROR = m == nullptr ? MPI_SUCCESS : m->error;
    set_bytes(statuses[i], m == nullptr ? 0 : m->came);
    failed |= statuses[i].MPI_ERROR != MPI_SUCCESS;
    requests[i] = handle_of<MPI_Request>(none);
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

void add_messages(Mpi& t) {
  t.Isend = [](const void* at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(at));
    return begin_message({true, false, number_of(comm) - first_comm, peer, tag, bytes, count, type}, request);
  };
  t.Irecv = [](void* at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    auto* bytes = static_cast<std::byte*>(at);
    return begin_message({false, false, number_of(comm) - first_comm, peer, tag, bytes, count, type}, request);
  };
  t.Testall = test_messages;
  t.Testany = [](int count, MPI_Request* requests, int* index, int* flag, MPI_Status*) {
    const std::lock_guard lock(message_mutex);
    *flag = 1;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < count; ++i) {
      const int number = number_of(requests[i]);
      if (number == none) continue;
      *flag = 0;
      const Message& message = messages[static_cast<std::size_t>(number - 1)];
      if (!message.complete) continue;
      *index = i, *flag = 1;
      requests[i] = handle_of<MPI_Request>(none);
      return message.error;
    }
    return static_cast<int>(MPI_SUCCESS);
  };
  t.Waitall = [](int count, MPI_Request* requests, MPI_Status* statuses) {
    int flag = 0;
    const int error = test_messages(count, requests, &flag, statuses);
    if (flag != 0) return error;
    std::fprintf(stderr, "a rank waits in the MPI\n");
    std::abort();
  };
}

Mpi* make_fake() {
  auto* t = new Mpi;
  add_types(*t);
  add_messages(*t);
  t->Comm_group = [](MPI_Comm, MPI_Group*) -> int { return MPI_ERR_COMM; };  // packing needs none of its own
  t->comm_world = handle_of<MPI_Comm>(1), t->comm_self = handle_of<MPI_Comm>(2), t->comm_null = handle_of<MPI_Comm>(3);
  t->datatype_null = handle_of<MPI_Datatype>(none);
  t->byte = handle_of<MPI_Datatype>(byte_kind), t->char_type = handle_of<MPI_Datatype>(char_kind);
  t->int_type = handle_of<MPI_Datatype>(int_kind), t->double_type = handle_of<MPI_Datatype>(double_kind);
  t->packed = handle_of<MPI_Datatype>(packed_kind), t->request_null = handle_of<MPI_Request>(none);
  t->usable = true;
  return t;
}

}  // namespace

std::size_t messages_begun(int rank) {
  const std::lock_guard lock(message_mutex);
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [rank](const Message& m) { return m.me == rank; }));
}

MPI_Comm fake_comm(int rank) { return handle_of<MPI_Comm>(first_comm + rank); }

MPI_Datatype gapped_type() { return handle_of<MPI_Datatype>(gapped_kind); }

void use_fake_mpi() {
  static const Mpi* const fake = make_fake();
  quadrille::detail::mpi_table.store(fake, std::memory_order_release);
  type_info(fake->byte);
  type_info(gapped_type());
}

}  // namespace quadrille::test
