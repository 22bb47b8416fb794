#include "sys/descriptors.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// A peer that connected but never reads, or a leader that died, must not hang the others for good.
constexpr int handover_timeout_ms = 20'000;

// A system call, once more where a signal has interrupted it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

bool wait_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return uninterrupted([&] { return poll(&entry, 1, handover_timeout_ms); }) == 1;
}

// A message of some bytes and at most `most_at_once` descriptors.
constexpr std::size_t most_at_once = 64;

bool send_message(int connection, const void* data, std::size_t bytes, std::span<const int> given) {
  iovec payload{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_at_once)] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  if (!given.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(given.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(given.size_bytes());
    std::memcpy(CMSG_DATA(header), given.data(), given.size_bytes());
  }
  const ssize_t sent = uninterrupted([&] { return sendmsg(connection, &message, MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(bytes);
}

// Receives a message of exactly `bytes` bytes. `taken` has room for most_at_once descriptors.
bool take_message(int connection, void* data, std::size_t bytes, std::vector<int>& taken) {
  taken.clear();
  if (!wait_readable(connection)) return false;
  iovec payload{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_at_once)] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = uninterrupted([&] { return recvmsg(connection, &message, MSG_CMSG_CLOEXEC); });
  if (got < 0) return false;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const std::size_t before = taken.size();
    taken.resize(before + count);
    std::memcpy(taken.data() + before, CMSG_DATA(h), count * sizeof(int));
  }
  return got == static_cast<ssize_t>(bytes) && (message.msg_flags & MSG_CTRUNC) == 0;
}

void close_all(std::span<const int> descriptors) {
  for (const int d : descriptors) close_descriptor(d);
}

// Of a listener that is connected to: of the process that listens.
bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// The connection of the next process of this user; -1 if none comes.
int next_client(int listener) {
  while (wait_readable(listener)) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0 && errno != EINTR && errno != ECONNABORTED) return -1;
    if (connection >= 0 && same_user(connection)) return connection;
    close_descriptor(connection);
  }
  return -1;
}

// While it lives, this process may hold as many descriptors as the system allows, not only what is usual.
class MostDescriptors {
 public:
  MostDescriptors() {
    is_known_ = getrlimit(RLIMIT_NOFILE, &before_) == 0;
    set(before_.rlim_max);
  }
  MostDescriptors& operator=(MostDescriptors&&) = delete;
  ~MostDescriptors() { set(before_.rlim_cur); }

 private:
  void set(rlim_t soft) const {
    const rlimit limit = {soft, before_.rlim_max};
    if (is_known_) setrlimit(RLIMIT_NOFILE, &limit);
  }

  rlimit before_{};
  bool is_known_ = false;
};

}  // namespace

int listen_local(int clients, Address& address) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name;
  // Binding to the family alone makes the kernel choose a free abstract name.
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)) != 0 || listen(listener, clients) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length) != 0 || length > sizeof address.name) {
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
  std::memcpy(&name, address.name, std::min(sizeof name, static_cast<std::size_t>(address.length)));
  if (address.length <= static_cast<std::int32_t>(sizeof name) &&
      connect(connection, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(address.length)) == 0 &&
      same_user(connection)) {
    return connection;
  }
  close(connection);
  return -1;
}

bool collect_and_share(int listener, std::span<int> all) {
  const MostDescriptors more;  // it holds a connection for each rank of the node
  std::vector<int> connections;
  std::vector<int> taken;
  bool good = true;
  while (good && connections.size() + 1 < all.size()) {
    const int connection = next_client(listener);
    if (connection < 0) break;
    connections.push_back(connection);
    std::int32_t who = -1;
    // A process that could not send its descriptor has closed the connection, and will not come again.
    good = take_message(connection, &who, sizeof who, taken) && who >= 1 &&
           static_cast<std::size_t>(who) < all.size() && taken.size() <= 1;
    if (!good) {
      close_all(taken);
    } else if (!taken.empty()) {
      all[static_cast<std::size_t>(who)] = taken[0];
    }
  }
  good = good && connections.size() + 1 == all.size();
  // First a byte a process: whether there is a descriptor of it. Then the descriptors, in order.
  std::vector<char> there(all.size());
  std::vector<int> given;
  for (std::size_t i = 0; i < all.size(); ++i) {
    there[i] = all[i] >= 0 ? 1 : 0;
    if (all[i] >= 0) given.push_back(all[i]);
  }
  for (std::size_t c = 0; good && c < connections.size(); ++c) {
    good = send_message(connections[c], there.data(), there.size(), {});
    for (std::size_t at = 0; good && at < given.size(); at += most_at_once) {
      const std::size_t count = std::min(most_at_once, given.size() - at);
      good = send_message(connections[c], "q", 1, std::span(given).subspan(at, count));
    }
  }
  close_all(connections);
  if (!good) {
    close_all(all.subspan(1));
    std::fill(all.begin() + 1, all.end(), -1);
  }
  return good;
}

bool give_and_take(int connection, int me, std::span<int> all) {
  const std::int32_t who = me;
  const int mine = all[static_cast<std::size_t>(me)];
  std::vector<int> got, taken;
  std::vector<char> there(all.size());
  bool good = send_message(connection, &who, sizeof who, {&mine, mine >= 0 ? 1U : 0U}) &&
              take_message(connection, there.data(), there.size(), taken);
  const auto total = static_cast<std::size_t>(std::count(there.begin(), there.end(), 1));
  while (good && got.size() < total) {
    char byte = 0;
    good = take_message(connection, &byte, 1, taken) && !taken.empty();
    got.insert(got.end(), taken.begin(), taken.end());
  }
  if (!good || got.size() != total) {
    close_all(got);
    return false;
  }
  for (std::size_t i = 0, next = 0; i < all.size(); ++i) {
    if (there[i] == 0) continue;
    if (static_cast<int>(i) == me) {
      close(got[next++]);  // one's own is there already
    } else {
      all[i] = got[next++];
    }
  }
  return true;
}

}  // namespace quadrille::sys
