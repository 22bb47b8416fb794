// The sparse exchange with real ranks. Every rank knows the whole pattern, so each checks all that
// it gets.
#include <quadrille.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "world.hpp"

namespace quadrille::test {
namespace {

struct Block {
  int destination;
  int count;
};
// [source] the blocks that it sends, in order.
using Plan = std::vector<std::vector<Block>>;

// The value of an element: differs for each source, block, element and call.
double value(int source, std::size_t block, int element, int call) {
  return source * 1e9 + static_cast<double>(block) * 1e6 + element * 1e2 + call % 100 + 0.5;
}

// A struct with a gap in the middle and one at the end.
struct Odd {
  char letter;
  double number;
  char last;
};

MPI_Datatype odd_type() {
  const int lengths[] = {1, 1, 1};
  const MPI_Aint places[] = {offsetof(Odd, letter), offsetof(Odd, number), offsetof(Odd, last)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype tight, type;
  MPI_Type_create_struct(3, lengths, places, types, &tight);
  MPI_Type_create_resized(tight, 0, sizeof(Odd), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&tight);
  return type;
}

void set(double& element, double v) { element = v; }
void set(Odd& element, double v) {
  std::memset(static_cast<void*>(&element), 0x7e, sizeof element);
  element.letter = static_cast<char>(static_cast<std::int64_t>(v) % 100);
  element.number = v;
  element.last = 'z';
}
bool holds(const double& element, double v) { return element == v; }
bool holds(const Odd& element, double v) {
  return element.letter == static_cast<char>(static_cast<std::int64_t>(v) % 100) && element.number == v &&
         element.last == 'z';
}

// The arguments of one rank. The blocks lie in the buffer in reverse order, with gaps.
template <class Element>
struct Arguments {
  std::vector<int> destinations;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> places;
  std::vector<Element> buffer;

  Arguments(const std::vector<Block>& blocks, int me, int call) {
    std::size_t total = 0;
    for (const Block& b : blocks) total += static_cast<std::size_t>(b.count) + 1;
    buffer.resize(total + 1);
    std::size_t at = total;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      at -= static_cast<std::size_t>(blocks[i].count) + 1;
      destinations.push_back(blocks[i].destination);
      counts.push_back(blocks[i].count);
      places.push_back(static_cast<MPI_Aint>(at));
      for (int e = 0; e < blocks[i].count; ++e) {
        set(buffer[at + static_cast<std::size_t>(e)], value(me, i, e, call));
      }
    }
  }
};

// What is wrong with what arrived; empty if nothing.
template <class Element>
std::string difference(const Plan& pattern, int me, int call, const Quadrille_Received& got) {
  int entry = 0;
  for (int source = 0; source < static_cast<int>(pattern.size()); ++source) {
    const auto& blocks = pattern[static_cast<std::size_t>(source)];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].destination != me) continue;
      const std::string where = "entry " + std::to_string(entry) + " from " + std::to_string(source);
      if (entry >= got.nsources) return where + " is missing";
      if (got.sources[entry] != source) {
        return where + " says source " + std::to_string(got.sources[entry]);
      }
      if (got.counts[entry] != blocks[i].count) {
        return where + " has count " + std::to_string(got.counts[entry]) + ", not " + std::to_string(blocks[i].count);
      }
      const auto* data = static_cast<const Element*>(got.data) + got.displs[entry];
      for (int e = 0; e < blocks[i].count; ++e) {
        if (!holds(data[e], value(source, i, e, call))) {
          return where + ": element " + std::to_string(e) + " is wrong";
        }
      }
      ++entry;
    }
  }
  if (entry != got.nsources) return "there are " + std::to_string(got.nsources - entry) + " too many";
  return {};
}

template <class Element>
void expect_exchanged(const Plan& pattern, MPI_Datatype type, const Communicator& where, int call) {
  const Arguments<Element> mine(pattern[static_cast<std::size_t>(where.rank)], where.rank, call);
  Quadrille_Received got;
  const int code =
      Quadrille_Exchange(mine.buffer.data(), static_cast<int>(mine.counts.size()), mine.destinations.data(),
                         mine.counts.data(), mine.places.data(), type, type, where.comm, &got);
  EXPECT_EQ(code, MPI_SUCCESS);
  const std::string wrong = difference<Element>(pattern, where.rank, call, got);
  expect_good(wrong.empty() ? wrong
                            : "call " + std::to_string(call) + ", rank " + std::to_string(where.rank) + ": " + wrong);
  EXPECT_EQ(Quadrille_Received_free(&got), MPI_SUCCESS);
  EXPECT_EQ(got.data, nullptr);
  EXPECT_EQ(Quadrille_Received_free(&got), MPI_SUCCESS) << "twice";
}

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

// Up to `most` blocks a rank, to anybody, of up to `largest` elements.
Plan random_pattern(int ranks, std::uint32_t seed, int most, int largest) {
  std::mt19937 random(seed);
  Plan pattern(index(ranks));
  for (auto& blocks : pattern) {
    const unsigned number = random() % static_cast<unsigned>(most + 1);
    for (unsigned i = 0; i < number; ++i) {
      const int to = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const bool empty = random() % 5 == 0;
      blocks.push_back({to, empty ? 0 : static_cast<int>(random() % static_cast<unsigned>(largest + 1))});
    }
  }
  return pattern;
}

class Sparse : public MpiTest, public testing::WithParamInterface<const char*> {
 protected:
  void force_on(MPI_Comm comm) { EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(comm, "exchange", GetParam())); }
  void SetUp() override {
    MpiTest::SetUp();
    where_ = duplicate("sparse");
    force_on(where_.comm);
  }
  void TearDown() override {
    release(where_);
    MpiTest::TearDown();
  }
  // With doubles and with structs.
  void both(const Plan& pattern, const Communicator& where) {
    expect_exchanged<double>(pattern, MPI_DOUBLE, where, ++call_);
    MPI_Datatype odd = odd_type();
    expect_exchanged<Odd>(pattern, odd, where, ++call_);
    MPI_Type_free(&odd);
  }
  void both(const Plan& pattern) { both(pattern, where_); }

  Communicator where_;
  int call_ = 0;  // the same on all ranks: the values depend on it
};

TEST_P(Sparse, NobodySendsAnything) {
  const Plan nothing(index(where_.size));
  for (int i = 0; i < 20; ++i) both(nothing);
  Quadrille_Received got;
  EXPECT_EQ(MPI_SUCCESS,
            Quadrille_Exchange(nullptr, 0, nullptr, nullptr, nullptr, MPI_DATATYPE_NULL, MPI_INT, where_.comm, &got));
  EXPECT_EQ(got.nsources, 0);
  EXPECT_EQ(got.sources, nullptr);
  EXPECT_EQ(got.data, nullptr);
}

TEST_P(Sparse, EverybodyToOneAndOneToEverybody) {
  for (int one = 0; one < where_.size; ++one) {
    Plan gather(index(where_.size)), scatter(index(where_.size));
    for (int r = 0; r < where_.size; ++r) {
      gather[index(r)].push_back({one, r * 7});
      scatter[index(one)].push_back({r, (where_.size - r) * 5});
    }
    both(gather);
    both(scatter);
  }
}

TEST_P(Sparse, OneselfAndTheSameRankSeveralTimes) {
  Plan pattern(index(where_.size));
  for (int r = 0; r < where_.size; ++r) {
    const int next = (r + 1) % where_.size;
    pattern[index(r)] = {{next, 3}, {r, 2}, {next, 0}, {r, 0}, {next, 500}, {r, 9}, {next, 1}, {next, 1}};
  }
  both(pattern);
}

TEST_P(Sparse, LargeBlocks) {
  Plan pattern(index(where_.size));
  for (int r = 0; r < where_.size; ++r) {
    const int next = (r + 1) % where_.size;
    pattern[index(r)] = {{next, 70000 + r}, {next, 0}, {where_.size - 1 - r, 30000}, {next, 5}};
  }
  both(pattern);
}

TEST_P(Sparse, RandomPatternsOnAllCommunicators) {
  for (const Communicator& one : communicators()) {
    force_on(one.comm);
    call_ = 0;  // the ranks are in different numbers of communicators
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      both(random_pattern(one.size, seed + 1000, 8, 300), one);
    }
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(one.comm, "exchange", ""));
  }
}

// No meeting point between the calls: ranks run ahead of each other, which must mix nothing up.
TEST_P(Sparse, ManyCallsInARow) {
  for (int call = 0; call < 2000; ++call) {
    const auto seed = static_cast<std::uint32_t>(call);
    const Plan pattern = random_pattern(where_.size, seed, 3, call % 50 == 0 ? 2000 : 8);
    expect_exchanged<double>(pattern, MPI_DOUBLE, where_, call);
  }
}

// On the same private communicator: the ways of the sparse exchange in turn, and messages of an
// all-to-all.
TEST_P(Sparse, InTurnWithOthers) {
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(where_.comm, "alltoall", "pairwise"));
  const std::vector<int> sent(index(where_.size), where_.rank);
  std::vector<int> got(index(where_.size));
  for (int call = 0; call < 60; ++call) {
    const char* const other = call % 3 == 0 ? "consensus" : call % 3 == 1 ? "bruck:radix=3" : GetParam();
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Set_algorithm(where_.comm, "exchange", other));
    for (std::uint32_t i = 0; i < 3; ++i) {
      both(random_pattern(where_.size, static_cast<std::uint32_t>(call) * 3 + i, 4, 20));
      EXPECT_EQ(MPI_SUCCESS, Quadrille_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, where_.comm));
      for (int r = 0; r < where_.size; ++r) EXPECT_EQ(got[index(r)], r);
    }
  }
}

// A sender's doubles become pairs at the receiver, before whose first byte the address lies.
TEST_P(Sparse, AnotherTypeAtTheReceiver) {
  const int lengths[] = {2};
  const MPI_Aint places[] = {-16};
  const MPI_Datatype types[] = {MPI_DOUBLE};
  MPI_Datatype made, pair;
  MPI_Type_create_struct(1, lengths, places, types, &made);
  MPI_Type_create_resized(made, -16, 40, &pair);
  MPI_Type_commit(&pair);
  const double mine[] = {where_.rank + 0.25, 1, 2, where_.rank + 0.75};
  const int next = (where_.rank + 1) % where_.size;
  const int before = (where_.rank + where_.size - 1) % where_.size;
  const MPI_Count count = 4;
  const MPI_Aint place = 0;
  Quadrille_Received got;
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Exchange(mine, 1, &next, &count, &place, MPI_DOUBLE, pair, where_.comm, &got));
  EXPECT_EQ(got.nsources, 1);
  if (got.nsources == 1) {
    EXPECT_EQ(got.counts[0], 2);
    const auto at = [&](int e, int k) {
      double v;
      std::memcpy(&v, static_cast<char*>(got.data) + (got.displs[0] + e) * 40 - 16 + k * 8, sizeof v);
      return v;
    };
    EXPECT_EQ(at(0, 0), before + 0.25);
    EXPECT_EQ(at(0, 1), 1);
    EXPECT_EQ(at(1, 0), 2);
    EXPECT_EQ(at(1, 1), before + 0.75);
  }
  Quadrille_Received_free(&got);
  MPI_Type_free(&made);
  MPI_Type_free(&pair);
}

// ---- Mistakes ----

enum class Mistake {
  none,
  rank,
  rank_below,
  count,
  number,
  buffer,
  array,
  received,
  null_type,
  loose_type,
  loose_sendtype
};
constexpr Mistake all_mistakes[] = {Mistake::rank,       Mistake::rank_below,    Mistake::count,    Mistake::number,
                                    Mistake::buffer,     Mistake::array,         Mistake::received, Mistake::null_type,
                                    Mistake::loose_type, Mistake::loose_sendtype};

int expected_class(Mistake mistake) {
  switch (mistake) {
    case Mistake::none:
      return MPI_SUCCESS;
    case Mistake::rank:
    case Mistake::rank_below:
      return MPI_ERR_RANK;
    case Mistake::count:
    case Mistake::number:
      return MPI_ERR_COUNT;
    case Mistake::buffer:
      return MPI_ERR_BUFFER;
    case Mistake::array:
    case Mistake::received:
      return MPI_ERR_ARG;
    default:
      return MPI_ERR_TYPE;
  }
}

// Sends two ints to the next rank, with a mistake.
int call_with(Mistake mistake, const Communicator& where, MPI_Datatype loose, Quadrille_Received* got) {
  const int data[] = {1, 2};
  int to[] = {(where.rank + 1) % where.size, where.rank};
  MPI_Count counts[] = {2, 1};
  const MPI_Aint places[] = {0, 0};
  if (mistake == Mistake::rank) to[1] = where.size;
  if (mistake == Mistake::rank_below) to[1] = -1;
  if (mistake == Mistake::count) counts[1] = -1;
  const bool is_null = mistake == Mistake::null_type;
  const MPI_Datatype take = mistake == Mistake::loose_type ? loose : is_null ? MPI_DATATYPE_NULL : MPI_INT;
  return Quadrille_Exchange(mistake == Mistake::buffer ? nullptr : data, mistake == Mistake::number ? -1 : 2, to,
                            mistake == Mistake::array ? nullptr : counts, places,
                            mistake == Mistake::loose_sendtype ? loose : MPI_INT, take, where.comm,
                            mistake == Mistake::received ? nullptr : got);
}

TEST_P(Sparse, AMistakeOfOneRankFailsEverywhereAndHangsNobody) {
  MPI_Datatype loose;
  MPI_Type_contiguous(1, MPI_INT, &loose);  // not committed
  for (const Mistake mistake : all_mistakes) {
    for (int wrong = 0; wrong < where_.size; ++wrong) {
      const Mistake mine = where_.rank == wrong ? mistake : Mistake::none;
      Quadrille_Received got;
      const int code = call_with(mine, where_, loose, &got);
      EXPECT_EQ(error_class(code), expected_class(mistake)) << "mistake " << static_cast<int>(mistake);
      if (mine != Mistake::received) {
        EXPECT_EQ(got.nsources, 0);
        EXPECT_EQ(got.memory, nullptr);
      }
      // The next call is as if nothing had been.
      EXPECT_EQ(call_with(Mistake::none, where_, loose, &got), MPI_SUCCESS);
      EXPECT_EQ(got.nsources, 2);
      Quadrille_Received_free(&got);
    }
  }
  MPI_Type_free(&loose);
}

TEST_P(Sparse, SeveralMistakesAtOnce) {
  Quadrille_Received got;
  const bool odd = where_.rank % 2 == 1;
  const int code = call_with(odd ? Mistake::count : Mistake::rank, where_, MPI_INT, &got);
  EXPECT_EQ(error_class(code), odd ? MPI_ERR_COUNT : MPI_ERR_RANK);
  both(random_pattern(where_.size, 5, 4, 10));
}

// Five bytes are no whole number of doubles: the receiver says so, and its sender's call is good.
TEST_P(Sparse, APartOfAnElementIsRefused) {
  const int to = 0;
  const MPI_Count count = 5;
  const MPI_Aint place = 0;
  const bool sends = where_.rank == where_.size - 1;
  Quadrille_Received got;
  const int code =
      Quadrille_Exchange("12345", sends ? 1 : 0, &to, &count, &place, MPI_CHAR, MPI_DOUBLE, where_.comm, &got);
  EXPECT_EQ(error_class(code), where_.rank == 0 ? MPI_ERR_TYPE : MPI_SUCCESS);
  EXPECT_EQ(got.nsources, 0);
  Quadrille_Received_free(&got);
  both(random_pattern(where_.size, 6, 4, 10));
}

INSTANTIATE_TEST_SUITE_P(All, Sparse, testing::Values("", "consensus", "bruck", "bruck:radix=3", "bruck:radix=64"),
                         [](const auto& info) {
                           std::string name = *info.param == 0 ? "default" : info.param;
                           for (char& c : name) {
                             if (c == ':' || c == '=') c = '_';
                           }
                           return name;
                         });

class SparseCommunicators : public MpiTest {};

int heard;
void hear(MPI_Comm*, int*, ...) { ++heard; }

TEST_F(SparseCommunicators, NeitherNullNorInter) {
  Quadrille_Received got;
  EXPECT_EQ(MPI_ERR_COMM, error_class(Quadrille_Exchange(nullptr, 0, nullptr, nullptr, nullptr, MPI_INT, MPI_INT,
                                                         MPI_COMM_NULL, &got)));
  if (world().size < 2) return;
  const int side = world().rank % 2;
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, side, world().rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 0, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_ERR_COMM,
            error_class(Quadrille_Exchange(nullptr, 0, nullptr, nullptr, nullptr, MPI_INT, MPI_INT, inter, &got)));
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

TEST_F(SparseCommunicators, NothingIsFreedOfNothing) {
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Received_free(nullptr));
  Quadrille_Received empty = {};
  EXPECT_EQ(MPI_SUCCESS, Quadrille_Received_free(&empty));
}

// The handler of the user's communicator hears of it.
TEST_F(SparseCommunicators, ErrorsReachTheHandlerOfTheCommunicator) {
  heard = 0;
  Communicator where = duplicate("handler");
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(where.comm, handler);
  Quadrille_Received got;
  const int code = call_with(where.rank == 0 ? Mistake::rank : Mistake::none, where, MPI_INT, &got);
  EXPECT_EQ(error_class(code), MPI_ERR_RANK);
  EXPECT_EQ(heard, 1);
  MPI_Errhandler_free(&handler);
  release(where);
}

}  // namespace
}  // namespace quadrille::test
