// Byte types: the same bytes in the same order as the types they are made after, with the same bounds.
#include "mpi/byte_type.hpp"

#include <mpi.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "oracle.hpp"
#include "quadrille.h"
#include "world.hpp"

namespace quadrille::test {
namespace {

bool make_bytes(MPI_Datatype type, MPI_Datatype& bytes) {
  MpiType made;
  if (!make_byte_type(abi::type(type), made)) return false;
  std::memcpy(&bytes, &made, sizeof bytes);
  return true;
}

// Two elements as MPI_Pack writes them; the first has its address `lower` bytes into the memory.
std::vector<unsigned char> packed(MPI_Datatype type, int size, std::vector<unsigned char>& memory, MPI_Aint lower) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size) * 2 + 1);
  int position = 0;
  EXPECT_EQ(MPI_SUCCESS, MPI_Pack(memory.data() + lower, 2, type, bytes.data(), 2 * size, &position, MPI_COMM_SELF));
  EXPECT_EQ(position, 2 * size);
  return bytes;
}

// All basic types that `type` is made of are `of`.
void expect_made_of(MPI_Datatype type, MPI_Datatype of) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) {
    EXPECT_EQ(type, of);
    return;
  }
  std::vector<int> some(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
  std::vector<MPI_Datatype> parts(static_cast<std::size_t>(types) + 1);
  MPI_Type_get_contents(type, integers, addresses, types, some.data(), places.data(), parts.data());
  for (int i = 0; i < types; ++i) {
    MPI_Datatype& part = parts[static_cast<std::size_t>(i)];
    expect_made_of(part, of);
    int made = 0;
    MPI_Type_get_envelope(part, &integers, &addresses, &made, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&part);
  }
}

void expect_same_layout(MPI_Datatype type, const std::string& name) {
  MPI_Datatype bytes;
  ASSERT_TRUE(make_bytes(type, bytes)) << name;
  expect_made_of(bytes, MPI_BYTE);
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0, other_lower = 0, other_extent = 0;
  int size = 0, other_size = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_extent(bytes, &other_lower, &other_extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  MPI_Type_size(type, &size);
  MPI_Type_size(bytes, &other_size);
  EXPECT_EQ(lower, other_lower) << name;
  EXPECT_EQ(extent, other_extent) << name;
  ASSERT_EQ(size, other_size) << name;
  std::vector<unsigned char> memory(8192);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(mix(i));
  const MPI_Aint middle = 4096;
  ASSERT_TRUE(true_lower > -middle && extent + true_lower + true_extent < middle) << name;
  EXPECT_EQ(packed(type, size, memory, middle), packed(bytes, size, memory, middle)) << name;
  MPI_Type_free(&bytes);
}

// Commits, checks and frees.
void expect_of(MPI_Datatype type, const std::string& name) {
  MPI_Type_commit(&type);
  expect_same_layout(type, name);
  MPI_Type_free(&type);
}

// An aligned struct: its extent follows from its double.
MPI_Datatype aligned() {
  const int lengths[] = {2, 1, 3};
  const MPI_Aint places[] = {0, 8, 16};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype made;
  MPI_Type_create_struct(3, lengths, places, types, &made);
  return made;
}

class ByteType : public MpiTest {};

TEST_F(ByteType, OfTheTypesOfTheTests) {
  for (const Type& type : types()) expect_same_layout(type.handle, type.name);
  for (const MPI_Datatype pair : {MPI_SHORT_INT, MPI_LONG_INT, MPI_2INT}) expect_same_layout(pair, "pair");
}

TEST_F(ByteType, OfEveryConstructor) {
  const int lengths[] = {2, 0, 3}, places[] = {9, 4, -5};
  const MPI_Aint far[] = {100, -40, 7};
  const int sizes[] = {5, 4, 3}, parts[] = {2, 2, 2}, starts[] = {1, 2, 0};
  // Out of basic types, of one with gaps, and of one with gaps that begins before its address.
  MPI_Datatype inner[4] = {MPI_DOUBLE, aligned(), MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  MPI_Type_vector(2, 1, -2, MPI_INT, &inner[2]);
  MPI_Type_create_resized(inner[1], -3, 29, &inner[3]);
  for (const MPI_Datatype of : inner) {
    MPI_Datatype type;
    MPI_Type_dup(of, &type), expect_of(type, "dup");
    MPI_Type_contiguous(3, of, &type), expect_of(type, "contiguous");
    MPI_Type_vector(3, 2, 4, of, &type), expect_of(type, "vector");
    MPI_Type_create_hvector(3, 2, -77, of, &type), expect_of(type, "hvector");
    MPI_Type_indexed(3, lengths, places, of, &type), expect_of(type, "indexed");
    MPI_Type_create_hindexed(3, lengths, far, of, &type), expect_of(type, "hindexed");
    MPI_Type_create_indexed_block(3, 2, places, of, &type), expect_of(type, "indexed-block");
    MPI_Type_create_hindexed_block(3, 2, far, of, &type), expect_of(type, "hindexed-block");
    MPI_Type_create_resized(of, -5, 99, &type), expect_of(type, "resized");
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
      MPI_Type_create_subarray(3, sizes, parts, starts, order, of, &type), expect_of(type, "subarray");
    }
    const MPI_Datatype mixed[] = {of, MPI_CHAR, MPI_DOUBLE_INT};
    MPI_Type_create_struct(3, lengths, far, mixed, &type), expect_of(type, "struct");
  }
  for (int i = 1; i < 4; ++i) MPI_Type_free(&inner[i]);
}

// Where none can be made, that is told.
TEST_F(ByteType, NotOfDistributedArrays) {
  const int sizes[] = {6, 6}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int by[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, ranks[] = {2, 2};
  MPI_Datatype type, bytes;
  MPI_Type_create_darray(4, 1, 2, sizes, kinds, by, ranks, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  EXPECT_FALSE(make_bytes(type, bytes));
  MPI_Type_free(&type);
}

// A type that is packed into the bytes as they lie is moved without its map. So both patterns by which that is found
// out must differ where parts change places.
TEST_F(ByteType, PartsThatChangePlacesAreNotPlainBytes) {
  for (const int part : {1, 239, 241, 251, 252}) {
    const int lengths[] = {part, part};
    const MPI_Aint places[] = {part, 0};
    MPI_Datatype type;
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    const auto ranks = static_cast<std::size_t>(world().size), size = static_cast<std::size_t>(2 * part);
    const auto value = [](int from, int to, std::size_t i) {
      return static_cast<unsigned char>(31 * from + 7 * to + 3 * static_cast<int>(i) + static_cast<int>(i) / 83);
    };
    std::vector<unsigned char> send(ranks * size), recv(ranks * size), expected(ranks * size);
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < size; ++i) {
        send[r * size + i] = value(world().rank, static_cast<int>(r), i);
        expected[r * size + i] = value(static_cast<int>(r), world().rank, (i + static_cast<std::size_t>(part)) % size);
      }
    }
    ASSERT_EQ(Quadrille_Alltoall(send.data(), 1, type, recv.data(), 2 * part, MPI_BYTE, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(recv, expected) << "parts of " << part;
    MPI_Type_free(&type);
  }
}

}  // namespace
}  // namespace quadrille::test
