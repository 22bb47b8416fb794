// The blocks of ranks on several nodes from devices' memory to devices' memory over the host, in rounds: a round moves
// the next bytes of every block. For dense collectives without gaps.
//
// Idea    Another algorithm, of the host, exchanges the bytes of a round between slots of pinned memory. Meanwhile a
//         stream of the rank brings those of the next rounds to their slots, and another one those of the rounds before
//         back to the device. So both ways of the bus are in use beside the network, and the memory is bounded.
// Source  Namugwanya et al., section 3.2 (copy-to-CPU), in chunks as the inside of CUDA-aware MPIs does it.
// Cost    As many exchanges as the largest block of all ranks has pieces; `depth` pieces of each block on either side;
//         one copy out and one in for each byte, and none by the processor.
// Order   The exchange of a round begins when the driver has said that its bytes are in their slot, and that what was
//         in the slot on the other side before is on the device. It is over when it returns, and then the slot that it
//         has sent from is free.
// In      A round reads the same bytes of the same blocks as it writes, and reads them before. So rounds do not touch
// place   the bytes of each other.
// Mixed   If a rank has a side in the memory of the host, the exchange takes the bytes from where they are, and leaves
//         them where they belong. Blocks of one size that are more than a piece cannot be described so, and what is
//         sent in place must be out of the way: the processor copies these.
//
// All ranks make all rounds. A rank whose copy fails goes on without copies, and says so when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "memory/chunk_rings.hpp"
#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "memory/pool.hpp"
#include "memory/staging.hpp"
#include "plan/chunks.hpp"
#include "run/blocks.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/lane_copies.hpp"

namespace quadrille::run {

struct RoundWays {
  std::size_t piece = 1, depth = 2;  // bytes of a block in a round; slots
  bool kernels = false;              // may move many small pieces
};

class DeviceRounds : CallBlocks {
 public:
  // What a rank says before. All go by the largest block of all ranks, and by the sums of the other numbers.
  struct Offer {
    std::uint64_t largest = 0;     // bytes of a block that is exchanged
    std::uint64_t has_device = 0;  // some of its data are on one
    std::uint64_t cannot = 0;      // take part in this call
    std::uint64_t never_can = 0;
    // Over all ranks 0, if each expects of each as many bytes as are sent to it. If not, the program has made a
    // mistake, which is to be found in one exchange: ranks that do not agree in which round a block ends would wait for
    // each other.
    std::uint64_t differs = 0;
  };
  // Carries out the call, whose data are plain bytes on the host. Waits. Returns an MPI error code.
  using Exchange = std::function<int(const Call&)>;

  // All of these must outlive it. Throws std::bad_alloc.
  DeviceRounds(const Call& call, Group& group, memory::CopyLane& out, memory::CopyLane& in, const RoundWays& ways);
  // No operation is in flight then.
  ~DeviceRounds();

  // What it needs is there when it returns, or it says that it cannot.
  Offer offer();
  // If all ranks can, and the largest block of all has so many bytes. False if a copy has failed.
  bool run(std::uint64_t largest, const Exchange& exchange);
  // An MPI error code.
  int error() const { return error_; }

 private:
  // One side of the call, and its slots.
  struct Half {
    Half(const Blocks& from, memory::CopyLane& by) : blocks(&from), lane(by) {}
    const Blocks* blocks;
    memory::CopyLane& lane;
    int first = 0, count = 0;  // blocks
    DeviceEnd end;
    std::uint64_t largest = 0;  // bytes of a block that is exchanged
    bool has_arrays = false;    // counts and displacements; else blocks of one size
    bool whole = false;         // its own block is copied, too
    bool direct = false;        // no slots: the memory of the user
    std::size_t slots = 0, slot_bytes = 0;
    std::byte* memory = nullptr;
    memory::Staging pinned;
    memory::Pool ordinary;
    std::vector<std::uint64_t> at;  // [block] in a slot, if it has arrays; or from the first byte of the user's memory
    std::vector<memory::DeviceBatch> batches;  // [slot]
    std::vector<char> marked;                  // [slot]
    // Of the round that is exchanged.
    std::vector<int> counts, displacements;
    MpiArray<MpiType> types;
  };

  std::uint64_t balance() const;
  std::uint64_t largest_of(const Half& half) const;
  bool lacks_streams();
  bool take_memory(Half& half);
  void lay_out(Half& half);
  bool can_be_direct(Half& half) const;

  Block block(const Half& half, int index) const { return (*half.blocks)[half.first + index]; }
  bool moves(const Half& half, int index) const { return half.whole || half.first + index != group_.me; }
  // Where blocks are of one size, all are; but what becomes of its own does not matter.
  bool is_exchanged(const Half& half, int index) const {
    return gather_ || own_goes_along_ || half.first + index != group_.me;
  }
  // Of later rounds than its own blocks have the rank has no bytes.
  static std::uint64_t slot_of(const Half& half, std::uint64_t round) {
    return half.slots == 0 ? 0 : round % half.slots;
  }
  template <class Work>
  void for_each_piece(const Half& half, std::uint64_t round, Work&& work) const;

  void copy_own();
  void submit(Half& half, std::uint64_t round);
  void add_copies(Half& half, std::uint64_t round, memory::DeviceBatch& batch) const;
  void wait_for(Half& half, std::uint64_t round);
  void copy_by_processor(const Half& half, std::uint64_t round, bool to_slot) const;
  Side side_of(Half& half, std::uint64_t round, std::byte* nowhere) const;
  Call call_of(std::uint64_t round);
  bool is_sent(const Half& half) const { return &half == &sent_; }
  void come_to_rest();

  const RoundWays ways_;
  const plan::ChunkRounds cut_;
  bool own_goes_along_ = false;  // the block that the rank sends to itself is exchanged, too
  Half sent_, received_;
  LaneCopies copies_;
  std::byte nowhere_[2] = {};  // for sides without data
};

}  // namespace quadrille::run
