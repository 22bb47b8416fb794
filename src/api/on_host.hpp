// A call whose buffers are a device's memory: made with buffers of the host (Namugwanya et al., section 3.2,
// copy-to-CPU), or straight with those (section 3.1, CUDA-aware).
#pragma once

#include <cstddef>
#include <vector>

#include "choose/registry.hpp"
#include "memory/device.hpp"
#include "memory/device_pieces.hpp"
#include "memory/device_streams.hpp"
#include "run/call.hpp"
#include "run/device_copies.hpp"

namespace quadrille::api {

// The blocks of a side that the call uses: the first so many of the user's arrays, or those of a list.
struct UsedOfSide {
  int count = 0;
  const std::vector<int>* list = nullptr;
};
struct UsedBlocks {
  UsedOfSide send, recv;
  int own = -1;  // in place: the block of the receive buffer that is read; -1: all
};

// Where a buffer is is a fact of one rank, on which the others cannot go by, and which the MPI may not support. So the
// rank brings its data to the host, takes part in the call as any other, and brings them back.
//
// Only the bytes of the call's blocks are moved, each side's by copies that wait once. The gaps between blocks, and
// those in datatypes, are not read and not written: the program may change them on the device meanwhile. One exception:
// of a type with gaps whose element is larger than 2 GiB, or for which memory runs out, the gaps are read when the call
// starts and written back as they were. A receive buffer is not read, unless the call is in place; if the call fails,
// nothing comes back to it.
//
// Many small pieces are moved by a kernel, on both ways (memory/device_pieces.hpp).
//
// The blocks of a side must be memory of one device, and of one context. Of memory that the driver does not answer for,
// and the processor cannot read, this rank moves nothing: it takes part, and returns an error.
class OnHost {
 public:
  using When = memory::DevicePieces::When;
  // Throws std::bad_alloc.
  OnHost(const run::Call& call, const UsedBlocks& used, choose::HostBuffers buffers = choose::HostBuffers::as_suits,
         When kernels = When::now);
  OnHost& operator=(OnHost&&) = delete;
  // Is either buffer a device's memory? If not, this is not needed.
  bool is_needed() const { return send_.is_used() || recv_.is_used(); }
  // The call with buffers that the processor can reach.
  const run::Call& call() const { return call_; }
  // Brings the data to the host: before the call, and before each start of a persistent one. If that goes wrong, this
  // rank takes part in the call all the same, as the others wait for it, and finish() returns an error.
  [[nodiscard]] bool fetch();
  // Brings what was received to the device, if the call has returned no error. Returns the call's, or one of its own.
  int finish(int error);

  // ---- In steps: nobody waits ----

  // Takes the streams that they need, which may wait. Else that is done when they begin.
  void prepare_steps();
  // As fetch(): when all is done that the program has put into the NULL streams of its buffers by now, a stream of ours
  // copies. `settled`: what had to be done is. Throws std::bad_alloc.
  void begin_fetch(bool settled);
  // Makes progress. True when it is done, or nothing was begun.
  bool has_fetched();
  // What has gone wrong so far. This rank takes part in the call all the same, as after fetch().
  bool has_failed() const { return failed_; }
  // The data are on the host, or on their way.
  bool is_fetched() const { return step_ != Step::none; }
  // As finish(), after begin_fetch().
  void begin_finish(int error);
  bool has_finished();
  // When it has.
  int error() const { return error_; }

  // ---- In the order of a stream: nobody waits ----

  // Its memory is such that the driver copies to it and from it later.
  bool is_pinned() const { return send_.is_pinned() && recv_.is_pinned(); }
  // Is all of it in the context of that place?
  bool is_at(const memory::DevicePlace& place) const { return send_.is_at(place) && recv_.is_at(place); }
  memory::DevicePlace place() const { return send_.is_used() ? send_.place : recv_.place; }
  // As fetch() and finish(). False if the driver refuses. While AtDevice of the stream's place lives.
  bool fetch_in(void* stream);
  bool finish_in(void* stream);

 private:
  struct Copy {
    memory::DevicePlace place;
    memory::Regions regions;   // of the device's memory
    memory::Regions read;      // of a receive buffer: what is brought to the host before the call
    std::ptrdiff_t moved = 0;  // from there to `host`
    memory::Staging host;
    memory::DevicePieces out, in;  // where the regions are many: what brings them to the host, and back
    bool is_lost = false;          // the driver says nothing of the memory, so nothing is read or written
    memory::LentStream stream;     // for copies in steps
    bool is_used() const { return host.data() != nullptr; }
    bool can_be_copied() const { return is_used() && !is_lost; }
    bool is_pinned() const { return !is_used() || host.is_pinned(); }
    bool is_at(const memory::DevicePlace& there) const { return !is_used() || place.has_stream_of(there); }
  };
  enum class Step : std::uint8_t { none, settling, reading, fetched, writing };
  using Look = memory::OwnStream::Look;
  using To = memory::DeviceCopies::To;
  void take(run::Side& side, const UsedOfSide& used, Copy& copy);
  void take_kernels(Copy& copy) const;
  // The regions that move in that direction: of a receive buffer only `read` goes to the host.
  const memory::Regions& regions_of(const Copy& copy, To to) const {
    return to == To::host && &copy == &recv_ ? copy.read : copy.regions;
  }
  void put(const Copy& copy, To to, memory::DeviceCopies& copies) const;
  // Returns when they are there.
  void move(const Copy& copy, To to);
  // Does not wait: the copy's own stream moves them.
  void begin_to_move(const Copy& copy, To to);
  void begin_to_read();
  bool are_done(Look (memory::OwnStream::*look)() const);

  run::Call call_;
  choose::HostBuffers buffers_;
  When kernels_;
  Copy send_, recv_;
  int own_ = -1;
  int error_ = mpi_success;
  Step step_ = Step::none;
  bool failed_ = false;
};

// At the end of MPI the memory for such calls is given back.
void free_staging_at_end();

// Are some blocks of this rank in a device's memory?
bool has_device_memory(const run::Call& call, const UsedBlocks& used);

// Where the sides of a call are whose blocks stay on a device.
struct StayingAt {
  run::DeviceEnd sent, received;
  // Messages of the MPI know nothing of the program's streams. So what it has put into the NULL stream is done before
  // any is sent from such memory, or received into it. False if the driver refuses.
  [[nodiscard]] bool settle() const { return run::settle(sent, received); }
  // The same in steps: nobody waits. First, where it may wait, what they need is taken; throws std::bad_alloc.
  void prepare_steps();
  void begin_to_settle();
  memory::OwnStream::Look look() const;

 private:
  memory::LentStream of_sent_, of_received_;
};

// Can the blocks in a device's memory stay there, in a run that passes them to the MPI as they are? Then `call` and
// `at` say where they are. None may have gaps, which MPIs move piece by piece, or be sent in place but by an allgather;
// and the memory must be such that other processes can open it.
bool stays_on_device(run::Call& call, const UsedBlocks& used, StayingAt& at);

}  // namespace quadrille::api
