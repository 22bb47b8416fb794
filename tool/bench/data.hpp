// The data of a measured collective: buffers whose every byte is known, and the calls.
//
// A byte is a hash of source, destination, offset and call, so that a block that comes from a wrong
// rank, lands in a wrong place or is left over from an earlier call is seen. Around the buffers lie
// guard zones; receive buffers start poisoned; gaps of datatypes must stay untouched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/functions.hpp"
#include "choose/registry.hpp"
#include "mpi/mpi.hpp"
#include "tool/bench/device/gpu.hpp"
#include "tool/bench/edges.hpp"
#include "tool/bench/neighbors.hpp"
#include "tool/bench/options.hpp"

namespace quadrille::tools {

struct BenchCase {
  Collective collective = Collective::alltoall;
  std::size_t bytes = 0;  // data of a block; the most a block can have if they are not equal
  ElementKind element = ElementKind::byte;
  Traffic traffic{};
  bool in_place = false;
  BufferMemory memory = BufferMemory::heap;  // private if there is no shared heap
  std::uint64_t seed = 1;
  int ranks = 1;
  int me = 0;
  std::shared_ptr<const BenchNeighbors> neighbors = nullptr;  // of neighbour collectives
  std::shared_ptr<Gpu> gpu = nullptr;                         // in whose memory the buffers are; null: the host's
  bool stages_mpi = false;                                    // the MPI is then given memory of the host
  std::shared_ptr<const BenchEdges> edges = nullptr;          // in the place of `neighbors`: of any graph; of bytes
  std::byte* frame = nullptr;                                 // frame_bytes() on the stack, if `memory` is that

  // Blocks of the two sides, which may differ only in a graph of any kind.
  int peers() const { return std::max(destinations(), sources()); }
  int destinations() const { return edges != nullptr ? static_cast<int>(edges->destinations.size()) : blocks(); }
  int sources() const { return edges != nullptr ? static_cast<int>(edges->sources.size()) : blocks(); }

 private:
  int blocks() const { return neighbors != nullptr ? neighbors->size() : ranks; }
};

// Elements of the block from `source` to `destination`. Pure: all ranks agree. Not for a stencil.
std::size_t elements_of(const BenchCase& c, int source, int destination);
// Elements of block `block` of this rank's send or receive buffer.
std::size_t elements_sent(const BenchCase& c, int block);
std::size_t elements_received(const BenchCase& c, int block);

// Bytes of both buffers of one rank at most.
std::size_t buffer_bytes(const BenchCase& c);
// Bytes that both need in a frame on the stack; 0 for other memory.
std::size_t frame_bytes(const BenchCase& c);

// Empty, or one line when counts or displacements do not fit MPI's int arguments.
std::string why_too_large(const BenchCase& c);

// The byte at `offset` of the block from `source` to `destination` in call `call`.
std::byte pattern(std::uint64_t seed, int source, int destination, std::size_t offset, std::uint64_t call);

// One of the two buffers: blocks one after the other between guard zones.
class BlockBuffer {
 public:
  BlockBuffer(int blocks, std::size_t unit, std::size_t extent);

  void set_block(int block, std::size_t elements);
  // After all set_block(). On the stack at `place`, a multiple of 4096, which has total() bytes.
  void allocate(BufferMemory from, std::byte* place = nullptr);
  std::size_t total() const { return (size_ + 2 * guard + 4095) / 4096 * 4096; }
  // In the memory of a GPU instead. What is written and compared lies on the host, and is brought there and back. With
  // `stages` there is memory of the host for an MPI that takes no other.
  void allocate_on(const std::shared_ptr<Gpu>& gpu, bool stages);

  std::byte* data() { return (on_gpu_ ? on_gpu_.get() : memory_.get()) + guard; }
  // What an MPI is given: the same, or the memory of the host for it.
  std::byte* for_mpi() { return staging_ ? staging_.get() : staging_pageable_ ? staging_pageable_.get() : data(); }
  // Blocks and gaps between the device and the memory for the MPI.
  void bring_to_mpi();
  void bring_from_mpi();
  std::size_t size() const { return size_; }

  // Writes each byte from `at` on, and reads each byte of the buffer, as a program does.
  void overwrite(std::uint64_t value, std::size_t at, std::size_t bytes);
  void read_all() const;
  const std::vector<int>& counts() const { return counts_; }
  const std::vector<int>& displacements() const { return displacements_; }  // extents
  const std::vector<int>& byte_displacements() const { return byte_displacements_; }
  const std::vector<MpiAint>& address_displacements() const { return address_displacements_; }
  std::size_t block_bytes(int block) const { return starts_[block + 1] - starts_[block]; }

  // Of a buffer in a GPU's memory: what was written is there after put(), and mismatches() looks at what is there.
  void put();

  // Fills everything, guards and gaps included, with a background that `salt` decides.
  void poison(std::uint64_t salt);
  // The same for what no write() of all blocks overwrites.
  void poison_around(std::uint64_t salt);
  // Writes block `block` as sent by `source` to `destination` in call `call`.
  void write(int block, std::uint64_t seed, int source, int destination, std::uint64_t call);

  // What a block should hold: data of a pair of ranks.
  struct Expected {
    int source, destination;
  };
  // Number of bytes that are not as they should be: blocks as `expected` says, all else background.
  std::uint64_t mismatches(const std::vector<Expected>& expected, std::uint64_t seed, std::uint64_t call,
                           std::uint64_t salt) const;

 private:
  static constexpr std::size_t guard = 4096;
  struct Free {
    void operator()(std::byte* memory) const;
    BufferMemory from;
    std::size_t bytes;
  };
  std::size_t unit_, extent_, size_ = 0;
  std::vector<std::size_t> elements_, starts_;  // starts_: in bytes, one more than blocks
  std::vector<int> counts_, displacements_, byte_displacements_;
  std::vector<MpiAint> address_displacements_;  // as byte_displacements_, for neighbours
  void measure();
  std::byte* host() { return memory_.get() + guard; }
  std::unique_ptr<std::byte[], Free> memory_;  // of a buffer in a GPU's memory: what belongs there
  GpuBytes on_gpu_, staging_;
  std::unique_ptr<std::byte[]> staging_pageable_;  // where the driver pins no more
};

// Fills `to` with what is in `from`, again and again if that is shorter (a rank of an allgather
// sends one block, which is read once for each rank), by memcpy or by streaming stores.
void copy_plainly(BlockBuffer& to, BlockBuffer& from, bool streaming);

class BenchData {
 public:
  explicit BenchData(const BenchCase& c);
  ~BenchData();
  BenchData(const BenchData&) = delete;
  BenchData& operator=(const BenchData&) = delete;

  // Prepares the buffers for call number `call`.
  void fill(std::uint64_t call);
  // Bytes that are wrong after call number `call`, on this rank.
  std::uint64_t mismatches(std::uint64_t call) const;

  // So many calls, one after the other: which function it is with which arguments is found once for all of them.
  int call_mpi(MpiComm comm, long times);
  int call_quadrille(MpiComm comm, long times);
  // The nonblocking forms.
  int start_mpi(MpiComm comm, MpiRequest& request);
  int start_quadrille(MpiComm comm, Quadrille_Request& request);
  // Persistent requests, which are not started yet. An error where the MPI has none.
  int make_mpi(MpiComm comm, MpiRequest& request);
  int make_quadrille(MpiComm comm, Quadrille_Request& request);

  // Whether a call sends what the one before received, so that only every other one delivers what is checked.
  bool alternates() const { return case_.in_place && !gathers(); }

  // Reads and writes back both buffers in order: they are in this rank's cache afterwards.
  void touch();

  // What programs do before and after a call: each byte to send is written, each received byte is read.
  void write_sent(std::uint64_t value);
  void read_received();

  // Whether plain copies could do the same work: elements without gaps, not in place.
  bool plain() const { return case_.element != ElementKind::strided && !case_.in_place; }
  // Whether copy_alone() has something to copy from, if it has to copy.
  bool has_source() const { return send_.size() > 0 || recv_.size() == 0; }
  // Copies as many bytes as this rank receives in a call from its own send buffer to its own
  // receive buffer: what the collective reads and writes, without the other ranks.
  void copy_alone(bool streaming) { copy_plainly(recv_, send_, streaming); }
  // Other buffers of the same sizes, as another rank on the same processor has them.
  struct Pair {
    BlockBuffer send, recv;
  };
  Pair another_pair() const;

  // Data that this rank sends in a call.
  std::size_t bytes_sent() const { return bytes_sent_; }
  // Data of the send buffer, and of the receive buffer.
  std::size_t bytes_held() const { return bytes_held_; }
  std::size_t bytes_received() const { return bytes_received_; }
  // Data of this rank's own block, which it gets from itself.
  std::size_t bytes_own() const { return bytes_own_; }
  // Data of the largest block that this rank sends.
  std::size_t largest_sent() const { return largest_sent_; }

 private:
  bool gathers() const;
  // The data are brought to the host for each call, and back.
  int call_staged_mpi(MpiComm comm, long times);
  // Those of the MPI and of Quadrille, of any form: `others` follow the communicator.
  template <class Their, class... Others>
  int with_mpi(long times, Their their, MpiComm comm, Others... others);
  template <class Our, class... Others>
  int with_quadrille(long times, Our our, MpiComm comm, Others... others);
  std::vector<BlockBuffer::Expected> expected_sent() const;
  std::vector<BlockBuffer::Expected> expected_received() const;

  BenchCase case_;
  BlockBuffer send_, recv_;
  MpiType type_{};
  bool own_type_ = false;
  MpiArray<MpiType> types_;
  // The one block of neighbor_allgatherw as MPI_Neighbor_alltoallw has it: once for each destination.
  std::vector<int> same_counts_;
  std::vector<MpiAint> same_places_;
  std::size_t bytes_sent_ = 0, largest_sent_ = 0, bytes_held_ = 0, bytes_received_ = 0, bytes_own_ = 0;
};

}  // namespace quadrille::tools
