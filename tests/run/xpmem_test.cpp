// XPMEM through a stand-in of its library: this process attaches its own memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "memory/reach.hpp"
#include "xpmem_standin.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t chunk = std::size_t{2} << 20, page = 4096;

// Shared memory at an address that begins a chunk.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    reserved_ = static_cast<std::byte*>(mmap(nullptr, bytes + chunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    base_ = reserved_ + (chunk - reinterpret_cast<std::uintptr_t>(reserved_) % chunk) % chunk;
    file_ = fill();
  }
  ~Arena() {
    munmap(reserved_, bytes_ + chunk);
    close(file_);
  }
  // Maps other memory there, in place of what is.
  void replace() {
    munmap(base_, bytes_);
    close(file_);
    file_ = fill();
  }
  std::byte* base() const { return base_; }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uintptr_t>(base_) + offset; }

 private:
  int fill() {
    const int file = memfd_create("arena", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes_)), 0);
    EXPECT_EQ(mmap(base_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0), base_);
    return file;
  }
  std::size_t bytes_;
  std::byte* reserved_;
  std::byte* base_;
  int file_;
};

// Beside this program: a path in a definition of the compiler would make its object one for this folder alone.
const char* standin_path() {
  static const std::string path = (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" /
                                   "standin" / "libxpmem.so.0")
                                      .string();
  return path.c_str();
}

class XpmemTest : public testing::Test {
 protected:
  XpmemTest() {
    void* library = dlopen(standin_path(), RTLD_LAZY | RTLD_LOCAL);
    standin_ = static_cast<XpmemStandin*>(dlsym(library, "xpmem_standin"));
    *standin_ = {0x26003, false, false, false, 0, 0, 0, 0, 0};
    here_ = start_xpmem(standin_path());
  }
  XpmemPeer peer() { return {here_.calls, here_.segment}; }

  XpmemStandin* standin_;
  XpmemHere here_;
};

TEST_F(XpmemTest, SeesWhatTheOwnerWrites) {
  Arena arena(2 * chunk);
  ASSERT_EQ(here_.why_not.reason, Reason::none);
  XpmemPeer owner = peer();
  ASSERT_TRUE(owner.usable());
  std::memcpy(arena.base() + 12345, "hello", 6);
  std::byte* there = owner.map(arena.at(12345), 6, 1);
  ASSERT_NE(there, nullptr);
  EXPECT_NE(there, arena.base() + 12345) << "a mapping of its own";
  EXPECT_STREQ(reinterpret_cast<char*>(there), "hello");
  std::memcpy(arena.base() + 12345, "world", 6);
  EXPECT_STREQ(reinterpret_cast<char*>(there), "world");
}

TEST_F(XpmemTest, WhatIsAttachedIsNotAttachedAgain) {
  Arena arena(4 * chunk);
  XpmemPeer owner = peer();
  std::byte* first = owner.map(arena.at(5000), 100, 1);
  EXPECT_EQ(owner.map(arena.at(5000), 100, 1), first);
  EXPECT_EQ(owner.map(arena.at(0), chunk, 1), first - 5000) << "the whole chunk is there";
  EXPECT_EQ(standin_->attaches, 1);
  EXPECT_NE(owner.map(arena.at(chunk - 1), 2, 1), nullptr);
  EXPECT_EQ(standin_->attaches, 2) << "over the end of what is attached";
}

TEST_F(XpmemTest, NearTheEndOfAMappingPagesAreAttached) {
  Arena arena(chunk + 3 * page);
  XpmemPeer owner = peer();
  std::memcpy(arena.base() + chunk + 2 * page - 3, "across", 7);
  std::byte* there = owner.map(arena.at(chunk + 2 * page - 3), 7, 1);
  ASSERT_NE(there, nullptr);
  EXPECT_STREQ(reinterpret_cast<char*>(there), "across");
  EXPECT_NE(owner.map(arena.at(chunk + 2 * page - 4), 1, 1), nullptr);
  EXPECT_EQ(standin_->attaches, 1);
  EXPECT_NE(owner.map(arena.at(chunk), 1, 1), nullptr);
  EXPECT_EQ(standin_->attaches, 2) << "another page";
}

TEST_F(XpmemTest, TheLeastRecentlyUsedPartGoes) {
  constexpr std::size_t most = XpmemPeer::most_attached;
  Arena arena((most + 2) * chunk);
  XpmemPeer owner = peer();
  for (std::size_t i = 0; i < most; ++i) owner.map(arena.at(i * chunk), 1, 1);
  owner.map(arena.at(0), 1, 1);  // so the second is the oldest
  EXPECT_EQ(standin_->attaches, static_cast<int>(most));
  EXPECT_NE(owner.map(arena.at(most * chunk), 1, 1), nullptr);
  EXPECT_EQ(owner.attached(), most);
  EXPECT_EQ(standin_->detaches, 1);
  owner.map(arena.at(0), 1, 1);
  EXPECT_EQ(standin_->attaches, static_cast<int>(most) + 1) << "the first was kept";
  owner.map(arena.at(chunk), 1, 1);
  EXPECT_EQ(standin_->attaches, static_cast<int>(most) + 2) << "the second was not";
}

TEST_F(XpmemTest, MemoryThatWasReplacedIsAttachedAnew) {
  Arena arena(chunk);
  XpmemPeer owner = peer();
  std::memcpy(arena.base(), "old", 4);
  const std::uint64_t before = note_offered(arena.base(), 4);
  EXPECT_STREQ(reinterpret_cast<char*>(owner.map(arena.at(0), 4, before)), "old");
  note_unmapped(arena.base(), chunk);
  arena.replace();
  std::memcpy(arena.base(), "new", 4);
  const std::uint64_t after = note_offered(arena.base(), 4);
  EXPECT_NE(before, after);
  EXPECT_STREQ(reinterpret_cast<char*>(owner.map(arena.at(0), 4, after)), "new");
  EXPECT_EQ(standin_->detaches, 1);
}

TEST_F(XpmemTest, GenerationsGrowOnlyByWhatPeersMayHaveAttached) {
  Arena arena(6 * chunk);
  const std::uint64_t start = note_offered(arena.base() + 2 * chunk + 5, 10);
  note_unmapped(reinterpret_cast<std::byte*>(page), page);  // below all that any test has offered
  EXPECT_EQ(note_offered(arena.base() + 2 * chunk, 1), start);
  // The rest of the chunk, which was attached with it, and anything across it.
  std::uint64_t last = start;
  for (const auto& [at, bytes] : {std::pair{2 * chunk + page, page},
                                  {2 * chunk, page},
                                  {3 * chunk - 1, std::size_t{1}},
                                  {std::size_t{0}, 6 * chunk}}) {
    note_unmapped(arena.base() + at, bytes);
    const std::uint64_t now = note_offered(arena.base() + 2 * chunk, 1);
    EXPECT_EQ(now, last + 1) << at;
    last = now;
  }
}

TEST_F(XpmemTest, EverythingIsGivenBack) {
  Arena arena(4 * chunk);
  {
    XpmemPeer owner = peer();
    XpmemPeer moved = std::move(owner);
    EXPECT_FALSE(owner.usable());
    moved.map(arena.at(0), 1, 1);
    moved.map(arena.at(chunk), 1, 1);
    moved.map(arena.at(2 * chunk), 1, 2);
    EXPECT_EQ(standin_->detaches, 2) << "of the old generation";
    owner = std::move(moved);
  }
  stop_xpmem(here_);
  stop_xpmem(here_);
  EXPECT_EQ(standin_->detaches, standin_->attaches);
  EXPECT_EQ(standin_->gets, 1);
  EXPECT_EQ(standin_->releases, 1);
  EXPECT_EQ(standin_->removes, 1);
}

TEST_F(XpmemTest, TheWordTellsTheRightProcess) {
  static const std::uint64_t word = 0x1234567890abcdef;
  const XpmemPeer owner = peer();
  const auto at = reinterpret_cast<std::uintptr_t>(&word);
  EXPECT_TRUE(owner.reads_word(at, word));
  EXPECT_FALSE(owner.reads_word(at, word + 1));
  EXPECT_EQ(standin_->detaches, 2);
}

TEST_F(XpmemTest, WhatFailsIsSaidAndUsedNoMore) {
  EXPECT_EQ(text::words_of(start_xpmem("libnosuch.so.0").why_not), "libnosuch.so.0 not found");
  EXPECT_EQ(start_xpmem("libm.so.6").why_not.reason, Reason::library_lacks_function);
  standin_->version = -1;
  EXPECT_EQ(start_xpmem(standin_path()).why_not.reason, Reason::no_xpmem_in_kernel);
  standin_->version = 0x30000;
  EXPECT_EQ(text::words_of(start_xpmem(standin_path()).why_not), "XPMEM has version 3, not 2");
  EXPECT_EQ(start_xpmem(standin_path()).segment, -1);
  EXPECT_EQ(start_xpmem(standin_path()).calls.attach, nullptr);
  standin_->version = 0x26003;

  standin_->fail_make = true;
  const XpmemHere none = start_xpmem(standin_path());
  EXPECT_EQ(none.segment, -1);
  EXPECT_EQ(none.why_not.reason, Reason::no_xpmem_segment);
  EXPECT_FALSE(XpmemPeer(here_.calls, -1).usable());
  EXPECT_EQ(standin_->gets, 0);

  standin_->fail_get = true;
  XpmemPeer refused = peer();
  EXPECT_FALSE(refused.usable());
  EXPECT_EQ(refused.map(0x1000, 1, 1), nullptr);
  standin_->fail_get = false;
}

TEST_F(XpmemTest, AFailedAttachIsNullAndTheNextMayWork) {
  Arena arena(chunk);
  XpmemPeer owner = peer();
  standin_->fail_attach = true;
  EXPECT_EQ(owner.map(arena.at(0), 1, 1), nullptr);
  EXPECT_FALSE(owner.reads_word(arena.at(0), 0));
  EXPECT_EQ(owner.attached(), 0U);
  standin_->fail_attach = false;
  EXPECT_NE(owner.map(arena.at(0), 1, 1), nullptr);
  EXPECT_EQ(owner.map(arena.at(chunk - 1), 2, 1), nullptr) << "beyond the memory";
  EXPECT_EQ(owner.map(UINT64_MAX - 10, 100, 1), nullptr);
}

}  // namespace
}  // namespace quadrille::memory
