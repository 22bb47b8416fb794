// What ranks list of their devices' memory, without a driver.
#include "memory/device_sharing.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace quadrille::memory {
namespace {

constexpr int ranks = 3;

class Lines : public testing::Test {
 protected:
  Lines() : memory_(new (std::align_val_t{64}) std::byte[DeviceSharing::bytes(ranks)]{}) {
    int rank = 0;
    for (auto& one : sharing_) one = std::make_unique<DeviceSharing>(memory_, ranks, rank++);
  }
  ~Lines() override { operator delete[](memory_, std::align_val_t{64}); }
  SharingLine& line(int rank) { return const_cast<SharingLine&>(sharing_[0]->line(rank)); }
  DeviceSharing& of(int rank) { return *sharing_[static_cast<std::size_t>(rank)]; }

 private:
  std::byte* memory_;
  std::unique_ptr<DeviceSharing> sharing_[ranks];
};

// What all have said of opening everything must not be taken for an answer about less, whatever small numbers are
// listed.
TEST_F(Lines, AreListedWithNumbersOfTheirOwn) {
  std::set<std::uint64_t> numbers;
  for (std::uint64_t serial = 1; serial < 50; ++serial) {
    line(0).sends = serial;
    numbers.insert(of(1).all_listed(DeviceSharing::Opens::all));
    numbers.insert(of(1).all_listed(DeviceSharing::Opens::of_led));
  }
  EXPECT_EQ(numbers.size(), 2u * 49u);
}

TEST_F(Lines, SayWhoLeadsWhom) {
  EXPECT_FALSE(of(0).leads_any()) << "nobody has a device";
  line(0).device = 7, line(1).device = 8;
  EXPECT_FALSE(of(2).leads_any());
  EXPECT_FALSE(of(1).is_led());
  line(2).device = 8;
  for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(of(rank).leads_any());
  EXPECT_TRUE(of(2).is_led());
  EXPECT_TRUE(of(1).copies_for(2));
  EXPECT_FALSE(of(0).copies_for(2));
  EXPECT_FALSE(of(2).copies_for(2));
}

}  // namespace
}  // namespace quadrille::memory
