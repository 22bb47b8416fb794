// Shared segments and passing their descriptors, with real processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

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
