// What is kept of a call serves those that are like it, and no others.
#include <gtest/gtest.h>

#include "api/call_cache.hpp"
#include "changed_mpi.hpp"
#include "mpi/mpi.hpp"
#include "team/team.hpp"

namespace quadrille::test {
namespace {

TEST(Selections, AreForTheSameSizeDoorAndLoad) {
  team::Selections selections;
  team::CachedSelection one;
  one.bytes = 64, one.drop_in = true, one.load = 3;
  selections.keep(one);
  EXPECT_NE(selections.find(64, true, 3), nullptr);
  EXPECT_EQ(selections.find(65, true, 3), nullptr);
  EXPECT_EQ(selections.find(64, false, 3), nullptr);
  EXPECT_EQ(selections.find(64, true, 4), nullptr);
  EXPECT_EQ(selections.find(64, true, team::on_devices), nullptr);
  one.load = 4;
  selections.keep(one);
  ASSERT_NE(selections.find(64, true, 3), nullptr);
  EXPECT_EQ(selections.find(64, true, 3)->load, 3);
}

// A program that goes through the powers of two by turns must select each once.
TEST(Selections, KeepAsManySizesAsProgramsHaveByTurns) {
  team::Selections selections;
  team::CachedSelection one;
  for (int power = 0; power < 31; ++power) {
    one.bytes = std::size_t{1} << power;
    selections.keep(one);
  }
  for (int power = 0; power < 31; ++power) EXPECT_NE(selections.find(std::size_t{1} << power, false), nullptr) << power;
  for (one.bytes = 3; selections.find(1, false) != nullptr && one.bytes < 100; one.bytes += 2) selections.keep(one);
  EXPECT_EQ(selections.find(1, false), nullptr) << "the oldest goes";
  EXPECT_NE(selections.find(2, false), nullptr);
}

// MPIs give the handle of a freed datatype to the next one, and that of a freed communicator.
TEST(CachedCalls, ATypeThatIsFreedEndsThem) {
  const ChangedMpi fake;
  const api::CachedCalls call = api::CachedCalls::none_yet({}, fake_comm(1), gapped_type(), nullptr);
  EXPECT_TRUE(call.is_for(fake_comm(1), gapped_type()));
  EXPECT_FALSE(call.is_for(fake_comm(2), gapped_type()));
  EXPECT_FALSE(call.is_for(fake_comm(1), mpi().byte));
  drop_cached_calls();
  EXPECT_FALSE(call.is_for(fake_comm(1), gapped_type()));
  const api::CachedCalls next = api::CachedCalls::none_yet({}, fake_comm(1), gapped_type(), nullptr);
  EXPECT_TRUE(next.is_for(fake_comm(1), gapped_type()));
  EXPECT_TRUE(next.is_for(fake_comm(1)) && !next.is_for(fake_comm(2)));
  drop_cached_calls();
  EXPECT_FALSE(next.is_for(fake_comm(1), gapped_type()) || next.is_for(fake_comm(1)));
}

TEST(CachedCalls, ATypeThatIsFreedDuringTheCallIsNotCached) {
  const ChangedMpi fake;
  const api::CachedSince before;
  drop_cached_calls();
  const api::CachedCalls call = api::CachedCalls::none_yet(before, fake_comm(1), gapped_type(), nullptr);
  EXPECT_FALSE(call.is_for(fake_comm(1), gapped_type()) || call.is_for(fake_comm(1)));
}

}  // namespace
}  // namespace quadrille::test
