// mpi_check DOOR MODE: MPI_Alloc_mem and Quadrille_Alloc. DOOR is "preload" or "explicit", MODE the
// value of QUADRILLE_HEAP. Exits with 0 if all is as it should be.
#include <mpi.h>
#include <quadrille.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "maps.hpp"

namespace {

using quadrille::test::fill;
using quadrille::test::holds;
using quadrille::test::in_shared_heap;

int failures = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

void check_quadrille_alloc(bool wanted) {
  for (const MPI_Aint bytes : {MPI_Aint{1}, MPI_Aint{5000}, MPI_Aint{1'000'000}}) {
    void* base = nullptr;
    expect(Quadrille_Alloc(bytes, &base) == MPI_SUCCESS, "Quadrille_Alloc");
    expect(base != nullptr && reinterpret_cast<std::uintptr_t>(base) % 64 == 0, "alignment");
    fill(base, static_cast<std::size_t>(bytes), 1);
    expect(holds(base, static_cast<std::size_t>(bytes), 1), "content");
    expect(in_shared_heap(base) == wanted, "place of Quadrille_Alloc");
    expect(Quadrille_Free(base) == MPI_SUCCESS, "Quadrille_Free");
  }
  void* base = &failures;
  expect(Quadrille_Alloc(0, &base) == MPI_SUCCESS && base == nullptr, "empty");
  expect(Quadrille_Free(nullptr) == MPI_SUCCESS, "free of nothing");
}

void check_mpi_alloc_mem(bool wanted) {
  MPI_Info hints;
  MPI_Info_create(&hints);
  for (const MPI_Aint bytes : {MPI_Aint{1}, MPI_Aint{1'000'000}}) {
    for (const MPI_Info info : {MPI_INFO_NULL, hints}) {
      char* base = nullptr;
      expect(MPI_Alloc_mem(bytes, info, &base) == MPI_SUCCESS && base != nullptr, "MPI_Alloc_mem");
      fill(base, static_cast<std::size_t>(bytes), 1);
      expect(holds(base, static_cast<std::size_t>(bytes), 1), "content of MPI_Alloc_mem");
      if (info == MPI_INFO_NULL) {
        expect(in_shared_heap(base) == wanted, "place of MPI_Alloc_mem");
      }
      expect(MPI_Free_mem(base) == MPI_SUCCESS, "MPI_Free_mem");
    }
  }
  MPI_Info_free(&hints);
}

// The MPI's own memory comes from malloc, in MPICH with 16 bytes in front: so it may lie in the middle of a block of
// the heap. What the MPI frees of it must not come back as a block.
void check_blocks_are_whole() {
  constexpr std::size_t count = 64, size = 448, front = 16;
  MPI_Info hints;
  MPI_Info_create(&hints);
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    expect(MPI_Alloc_mem(size - front, hints, &block) == MPI_SUCCESS, "MPI_Alloc_mem with hints");
  }
  for (void* block : blocks) expect(MPI_Free_mem(block) == MPI_SUCCESS, "MPI_Free_mem of the MPI's");
  blocks.resize(4 * count);
  for (std::size_t b = 0; b < blocks.size(); ++b) fill(blocks[b] = std::malloc(size), size, static_cast<unsigned>(b));
  bool whole = true;
  for (std::size_t b = 0; b < blocks.size(); ++b) whole = whole && holds(blocks[b], size, static_cast<unsigned>(b));
  expect(whole, "blocks overlap");
  for (void* block : blocks) std::free(block);
  MPI_Info_free(&hints);
}

void check_errors() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  void* base = nullptr;
  int error_class = 0;
  MPI_Error_class(Quadrille_Alloc(-1, &base), &error_class);
  expect(error_class == MPI_ERR_ARG, "a negative size");
  MPI_Error_class(Quadrille_Alloc(10, nullptr), &error_class);
  expect(error_class == MPI_ERR_ARG, "no place for the result");
  MPI_Error_class(Quadrille_Alloc(INTPTR_MAX, &base), &error_class);
  expect(error_class == MPI_ERR_NO_MEM && base == nullptr, "more than there is");
  expect(MPI_Alloc_mem(-1, MPI_INFO_NULL, &base) != MPI_SUCCESS, "the MPI's own check");
}

}  // namespace

int main(int, char** arguments) {
  const bool preload = std::strcmp(arguments[1], "preload") == 0;
  const bool off = std::strcmp(arguments[2], "off") == 0;
  void* before = nullptr;
  expect(Quadrille_Alloc(100, &before) == MPI_SUCCESS, "before MPI_Init");
  expect(in_shared_heap(before) == !off, "place before MPI_Init");
  MPI_Init(nullptr, nullptr);
  check_quadrille_alloc(!off);
  check_mpi_alloc_mem(preload && !off);
  check_blocks_are_whole();
  check_errors();
  MPI_Finalize();
  Quadrille_Free(before);
  return failures == 0 ? 0 : 1;
}
