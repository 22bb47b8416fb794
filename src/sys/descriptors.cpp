// Passing file descriptors to processes of the same user on this machine.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
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

// A message: the owners of its descriptors, and how many descriptors later messages bring.
struct Batch {
  static constexpr std::int32_t most = 64;
  std::int32_t count = 0, left = 0;
  std::int32_t owners[most] = {};
};

bool send_batch(int connection, Batch& batch, const int* given) {
  iovec payload{&batch, sizeof batch};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Batch::most)] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  if (batch.count > 0) {
    const std::size_t bytes = sizeof(int) * static_cast<std::size_t>(batch.count);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), given, bytes);
  }
  return uninterrupted([&] { return sendmsg(connection, &message, MSG_NOSIGNAL); }) == ssize_t{sizeof batch};
}

// Adds the descriptors to `taken`, also after a failure.
bool take_batch(int connection, Batch& batch, std::vector<int>& taken) {
  if (!wait_readable(connection)) return false;
  iovec payload{&batch, sizeof batch};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Batch::most)] = {};
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
  return got == ssize_t{sizeof batch} && (message.msg_flags & MSG_CTRUNC) == 0 && std::ssize(taken) == batch.count;
}

// Sends all descriptors that are not -1, in as many messages as they need.
bool send_all(int connection, std::span<const int> all) {
  Batch batch;
  batch.left = static_cast<std::int32_t>(std::ranges::count_if(all, [](int descriptor) { return descriptor >= 0; }));
  std::size_t owner = 0;
  do {
    int given[Batch::most] = {};
    batch.count = 0;
    for (; owner < all.size() && batch.count < Batch::most; ++owner) {
      if (all[owner] < 0) continue;
      batch.owners[batch.count] = static_cast<std::int32_t>(owner);
      given[batch.count++] = all[owner];
    }
    batch.left -= batch.count;
    if (!send_batch(connection, batch, given)) return false;
  } while (batch.left > 0);
  return true;
}

// A descriptor that `all` has already stays there.
bool take_all(int connection, std::span<int> all) {
  Batch batch;
  bool good = true;
  do {
    std::vector<int> taken;
    good = take_batch(connection, batch, taken);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto owner = static_cast<std::size_t>(batch.owners[i]);
      const bool is_new = good && owner < all.size() && all[owner] < 0;
      if (is_new) {
        all[owner] = taken[i];
      } else {
        close_descriptor(taken[i]);
      }
    }
  } while (good && batch.left > 0);
  return good;
}

// Closes the descriptors of the other processes.
void close_others(std::size_t me, std::span<int> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != me) close_descriptor(std::exchange(all[i], -1));
  }
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
  bool good = true;
  while (good && connections.size() + 1 < all.size()) {
    connections.push_back(next_client(listener));
    // A process that could not send its descriptor has closed the connection, and will not come again.
    good = connections.back() >= 0 && take_all(connections.back(), all);
  }
  for (std::size_t c = 0; good && c < connections.size(); ++c) good = send_all(connections[c], all);
  for (const int connection : connections) close_descriptor(connection);
  if (!good) close_others(0, all);
  return good;
}

bool give_and_take(int connection, int me, std::span<int> all) {
  const bool good = send_all(connection, all) && take_all(connection, all);
  if (!good) close_others(static_cast<std::size_t>(me), all);
  return good;
}

}  // namespace quadrille::sys
