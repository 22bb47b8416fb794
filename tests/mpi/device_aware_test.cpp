// Buffers in memory of every kind, in every call of the family and all of its forms: in a device's memory on some
// ranks, in the host's on others, and nowhere where a rank has no data. Which algorithm serves them, and whether the
// MPI takes such memory itself, is set from outside (device.cmake, scripts/other_mpis.py); where algorithms are forced,
// only their collectives are called. What the processor may not touch crashes if it does; every byte of each buffer is
// checked, and gaps change while a call is in flight.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "forms_door.hpp"
#include "neighbors.hpp"
#include "quadrille.h"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr std::size_t sizes[] = {1, 8, 60, 513, 4096, 30'000, 200'000};

std::uint64_t seed_of_run() {
  const char* const text = std::getenv("QUADRILLE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

// Those that QUADRILLE_ALGORITHM names, or all.
std::vector<Collective> called(const std::vector<Collective>& collectives) {
  const char* const set = std::getenv("QUADRILLE_ALGORITHM");
  if (set == nullptr || *set == 0) return collectives;
  const std::string forced = std::string(";") + set;
  std::vector<Collective> found;
  for (const Collective collective : collectives)
    if (forced.find(";" + std::string(name_of(collective)) + "=") != std::string::npos) found.push_back(collective);
  return found;
}

// Of everybody: what is not a fact of one rank.
Random everybodys(const char* what) {
  std::uint64_t seed = seed_of_run();
  for (; *what != 0; ++what) seed = mix(seed * 257 + static_cast<unsigned char>(*what));
  return Random(seed);
}

class DeviceAware : public MpiTest, public testing::WithParamInterface<CallForm> {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    ASSERT_FALSE(called(dense_collectives).empty() && called(neighbor_collectives).empty());
    call_form = GetParam();
    // Each rank has its own kinds, mostly a device's.
    choose_memory = [](std::size_t bytes) {
      static Random drawn(seed_of_run() * 64 + static_cast<std::uint64_t>(world().rank));
      const int luck = drawn.below(11);
      const MemoryKind kind = luck < 5    ? MemoryKind::device
                              : luck < 7  ? MemoryKind::host
                              : luck < 8  ? MemoryKind::pool
                              : luck < 9  ? MemoryKind::pinned
                              : luck < 10 ? MemoryKind::managed
                                          : MemoryKind::mapped;
      return allocate(kind, bytes);
    };
    before_last_start = [this] {
      allocations_ = count_calls("allocations", library);
      opens_ = count_calls("opens", library);
    };
    after_last_start = [this] {
      if (count_calls("allocations", library) != allocations_) expect_good("a start has taken memory of the driver");
      if (count_calls("opens", library) != opens_) expect_good("a start has opened memory of another process");
    };
  }
  void TearDown() override {
    choose_memory = nullptr;
    before_last_start = after_last_start = nullptr;
    MpiTest::TearDown();
  }

 private:
  static constexpr const char* library = "libquadrille";
  unsigned long allocations_ = 0, opens_ = 0;
};

Kinds kinds_of(Random& random, Collective collective) {
  switch (random.below(is_typed(collective) ? 5 : 4)) {
    case 0:
      return same("byte");
    case 1:
      return same(types()[static_cast<std::size_t>(random.below(static_cast<int>(types().size())))].name);
    case 2:
      return between("vector", "contiguous");
    case 3:
      return between("contiguous", "resized-struct");
    default:
      return mixed(Base::integer);
  }
}

TEST_P(DeviceAware, EveryCall) {
  Random random = everybodys("dense");
  for (const Collective collective : called(dense_collectives)) {
    for (int i = 0; i < repeats(30, 10); ++i) {
      Shape shape;
      shape.collective = collective;
      shape.kinds = kinds_of(random, collective);
      shape.bytes = sizes[random.below(std::size(sizes))];
      shape.in_place = random.below(4) == 0;
      shape.pattern = all_patterns[random.below(std::size(all_patterns))];
      shape.layout = all_layouts[random.below(std::size(all_layouts))];
      shape.seed = random.next() % 100'000;
      const std::uint64_t place = random.next();
      // By its name, as not all ranks are in all of them. Calls of one rank are the MPI's.
      const char* const names[] = {"world", "world", "reversed", "half"};
      const Communicator& where = communicator_named(names[place % std::size(names)]);
      if (where.size > 1) expect_good(check(shape, where, false));
    }
  }
}

TEST_P(DeviceAware, BetweenNeighbours) {
  const std::vector<Collective> collectives = called(neighbor_collectives);
  if (collectives.empty()) return;
  Random random = everybodys("neighbours");
  const std::vector<TestGrid> grids = grids_of(world().size);
  for (int i = 0; i < repeats(8, 4); ++i) {
    Topology t = i % 2 == 0 ? cartesian(grids[random.next() % grids.size()]) : random_graph(0, random.next() % 1000);
    for (const Collective collective : collectives) {
      const Kinds kinds = kinds_of(random, collective);
      const std::size_t bytes = sizes[random.below(std::size(sizes))];
      expect_good(check(NeighborShape{collective, kinds, bytes, false, random.next() % 100'000}, t, tested));
    }
    release(t.where);
  }
}

// What the program has put into the NULL stream comes before the call: what it writes to is sent, and is received over.
TEST_P(DeviceAware, AfterTheNullStream) {
  if (called({Collective::alltoall}).empty()) return;
  const auto ranks = static_cast<std::size_t>(world().size);
  for (const std::size_t block : {64, 5000, 300'000}) {
    const std::size_t bytes = ranks * block;
    const std::unique_ptr<Memory> sent = allocate(MemoryKind::device, bytes), got = allocate(MemoryKind::device, bytes);
    std::vector<unsigned char> found(bytes, 1);
    sent->put(found.data());
    const int count = static_cast<int>(block);
    Quadrille_Request request;
    if (GetParam() == CallForm::persistent)
      Quadrille_Alltoall_init(sent->address(), count, MPI_BYTE, got->address(), count, MPI_BYTE, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &request);
    for (unsigned char turn = 2; turn < 6; ++turn) {
      set_later(*sent, turn, bytes);
      set_later(*got, 99, bytes);
      if (GetParam() == CallForm::blocking) {
        Quadrille_Alltoall(sent->address(), count, MPI_BYTE, got->address(), count, MPI_BYTE, MPI_COMM_WORLD);
      } else {
        if (GetParam() == CallForm::persistent)
          Quadrille_Start(&request);
        else
          Quadrille_Ialltoall(sent->address(), count, MPI_BYTE, got->address(), count, MPI_BYTE, MPI_COMM_WORLD,
                              &request);
        Quadrille_Wait(&request);
      }
      got->get(found.data());
      EXPECT_EQ(std::count(found.begin(), found.end(), turn), static_cast<std::ptrdiff_t>(bytes))
          << block << " bytes, turn " << int{turn};
      meet();  // nobody reads what a rank has sent when it is written over
    }
    if (GetParam() == CallForm::persistent) Quadrille_Request_free(&request);
  }
}

// A message of the MPI's own from and to a device's memory around a ring: where this is run, the MPI must take it, or
// the tests above would not show what they seem to.
class MpiTakesDevice : public MpiTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(MpiTakesDevice, AMessage) {
  const std::size_t bytes = GetParam();
  const int me = world().rank, next = (me + 1) % world().size, before = (me + world().size - 1) % world().size;
  const std::unique_ptr<Memory> sent = allocate(MemoryKind::device, bytes), got = allocate(MemoryKind::device, bytes);
  std::vector<unsigned char> data(bytes), expected(bytes), found(bytes);
  fill({me, next, bytes}, 0, bytes, data.data());
  fill({before, me, bytes}, 0, bytes, expected.data());
  sent->put(data.data());
  MPI_Request requests[2];
  MPI_Irecv(got->address(), static_cast<int>(bytes), MPI_BYTE, before, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent->address(), static_cast<int>(bytes), MPI_BYTE, next, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  got->get(found.data());
  EXPECT_TRUE(found == expected);
  meet();
}

std::vector<std::size_t> sizes_of_messages() {
  if (std::getenv("QUADRILLE_TEST_MPI_TAKES_DEVICE") == nullptr) return {};
  return {8, 10'000, 1'000'000};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MpiTakesDevice);
INSTANTIATE_TEST_SUITE_P(All, MpiTakesDevice, testing::ValuesIn(sizes_of_messages()));

INSTANTIATE_TEST_SUITE_P(All, DeviceAware,
                         testing::Values(CallForm::blocking, CallForm::nonblocking, CallForm::persistent),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace quadrille::test
