// Memory of every origin that a program may hand to MPI.
#pragma once

#include <cstddef>
#include <string>

#include "draw.hpp"

namespace quadrille::fuzz {

enum class Origin {
  malloc,
  calloc,
  grown,
  aligned,
  mpi,
  mapped,
  shared,
  file,
  shared_file,
  moved,
  kept,
  stack,
  fixed,
  mapped_over,
  mapped_over_shared,
  dropped,
};

struct Memory {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;
  Origin origin = Origin::malloc;
  bool writable_by_choice = false;  // whole pages of their own, which may be made read-only
  bool shared = false;              // with children of this process
};

// Memory of a random origin, with any content. Local.
Memory take_memory(Draw& draw, std::size_t bytes);
void give_back(Memory& memory);
// What is kept for later steps. Before MPI_Finalize.
void free_kept_memory();

void set_writable(const Memory& memory, bool writable);
const char* name_of(Origin origin);

// Part of the stack of this thread, which lives as long as this object.
class StackArea {
 public:
  StackArea();
  ~StackArea();
  StackArea(const StackArea&) = delete;
  StackArea& operator=(const StackArea&) = delete;

 private:
  alignas(64) unsigned char area_[192 << 10];
};

// Memory dropped by MADV_DONTNEED that was not zero afterwards; empty if there was none.
std::string not_dropped();

}  // namespace quadrille::fuzz
