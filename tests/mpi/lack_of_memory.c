/* Stands for a system that has no memory when Quadrille asks for it. Preloaded before it: the FAIL_AT-th request that
 * Quadrille's library itself makes on rank FAIL_RANK, counted from 0, gets none; FAIL_AT=-1: says at the end how many
 * there were. Requests of the program and of the MPI are not touched. A program may say itself which one: lack_from().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* address, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static uintptr_t first, last; /* where Quadrille's code is */
static long fail_at = -2, requests = 0;
static long fail_count = 1; /* so many, from that one on */
static size_t fail_from;    /* only those of so many bytes count */

/* From now on the `at`-th request of at least `bytes` bytes and the `count - 1` after it get none; at -2: all get some.
 * Returns how many there were since the last call. */
__attribute__((visibility("default"))) long lack_from(long at, long count, size_t bytes) {
  fail_at = -2;
  fail_count = count, fail_from = bytes;
  const long seen = __atomic_exchange_n(&requests, 0, __ATOMIC_RELAXED);
  fail_at = at;
  return seen;
}

static int find_quadrille(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  const char* name = strrchr(info->dlpi_name, '/');
  if (name == NULL || strncmp(name, "/libquadrille", 13) != 0 || strstr(name, "lack_of_memory") != NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    first = info->dlpi_addr + part->p_vaddr;
    last = first + part->p_memsz;
  }
  return 0;
}

static long number(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text != NULL ? atol(text) : otherwise;
}

static long rank_here(void) { return number("OMPI_COMM_WORLD_RANK", number("PMI_RANK", 0)); }

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(find_quadrille, NULL);
  const long at = number("FAIL_AT", -2);
  fail_at = at >= 0 && rank_here() != number("FAIL_RANK", 0) ? -2 : at;
}

__attribute__((destructor)) static void end(void) {
  if (fail_at == -1 && rank_here() == number("FAIL_RANK", 0)) fprintf(stderr, "requests: %ld\n", requests);
}

static int is_there(const void* caller, size_t bytes) {
  if ((uintptr_t)caller < first || (uintptr_t)caller >= last || fail_at == -2 || bytes < fail_from) return 1;
  const long number = __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
  if (fail_at < 0 || number < fail_at || number - fail_at >= fail_count) return 1;
  errno = ENOMEM;
  return 0;
}

/* Requests that Quadrille's own malloc forwards are the program's, and come by address, not by name. */
#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, name))
static __thread int looking;

void* malloc(size_t bytes) {
  static void* (*next)(size_t);
  if (!is_there(__builtin_return_address(0), bytes)) return NULL;
  if (next == NULL && !looking) looking = 1, next = NEXT("malloc", void* (*)(size_t)), looking = 0;
  return next != NULL ? next(bytes) : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  static void* (*next)(size_t, size_t);
  if (!is_there(__builtin_return_address(0), count * bytes)) return NULL;
  if (next == NULL && !looking) looking = 1, next = NEXT("calloc", void* (*)(size_t, size_t)), looking = 0;
  return next != NULL ? next(count, bytes) : __libc_calloc(count, bytes);
}

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  static int (*next)(void**, size_t, size_t);
  if (!is_there(__builtin_return_address(0), bytes)) return ENOMEM;
  if (next == NULL && !looking)
    looking = 1, next = NEXT("posix_memalign", int (*)(void**, size_t, size_t)), looking = 0;
  return next(result, alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  if (!is_there(__builtin_return_address(0), bytes)) return NULL;
  return __libc_memalign(alignment, bytes);
}
