// Does to mmap and the others what UCX does: overwrites their first instructions, so that whoever defines
// them never sees a call. Preloaded, it does so when MPI_Init begins; TAKE_MMAP=load: when it is loaded.
//
// It is built a second time as libucm.so.0, UCX's own library for this, which tells others what it sees.
// TAKE_MMAP=silent: that one takes the handler and never calls it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
  void* address;
  size_t bytes;
} Range;
typedef struct {
  int result;
  void* address;
  size_t bytes;
  int advice;
} Advised;
typedef void (*Handler)(int event, void* range, void* argument);
static Handler handler, advice_handler;
static void* handler_argument;

static int mode_is(const char* mode) {
  const char* wanted = getenv("TAKE_MMAP");
  return wanted != NULL && strcmp(wanted, mode) == 0;
}

static void tell(void* address, size_t bytes) {
  Range range = {address, bytes};
  if (handler != NULL) handler(1 << 17, &range, handler_argument);
}

#ifdef TELLS
EXPORT signed char ucm_set_event_handler(int events, int priority, Handler on_event, void* argument) {
  if (mode_is("silent")) return 0;
  if ((events & (1 << 17)) != 0) handler = on_event;
  if ((events & (1 << 6)) != 0 && priority < 0) advice_handler = on_event;
  handler_argument = argument;
  return 0;
}
#endif

static void* mmap_instead(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_FIXED) != 0) tell(address, bytes);
  return (void*)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

static int munmap_instead(void* address, size_t bytes) {
  tell(address, bytes);
  return (int)syscall(SYS_munmap, address, bytes);
}

// Dropped pages are told of as if they were unmapped.
static int madvise_instead(void* address, size_t bytes, int advice) {
  if (advice == MADV_DONTNEED) tell(address, bytes);
  Advised call = {-1, address, bytes, advice};
  if (advice_handler != NULL) advice_handler(1 << 6, &call, handler_argument);
  return call.result != -1 ? call.result : (int)syscall(SYS_madvise, address, bytes, advice);
}

static void overwrite(const char* name, uintptr_t target) {
  unsigned char jump[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};  // r11 = target; jmp r11
  memcpy(jump + 2, &target, sizeof target);
  unsigned char* at = dlsym(RTLD_DEFAULT, name);
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t from = (uintptr_t)at / page * page;
  const size_t bytes = (uintptr_t)at + sizeof jump - from;
  if (mprotect((void*)from, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) abort();
  memcpy(at, jump, sizeof jump);
  if (mprotect((void*)from, bytes, PROT_READ | PROT_EXEC) != 0) abort();
}

static void take_over(void) {
  overwrite("mmap", (uintptr_t)mmap_instead);
  overwrite("munmap", (uintptr_t)munmap_instead);
  overwrite("madvise", (uintptr_t)madvise_instead);
}

__attribute__((constructor)) static void when_loaded(void) {
  if (mode_is("load")) take_over();
}

// Preloaded before Quadrille, whose function is the next one.
EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  int (*next)(int*, char***, int, int*) = (int (*)(int*, char***, int, int*))dlsym(RTLD_NEXT, "MPI_Init_thread");
  if (!mode_is("load")) take_over();
  return next(argc, argv, required, provided);
}
