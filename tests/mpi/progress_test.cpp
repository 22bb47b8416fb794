// Time and order: slow ranks, messages in flight, threads, several communicators, long runs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

template <class Number>
Collective one_of(Number number) {
  return dense_collectives[static_cast<std::size_t>(number) % dense_collectives.size()];
}

Shape small(Collective collective, std::size_t bytes) {
  return {.collective = collective, .kinds = same("byte"), .bytes = bytes};
}

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

class Progress : public MpiTest {};

// Rank 1 is in a blocking send of a large message to rank 0, which has posted the receive and is
// already in the collective. Rank 1 enters the collective only after the send. A rank that waits
// without letting the MPI work hangs here.
TEST_F(Progress, PeerInBlockingSend) {
  const Communicator& where = communicator_named("duplicated");
  if (where.size < 2) GTEST_SKIP() << "needs two ranks";
  std::vector<char> message(std::size_t{4} << 20);
  for (int turn = 0; turn < 8; ++turn) {
    for (Collective collective : dense_collectives) {
      MPI_Request request = MPI_REQUEST_NULL;
      const auto length = static_cast<int>(message.size());
      if (where.rank == 0) {
        message.assign(message.size(), 0);
        MPI_Irecv(message.data(), length, MPI_CHAR, 1, turn, where.comm, &request);
      } else if (where.rank == 1) {
        message.assign(message.size(), static_cast<char>(turn + 1));
        nap(turn % 2);
        MPI_Send(message.data(), length, MPI_CHAR, 0, turn, where.comm);
      }
      expect_good(check(small(collective, turn % 2 == 0 ? 8 : 20000), where, false));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (where.rank == 0) {
        EXPECT_EQ(std::count(message.begin(), message.end(), static_cast<char>(turn + 1)), length);
      }
    }
  }
}

// As before, but rank 0 sends to everybody while they wait.
TEST_F(Progress, EverybodyWaitsForASender) {
  const Communicator& where = communicator_named("duplicated");
  std::vector<char> message(std::size_t{1} << 20, 'x');
  const auto length = static_cast<int>(message.size());
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (where.rank != 0) {
      MPI_Irecv(message.data(), length, MPI_CHAR, 0, turn, where.comm, &request);
    } else {
      for (int peer = 1; peer < where.size; ++peer) {
        MPI_Send(message.data(), length, MPI_CHAR, peer, turn, where.comm);
      }
    }
    expect_good(check(small(Collective::alltoall, 8), where, false));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// One rank comes late, each in turn.
TEST_F(Progress, SlowRank) {
  const Communicator& where = communicator_named("reversed");
  int turn = 0;
  for (Collective collective : dense_collectives) {
    for (std::size_t bytes : {std::size_t{8}, std::size_t{600}, std::size_t{50000}}) {
      if (where.rank == turn++ % where.size) nap(5);
      expect_good(check(small(collective, bytes), where, false));
    }
  }
}

// A rank may write into its send buffer as soon as its call has returned, even if others have not
// yet begun to read; and it may be one call ahead, never more.
TEST_F(Progress, SendBufferIsReusedAtOnce) {
  const Communicator& where = communicator_named("duplicated");
  const auto size = static_cast<std::size_t>(where.size);
  for (std::size_t bytes : {8, 512, 16384}) {
    const std::size_t words = bytes / sizeof(int);
    std::vector<int> send(size * words), receive(size * words);
    int wrong = 0;
    for (int turn = 0; turn < repeats(300, 20); ++turn) {
      send.assign(send.size(), turn * 100 + where.rank);
      if (turn % 16 == 0 && where.rank == turn / 16 % where.size) nap(1);
      tested.alltoall(send.data(), static_cast<int>(words), MPI_INT, receive.data(), static_cast<int>(words), MPI_INT,
                      where.comm);
      send.assign(send.size(), -1);
      for (std::size_t i = 0; i < receive.size(); ++i) {
        wrong += receive[i] != turn * 100 + static_cast<int>(i / words);
      }
      receive.assign(receive.size(), -2);
    }
    EXPECT_EQ(wrong, 0) << bytes << " bytes";
  }
}

// A plan may keep neither addresses nor counts: other buffers and sizes at every call.
TEST_F(Progress, OtherBuffersAndCountsEveryCall) {
  const Communicator& where = communicator_named("duplicated");
  Random random(11);
  for (int turn = 0; turn < repeats(400, 30); ++turn) {
    Shape shape = small(one_of(random.below(5)), static_cast<std::size_t>(random.below(1500)));
    shape.in_place = random.below(3) == 0;
    shape.pattern = all_patterns[random.below(7)];
    shape.seed = static_cast<std::uint64_t>(turn);
    expect_good(check(shape, where, false));
  }
}

// Different collectives and sizes in turn on communicators that share ranks.
TEST_F(Progress, InterleavedCommunicators) {
  Random random(12);
  for (int turn = 0; turn < repeats(400, 30); ++turn) {
    for (const Communicator& where : communicators()) {
      // Ranks outside of a communicator draw the same numbers as those inside.
      const std::uint64_t draw = mix(where.number * 1000003 + static_cast<std::uint64_t>(turn));
      const Collective collective = one_of(draw);
      Shape shape = small(collective, draw / 8 % 700);
      shape.in_place = draw / 8192 % 4 == 0;
      shape.pattern = Pattern::random;
      shape.seed = draw;
      expect_good(check(shape, where, false));
    }
    if (random.below(20) == 0 && world().rank == turn % world().size) nap(1);
  }
}

// The user's own messages with every tag and the user's own collectives between ours.
TEST_F(Progress, UserTrafficOnTheSameCommunicator) {
  const Communicator& where = communicator_named("duplicated");
  if (where.size < 2) GTEST_SKIP() << "needs two ranks";
  const int next = (where.rank + 1) % where.size;
  for (int turn = 0; turn < repeats(100, 10); ++turn) {
    int from = -1;
    MPI_Request request;
    MPI_Irecv(&from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, where.comm, &request);
    expect_good(check(small(one_of(turn), turn % 3 == 0 ? 9000 : 16), where, false));
    MPI_Send(&where.rank, 1, MPI_INT, next, turn, where.comm);
    expect_good(check(small(one_of(turn + 1), 40), where, false));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(from, (where.rank + where.size - 1) % where.size);
    int sum = 0;
    MPI_Allreduce(&where.rank, &sum, 1, MPI_INT, MPI_SUM, where.comm);
    EXPECT_EQ(sum, where.size * (where.size - 1) / 2);
  }
}

// work(thread, communicator) in two threads, each with its own communicator.
template <class Work>
void in_two_threads(Work work) {
  if (world().thread_level < MPI_THREAD_MULTIPLE) {
    GTEST_SKIP() << "the MPI does not provide MPI_THREAD_MULTIPLE";
  }
  Communicator own[] = {duplicate("of thread 1"), duplicate("of thread 2")};
  std::thread other([&] { work(1, own[1]); });
  work(0, own[0]);
  other.join();
  for (Communicator& one : own) release(one);
}

TEST_F(Progress, ThreadsOnTwoCommunicators) {
  std::string problems[2];
  // check() counts calls for each communicator, so the threads share nothing.
  in_two_threads([&problems](int thread, const Communicator& where) {
    Random random(static_cast<std::uint64_t>(thread) + 100);
    for (int turn = 0; turn < repeats(600, 30); ++turn) {
      Shape shape = small(one_of(random.below(5)), static_cast<std::size_t>(random.below(3000)));
      shape.pattern = Pattern::random;
      shape.seed = static_cast<std::uint64_t>(turn);
      const std::string problem = check(shape, where, false);
      if (problems[thread].empty()) problems[thread] = problem;
    }
  });
  expect_good(problems[0]);
  expect_good(problems[1]);
}

// Two threads make, use and free communicators at the same time.
TEST_F(Progress, ThreadsMakeCommunicators) {
  std::atomic<int> wrong = 0;
  in_two_threads([&wrong](int, const Communicator& base) {
    for (int turn = 0; turn < repeats(40, 4); ++turn) {
      MPI_Comm comm;
      MPI_Comm_dup(base.comm, &comm);
      std::vector<int> send(static_cast<std::size_t>(base.size), base.rank);
      std::vector<int> receive(send.size(), -1);
      for (int i = 0; i < 6; ++i) {
        wrong += tested.alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm) != MPI_SUCCESS;
        for (int peer = 0; peer < base.size; ++peer) wrong += receive[static_cast<std::size_t>(peer)] != peer;
      }
      MPI_Comm_free(&comm);
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Threads that go on with each other's calls. With one more that does nothing but take the time of a processor each of
// them is often stopped at any point, also where it has just let another know that its call is done.
TEST_F(Progress, ThreadsEndEachOthersCalls) {
  std::atomic<int> wrong = 0;
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) {
    }
  });
  in_two_threads([&](int, const Communicator& base) {
    std::vector<int> send(static_cast<std::size_t>(base.size), base.rank), receive(send.size(), -1);
    const int turns = base.size <= 2 ? 1000 : repeats(400, 40);
    for (int turn = 0; turn < turns; ++turn) {
      std::fill(receive.begin(), receive.end(), -1);
      wrong += tested.alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, base.comm) != MPI_SUCCESS;
      for (int peer = 0; peer < base.size; ++peer) wrong += receive[static_cast<std::size_t>(peer)] != peer;
    }
  });
  over = true;
  busy.join();
  EXPECT_EQ(wrong, 0);
}

// A long run with changing sizes, past the wrap of any 16-bit counter where ranks have cores.
TEST_F(Progress, Soak) {
  Communicator where = duplicate("soak");
  const auto size = static_cast<std::size_t>(where.size);
  const int calls = where.size <= 2 ? 70000 : repeats(20000);
  std::vector<unsigned char> send(size * 64), receive(size * 64);
  std::uint64_t wrong = 0;
  for (int call = 0; call < calls; ++call) {
    const std::uint64_t draw = mix(static_cast<std::uint64_t>(call));
    const std::size_t bytes = draw % 65;
    const int count = static_cast<int>(bytes);
    const bool gather = draw / 128 % 4 == 0;
    for (std::size_t d = 0; d < size; ++d) {
      std::fill_n(
          &send[d * bytes], bytes,
          static_cast<unsigned char>(mix(draw + static_cast<std::uint64_t>(where.rank) * 64 + (gather ? 0 : d))));
    }
    std::fill(receive.begin(), receive.end(), static_cast<unsigned char>(0));
    if (gather) {
      tested.allgather(send.data(), count, MPI_BYTE, receive.data(), count, MPI_BYTE, where.comm);
    } else {
      tested.alltoall(send.data(), count, MPI_BYTE, receive.data(), count, MPI_BYTE, where.comm);
    }
    const std::size_t me = static_cast<std::size_t>(where.rank);
    for (std::size_t s = 0; s < size; ++s) {
      const auto expected = static_cast<unsigned char>(mix(draw + s * 64 + (gather ? 0 : me)));
      const auto* const block = &receive[s * bytes];
      wrong += static_cast<std::uint64_t>(bytes - std::count(block, block + bytes, expected));
    }
  }
  EXPECT_EQ(wrong, 0U);
  release(where);
}

}  // namespace
}  // namespace quadrille::test
