// How fast the copies are depends on the machine; that they are made, by as many threads as asked
// for, and that nothing stays behind, does not.
#include "tool/bench/copy_ceiling.hpp"

#include <gtest/gtest.h>

#include <new>

#include "sys/sys.hpp"

namespace quadrille::tools {
namespace {

TEST(CopyCeiling, IsARate) {
  for (const Copy by : {Copy::libc, Copy::ordinary, Copy::streaming}) {
    for (const int threads : {1, 3}) {
      const double rate = copy_ceiling(64 * 1024, threads, by);
      EXPECT_GT(rate, 1e5);   // a disk is faster
      EXPECT_LT(rate, 1e14);  // no memory is
    }
  }
}

TEST(CopyCeiling, NothingToCopyIsNoRate) {
  EXPECT_EQ(copy_ceiling(0, 2, Copy::libc), 0);
  EXPECT_EQ(copy_ceiling(4096, 0, Copy::ordinary), 0);
  EXPECT_EQ(copy_ceiling(4096, -1, Copy::streaming), 0);
}

TEST(CopyCeiling, TheCallerStaysUnpinned) {
  const int before = sys::count(sys::allowed_processors());
  copy_ceiling(4096, 1, Copy::libc);
  EXPECT_EQ(sys::count(sys::allowed_processors()), before);
}

TEST(CopyCeiling, TooMuchMemoryIsAnException) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "there the sanitizer ends the program, whatever its options";
#endif
  EXPECT_THROW(copy_ceiling(std::size_t{1} << 60, 1, Copy::libc), std::bad_alloc);
}

}  // namespace
}  // namespace quadrille::tools
