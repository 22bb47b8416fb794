// Whether what the program does to its mappings is seen: else a peer could read what was there before.
#pragma once

namespace quadrille::memory {

// The preload library says how to find out. `at_start`: MPI_Init has just returned, and the program had no chance to
// change anything since; then a watch that somebody pushed aside may be set up in another way.
using WatchHolds = bool (*)(bool at_start);
void set_mapping_watch(WatchHolds holds);

// True also where nobody watches: then only memory that Quadrille gave is shared. Cheap.
bool mappings_are_watched(bool at_start = false);

}  // namespace quadrille::memory
