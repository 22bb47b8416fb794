// Whether what the program does to its mappings is seen: else a peer could read what was there before.
#pragma once

namespace quadrille::memory {

enum class MappingWatch {
  none,         // nobody watches; then only memory that Quadrille gave is shared
  ours,         // calls of mmap and the others come by us
  through_ucx,  // UCX overwrote our functions, and tells us what it sees
  lost,         // somebody overwrote them, and tells nothing
};

// The preload library says how to find out. `at_start`: MPI_Init has just returned, and the program had no chance to
// change anything since; then a watch that somebody pushed aside may be set up in another way.
using FindMappingWatch = MappingWatch (*)(bool at_start);
void set_mapping_watch(FindMappingWatch find);

// Cheap.
MappingWatch mapping_watch(bool at_start = false);
inline bool mappings_are_watched() { return mapping_watch() != MappingWatch::lost; }

}  // namespace quadrille::memory
