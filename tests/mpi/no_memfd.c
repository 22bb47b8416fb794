/* Stands for a kernel without memfd, or a container that refuses it. */
#include <errno.h>

int memfd_create(const char* name, unsigned flags) {
  (void)name, (void)flags;
  errno = ENOSYS;
  return -1;
}
