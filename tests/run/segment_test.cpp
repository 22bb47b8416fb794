// Shared segments and passing their descriptors, with real processes.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "sys/sys.hpp"

namespace {

// What the system says to flags: as this one does; what it wants to be told (vm.memfd_noexec=2); what it does not know;
// no such memory at all.
enum class Memfd { here, wants_noexec, is_old, refused } memfd_kind = Memfd::here;
constexpr unsigned noexec_flag = 8;

}  // namespace

extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  const bool noexec = (flags & noexec_flag) != 0;
  errno = memfd_kind == Memfd::refused                   ? ENOSYS
          : memfd_kind == Memfd::wants_noexec && !noexec ? EACCES
          : memfd_kind == Memfd::is_old && noexec        ? EINVAL
                                                         : 0;
  if (errno != 0) return -1;
  const auto made = static_cast<int>(syscall(SYS_memfd_create, name, flags));
  // Kernels before 6.3 do not know the flag, whatever this test plays.
  const bool retry = made < 0 && errno == EINVAL && memfd_kind == Memfd::wants_noexec;
  return retry ? static_cast<int>(syscall(SYS_memfd_create, name, flags & ~noexec_flag)) : made;
}

namespace quadrille::sys {
namespace {

constexpr std::size_t bytes = 8192;

// What `work` returns in a process of its own; a signal is its number and 128.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A process of an exchange of descriptors: its own segment holds its number, and afterwards it finds
// everybody's. Process 2 has none.
[[noreturn]] void exchange(const Address& address, int me, int processes) {
  std::vector<int> all(static_cast<std::size_t>(processes), -1);
  if (me != 2) {
    const int mine = create_segment(bytes);
    all[static_cast<std::size_t>(me)] = mine;
    map_segment(mine, bytes)[0] = static_cast<std::byte>(me);
  }
  const int connection = connect_local(address);
  if (connection < 0 || !give_and_take(connection, me, all)) _exit(1);
  for (int p = 0; p < processes; ++p) {
    const int descriptor = all[static_cast<std::size_t>(p)];
    if ((descriptor >= 0) != (p != 2)) _exit(2);
    if (p != 2 && map_segment(descriptor, bytes)[0] != static_cast<std::byte>(p)) _exit(3);
  }
  _exit(0);
}

// Between this process, others that are forked, and whoever else knows the listener.
void expect_exchange(int listener, const Address& address, int processes, std::vector<pid_t> others = {}) {
  for (int p = 1; p < processes; ++p) {
    others.push_back(fork());
    if (others.back() == 0) exchange(address, p, processes);
  }
  std::vector<int> all(static_cast<std::size_t>(processes), -1);
  all[0] = create_segment(bytes);
  map_segment(all[0], bytes)[0] = std::byte{0};
  EXPECT_TRUE(collect_and_share(listener, all));
  close_descriptor(listener);  // whoever was not served, waits no longer
  for (const pid_t child : others) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const int d : all) close_descriptor(d);
}

// More than fit one message of descriptors.
TEST(Segment, EveryProcessGetsEverybodysDescriptor) {
  constexpr int processes = 140;
  Address address;
  const int listener = listen_local(processes, address);
  ASSERT_GE(listener, 0);
  expect_exchange(listener, address, processes);
}

TEST(Segment, AProcessThatDiesFailsTheExchangeAndLeavesNothingOpen) {
  Address address;
  const int listener = listen_local(2, address);
  const int connection = connect_local(address);
  std::vector<int> all(3, -1);
  all[1] = create_segment(bytes);
  close_descriptor(listener);  // nobody will ever answer
  EXPECT_FALSE(give_and_take(connection, 1, all));
  EXPECT_EQ(all[0], -1);
  EXPECT_EQ(all[2], -1);
  close_descriptor(all[1]);
  close_descriptor(connection);
}

// A process that may not send descriptors closes its connection: where seccomp refuses sendmsg, for example. A leader
// that waits for another connection waits for 20 seconds.
[[noreturn]] void come_and_go(const Address& address) {
  close_descriptor(connect_local(address));
  _exit(0);
}

TEST(Segment, NobodyWaitsForAProcessThatCannotTakePart) {
  const auto begin = std::chrono::steady_clock::now();
  Address address;
  const int listener = listen_local(3, address);
  ASSERT_GE(listener, 0);
  const pid_t child = fork();
  if (child == 0) come_and_go(address);
  waitpid(child, nullptr, 0);
  std::vector<int> all(3, -1);
  all[0] = create_segment(bytes);
  EXPECT_FALSE(collect_and_share(listener, all));
  EXPECT_EQ(all[1], -1);
  EXPECT_EQ(all[2], -1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  close_descriptor(all[0]);
  close_descriptor(listener);
}

TEST(Segment, ConnectingToNobodyFails) {
  Address address;
  const int listener = listen_local(1, address);
  ASSERT_GE(listener, 0);
  close_descriptor(listener);
  EXPECT_EQ(connect_local(address), -1);
}

TEST(Segment, IsHadWhateverTheSystemThinksOfFlags) {
  for (const Memfd kind : {Memfd::here, Memfd::wants_noexec, Memfd::is_old}) {
    memfd_kind = kind;
    for (const int segment : {create_segment(bytes, false), create_heap_file(bytes)}) {
      EXPECT_GE(segment, 0) << static_cast<int>(kind);
      EXPECT_TRUE(holds(segment, bytes));
      close_descriptor(segment);
    }
  }
  memfd_kind = Memfd::here;
}

// Without memfd there is only a file system, which may be small: either every page of a segment can be touched, or
// there is no segment.
TEST(Segment, IsNoneWhereThereIsNoRoomForIt) {
  constexpr int not_here = 77;
  const int result = in_child([] {
    memfd_kind = Memfd::refused;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=1M") != 0) {
      return not_here;
    }
    if (create_segment(bytes, false) >= 0) return 1;  // would be reserved
    if (create_segment(std::size_t{8} << 20) >= 0) return 2;
    constexpr std::size_t fits = std::size_t{512} << 10;
    const int first = create_segment(fits), second = create_segment(fits / 2);
    std::byte* base = map_segment(first, fits);
    if (base == nullptr || second < 0) return 3;
    std::memset(base, 1, fits);
    std::memset(map_segment(second, fits / 2), 2, fits / 2);
    return create_segment(fits) >= 0 ? 4 : 0;
  });
  if (result == not_here) GTEST_SKIP() << "the system lets this user mount nothing";
  EXPECT_EQ(result, 0);
}

TEST(Segment, ThatIsSmallerThanWasSaidIsNotMapped) {
  const int segment = create_segment(bytes);
  EXPECT_EQ(map_segment(segment, bytes + 1), nullptr);
  EXPECT_EQ(map_peer(segment, bytes + 1), nullptr);
  std::byte* base = map_peer(segment, bytes);
  ASSERT_NE(base, nullptr);
  unmap_raw(base, bytes);
  int pipe_ends[2] = {-1, -1};
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(map_segment(pipe_ends[0], bytes), nullptr);
  for (const int d : {segment, pipe_ends[0], pipe_ends[1]}) close_descriptor(d);
}

TEST(Segment, HeapsLieAnOddNumberOfHugePagesApart) {
  const std::size_t page = huge_page_bytes(), bytes = std::max(page, std::size_t{1} << 30);
  const int heap = create_heap_file(bytes);
  ASSERT_GE(heap, 0);
  std::vector<std::byte*> bases;
  for (int peer = 0; peer < 8; ++peer) bases.push_back(map_peer(heap, bytes));
  std::ranges::sort(bases);
  ASSERT_NE(bases.front(), nullptr);
  int odd = 0;
  for (std::size_t p = 1; p < bases.size(); ++p)
    odd += (bases[p] - bases[p - 1]) / static_cast<std::ptrdiff_t>(page) % 2;
  EXPECT_GE(odd, 4) << "the system chooses; other mappings may lie between some";
  for (std::byte* base : bases) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % page, 0U) << "or no page of it can be a huge one";
    unmap_raw(base, bytes);
  }
  close_descriptor(heap);
}

TEST(Segment, HeapsOfNeighboursBeginAnOddNumberOfPagesApart) {
  const std::size_t page = page_size();
  std::set<std::size_t> skews;
  for (std::size_t number = 1000; number < 1512; ++number) {
    const std::size_t skew = heap_skew(number, std::size_t{64} << 30),
                      next = heap_skew(number + 1, std::size_t{64} << 30);
    EXPECT_EQ(skew % page, 0U);
    EXPECT_EQ((skew + next) / page % 2, 1U) << number;
    EXPECT_LE(heap_skew(number, 4096 * page), 4 * page) << "small heaps have no room for more";
    EXPECT_EQ(heap_skew(number, 16 * page), 0U);
    skews.insert(skew);
  }
  EXPECT_EQ(skews.size(), 512U);
}

// A process takes nothing from a listener of another user.
TEST(Segment, AnotherUserIsNotTrusted) {
  constexpr uid_t nobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    Address address;
    if (setresuid(nobody, nobody, nobody) != 0 || listen_local(1, address) < 0) _exit(1);
    if (write(ends[1], &address, sizeof address) != static_cast<ssize_t>(sizeof address)) _exit(2);
    for (;;) ::pause();  // not the pause of a waiting loop
  }
  Address address;
  ASSERT_EQ(read(ends[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  EXPECT_EQ(connect_local(address), -1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int d : ends) close_descriptor(d);
}

// Nor does a listener give him anything, though he comes first and says that he is one of those that pass their
// descriptors to each other.
TEST(Segment, AnotherUserHasNoPartInAnExchange) {
  constexpr uid_t nobody = 65534;
  constexpr int processes = 3;
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Address address;
  const int listener = listen_local(processes, address);
  ASSERT_GE(listener, 0);
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setresuid(nobody, nobody, nobody) != 0) _exit(1);
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    std::memcpy(&name, address.name, static_cast<std::size_t>(address.length));
    if (connect(connection, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(address.length)) != 0) _exit(2);
    const std::int32_t who = 1;
    char got[64];
    if (write(connection, &who, sizeof who) != sizeof who || write(ends[1], "", 1) != 1) _exit(4);
    _exit(recv(connection, got, sizeof got, 0) > 0 ? 3 : 0);
  }
  char there = 0;
  ASSERT_EQ(read(ends[0], &there, 1), 1);  // he stands first in line
  expect_exchange(listener, address, processes, {stranger});
  for (const int d : ends) close_descriptor(d);
}

TEST(Processors, ThereIsAtLeastOne) { EXPECT_GE(count(allowed_processors()), 1); }

TEST(AddressSpace, ItsRestIsKnownWhereItIsLimited) {
  const int status = in_child([] {
    if (address_space_left() != SIZE_MAX) return 1;
    constexpr std::size_t some = std::size_t{1} << 46, part = std::size_t{1} << 30;
    const rlimit limit{some, some};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    const std::size_t before = address_space_left();
    if (before >= some || before < some / 2) return 3;
    if (mmap(nullptr, part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) return 4;
    return before - address_space_left() == part ? 0 : 5;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace quadrille::sys
