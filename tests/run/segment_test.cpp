// Shared segments and passing their descriptors, with real processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "sys/descriptors.hpp"
#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

constexpr std::size_t bytes = 8192;

// A client process: connects, takes the descriptor, writes its number, ends with 0 if all went well.
[[noreturn]] void client(const Address& address, int number) {
  const int connection = connect_local(address);
  if (connection < 0) _exit(1);
  const int segment = take_descriptor(connection);
  if (segment < 0) _exit(2);
  std::byte* base = map_segment(segment, bytes);
  if (base == nullptr) _exit(3);
  base[number] = std::byte{42};
  _exit(0);
}

TEST(Segment, IsSharedWithProcessesThatTakeItsDescriptor) {
  constexpr int clients = 5;
  const int segment = create_segment(bytes);
  ASSERT_GE(segment, 0);
  Address address;
  const int listener = listen_local(clients, address);
  ASSERT_GE(listener, 0);
  pid_t children[clients];
  for (int c = 0; c < clients; ++c) {
    children[c] = fork();
    if (children[c] == 0) client(address, c);
  }
  EXPECT_TRUE(hand_out(listener, clients, segment));
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::byte* base = map_segment(segment, bytes);
  ASSERT_NE(base, nullptr);
  for (int c = 0; c < clients; ++c) EXPECT_EQ(base[c], std::byte{42});
  unmap_segment(base, bytes);
  close_descriptor(segment);
  close_descriptor(listener);
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

// More than fit one message of descriptors.
TEST(Segment, EveryProcessGetsEverybodysDescriptor) {
  constexpr int processes = 140;
  Address address;
  const int listener = listen_local(processes, address);
  ASSERT_GE(listener, 0);
  std::vector<pid_t> children;
  for (int p = 1; p < processes; ++p) {
    children.push_back(fork());
    if (children.back() == 0) exchange(address, p, processes);
  }
  std::vector<int> all(processes, -1);
  all[0] = create_segment(bytes);
  map_segment(all[0], bytes)[0] = std::byte{0};
  EXPECT_TRUE(collect_and_share(listener, all));
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const int d : all) close_descriptor(d);
  close_descriptor(listener);
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

TEST(Segment, ConnectingToNobodyFails) {
  Address address;
  const int listener = listen_local(1, address);
  ASSERT_GE(listener, 0);
  close_descriptor(listener);
  EXPECT_EQ(connect_local(address), -1);
}

TEST(Processors, ThereIsAtLeastOne) { EXPECT_GE(count(allowed_processors()), 1); }

}  // namespace
}  // namespace quadrille::sys
