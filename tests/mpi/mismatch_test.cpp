// Programs that send more, or less, than the others expect. That is a mistake, but with most MPIs such programs run.
// They must never touch memory that nobody gave them, never hang, and end as with the MPI.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr int poison = -77;

// Ints that end where memory ends: reading or writing one more is a crash.
class UpToTheEdge {
 public:
  explicit UpToTheEdge(std::size_t ints) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    inside_ = (ints * sizeof(int) + page - 1) / page * page;
    whole_ = inside_ + page;
    void* const memory = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = static_cast<char*>(memory);
    mprotect(base_ + inside_, page, PROT_NONE);
    begin_ = reinterpret_cast<int*>(base_ + inside_) - ints;
  }
  UpToTheEdge(const UpToTheEdge&) = delete;
  UpToTheEdge& operator=(const UpToTheEdge&) = delete;
  ~UpToTheEdge() {
    if (base_ != nullptr) munmap(base_, whole_);
  }
  int* data() const { return begin_; }
  int& operator[](std::size_t i) const { return begin_[i]; }

 private:
  char* base_ = nullptr;
  int* begin_ = nullptr;
  std::size_t inside_ = 0, whole_ = 0;
};

int value(int from, int to, int index) { return from * 1000003 + to * 1009 + index; }

struct Case {
  Collective collective;
  int sent, given;  // ints of a block
};

int call_it(const Door& door, const Case& c, const int* send, int* recv, const Communicator& where) {
  const auto size = static_cast<std::size_t>(where.size);
  std::vector<int> sent(size, c.sent), given(size, c.given), from(size), to(size);
  for (std::size_t peer = 0; peer < size; ++peer) {
    from[peer] = static_cast<int>(peer) * c.sent;
    to[peer] = static_cast<int>(peer) * c.given;
  }
  const std::vector<MPI_Datatype> ints(size, MPI_INT);
  std::vector<int> from_bytes, to_bytes;
  for (const int place : from) from_bytes.push_back(place * static_cast<int>(sizeof(int)));
  for (const int place : to) to_bytes.push_back(place * static_cast<int>(sizeof(int)));
  const CallSide sends{const_cast<int*>(send), c.sent,  MPI_INT,    sent.data(), from.data(),
                       from_bytes.data(),      nullptr, ints.data()};
  const CallSide receives{recv, c.given, MPI_INT, given.data(), to.data(), to_bytes.data(), nullptr, ints.data()};
  return call(door, c.collective, sends, receives, where.comm);
}

// Unless an error is told, what was received is the first part of what was sent, and nothing else was touched. Empty if
// so.
std::string make_call(const Case& c, const Communicator& where, int& error) {
  const auto blocks = static_cast<std::size_t>(where.size);
  const auto sent = static_cast<std::size_t>(c.sent), given = static_cast<std::size_t>(c.given);
  const UpToTheEdge send(is_allgather(c.collective) ? sent : sent * blocks), recv(given * blocks);
  for (int to = 0; to < (is_allgather(c.collective) ? 1 : where.size); ++to) {
    for (int i = 0; i < c.sent; ++i) send[static_cast<std::size_t>(to * c.sent + i)] = value(where.rank, to, i);
  }
  for (std::size_t i = 0; i < given * blocks; ++i) recv[i] = poison;
  error = call_it(tested, c, send.data(), recv.data(), where);
  if (error != MPI_SUCCESS) return {};
  for (int from = 0; from < where.size; ++from) {
    for (int i = 0; i < c.given; ++i) {
      const int to = is_allgather(c.collective) ? 0 : where.rank;
      const int expected = i < c.sent ? value(from, to, i) : poison;
      const int found = recv[static_cast<std::size_t>(from * c.given + i)];
      if (found != expected) {
        return "element " + std::to_string(i) + " from rank " + std::to_string(from) + " is " + std::to_string(found) +
               ", not " + std::to_string(expected);
      }
    }
  }
  return {};
}

class Mismatch : public MpiTest {
 protected:
  static int class_of(int error) {
    int result = MPI_SUCCESS;
    MPI_Error_class(error, &result);
    return result;
  }
};

TEST_F(Mismatch, LessIsSentThanIsExpected) {
  Communicator where = duplicate("less");
  MPI_Comm_set_errhandler(where.comm, MPI_ERRORS_RETURN);
  const bool served = is_served_by_default(where);
  for (const Collective collective : dense_collectives) {
    for (const int ints : {1, 300, 3000, 40000}) {
      if (!served) break;
      for (int turn = 0; turn < 3; ++turn) {
        int error = MPI_SUCCESS;
        expect_good(make_call({collective, ints, 2 * ints}, where, error));
        EXPECT_EQ(error, MPI_SUCCESS) << name_of(collective) << " of " << ints;
      }
    }
  }
  release(where);
}

TEST_F(Mismatch, MoreIsSentThanIsExpected) {
  Communicator where = duplicate("more");
  MPI_Comm_set_errhandler(where.comm, MPI_ERRORS_RETURN);
  const bool served = is_served_by_default(where);
#if defined(OPEN_MPI)
  constexpr bool may_cut = false;
#else
  constexpr bool may_cut = true;  // allgathers, and says nothing: some versions of MPICH
#endif
  for (const Collective collective : dense_collectives) {
    // Twice as many as expected, and a long message where a small block is expected.
    for (const Case& c : {Case{collective, 2, 1}, Case{collective, 600, 300}, Case{collective, 6000, 3000},
                          Case{collective, 80000, 40000}, Case{collective, 80000, 1}}) {
      if (!served) break;
      for (int turn = 0; turn < 3; ++turn) {
        int error = MPI_SUCCESS;
        expect_good(make_call(c, where, error));
        const bool was_cut = may_cut && is_allgather(collective) && error == MPI_SUCCESS;
        EXPECT_TRUE(was_cut || class_of(error) == MPI_ERR_TRUNCATE)
            << name_of(collective) << " of " << c.sent << " for " << c.given << ": class " << class_of(error);
      }
    }
  }
  release(where);
}

}  // namespace
}  // namespace quadrille::test
