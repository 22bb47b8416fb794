// What is found out about datatypes, on stand-ins for MPIs: some move other bytes than they should, or hand a freed
// handle out again.
#include "mpi/types.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "changed_mpi.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::test {
namespace {

// The type that the stand-in has. Static, as MPI's functions have no other way to it.
struct TypeOfTheTest {
  int size = 0, gap = 0;
  bool committed = true;
  int alive = 0;                                             // types that were made and not freed
  void (*order)(const unsigned char*, unsigned char*) = {};  // what packing one element does
  void* attribute = nullptr;
} type_here;
// They stay reachable until the process has gone.
std::vector<void*>& attributes_of_freed_types = *new std::vector<void*>;

int pack_here(const void* from, int count, MpiType, void* to, int, int* position, MpiComm) {
  if (!type_here.committed) return mpi().err_type;
  if (count > 0 && type_here.order != nullptr)
    type_here.order(static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to) + *position);
  *position += count * type_here.size;
  return mpi_success;
}

class Types : public testing::Test {
 protected:
  Types() {
    type_here = {};
    Mpi& t = changed_.table();
    t.Pack = pack_here;
    t.Type_size_x = [](MpiType, MpiCount* size) { return *size = type_here.size, int{mpi_success}; };
    t.Type_get_extent = [](MpiType, MpiAint* lower, MpiAint* extent) {
      *lower = 0, *extent = type_here.size + type_here.gap;
      return int{mpi_success};
    };
    t.Type_get_true_extent = t.Type_get_extent;
    t.Type_get_envelope = [](MpiType, int* integers, int* addresses, int* types, int* combiner) {
      *integers = *addresses = *types = 0, *combiner = mpi().combiner_indexed;
      return int{mpi_success};
    };
    t.Type_get_attr = [](MpiType, int, void* value, int* found) {
      *static_cast<void**>(value) = type_here.attribute;
      *found = type_here.attribute != nullptr ? 1 : 0;
      return int{mpi_success};
    };
    t.Type_set_attr = [](MpiType, int, void* value) { return type_here.attribute = value, int{mpi_success}; };
    t.Type_create_struct = [](int, const int*, const MpiAint*, MpiTypes, MpiType*) {
      return ++type_here.alive, int{mpi_success};
    };
    t.Type_commit = [](MpiType*) { return int{mpi_success}; };
    t.Type_free = [](MpiType*) { return --type_here.alive, int{mpi_success}; };
    t.Unpack = [](const void*, int size, int* position, void*, int, MpiType, MpiComm) {
      return *position += size, int{mpi_success};
    };
  }
  ~Types() override { free_type(); }
  Mpi& table() { return changed_.table(); }
  // As the MPI does it, whose deletion function counts.
  static void free_type() {
    attributes_of_freed_types.push_back(type_here.attribute);
    type_here.attribute = nullptr;
    drop_cached_calls();
  }
  static bool finds_runs(std::size_t size, std::ptrdiff_t extent, decltype(TypeOfTheTest::order) order,
                         std::vector<TypeRun>& runs) {
    type_here.size = static_cast<int>(size);
    type_here.order = order;
    return find_runs(type, size, 0, extent, runs);
  }

  static inline const MpiType type = {std::uintptr_t{77} << 8};

 private:
  ChangedMpi changed_;
};

TEST_F(Types, RunsAreThoseOfBytesThatAreMoved) {
  std::vector<TypeRun> runs;
  ASSERT_TRUE(finds_runs(
      3, 6, [](const unsigned char* from, unsigned char* to) { to[0] = from[4], to[1] = from[5], to[2] = from[0]; },
      runs));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].at, 4);
  EXPECT_EQ(runs[0].bytes, 2U);
  EXPECT_EQ(runs[1].at, 0);
}

// Ones become twos: in bytes that tell a position that looks like another position.
TEST_F(Types, NoRunsOfBytesThatPackingChanges) {
  std::vector<TypeRun> runs;
  EXPECT_FALSE(finds_runs(
      3, 3,
      [](const unsigned char* from, unsigned char* to) {
        for (int i = 0; i < 3; ++i) to[i] = static_cast<unsigned char>(from[i] == 1 ? 2 : from[i] == 2 ? 1 : from[i]);
      },
      runs));
}

// A byte that stays zero looks like the first one.
TEST_F(Types, NoRunsOfBytesThatPackingDoesNotWrite) {
  std::vector<TypeRun> runs;
  EXPECT_FALSE(finds_runs(
      3, 3, [](const unsigned char* from, unsigned char* to) { to[0] = from[0], to[1] = from[1]; }, runs));
}

// Two parts change places. Each pattern by which that is found out repeats itself after 256 or 65,536 bytes.
template <int part>
void exchange_parts(const unsigned char* from, unsigned char* to) {
  std::memcpy(to, from + part, part);
  std::memcpy(to + part, from, part);
}

TEST_F(Types, PartsThatChangePlacesAreNotDense) {
  const std::pair<int, decltype(TypeOfTheTest::order)> all[] = {{1, exchange_parts<1>},
                                                                {241, exchange_parts<241>},
                                                                {251, exchange_parts<251>},
                                                                {256, exchange_parts<256>},
                                                                {251 * 241, exchange_parts<251 * 241>},
                                                                {256 * 256, exchange_parts<256 * 256>}};
  for (const auto& [part, order] : all) {
    type_here.size = 2 * part;
    type_here.order = order;
    const TypeInfo info = type_info(type);
    EXPECT_FALSE(info.dense) << "parts of " << part;
    ASSERT_NE(info.runs, nullptr) << "parts of " << part;
    EXPECT_EQ(info.runs->front().at, part);
    EXPECT_EQ(info.runs->size(), 2U);
    free_type();
  }
  type_here.size = 500;
  type_here.order = [](const unsigned char* from, unsigned char* to) { std::memcpy(to, from, 500); };
  EXPECT_TRUE(type_info(type).dense);
}

// What it is made of says so, without a byte being packed.
TEST_F(Types, ALargeContiguousTypeIsDense) {
  Mpi& t = table();
  t.Type_get_envelope = [](MpiType of, int* integers, int* addresses, int* types, int* combiner) {
    const bool is_made = of == type;
    *integers = *types = is_made ? 1 : 0, *addresses = 0;
    *combiner = is_made ? mpi().combiner_contiguous : mpi().combiner_named;
    return int{mpi_success};
  };
  t.Type_get_contents = [](MpiType, int, int, int, int* integers, MpiAint*, MpiTypes types) {
    *integers = 1 << 18;
    *types.at(0) = mpi().int_type;
    return int{mpi_success};
  };
  type_here.size = 1 << 20;
  type_here.order = [](const unsigned char*, unsigned char*) { ADD_FAILURE() << "an element is packed"; };
  const TypeInfo info = type_info(type);
  EXPECT_TRUE(info.dense);
  EXPECT_EQ(info.runs, nullptr);
}

TEST_F(Types, AHandleThatIsUsedAgainIsAskedForAgain) {
  type_here.size = 8, type_here.gap = 4;
  EXPECT_EQ(size_if_committed(type), 8U);
  EXPECT_EQ(size_if_committed(type), 8U);
  free_type();
  type_here.committed = false;
  EXPECT_EQ(size_if_committed(type), std::nullopt);
  type_here.committed = true;
  type_here.size = 12;
  EXPECT_EQ(size_if_committed(type), 12U);
}

TEST_F(Types, PackingFromAbsoluteAddressesLeavesNoTypeBehind) {
  type_here.size = 8;
  std::byte bytes[16];
  EXPECT_EQ(pack_at_once(nullptr, 2, type, bytes, sizeof bytes, mpi().comm_self), mpi_success);
  EXPECT_EQ(type_here.alive, 0);
  EXPECT_EQ(unpack_at_once(nullptr, 2, type, bytes, sizeof bytes, mpi().comm_self), mpi_success);
  EXPECT_EQ(type_here.alive, 0);
}

}  // namespace
}  // namespace quadrille::test
