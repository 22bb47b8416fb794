// Handles as words, where an MPI's are ints and where they are pointers.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "fake_mpi.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::test {
namespace {

class Words : public testing::TestWithParam<std::size_t> {
 protected:
  Words() {
    use_fake_mpi();
    quadrille::detail::handle_bytes = GetParam();
    quadrille::detail::handle_mask = GetParam() == 4 ? 0xffffffff : ~std::uintptr_t{0};
  }
  ~Words() override {
    quadrille::detail::handle_bytes = sizeof(std::uintptr_t);
    quadrille::detail::handle_mask = ~std::uintptr_t{0};
  }
  // As large as a handle of this MPI can be; negative as an int.
  static MpiComm large(std::uintptr_t last) {
    return {GetParam() == 4 ? 0xfffffff0 + last : 0xfffffffffffffff0 + last};
  }
};
INSTANTIATE_TEST_SUITE_P(OfBytes, Words, testing::Values(4, 8));

TEST_P(Words, AnArrayLiesAsTheMpiHasIt) {
  MpiArray<MpiComm> array = {large(1), large(2)};
  array.push_back(large(3));
  ASSERT_EQ(array.size(), 3U);
  const auto* const bytes = static_cast<const std::byte*>(array.all().first);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(array[i], large(i + 1));
    EXPECT_EQ(bytes[i * GetParam()], std::byte(0xf1 + i));
    EXPECT_EQ(static_cast<const void*>(array.at(i)), bytes + i * GetParam());
  }
  array.set(1, large(9));
  EXPECT_EQ(array[0], large(1));
  EXPECT_EQ(array[1], large(9));
  EXPECT_EQ(array[2], large(3));
}

TEST_P(Words, OfWhatTheProgramPassesTheHandleCounts) {
  const MpiComm dirty = {GetParam() == 4 ? large(5).word | 0xdead00000000 : large(5).word};
  EXPECT_EQ(given(dirty), large(5));
  EXPECT_EQ(given(7), 7);
}

TEST_P(Words, NothingIsWrittenBehindAHandle) {
  std::array<std::byte, 16> program;
  program.fill(std::byte{0xaa});
  auto* const handle = reinterpret_cast<MpiComm*>(program.data());
  const auto make = [](MpiComm* made) { return *made = large(6), 3; };
  if (GetParam() == 4) {
    EXPECT_EQ(give(handle, make), 3);
    EXPECT_EQ(MpiHandles<MpiComm>{handle}[0], large(6));
  }
  for (std::size_t at = GetParam() == 4 ? 4 : 0; at < program.size(); ++at) EXPECT_EQ(program[at], std::byte{0xaa});
  EXPECT_EQ(give(static_cast<MpiComm*>(nullptr), [](MpiComm* made) { return made == nullptr ? 1 : 0; }), 1);
}

}  // namespace
}  // namespace quadrille::test
