// Communicators come and go; nothing of ours may stay.
#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "world.hpp"

// AddressSanitizer keeps freed memory for a while.
#if defined(__SANITIZE_ADDRESS__)
constexpr int quarantine_kib = 256 * 1024;
#else
constexpr int quarantine_kib = 0;
#endif

namespace quadrille::test {
namespace {

int entries(const char* folder) {
  DIR* const list = opendir(folder);
  if (list == nullptr) return 0;
  int found = 0;
  while (readdir(list) != nullptr) ++found;
  closedir(list);
  return found;
}

int lines(const char* path, std::string_view with = "") {
  std::ifstream file(path);
  std::string line;
  int found = 0;
  while (std::getline(file, line)) found += line.find(with) != std::string::npos ? 1 : 0;
  return found;
}

int memory_kib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  long resident = 0;
  file >> pages >> resident;
  return static_cast<int>(resident * 4);
}

// What a process holds of the system.
struct Holdings {
  int files = entries("/proc/self/fd");
  int mappings = lines("/proc/self/maps");
  int shared = lines("/proc/self/maps", "/dev/shm/");  // of the MPI: ours have no names
  int kib = memory_kib();
};

Shape small(Collective collective) { return {.collective = collective, .kinds = same("int"), .bytes = 24}; }

// Duplicates a communicator, uses the copy enough for Quadrille to take it up, frees it.
void one_life(int turn) {
  Communicator copy = duplicate("copy", turn % 2 == 0 ? MPI_COMM_WORLD : communicator_named("reversed").comm);
  for (int i = 0; i < 5; ++i) {
    expect_good(check(small(i % 2 == 0 ? Collective::alltoall : Collective::allgather), copy, false));
  }
  release(copy);
}

class Lifecycle : public MpiTest {};

TEST_F(Lifecycle, ThousandDuplicatesLeaveNothing) {
  const int turns = repeats(1000, 40);
  for (int turn = 0; turn < turns / 4; ++turn) one_life(turn);
  meet();
  const Holdings before;
  for (int turn = 0; turn < turns; ++turn) one_life(turn);
  meet();
  const Holdings after;
  // Every duplicate leaving one thing behind would be far above these.
  EXPECT_LE(after.files, before.files + 8);
  EXPECT_LE(after.mappings, before.mappings + turns / 4 + 8);
  EXPECT_LE(after.shared, before.shared + 8);
  EXPECT_LE(after.kib, before.kib + 16 * turns + 4096 + quarantine_kib);
}

TEST_F(Lifecycle, UsedTwentyTimesThenDuplicated) {
  for (int turn = 0; turn < repeats(50, 2); ++turn) {
    Communicator first = duplicate("first");
    for (int i = 0; i < 20; ++i) expect_good(check(small(Collective::alltoall), first, false));
    Communicator second = duplicate("second", first.comm);
    for (int i = 0; i < 5; ++i) expect_good(check(small(Collective::alltoall), second, false));
    release(first);
    for (int i = 0; i < 5; ++i) expect_good(check(small(Collective::allgather), second, false));
    release(second);
  }
}

// Many communicators alive at once, freed in another order than they were made.
TEST_F(Lifecycle, ManyAtOnce) {
  const int count = repeats(100, 8);  // more than share one piece of control memory
  std::vector<Communicator> alive;
  for (int i = 0; i < count; ++i) alive.push_back(duplicate("one of many"));
  for (int turn = 0; turn < 6; ++turn) {
    for (const Communicator& one : alive) {
      expect_good(check(small(Collective::alltoall), one, false));
    }
  }
  for (int i = 0; i < count; i += 2) release(alive[static_cast<std::size_t>(i)]);
  for (int i = 1; i < count; i += 2) {
    expect_good(check(small(Collective::alltoall), alive[static_cast<std::size_t>(i)], false));
    release(alive[static_cast<std::size_t>(i)]);
  }
}

// A split of ranks that lie apart, and a communicator that ranks enter in another order.
TEST_F(Lifecycle, SplitsOfEveryKind) {
  const int rank = world().rank;
  const int size = world().size;
  for (int parts = 1; parts <= size && parts <= 4; ++parts) {
    for (int direction : {1, -1}) {
      MPI_Comm comm;
      MPI_Comm_split(MPI_COMM_WORLD, rank % parts, direction * rank, &comm);
      Communicator part = describe("part", comm);
      for (int i = 0; i < 5; ++i) {
        expect_good(check(small(Collective::alltoall), part));
        expect_good(check(small(Collective::allgather), part));
      }
      release(part);
    }
  }
}

// Between two groups the call is the MPI's own.
TEST_F(Lifecycle, Intercommunicator) {
  if (world().size < 2) GTEST_SKIP() << "needs two ranks";
  const int rank = world().rank;
  const bool low = rank < (world().size + 1) / 2;
  const int leader = low ? (world().size + 1) / 2 : 0;
  MPI_Comm between;
  MPI_Intercomm_create(communicator_named("half").comm, 0, MPI_COMM_WORLD, leader, 99, &between);
  int remote = 0;
  MPI_Comm_remote_size(between, &remote);
  const auto peers = static_cast<std::size_t>(remote);
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<int> send(peers), receive(peers, -1), ones(peers, 1), places(peers);
    std::vector<int> bytes(peers);
    const std::vector<MPI_Datatype> kinds(peers, MPI_INT);
    for (int peer = 0; peer < remote; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      send[at] = turn * 10000 + rank * 100 + peer;
      places[at] = peer;
      bytes[at] = peer * static_cast<int>(sizeof(int));
    }
    const int here = low ? rank : rank - (world().size + 1) / 2;
    const auto expect_transposed = [&](const char* what) {
      for (int peer = 0; peer < remote; ++peer) {
        EXPECT_EQ(receive[static_cast<std::size_t>(peer)], turn * 10000 + (leader + peer) * 100 + here) << what;
      }
      receive.assign(peers, -1);
    };
    EXPECT_EQ(MPI_SUCCESS, tested.alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, between));
    expect_transposed("alltoall");
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallv(send.data(), ones.data(), places.data(), MPI_INT, receive.data(),
                                            ones.data(), places.data(), MPI_INT, between));
    expect_transposed("alltoallv");
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallw(send.data(), ones.data(), bytes.data(), kinds.data(), receive.data(),
                                            ones.data(), bytes.data(), kinds.data(), between));
    expect_transposed("alltoallw");
    EXPECT_EQ(MPI_SUCCESS, tested.allgather(&rank, 1, MPI_INT, receive.data(), 1, MPI_INT, between));
    for (int peer = 0; peer < remote; ++peer) {
      EXPECT_EQ(receive[static_cast<std::size_t>(peer)], leader + peer);
    }
    EXPECT_EQ(MPI_SUCCESS,
              tested.allgatherv(&rank, 1, MPI_INT, receive.data(), ones.data(), places.data(), MPI_INT, between));
    for (int peer = 0; peer < remote; ++peer) {
      EXPECT_EQ(receive[static_cast<std::size_t>(peer)], leader + peer);
    }
  }
  MPI_Comm_free(&between);
}

// The drop-in program is only worth something if the calls do arrive at the preloaded library.
TEST_F(Lifecycle, DoorIsInPlace) {
  if (can_force) GTEST_SKIP() << "for the drop-in door";
  for (const char* name : {"MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw", "MPI_Allgather", "MPI_Allgatherv"}) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), native_symbol((std::string("P") + name).c_str()))
        << name << " is the MPI's own: is libquadrille_mpi.so preloaded?";
  }
}

}  // namespace
}  // namespace quadrille::test
