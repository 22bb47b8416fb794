// What this process can reach of the memory of the other ranks of its node, and how.
//
//   heap   both sides map the peer's shared heap: load and store
//   xpmem  the kernel maps the peer's memory on demand: load and store
//   cma    the kernel copies (process_vm_readv, process_vm_writev)
//   ring   the peers copy through shared memory; always possible
//
// Which way a block takes is decided pair by pair and call by call by its sender, from where the block is
// and from what both ranks said of themselves at set-up. This file sees no MPI.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::memory {

// The ways that may be used: by the user's wish (QUADRILLE_REACH).
struct Ways {
  bool heap = true, xpmem = true, cma_read = true, cma_write = true, ring = true;
};
// Reads "heap,cma,ring"; "cma-read" and "cma-write" are one direction of cma. Returns an empty string, or what
// is wrong.
std::string parse_ways(const std::string& text, Ways& ways);

// What one process can do with the memory of another: read and write by CMA, map its heap, attach by XPMEM.
struct Abilities {
  bool read = false, write = false, map = false, attach = false;
};

// One rank of the node, as seen from this one.
struct Peer {
  pid_t process = 0;
  std::byte* heap = nullptr;  // its shared heap, mapped here; null: not mapped
  Abilities can, i_can;       // the peer with the memory of this process, and this process with that of the peer
};

}  // namespace quadrille::memory
