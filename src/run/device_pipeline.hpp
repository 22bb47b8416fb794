// The blocks of a node's ranks from devices' memory to devices' memory over memory of the host that all of them share
// and their drivers know: chunk by chunk, both ways at once. For dense collectives on one node.
//
// Idea    A rank's own stream of the device copies its blocks into its ring, chunk after chunk (plan/chunks.hpp). When
//         the driver says that one is there, the rank publishes it (memory/chunk_rings.hpp), and those for whom it has
//         bytes copy these into their own buffers, by another stream of theirs. The processor moves nothing. So the
//         data cross the bus to the host and back at the same time, and are never a whole buffer on the host.
// Source  Namugwanya et al., section 3.2 (copy-to-CPU), in chunks as the inside of CUDA-aware MPIs does it.
// Cost    Two waits for all; one copy out and one in for each block and chunk; of an allgather one out for all.
// Mixed   What a rank has in the memory of the host, on either side, its processor copies into the ring or out of it.
// Leaders Ranks that share a device would be switched on and off it by turns, one copying after the other. So the first
//         of them may copy for all whose buffers can be exported (memory/device_sharing.hpp): it opens them once and
//         has their seats (device_pipeline.cpp) beside its own, in the same two streams. They wait for the end. Where
//         one cannot open what it should, each rank copies for itself. What was opened is kept, and what all have said
//         of it: so there is another wait for all only in the first call with such memory.
//
// Nothing is written to a receive buffer before all ranks have said that they can take part. A rank whose driver does
// not register the rings, or has no streams for it, says so, and then no call of the communicator is made in this way.
// If a copy fails, that rank goes on as if it had been made, so that nobody waits, and says so at the end. Then all
// ranks make the call in another way, or, if some sent in place and its data are overwritten, all return an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "memory/chunk_rings.hpp"
#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"
#include "plan/chunks.hpp"
#include "run/group.hpp"

namespace quadrille::run {

class PipelineSeat;

// What is kept from call to call, so that none needs memory when others wait for this rank.
struct PipelineRoom {
  explicit PipelineRoom(int ranks);
  PipelineRoom& operator=(PipelineRoom&&) = delete;
  ~PipelineRoom();
  // For the seats of so many other ranks. Throws std::bad_alloc.
  void hold(std::size_t others, int ranks);
  std::optional<memory::ChunkRings> rings;
  memory::CopyLane out, in;
  plan::ChunkExchange exchange;         // of this rank
  std::deque<plan::ChunkExchange> led;  // of those for which it copies
  std::vector<PipelineSeat> seats;
  memory::DeviceBatch batch;  // for a part for each rank, and for all that may be on their way in
};

struct PipelineWays {
  std::size_t chunk = 1, depth = 1;  // a ring has room for so many chunks of so many bytes
  bool by_leaders = false;           // of the ranks that share a device, one makes the copies; on all ranks or none
};

// How a call has gone.
struct Pipelined {
  // The same on all ranks.
  enum class Outcome : std::uint8_t {
    done,         // `error` says how
    another_way,  // it is to be made so, with the buffers as they were, as far as they are read
    never,        // likewise, and so are all later ones on the communicator
    lost,         // what was to be sent is not there any more
  };
  Outcome outcome = Outcome::never;
  int error = mpi_success;  // an MPI error code
  bool by_leaders = false;  // a rank has made the copies of others; the same on all ranks
  std::size_t chunk = 0;    // that it went in
};

// Waits for all ranks. The room must have rings.
Pipelined run_pipeline(const Call& call, Group& group, PipelineRoom& room, const PipelineWays& ways);

}  // namespace quadrille::run
