// The blocks of a node's ranks from devices' memory to devices' memory over memory of the host that all of them share and
// their drivers know: chunk by chunk, both ways at once. For dense collectives on one node.
//
// Idea    A rank's own stream of the device copies its blocks into its ring, chunk after chunk (plan/chunks.hpp). When the
//         driver says that one is there, the rank publishes it (memory/chunk_rings.hpp), and those for whom it has bytes copy
//         these into their own buffers, by another stream of theirs. The processor moves nothing. So the data cross the bus
//         to the host and back at the same time, and are never a whole buffer on the host.
// Source  Namugwanya et al., section 3.2 (copy-to-CPU), in chunks as the inside of CUDA-aware MPIs does it.
// Cost    Two waits for all; one copy out and one in for each block and chunk; of an allgather one out for all.
// Mixed   What a rank has in the memory of the host, on either side, its processor copies into the ring or out of it.
//
// Nothing is written to a receive buffer before all ranks have said that they can take part. A rank whose driver does not
// register the rings, or has no streams for it, says so, and then no call of the communicator is made in this way. If a copy
// fails, that rank goes on as if it had been made, so that nobody waits, and says so at the end. Then all ranks make the call
// in another way, or, if some sent in place and its data are overwritten, all return an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/chunk_rings.hpp"
#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "plan/chunks.hpp"
#include "run/blocks.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "run/lane_copies.hpp"

namespace quadrille::run {

// What is kept from call to call, so that none needs memory when others wait for this rank.
struct PipelineRoom {
  explicit PipelineRoom(int ranks) : exchange(ranks) { batch.reserve(static_cast<std::size_t>(ranks)); }
  plan::ChunkExchange exchange;
  memory::DeviceBatch batch;  // a chunk has a part for each rank at most
};

struct PipelineMeans {
  memory::Pairs& pairs;
  memory::ChunkRings& rings;
  memory::CopyLane &out, &in;
  PipelineRoom& room;
};

struct PipelineWays {
  std::size_t chunk = 1, depth = 1;  // a ring has room for so many chunks of so many bytes
};

class DevicePipeline {
 public:
  // The same on all ranks.
  enum class Outcome : std::uint8_t {
    done,         // error() says how
    another_way,  // it is to be made so, with the buffers as they were, as far as they are read
    never,        // likewise, and so are all later ones on the communicator
    lost,         // what was to be sent is not there any more
  };
  // `driver` is null if this rank's program has loaded none. All of these must outlive it.
  DevicePipeline(const Call& call, Group& group, const PipelineMeans& means, const memory::DeviceDriver* driver,
                 const PipelineWays& ways);
  DevicePipeline(const DevicePipeline&) = delete;
  DevicePipeline& operator=(const DevicePipeline&) = delete;
  // Waits for all ranks.
  Outcome run();
  // An MPI error code.
  int error() const { return error_; }

 private:
  enum class Phase : std::uint8_t { over, entering, moving, settling, finishing };
  // A chunk that is on its way out of a ring.
  struct Taking {
    int from = 0;
    std::uint64_t next = 0;  // what is taken when it is done
    std::uint64_t mark = 0;
    bool is_marked = false;
  };
  static constexpr std::size_t takes = 16;  // at most so many are on their way in: a stream is kept busy by two

  Block send_at(int to) const { return gather_ && call_.in_place ? recv_[group_.me] : send_[to]; }
  int sends() const { return gather_ ? 1 : group_.ranks; }
  bool overwrites() const { return call_.in_place && !gather_; }
  std::byte* place_of(int rank, std::uint64_t number) const {
    return means_.rings.ring(rank) + number % ways_.depth * ways_.chunk;
  }

  void look_at_ends();
  bool offer();
  bool take_lanes();
  void write_down();

  bool advance();
  void entered();
  void copy_own();
  bool move();
  bool put_one();
  bool publish_one();
  bool take_one(int from);
  bool release_one();
  bool has_settled();
  void finish(bool yes);
  void end(bool all);

  const Call& call_;
  Group& group_;
  const PipelineMeans means_;
  memory::Meeting& meeting_;
  const memory::DeviceDriver* const driver_;
  const PipelineWays ways_;
  const bool gather_;
  const Blocks send_, recv_;
  LaneCopies copies_;
  plan::ChunkExchange& exchange_;
  memory::DeviceBatch& batch_;
  DeviceEnd sent_, received_;
  Phase phase_ = Phase::over;
  Outcome outcome_ = Outcome::another_way;
  std::uint64_t said_ = 0;     // of this rank, when it comes
  std::uint64_t marks_ = 0;    // of copies in
  std::uint64_t unmarked_ = 0; // chunks that were put so far without a mark: bits by place
  std::array<Taking, takes> taking_;  // those on their way in, in a ring
  std::size_t first_taking_ = 0, takings_ = 0;
  bool begun_ = false;
  bool overwritten_ = false;   // some rank's data would be
  int error_ = MPI_SUCCESS;
};

}  // namespace quadrille::run
