// Passing file descriptors to processes of the same user on this machine, over a local socket that has no
// name in the file system.
#pragma once

#include <cstdint>
#include <span>

namespace quadrille::sys {

// The address of a listening local socket: an abstract name that the kernel chose.
struct Address {
  char name[112];
  std::int32_t length = 0;  // 0: none
};

// Opens a listening socket for `clients` processes. Returns its descriptor, or -1.
int listen_local(int clients, Address& address);
// Connects without waiting, if a process of this user listens there. Returns a descriptor, or -1.
int connect_local(const Address& address);

// All processes get a descriptor of each. Process 0 listens and calls collect_and_share(); process i connects and calls
// give_and_take(). Process i passes its own descriptor in all[i], and -1 elsewhere; -1 stands for no descriptor.
// Afterwards all[i] is a descriptor of process i, to be closed by the caller. False if it failed; then
// there are no descriptors to close but one's own.
bool collect_and_share(int listener, std::span<int> all);
bool give_and_take(int connection, int me, std::span<int> all);

}  // namespace quadrille::sys
