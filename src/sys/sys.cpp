#include "sys/sys.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace quadrille::sys {
namespace {

// A peer that connected but never reads, or a leader that died, must not hang the others for good.
constexpr int handover_timeout_ms = 20'000;

bool send_descriptor(int connection, int descriptor) {
  char byte = 'q';
  iovec payload{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  ssize_t sent;
  do {
    sent = sendmsg(connection, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

bool wait_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  int ready;
  do {
    ready = poll(&entry, 1, handover_timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

}  // namespace

int create_segment(std::size_t bytes) {
  int descriptor = memfd_create("quadrille", MFD_CLOEXEC);
  if (descriptor < 0) {
    // Older systems: a file of the shared-memory file system that never has a name.
    descriptor = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  if (descriptor < 0) return -1;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

std::byte* map_segment(int descriptor, std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

void unmap_segment(std::byte* base, std::size_t bytes) { munmap(base, bytes); }

void close_descriptor(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}

int listen_local(int clients, Address& address) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Binding to the family alone makes the kernel choose a free abstract name.
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      listen(listener, clients) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      length > sizeof address.name) {
    close(listener);
    return -1;
  }
  std::memcpy(address.name, &name, length);
  address.length = static_cast<std::int32_t>(length);
  return listener;
}

int connect_local(const Address& address) {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection < 0) return -1;
  sockaddr_un name{};
  std::memcpy(&name, address.name, static_cast<std::size_t>(address.length));
  if (connect(connection, reinterpret_cast<sockaddr*>(&name),
              static_cast<socklen_t>(address.length)) != 0) {
    close(connection);
    return -1;
  }
  return connection;
}

bool hand_out(int listener, int clients, int descriptor) {
  int served = 0;
  while (served < clients && wait_readable(listener)) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return false;
    }
    if (same_user(connection) && send_descriptor(connection, descriptor)) ++served;
    close(connection);
  }
  return served == clients;
}

int take_descriptor(int connection) {
  if (!wait_readable(connection)) return -1;
  char byte = 0;
  iovec payload{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return -1;
  }
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

ProcessorSet allowed_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ProcessorSet set;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return set;
  for (int p = 0; p < CPU_SETSIZE && p < max_processors; ++p) {
    if (CPU_ISSET(p, &mask)) set.words[p / 64] |= std::uint64_t{1} << (p % 64);
  }
  return set;
}

int count(const ProcessorSet& set) {
  int total = 0;
  for (const std::uint64_t word : set.words) total += std::popcount(word);
  return total;
}

bool run_on(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processor, &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace quadrille::sys
