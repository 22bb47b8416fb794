/* Stands for CUDA's driver. A device's memory has an address that the processor may not touch, and lies elsewhere, where
 * only this library looks. A copy works in the context of the memory alone. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { most = 1024, success = 0, invalid_value = 1, invalid_context = 201 };
static struct piece {
  uintptr_t at;
  size_t bytes;
  char* data;
} pieces[most];
static int piece_count, context_of_device, context_of_program;
static void* current = &context_of_program;
static unsigned long copies;

__attribute__((visibility("default"))) int cuMemAlloc_v2(uintptr_t* made, size_t bytes) {
  if (piece_count == most) return 2;
  void* const at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const data = malloc(bytes);
  if (at == MAP_FAILED || data == NULL) return 2;
  pieces[piece_count++] = (struct piece){(uintptr_t)at, bytes, data};
  *made = (uintptr_t)at;
  return success;
}

static struct piece* piece_of(uintptr_t at) {
  for (int i = 0; i < piece_count; ++i) {
    if (at >= pieces[i].at && at < pieces[i].at + pieces[i].bytes) return &pieces[i];
  }
  return NULL;
}

__attribute__((visibility("default"))) int cuPointerGetAttribute(void* result, int attribute, uintptr_t at) {
  if (piece_of(at) == NULL) return invalid_value;
  if (attribute == 1) {
    *(void**)result = &context_of_device;
  } else if (attribute == 2) {
    *(unsigned*)result = 2;
  } else {
    return invalid_value;
  }
  return success;
}

static void* stack[16];
static int depth;
__attribute__((visibility("default"))) int cuCtxPushCurrent_v2(void* context) {
  stack[depth++] = current;
  current = context;
  return success;
}
__attribute__((visibility("default"))) int cuCtxPopCurrent_v2(void** context) {
  *context = current;
  current = stack[--depth];
  return success;
}
__attribute__((visibility("default"))) int cuCtxGetCurrent(void** context) {
  *context = current;
  return success;
}

__attribute__((visibility("default"))) int cuMemcpy(uintptr_t to, uintptr_t from, size_t bytes) {
  struct piece* const to_piece = piece_of(to);
  struct piece* const from_piece = piece_of(from);
  if ((to_piece != NULL || from_piece != NULL) && current != (void*)&context_of_device) return invalid_context;
  if (to_piece != NULL && to + bytes > to_piece->at + to_piece->bytes) return invalid_value;
  if (from_piece != NULL && from + bytes > from_piece->at + from_piece->bytes) return invalid_value;
  ++copies;
  memmove(to_piece != NULL ? to_piece->data + (to - to_piece->at) : (char*)to,
          from_piece != NULL ? from_piece->data + (from - from_piece->at) : (char*)from, bytes);
  return success;
}

/* For the test alone. */
__attribute__((visibility("default"))) unsigned long standin_copies(void) { return copies; }
