// What our libraries use of glibc 2.29 and newer, for older ones. Linked into each of them, hidden: nobody else finds
// it.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// glibc 2.33. Up to then these were no functions of their own, but calls of one that is told the form of the structure.
// The kernel's has the same form on the machines with 64 bits.
struct stat;
int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
int stat(const char* path, struct stat* status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char* path, struct stat* status) { return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW); }
int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }
int fstat64(int file, struct stat* status) { return fstat(file, status); }
int stat64(const char* path, struct stat* status) { return stat(path, status); }

// glibc 2.32: the C++ library asks whether it may leave out atomic instructions. It may not know, so: no.
char __libc_single_threaded = 0;

// glibc 2.36, for std::random_device.
uint32_t arc4random(void) {
  uint32_t number;
  size_t got = 0;
  while (got < sizeof(number)) {
    const long more = syscall(SYS_getrandom, (char*)&number + got, sizeof(number) - got, 0);
    if (more > 0) {
      got += (size_t)more;
    } else if (errno != EINTR) {
      abort();
    }
  }
  return number;
}

// glibc 2.35: the unwinder asks in which object an address lies, and where its tables are.
struct found_object {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct asked {
  uintptr_t address;
  struct found_object* found;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct asked* asked = data;
  uintptr_t low = UINTPTR_MAX, high = 0, tables = 0;
  int here = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
    if (part->p_type == PT_LOAD) {
      if (start < low) low = start;
      if (end > high) high = end;
      here |= asked->address >= start && asked->address < end;
    } else if (part->p_type == PT_GNU_EH_FRAME) {
      tables = start;
    }
  }
  if (!here || tables == 0) return here ? -1 : 0;
  memset(asked->found, 0, sizeof(*asked->found));
  asked->found->map_start = (void*)low;
  asked->found->map_end = (void*)high;
  asked->found->eh_frame = (void*)tables;
  return 1;
}

// By another name here: newer headers declare it, older ones do not.
int find_object(void* address, struct found_object* found) __asm__("_dl_find_object");
int find_object(void* address, struct found_object* found) {
  const struct asked asked = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, (void*)&asked) == 1 ? 0 : -1;
}
