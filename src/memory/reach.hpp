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

#include "text/reason.hpp"

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

// ---- XPMEM: the memory of other processes of the node, mapped here by a kernel module ----
//
// Idea    Each process makes one segment of its whole address space and tells its number. A peer gets that
//         once, attaches the parts that it reads, and keeps them: a part that was attached before costs a
//         look into a short list. Without the module or its library there is nothing, and other ways serve.
// Source  The calls of libxpmem (xpmem.h); HINT, section V, uses it for the single copy.
// Cost    One system call for a part that is new, and a page fault for each of its pages of 4 KiB.
//
// Is it still the same memory? What the owner unmaps, or maps something else over, the kernel takes out of
// the attached parts by itself, where it is told (MMU notifiers); not all kernels are to be trusted with
// that. So the owner also counts such changes of the addresses that it has offered (its generation) and
// sends the number with each offer; a peer that meets a new one drops all that it has of this owner.
//
// Example: rank 1 offers 5000 bytes at 0x7f0000801000, generation 3. Rank 0 attaches the 2 MiB from
// 0x7f0000800000 and reads at offset 0x1000. In the next call it finds the part in its list. Then rank 1
// unmaps its buffer, maps another one there and offers it with generation 4: rank 0 attaches it anew.

// The calls of the library, with the types of its header.
struct XpmemCalls {
  struct Address {
    std::int64_t access;  // what get() gave
    off_t offset;
  };
  int (*version)() = nullptr;
  std::int64_t (*make)(void* address, std::size_t bytes, int permit_type, void* permit) = nullptr;
  int (*remove)(std::int64_t segment) = nullptr;
  std::int64_t (*get)(std::int64_t segment, int flags, int permit_type, void* permit) = nullptr;
  int (*release)(std::int64_t access) = nullptr;
  void* (*attach)(Address from, std::size_t bytes, void* wanted) = nullptr;
  int (*detach)(void* address) = nullptr;
};

// What this process has: the calls, and a segment of its own.
struct XpmemHere {
  XpmemCalls calls;
  std::int64_t segment = -1;  // -1: none
  Why why_not;
};
// As the library `name` gives it, which stays loaded. Does not throw.
XpmemHere start_xpmem(const char* name);
void stop_xpmem(XpmemHere& here);

// Of this process; made at the first call from libxpmem.so.0.
XpmemHere& xpmem_here();

// The memory of one peer. Not for several threads at once.
class XpmemPeer {
 public:
  static constexpr std::size_t most_attached = 32;

  XpmemPeer() = default;
  // Gets the peer's segment; usable() tells whether that worked. `calls` must outlive it.
  XpmemPeer(const XpmemCalls& calls, std::int64_t segment);
  ~XpmemPeer();
  XpmemPeer(XpmemPeer&& other) noexcept;
  XpmemPeer& operator=(XpmemPeer&& other) noexcept;

  bool usable() const;
  // Whether the word at `address` of the peer is `word`. Nothing stays attached.
  bool reads_word(std::uint64_t address, std::uint64_t word) const;

  // The peer's bytes at `address`, mapped here until the next call but one, or until the next of another
  // generation; null if that cannot be. `generation` came with the offer of these bytes.
  std::byte* map(std::uint64_t address, std::size_t bytes, std::uint64_t generation);
  std::size_t attached() const { return parts_.size(); }

 private:
  struct Part {
    std::uint64_t begin, end;  // addresses of the peer
    std::byte* here;
    std::uint64_t used;  // when last
  };
  std::byte* attach(std::uint64_t begin, std::uint64_t end) const;
  Part* attach_around(std::uint64_t address, std::size_t bytes);
  void drop_oldest();
  void drop_all();

  const XpmemCalls* calls_ = nullptr;
  std::int64_t access_ = -1;
  std::uint64_t generation_ = 0, clock_ = 0;
  std::vector<Part> parts_;
};

// ---- The owner's side: has what it offered changed? ----

// Peers may have attached the memory around these bytes from now on. Returns the generation to offer.
std::uint64_t note_offered(const void* address, std::size_t bytes);
// The program is about to unmap these addresses, or to map something else there. Cheap; any thread.
void note_unmapped(const void* address, std::size_t bytes);

}  // namespace quadrille::memory
