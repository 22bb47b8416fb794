// Arguments that are legal but rare, and arguments that are wrong.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

class Arguments : public MpiTest {};

// A rank that moves nothing may have no buffers at all: null on this rank, real on the others.
TEST_F(Arguments, NullBuffersWhereNothingMoves) {
  const Communicator& where = communicator_named("duplicated");
  const auto size = static_cast<std::size_t>(where.size);
  const bool idle = where.rank % 2 == 0;
  for (int turn = 0; turn < 10; ++turn) {
    // Odd ranks exchange one int with each other; block k is for the k-th odd rank.
    std::vector<int> counts(size), places(size), send, receive;
    for (std::size_t peer = 0; peer < size; ++peer) counts[peer] = !idle && peer % 2 == 1 ? 1 : 0;
    // Some MPIs take equal arrays for equal buffers, which are a mistake.
    const std::vector<int> receive_counts = counts;
    std::partial_sum(counts.begin(), counts.end() - 1, places.begin() + 1);
    for (int k = 0; k < where.size && !idle; ++k) send.push_back(where.rank * 100 + k);
    receive.assign(send.size(), -1);
    const std::vector<MPI_Datatype> kinds(size, MPI_INT);
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallv(idle ? nullptr : send.data(), counts.data(), places.data(), MPI_INT,
                                            idle ? nullptr : receive.data(), receive_counts.data(), places.data(),
                                            MPI_INT, where.comm));
    for (std::size_t peer = 1, at = 0; peer < size && !idle; peer += 2, ++at) {
      EXPECT_EQ(receive[at], static_cast<int>(peer) * 100 + where.rank / 2);
    }
    for (int& place : places) place *= static_cast<int>(sizeof(int));
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallw(idle ? nullptr : send.data(), counts.data(), places.data(), kinds.data(),
                                            idle ? nullptr : receive.data(), receive_counts.data(), places.data(),
                                            kinds.data(), where.comm));
    for (std::size_t peer = 1, at = 0; peer < size && !idle; peer += 2, ++at) {
      EXPECT_EQ(receive[at], static_cast<int>(peer) * 100 + where.rank / 2);
    }
  }
}

// Null buffers on all ranks with a count of zero.
TEST_F(Arguments, NullBuffersEverywhere) {
  const Communicator& where = communicator_named("world");
  const std::vector<int> zeros(static_cast<std::size_t>(where.size), 0);
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(MPI_SUCCESS, tested.alltoall(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, where.comm));
    EXPECT_EQ(MPI_SUCCESS, tested.allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, where.comm));
    EXPECT_EQ(MPI_SUCCESS,
              tested.allgatherv(nullptr, 0, MPI_INT, nullptr, zeros.data(), zeros.data(), MPI_INT, where.comm));
  }
}

// Only odd ranks give absolute addresses: what one rank does locally must not steer the others.
TEST_F(Arguments, AbsoluteAddressesOnSomeRanks) {
  const Communicator& where = communicator_named("duplicated");
  const auto size = static_cast<std::size_t>(where.size);
  const bool absolute = where.rank % 2 == 1;
  std::vector<int> send(size), receive(size);
  std::vector<int> counts(size, 1), places(size, 0);
  std::vector<MPI_Datatype> from(size, MPI_INT), to(size, MPI_INT);
  for (std::size_t peer = 0; peer < size; ++peer) {
    places[peer] = absolute ? 0 : static_cast<int>(peer * sizeof(int));
    if (!absolute) continue;
    const int one = 1;
    MPI_Aint at;
    MPI_Get_address(&send[peer], &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &from[peer]);
    MPI_Get_address(&receive[peer], &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &to[peer]);
    MPI_Type_commit(&from[peer]);
    MPI_Type_commit(&to[peer]);
  }
  for (int turn = 0; turn < 8; ++turn) {
    for (int peer = 0; peer < where.size; ++peer) {
      send[static_cast<std::size_t>(peer)] = turn * 10000 + where.rank * 100 + peer;
    }
    receive.assign(size, -1);
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallw(absolute ? MPI_BOTTOM : send.data(), counts.data(), places.data(),
                                            from.data(), absolute ? MPI_BOTTOM : receive.data(), counts.data(),
                                            places.data(), to.data(), where.comm));
    for (int peer = 0; peer < where.size; ++peer) {
      EXPECT_EQ(receive[static_cast<std::size_t>(peer)], turn * 10000 + peer * 100 + where.rank);
    }
  }
  for (std::size_t peer = 0; peer < size && absolute; ++peer) {
    MPI_Type_free(&from[peer]);
    MPI_Type_free(&to[peer]);
  }
}

// Memory at an address that an int can say, counted in ints from address zero.
class LowMemory {
 public:
  explicit LowMemory(std::size_t ints) : bytes_(ints * sizeof(int)) {
    for (std::uintptr_t at = std::uintptr_t{1} << 28; at < std::uintptr_t{1} << 32; at += std::uintptr_t{1} << 24) {
      void* const memory = mmap(reinterpret_cast<void*>(at), bytes_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (memory == MAP_FAILED) continue;
      if (reinterpret_cast<std::uintptr_t>(memory) == at) {
        memory_ = static_cast<int*>(memory);
        return;
      }
      munmap(memory, bytes_);
    }
  }
  LowMemory(const LowMemory&) = delete;
  LowMemory& operator=(const LowMemory&) = delete;
  ~LowMemory() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  int* data() const { return memory_; }
  int place(std::size_t index) const {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(memory_ + index) / sizeof(int));
  }

 private:
  std::size_t bytes_;
  int* memory_ = nullptr;
};

// Null with displacements that lead to memory, on odd ranks alone. MPICH takes it for a null buffer; Quadrille serves
// it, as the other ranks are being served and would wait for ever.
TEST_F(Arguments, AbsoluteDisplacementsOnSomeRanks) {
  const Communicator& where = communicator_named("duplicated");
  const bool served = is_served_by_default(where);
  const auto size = static_cast<std::size_t>(where.size);
  const bool absolute = where.rank % 2 == 1;
  const LowMemory memory(2 * size);
  const int have = memory.data() != nullptr;
  int all_have = 0;
  MPI_Allreduce(&have, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!served || all_have == 0) GTEST_SKIP() << "the MPI may see it, or there is no low memory";
  int* const send = memory.data();
  int* const receive = memory.data() + size;
  std::vector<int> counts(size, 1), from(size), to(size);
  for (std::size_t peer = 0; peer < size; ++peer) {
    from[peer] = absolute ? memory.place(peer) : static_cast<int>(peer);
    to[peer] = absolute ? memory.place(size + peer) : static_cast<int>(peer);
  }
  const std::vector<int> receive_counts = counts;
  for (int turn = 0; turn < 8; ++turn) {
    for (int peer = 0; peer < where.size; ++peer) send[peer] = turn * 10000 + where.rank * 100 + peer;
    std::fill_n(receive, size, -1);
    EXPECT_EQ(MPI_SUCCESS,
              tested.alltoallv(absolute ? MPI_BOTTOM : send, counts.data(), from.data(), MPI_INT,
                               absolute ? MPI_BOTTOM : receive, receive_counts.data(), to.data(), MPI_INT, where.comm));
    for (int peer = 0; peer < where.size; ++peer) EXPECT_EQ(receive[peer], turn * 10000 + peer * 100 + where.rank);
    std::fill_n(receive, size, -1);
    EXPECT_EQ(MPI_SUCCESS, tested.allgatherv(send, 1, MPI_INT, absolute ? MPI_BOTTOM : receive, receive_counts.data(),
                                             to.data(), MPI_INT, where.comm));
    for (int peer = 0; peer < where.size; ++peer) EXPECT_EQ(receive[peer], turn * 10000 + peer * 100);
  }
}

// Null, and a type without data, on odd ranks; nothing at all on the others.
TEST_F(Arguments, NullBufferOfAnEmptyType) {
  const Communicator& where = communicator_named("world");
  if (!is_served_by_default(where)) GTEST_SKIP() << "the MPI may see it";
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  const bool odd = where.rank % 2 == 1;
  const std::vector<int> some(static_cast<std::size_t>(where.size), odd ? 3 : 0);
  const std::vector<int> zeros(static_cast<std::size_t>(where.size), 0);
  int nothing[2] = {};
  for (int turn = 0; turn < 8; ++turn) {
    EXPECT_EQ(MPI_SUCCESS,
              tested.alltoallv(odd ? nullptr : &nothing[0], some.data(), zeros.data(), odd ? empty : MPI_INT,
                               odd ? nullptr : &nothing[1], zeros.data(), zeros.data(), MPI_INT, where.comm));
  }
  MPI_Type_free(&empty);
}

// A datatype without data, any number of times, against a count of zero on the other side: whether
// there is a message must not depend on the count on one side and on the bytes on the other.
TEST_F(Arguments, EmptyTypeAgainstZeroCount) {
  const Communicator& where = communicator_named("world");
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  const std::vector<int> some(static_cast<std::size_t>(where.size), 3);
  const std::vector<int> zeros(static_cast<std::size_t>(where.size), 0);
  const bool odd = where.rank % 2 == 1;
  std::vector<int> buffers(2, 7);
  // Some MPIs hang in such an alltoall, so it must not be left to the MPI.
  const bool forced = can_force && where.size > 1;
  if (forced) {
    EXPECT_EQ(MPI_SUCCESS, force(where.comm, Collective::alltoall, "spread-out"));
  }
  for (int turn = 0; turn < 8; ++turn) {
    if (forced) {
      EXPECT_EQ(MPI_SUCCESS, tested.alltoall(&buffers[0], odd ? 3 : 0, odd ? empty : MPI_INT, &buffers[1], odd ? 0 : 2,
                                             odd ? MPI_INT : empty, where.comm));
    }
    EXPECT_EQ(MPI_SUCCESS, tested.alltoallv(&buffers[0], some.data(), zeros.data(), empty, &buffers[1], zeros.data(),
                                            zeros.data(), MPI_INT, where.comm));
  }
  EXPECT_EQ(buffers, (std::vector<int>{7, 7}));
  if (forced) {
    EXPECT_EQ(MPI_SUCCESS, force(where.comm, Collective::alltoall, ""));
  }
  MPI_Type_free(&empty);
}

// The transpose of a distributed matrix by datatypes alone: a block is a group of columns, its
// extent is one element, so neighbouring blocks interleave in memory.
TEST_F(Arguments, MatrixTransposeByColumns) {
  const Communicator& where = communicator_named("world");
  const int rows = 3;  // of this rank; the matrix is square with 3 P rows
  const int columns = rows * where.size;
  MPI_Datatype column;
  MPI_Datatype stepping;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &stepping);
  MPI_Type_commit(&stepping);
  const auto cells = static_cast<std::size_t>(rows * columns);
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<double> matrix(cells), turned(cells, -1);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        matrix[static_cast<std::size_t>(i * columns + j)] = (where.rank * rows + i) * 1000.0 + j + turn * 0.5;
      }
    }
    // Column by column on one side, row by row of the transposed block on the other.
    MPI_Datatype rows_of_block;
    MPI_Datatype row_block;
    MPI_Type_vector(rows, rows, columns, MPI_DOUBLE, &rows_of_block);
    MPI_Type_create_resized(rows_of_block, 0, rows * static_cast<int>(sizeof(double)), &row_block);
    MPI_Type_commit(&row_block);
    EXPECT_EQ(MPI_SUCCESS, tested.alltoall(matrix.data(), rows, stepping, turned.data(), 1, row_block, where.comm));
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        EXPECT_EQ(turned[static_cast<std::size_t>(i * columns + j)], j * 1000.0 + where.rank * rows + i + turn * 0.5);
      }
    }
    MPI_Type_free(&rows_of_block);
    MPI_Type_free(&row_block);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&stepping);
}

// Blocks that lie gigabytes apart. The address space is reserved, only a few pages are touched.
TEST_F(Arguments, DisplacementsPastTwoGibibytes) {
  const Communicator& where = communicator_named("world");
  if (where.size > 4) GTEST_SKIP() << "enough with up to 4 ranks";
  const std::size_t gap = std::size_t{1} << 30;
  const std::size_t length = gap * (2 * static_cast<std::size_t>(where.size) + 3);
  void* const space = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const other = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int have = space != MAP_FAILED && other != MAP_FAILED;
  int all_have = 0;
  MPI_Allreduce(&have, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_have == 0) GTEST_SKIP() << "no address space of " << length << " bytes";
  auto* const from = static_cast<char*>(space);
  auto* const to = static_cast<char*>(other);
  // One int, then nothing for a gibibyte.
  MPI_Datatype far;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(gap), &far);
  MPI_Type_commit(&far);
  const auto at = [gap](char* base, int block) {
    return reinterpret_cast<int*>(base + gap * static_cast<std::size_t>(block));
  };
  std::vector<int> ones(static_cast<std::size_t>(where.size), 1), places;
  for (int peer = 0; peer < where.size; ++peer) places.push_back(2 * peer + 2);
  for (int turn = 0; turn < 6; ++turn) {
    for (int peer = 0; peer < where.size; ++peer) {
      *at(from, 2 * peer + 2) = turn * 1000 + where.rank * 10 + peer;
    }
    EXPECT_EQ(MPI_SUCCESS,
              tested.alltoallv(from, ones.data(), places.data(), far, to, ones.data(), places.data(), far, where.comm));
    for (int peer = 0; peer < where.size; ++peer) {
      EXPECT_EQ(*at(to, 2 * peer + 2), turn * 1000 + peer * 10 + where.rank);
    }
    EXPECT_EQ(MPI_SUCCESS, tested.alltoall(from, 2, far, to, 2, far, where.comm));
    for (int peer = 0; peer < where.size; ++peer) {
      // Block 1 + k of a rank starts where the data for its peer k lies.
      const int sent = where.rank == 0 ? 0 : turn * 1000 + peer * 10 + where.rank - 1;
      EXPECT_EQ(*at(to, 2 * peer), sent);
    }
  }
  MPI_Type_free(&far);
  munmap(space, length);
  munmap(other, length);
}

// Errors.

int handler_calls = 0;
int handler_class = 0;

void count_errors(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_class = error_class(*code);
}

MPI_Datatype uncommitted() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made;
    MPI_Type_contiguous(2, MPI_INT, &made);
    return made;
  }();
  return type;
}

// A wrong call, which all ranks make: a good one whose sides are changed.
struct WrongCall {
  const char* name;
  Collective collective;
  void (*spoil)(CallSide& send, CallSide& recv);
};

const std::vector<int> negative(64, -1);

const WrongCall wrong_calls[] = {
    {"alltoall, negative send count", Collective::alltoall, [](CallSide& s, CallSide&) { s.count = -1; }},
    {"alltoall, negative receive count", Collective::alltoall, [](CallSide&, CallSide& r) { r.count = -1; }},
    {"alltoall, null send type", Collective::alltoall, [](CallSide& s, CallSide&) { s.type = MPI_DATATYPE_NULL; }},
    {"alltoall, null receive type", Collective::alltoall, [](CallSide&, CallSide& r) { r.type = MPI_DATATYPE_NULL; }},
    {"alltoall, in place on the wrong side", Collective::alltoall,
     [](CallSide&, CallSide& r) { r.buffer = MPI_IN_PLACE; }},
    {"allgather, negative receive count", Collective::allgather, [](CallSide&, CallSide& r) { r.count = -1; }},
    {"allgather, null receive type", Collective::allgather, [](CallSide&, CallSide& r) { r.type = MPI_DATATYPE_NULL; }},
    {"alltoallv, a negative count", Collective::alltoallv,
     [](CallSide& s, CallSide& r) { s.counts = negative.data(), r.displacements = r.counts; }},
    {"alltoallv, null receive type", Collective::alltoallv, [](CallSide&, CallSide& r) { r.type = MPI_DATATYPE_NULL; }},
    // All MPIs say it even if nothing moves.
    {"alltoall, nothing of a null send type", Collective::alltoall,
     [](CallSide& s, CallSide& r) { s.count = r.count = 0, s.type = MPI_DATATYPE_NULL; }},
    {"alltoall, nothing of a null receive type", Collective::alltoall,
     [](CallSide& s, CallSide& r) { s.count = r.count = 0, r.type = MPI_DATATYPE_NULL; }},
    {"alltoall, nothing of a type that is not committed", Collective::alltoall,
     [](CallSide& s, CallSide& r) { s.count = r.count = 0, s.type = uncommitted(); }},
    {"alltoall, a type that is not committed", Collective::alltoall,
     [](CallSide& s, CallSide& r) { s.type = uncommitted(), r.count = 2; }},
    {"alltoallv, nothing of a type that is not committed", Collective::alltoallv,
     [](CallSide& s, CallSide& r) { s.counts = r.counts = s.displacements, s.type = uncommitted(); }},
    {"allgather, nothing of a null send type", Collective::allgather,
     [](CallSide& s, CallSide& r) { s.count = r.count = 0, s.type = MPI_DATATYPE_NULL; }},
    {"allgatherv, nothing of a null receive type", Collective::allgatherv,
     [](CallSide& s, CallSide& r) { s.count = 0, r.counts = r.displacements, r.type = MPI_DATATYPE_NULL; }},
#if defined(OPEN_MPI)
    {"alltoallw, no array of send types", Collective::alltoallw,  // MPICH crashes
     [](CallSide& s, CallSide&) { s.types = nullptr; }},
#endif
    {"allgatherv, null receive type", Collective::allgatherv,
     [](CallSide&, CallSide& r) { r.type = MPI_DATATYPE_NULL; }},
};

class Errors : public MpiTest {
 protected:
  // The error class of a wrong call, and how often the communicator's handler was called.
  static std::pair<int, int> outcome(const Door& door, MPI_Comm comm, const WrongCall& wrong) {
    std::vector<int> buffer(4096, 0);
    const std::vector<int> fine(64, 1), zeros(64, 0);
    const std::vector<MPI_Datatype> ints(64, MPI_INT);
    CallSide send{buffer.data(), 1, MPI_INT, fine.data(), zeros.data(), zeros.data(), nullptr, ints.data()};
    CallSide recv = send;
    recv.buffer = buffer.data() + 64;
    wrong.spoil(send, recv);
    handler_calls = 0;
    handler_class = 0;
    const int code = test::call(door, wrong.collective, send, recv, comm);
    return {error_class(code) + 1000 * handler_class, handler_calls};
  }
};

// The class that is returned and what the error handler sees are those of the MPI itself, on a
// communicator that is fresh and on one that Quadrille has served.
TEST_F(Errors, ReachTheUserAsFromTheMpi) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(&count_errors, &handler);
  for (bool served : {false, true}) {
    for (bool own_handler : {false, true}) {
      Communicator where = duplicate("errors");
      const Shape shape = {.kinds = same("int"), .bytes = 8};
      for (int i = 0; served && i < 6; ++i) expect_good(check(shape, where));
      MPI_Comm_set_errhandler(where.comm, own_handler ? handler : MPI_ERRORS_RETURN);
      for (const WrongCall& wrong : wrong_calls) {
        const auto theirs = outcome(native(), where.comm, wrong);
        const auto ours = outcome(tested, where.comm, wrong);
        // Open MPI reports some mistakes on MPI_COMM_WORLD, and Quadrille's requests on the communicator of the call.
        const bool on_world = own_handler && theirs.second == 0 && ours.second == 1;
        EXPECT_EQ(on_world ? std::pair(ours.first % 1000, 0) : ours, theirs) << wrong.name;
        EXPECT_NE(theirs.first, 0) << wrong.name << ": the MPI reports no error, the test is blind";
      }
      // And it still works.
      MPI_Comm_set_errhandler(where.comm, MPI_ERRORS_RETURN);
      for (int i = 0; i < 3; ++i) expect_good(check(shape, where));
      release(where);
    }
  }
  MPI_Errhandler_free(&handler);
}

TEST_F(Errors, NullCommunicator) {
  int send = 0;
  int receive = 0;
  const int theirs = native().alltoall(&send, 1, MPI_INT, &receive, 1, MPI_INT, MPI_COMM_NULL);
  const int ours = tested.alltoall(&send, 1, MPI_INT, &receive, 1, MPI_INT, MPI_COMM_NULL);
  EXPECT_EQ(error_class(ours), error_class(theirs));
  EXPECT_NE(error_class(ours), MPI_SUCCESS);
}

}  // namespace
}  // namespace quadrille::test
