/* Ranks that come late to the sockets over which they pass memory, so that somebody else is there before them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int connect(int descriptor, const struct sockaddr* address, socklen_t length) {
  static int (*next)(int, const struct sockaddr*, socklen_t);
  if (next == NULL) next = (int (*)(int, const struct sockaddr*, socklen_t))dlsym(RTLD_NEXT, "connect");
  const struct sockaddr_un* const name = (const struct sockaddr_un*)address;
  const int has_name = length > offsetof(struct sockaddr_un, sun_path) && address->sa_family == AF_UNIX;
  if (has_name && name->sun_path[0] == 0) usleep(200000);
  return next(descriptor, address, length);
}
