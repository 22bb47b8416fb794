#include "fake_mpi.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "mpi/types.hpp"

namespace quadrille::test {
namespace {

enum Kind { none, byte_kind, char_kind, int_kind, double_kind, gapped_kind, kinds };

// A handle is a number in some MPIs, and an address in others.
template <class Handle>
Handle handle_of(int number) {
  return (Handle)(static_cast<std::uintptr_t>(number) << 8);
}
template <class Handle>
int number_of(Handle handle) {
  return static_cast<int>((std::uintptr_t)handle >> 8);
}

int size_of(MPI_Datatype type) {
  constexpr int sizes[kinds] = {0, 1, 1, 4, 8, 4};
  return sizes[number_of(type)];
}
int extent_of(MPI_Datatype type) { return number_of(type) == gapped_kind ? gapped_extent : size_of(type); }
int true_extent_of(MPI_Datatype type) { return number_of(type) == gapped_kind ? gapped_data[3] + 1 : size_of(type); }
int place_of(MPI_Datatype type, int byte) { return number_of(type) == gapped_kind ? gapped_data[byte] : byte; }

// Calls move(at, position) for each byte of data: where it is in the user's memory, and in the packed bytes.
template <class Move>
int for_each_byte(MPI_Datatype type, int count, int& position, Move move) {
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
  t.Pack = [](const void* from, int count, MPI_Datatype type, void* to, int, int* position, MPI_Comm) {
    return for_each_byte(type, count, *position, [&](int at, int packed) {
      static_cast<char*>(to)[packed] = static_cast<const char*>(from)[at];
    });
  };
  t.Unpack = [](const void* from, int, int* position, void* to, int count, MPI_Datatype type, MPI_Comm) {
    return for_each_byte(type, count, *position, [&](int at, int packed) {
      static_cast<char*>(to)[at] = static_cast<const char*>(from)[packed];
    });
  };
}

Mpi* make_fake() {
  auto* t = new Mpi;
  add_types(*t);
  t->Comm_group = [](MPI_Comm, MPI_Group*) -> int { return MPI_ERR_COMM; };  // packing needs none of its own
  t->comm_world = handle_of<MPI_Comm>(1), t->comm_self = handle_of<MPI_Comm>(2), t->comm_null = handle_of<MPI_Comm>(3);
  t->datatype_null = handle_of<MPI_Datatype>(none);
  t->byte = handle_of<MPI_Datatype>(byte_kind), t->char_type = handle_of<MPI_Datatype>(char_kind);
  t->int_type = handle_of<MPI_Datatype>(int_kind), t->double_type = handle_of<MPI_Datatype>(double_kind);
  t->usable = true;
  return t;
}

}  // namespace

MPI_Datatype gapped_type() { return handle_of<MPI_Datatype>(gapped_kind); }

void use_fake_mpi() {
  static const Mpi* const fake = make_fake();
  quadrille::detail::mpi_table.store(fake, std::memory_order_release);
  type_info(fake->byte);
  type_info(gapped_type());
}

}  // namespace quadrille::test
