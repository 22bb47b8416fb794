// Copies between processes that the system cuts short, with this process as its own peer.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// Pages of which the last is not there.
class UpToAHole {
 public:
  UpToAHole() {
    void* const at = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    at_ = static_cast<std::byte*>(at);
    EXPECT_EQ(munmap(at_ + bytes, page), 0);
  }
  ~UpToAHole() { EXPECT_EQ(munmap(at_, bytes), 0); }
  UpToAHole(const UpToAHole&) = delete;
  UpToAHole& operator=(const UpToAHole&) = delete;
  std::byte* data() const { return at_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(at_); }

  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = 4 * page, all = 5 * page;

 private:
  std::byte* at_ = nullptr;
};

constexpr std::byte sent{7};

TEST(ProcessMemory, WhatIsMissingOfABlockIsAnError) {
  const UpToAHole there;
  std::fill_n(there.data(), there.bytes, sent);
  std::vector<std::byte> here(there.all);
  if (!read_process(getpid(), there.address(), here.data(), there.bytes)) GTEST_SKIP() << "not allowed here";
  EXPECT_EQ(std::count(here.begin(), here.end(), sent), there.bytes);
  EXPECT_FALSE(read_process(getpid(), there.address(), here.data(), there.all));
  std::fill(here.begin(), here.end(), sent);
  EXPECT_TRUE(write_process(getpid(), there.address(), here.data(), there.bytes));
  EXPECT_FALSE(write_process(getpid(), there.address(), here.data(), there.all));
}

}  // namespace
}  // namespace quadrille::sys
