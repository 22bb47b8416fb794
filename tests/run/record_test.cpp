// What is written down of calls (team/record.hpp), over an MPI of this file whose communicators are what a test says.
#include "team/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/mpi.hpp"
#include "team/record_tables.hpp"

namespace quadrille::record {
namespace {

// Its handle is its address. The world ranks of its ranks are their own numbers.
struct FakeComm {
  int ranks = 1;
  std::string name;
  void* attribute = nullptr;
  MpiComm handle() { return {reinterpret_cast<std::uintptr_t>(this)}; }
};
FakeComm& of(MpiComm comm) { return *reinterpret_cast<FakeComm*>(comm.word); }

FakeComm the_world{16, "world", nullptr};
int (*on_free)(MpiComm, int, void*, void*) = nullptr;
// What a broadcast tells in the place of what this rank has; 0: that.
int told_by_rank_0 = 0;
// In the place of a type that is none: how often the MPI was asked about it.
int asked_of_gapped = 0;

const Mpi* with_communicators() {
  auto* const t = new Mpi(mpi());
  t->comm_world = the_world.handle();
  t->comm_null = {};
  t->Comm_create_keyval = [](auto*, auto* free, int* keyval, void*) {
    on_free = free;
    *keyval = 1;
    return mpi_success;
  };
  t->Comm_get_attr = [](MpiComm comm, int, void* value, int* found) {
    *static_cast<void**>(value) = of(comm).attribute;
    *found = of(comm).attribute != nullptr ? 1 : 0;
    return mpi_success;
  };
  t->Comm_set_attr = [](MpiComm comm, int, void* value) {
    of(comm).attribute = value;
    return mpi_success;
  };
  t->Comm_test_inter = [](MpiComm, int* inter) {
    *inter = 0;
    return mpi_success;
  };
  t->Comm_size = [](MpiComm comm, int* ranks) {
    *ranks = of(comm).ranks;
    return mpi_success;
  };
  t->Comm_rank = [](MpiComm, int* rank) {
    *rank = 0;
    return mpi_success;
  };
  t->Topo_test = [](MpiComm, int* topology) {
    *topology = mpi().undefined;
    return mpi_success;
  };
  t->Comm_get_name = [](MpiComm comm, char* name, int* length) {
    *length = static_cast<int>(of(comm).name.size());
    std::memcpy(name, of(comm).name.c_str(), of(comm).name.size() + 1);
    return mpi_success;
  };
  t->Comm_group = [](MpiComm, MpiGroup* group) {
    *group = {};
    return mpi_success;
  };
  static const auto attribute_of_type = t->Type_get_attr;
  t->Type_get_attr = [](MpiType type, int keyval, void* value, int* found) {
    asked_of_gapped += type == test::gapped_type() ? 1 : 0;
    return attribute_of_type(type, keyval, value, found);
  };
  t->Bcast = [](void* data, int, MpiType, int, MpiComm) {
    if (told_by_rank_0 != 0) *static_cast<int*>(data) = told_by_rank_0;
    return mpi_success;
  };
  t->Group_free = [](MpiGroup*) { return mpi_success; };
  t->Group_translate_ranks = [](MpiGroup, int count, const int* ranks, MpiGroup, int* translated) {
    std::copy_n(ranks, count, translated);
    return mpi_success;
  };
  return t;
}

class RecordTest : public testing::Test {
 protected:
  void SetUp() override {
    test::use_fake_mpi();
    static const Mpi* const table = with_communicators();
    quadrille::detail::mpi_table.store(table, std::memory_order_release);
    folder_ = (std::filesystem::temp_directory_path() / "quadrille-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    // As in a new process.
    Tables& tables = Tables::here();
    tables.~Tables();
    new (&tables) Tables;
    drop_cached_calls();
    ASSERT_EQ(tables.make(folder_, 0, 16, 0), 0);
  }
  void TearDown() override {
    for (FakeComm& comm : comms_) free(comm);
    test::use_fake_mpi();
    std::filesystem::remove_all(folder_);
  }

  FakeComm& comm_of(int ranks, const std::string& name = "") { return comms_.emplace_back(FakeComm{ranks, name}); }
  static void free(FakeComm& comm) {
    if (comm.attribute != nullptr) on_free(comm.handle(), 1, comm.attribute, nullptr);
    comm.attribute = nullptr;
  }

  static const void* site(std::size_t number) { return reinterpret_cast<const void*>(64 * (number + 1)); }

  static run::Call alltoall(FakeComm& comm, std::size_t count) {
    run::Call call{Collective::alltoall, {}, {}, false, comm.handle()};
    call.send.count = call.recv.count = count;
    call.send.type = call.recv.type = mpi().int_type;
    return call;
  }
  // `counts` null: as in a program that is wrong.
  static run::Call alltoallv(FakeComm& comm, const int* counts) {
    run::Call call{Collective::alltoallv, {}, {}, false, comm.handle()};
    call.send.counts = call.recv.counts = counts;
    call.send.type = call.recv.type = mpi().int_type;
    return call;
  }
  static void make(const run::Call& call, std::size_t from = 0) {
    Recorded recorded;
    recorded.begin(call, Form::blocking, site(from));
  }

  static File& file() { return Tables::here().file(); }
  // The entry that is not one of the others.
  static const Entry& first_entry() { return file().entries[collective_count]; }
  static std::string way(const Entry& entry, int number) { return file().names[entry.ways[number].name].text; }

  std::string folder_;
  std::deque<FakeComm> comms_;
};

// Two programs that one command starts at a time would leave files of both: some of the ranks of each.
TEST_F(RecordTest, WhereRank0CannotMakeAFileNoRankDoes) {
  told_by_rank_0 = EEXIST;
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(Tables::here().make(folder_, 1, 16, 0), EEXIST);
  EXPECT_EQ(names(), std::vector<std::string>{"rank-0"});
  told_by_rank_0 = 0;
  EXPECT_EQ(Tables::here().make(folder_, 0, 16, 0), EEXIST);
  EXPECT_EQ(Tables::here().make(folder_, 1, 16, 0), 0);
  EXPECT_EQ(Tables::here().make("", 2, 16, 0), ENOENT);
  EXPECT_EQ(names(), (std::vector<std::string>{"rank-0", "rank-1"}));
}

// So many that there is no room for one more.
constexpr std::size_t rows = most_entries - collective_count;

TEST_F(RecordTest, WhatHasNoRoomKeepsNoCountsOfACall) {
  FakeComm &two = comm_of(2), &eight = comm_of(8);
  for (std::size_t r = 0; r < rows; ++r) make(alltoall(two, r % 2 == 0 ? 1 : 1024), r / 2);
  ASSERT_EQ(file().header.entries, std::uint32_t{most_entries});
  const std::vector<int> counts(8, 3);
  make(alltoallv(two, counts.data()));
  for (int call = 1; call < 16; ++call) make(alltoallv(eight, counts.data()));
  const Entry& others = file().entries[static_cast<int>(Collective::alltoallv)];
  EXPECT_EQ(others.calls, 16U);
  EXPECT_EQ(others.bytes, (2U + 15 * 8) * 12);
  for (const Sample& sample : others.samples) EXPECT_EQ(sample.call, 0U);
  // Behind what two ranks need stands what is known of eight.
  const auto* const ranks =
      reinterpret_cast<const int*>(reinterpret_cast<const char*>(&file()) + file().communicators[1].world_ranks);
  std::vector<int> own(8);
  std::iota(own.begin(), own.end(), 0);
  EXPECT_EQ(std::vector<int>(ranks, ranks + 8), own);
}

TEST_F(RecordTest, CountsOfACallAreKeptOfTheFirstTheSecondTheFourth) {
  FakeComm& three = comm_of(3);
  for (int call = 1; call <= 5; ++call) {
    const int counts[] = {call, 0, 2};
    make(alltoallv(three, counts));
  }
  const int expected[] = {1, 2, 4, 0};
  for (int s = 0; s < most_samples; ++s) {
    const Sample& sample = first_entry().samples[s];
    EXPECT_EQ(sample.call, static_cast<std::uint64_t>(expected[s]));
    if (sample.call == 0) continue;
    const auto* bytes = reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(&file()) + sample.bytes);
    EXPECT_EQ(bytes[0], sample.call * 4);
    EXPECT_EQ(bytes[2], 8U);
  }
}

TEST_F(RecordTest, TheShortWayHasTheNameOfItsEngine) {
  FakeComm& four = comm_of(4);
  for (const choose::Engine engine : {choose::Engine::inbox, choose::Engine::exchange}) {
    Recorded recorded;
    recorded.begin(alltoall(four, 1), Form::blocking, site(0));
    by_the_short_way(engine);
  }
  make(alltoall(four, 1));
  ASSERT_EQ(first_entry().ways_used, 3U);
  EXPECT_EQ(way(first_entry(), 0), "inbox");
  EXPECT_EQ(way(first_entry(), 1), "single-copy");
  EXPECT_EQ(way(first_entry(), 2), "mpi");
}

TEST_F(RecordTest, ANameThatHasNoRoomIsNotTheMpi) {
  FakeComm& four = comm_of(4);
  for (int name = Tables::name_of_exchange + 1; name < most_names; ++name) {
    Tables::here().name_of("name " + std::to_string(name));
  }
  {
    Recorded recorded;
    recorded.begin(alltoall(four, 1), Form::blocking, site(0));
    by("one more");
  }
  EXPECT_EQ(first_entry().calls, 1U);
  EXPECT_EQ(first_entry().ways_used, 0U);
  EXPECT_EQ(first_entry().ways_lost, 1U);
  EXPECT_EQ(file().header.names_lost, 1U);
}

TEST_F(RecordTest, TheLeastBlockIsThatOfACallWithBlocks) {
  FakeComm& two = comm_of(2);
  make(alltoallv(two, nullptr));
  EXPECT_EQ(first_entry().least_block, UINT64_MAX);
  const int counts[] = {5, 7};
  make(alltoallv(two, counts));
  EXPECT_EQ(first_entry().calls, 2U);
  EXPECT_EQ(first_entry().least_block, 20U);
  EXPECT_EQ(first_entry().most_block, 28U);
}

TEST_F(RecordTest, TheTypeOfABlockWithoutElementsIsNotAskedFor) {
  FakeComm& two = comm_of(2);
  const int counts[] = {3, 0};
  const MpiArray<MpiType> types = {mpi().int_type, test::gapped_type()};
  run::Call call{Collective::alltoallw, {}, {}, false, two.handle()};
  call.send.counts = counts;
  call.send.types = types.all();
  asked_of_gapped = 0;
  make(call);
  EXPECT_EQ(asked_of_gapped, 0);
  const MpiRequest request = handle_of(&call);
  keep_made(request, call, "mpi");
  EXPECT_EQ(asked_of_gapped, 0);
  {
    Recorded start;
    start.begin_start(request, Form::blocking, site(0));
  }
  forget_made(request);
  EXPECT_EQ(first_entry().calls, 2U);
  EXPECT_EQ(first_entry().bytes, 2U * 12);
}

TEST_F(RecordTest, AnAllgathervInPlaceWithoutItsCountsIsLeftToTheMpi) {
  FakeComm& two = comm_of(2);
  run::Call call = alltoallv(two, nullptr);
  call.collective = Collective::allgatherv;
  call.in_place = true;
  make(call);
  EXPECT_EQ(first_entry().calls, 1U);
  EXPECT_EQ(first_entry().bytes, 0U);
}

TEST_F(RecordTest, TheNextOfTheSameRanksHasTheSamePlaceAndItsOwnName) {
  FakeComm& kept = comm_of(2, "kept");
  make(alltoall(kept, 1));
  for (const char* const name : {"velocity", "p"}) {
    FakeComm& comm = comm_of(2, name);
    make(alltoall(comm, 1));
    free(comm);
  }
  ASSERT_EQ(file().header.communicators, 2U);
  EXPECT_EQ(file().communicators[0].made, 1U);
  EXPECT_EQ(file().communicators[1].made, 2U);
  EXPECT_STREQ(file().communicators[0].name, "kept");
  EXPECT_STREQ(file().communicators[1].name, "p");
}

TEST_F(RecordTest, ATextIsNotCutInsideACharacter) {
  constexpr std::size_t most = sizeof(Communicator::name) - 1;
  std::string letters, other;
  for (std::size_t l = 0; l < most; ++l) letters += "\xc3\xbc";
  make(alltoall(comm_of(2, letters), 1));
  EXPECT_EQ(file().communicators[0].name, letters.substr(0, most - most % 2));
  // In another code nothing is known of characters.
  other.assign(2 * most, '\xbc');
  make(alltoall(comm_of(3, other), 1));
  EXPECT_EQ(file().communicators[1].name, other.substr(0, most));
}

TEST_F(RecordTest, ARecordThatIsThereIsKept) {
  Tables other;
  EXPECT_EQ(other.make(folder_, 0, 16, 0), EEXIST);
  EXPECT_EQ(other.make(folder_ + "/nowhere", 0, 16, 0), ENOENT);
}

}  // namespace
}  // namespace quadrille::record
