// The blocks of a node's ranks straight from one device's memory to another's, or within one: for dense collectives on
// one node.
//
// Idea    Each rank lists the allocation that its send blocks are in (memory/device_sharing.hpp) and writes down how
//         far from its beginning each block is. When all ranks have come, each copies what it receives into its own
//         buffers: one submission a call. Nobody leaves before the copies of all are done, not only submitted: anybody
//         may still read this rank's blocks.
// Source  The inside of CUDA-aware MPIs; Namugwanya et al., section 3.1, use them, and section 3.2 avoids them.
// Cost    A copy a block and two waits for all; two more when a rank sends from memory, or copies into memory, that it
//         has not used lately. Blocks that cannot be exported, have gaps, lie in several allocations, or are
//         overwritten because the call is in place are copied once more on the device, before, into memory of ours that
//         is exported.
// Small   A copy costs about the same to submit and to begin, however small its block is. So one kernel reads all small
//         blocks where the peers have them, and writes them into the receive buffer (memory/device_batch.hpp).
// Leaders Ranks that share a device would be switched on and off it by turns, one copying after the other. So the first
//         of them may copy for all, whose receive buffers it has opened as well: one submission a device. A rank whose
//         receive buffer cannot be exported, or has blocks with gaps, copies for itself.
// Forms   One machine of steps serves all. A blocking call waits in each of them. A nonblocking one waits in none: its
//         copies are in a stream of its own (memory/device_streams.hpp), and it looks whether they are done. Of a
//         persistent request the places are told, the memory is opened and the copies are listed once (prepare()). Then
//         a start takes two meetings: all have come, all have copied.
//
// Streams A start of a persistent request may be in a stream of the program. Then its copies lie in that stream, behind
//         a wait for a word that the host writes when all have come, and before another word, at which the host tells
//         the others that they are done. A thread that makes progress with the start calls no driver. So a failure
//         cannot be mended: in a start that is in some rank's stream, a failure is an error on all ranks.
//
// Nothing is written to a receive buffer before all ranks have said that they can take part: each has its data in a
// device's memory, or has none, and has opened what the others list. What they have said is kept for calls with the
// same memory, and all ranks keep the same. If a copy then fails all the same, all ranks hear of it at the end. In both
// cases all of them make the call in another way, with the buffers as they were, as far as they are read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/device_sharing.hpp"
#include "memory/device_streams.hpp"
#include "run/blocks.hpp"
#include "run/call.hpp"
#include "run/device_copies.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Not shared by calls in flight together. Without a stream a call waits in its steps.
struct PullMeans {
  memory::Pairs& pairs;
  memory::DeviceSharing& sharing;
  memory::OwnStream* stream = nullptr;
};

struct PullWays {
  bool by_leaders = false;  // of the ranks that share a device, one makes the copies; on all ranks or none
  bool kernels = true;      // a kernel may make those of small blocks
};

class DevicePull : CallBlocks {
 public:
  // All of these must outlive it.
  DevicePull(const Call& call, Group& group, const PullMeans& means, const PullWays& ways);
  // False, on all ranks, if the call is to be made in another way.
  bool run();

  // The same in steps. Nobody waits in begin() and advance(), if there is a stream.
  void begin();
  // True if it got further.
  bool advance();
  bool done() const { return phase_ == Phase::over; }
  // When it is done: as run().
  bool pulled() const { return pulled_; }
  // An MPI error code.
  int error() const { return error_; }

  // For a persistent request: what is the same in each start. Waits for all ranks, and is false, on all of them, if it
  // cannot start so. Then each begin() is a start.
  bool prepare();

  // A start in the order of a program's stream, if it can be, and the stream is of this place, if there is one. What
  // follows is put into it, in this order: the work of pack_in(), that the start has come, and, if copies_in_stream(),
  // a wait for `go`, the work of copy_in(), and the write of `copied`. Both are false if the driver refuses. When the
  // start has come it begins.
  bool can_be_in_stream() const;
  bool has_place() const { return sent_.on_device || received_.on_device; }
  const memory::DevicePlace& place() const { return place_; }
  bool copies_in_stream() const { return copies_here(); }
  bool pack_in(void* stream);
  bool copy_in(void* stream);
  void begin_in_stream(const memory::StreamTurn& turn);
  // When it is done: was the start in some rank's stream? All ranks say the same.
  bool was_in_streams() const { return was_in_streams_; }

 private:
  // What a rank says of a start when it comes.
  static constexpr std::uint64_t on_the_host = 0, in_a_stream = 1;
  // And of what it could not open: never, or not now.
  static constexpr std::uint64_t for_good = 0, for_now = 1;
  enum class Phase : std::uint8_t {
    over,
    settling,
    packing,
    entering,
    opening,
    entering_again,
    copying,
    finishing,
    putting_back
  };
  // A block with gaps, where its packed bytes are, and how many elements move.
  struct Gapped {
    int block;
    std::uintptr_t packed;
    std::size_t elements;
  };
  // What this rank copies at once: a batch, and blocks with gaps beside it.
  struct Listed {
    const bool packs;                      // send blocks, into memory of ours; else into receive blocks
    memory::DeviceBatch* batch = nullptr;  // of `sharing_`
    std::vector<Gapped> gapped = {};
  };
  void look_at_ends();
  bool waits() const { return own_ == nullptr; }
  void* stream() const { return waits() ? sharing_.stream(place_) : own_->stream(); }

  using Look = memory::OwnStream::Look;
  Look look_at_program() const;
  Look look_at_copies() const;
  bool is_in_stream() const { return turn_ != nullptr; }
  Look look_at_stream() const;
  void let_stream_copy(bool may);
  bool advance_settling();
  bool advance_packing();
  void enter();
  void entered();
  void opened();
  void agreed(bool may);
  bool advance_copying();
  void finish(bool yes);
  void end(bool all);
  bool advance_putting_back();

  bool offer();
  bool offer_where_it_is();
  bool offer_copies();
  bool let_be_led();
  // Calls work(its number, block, where it is packed) for each send block that has bytes.
  template <class Work>
  void for_each_packed(const Work& work) const {
    std::uintptr_t next = base_;
    for (int to = 0; to < sends(); ++to) {
      const Block block = block_for(to);
      if (block.bytes() > 0) work(to, block, next);
      next += block.bytes();
    }
  }
  void list_packing();
  bool pack_sent();
  Block block_of(const Listed& listed, int block) const { return listed.packs ? block_for(block) : recv_[block]; }
  bool take_launch(memory::DeviceBatch& batch, std::size_t gapped, bool in_one_device);
  void take_launches(Listed& listed, bool in_one_device);
  bool submit(const Listed& listed, void* stream);
  bool settle(const memory::DevicePlace& place);
  void write_down(memory::Owned side, int block, std::uintptr_t at, std::size_t bytes);
  bool copies_here() const { return received_.has_bytes && !sharing_.is_led(); }
  bool open();
  void opened_by_all();
  bool list();
  void add_gapped(Listed& listed, bool in_one_device);
  void repeat();
  bool receives_in_one() const;
  bool list_for(int to);
  void look_what_comes();
  struct Placed {
    std::uintptr_t at = 0;  // 0 if it cannot be reached
    std::size_t bytes = 0;
  };
  Placed sent(int from, int to) const;
  Placed received(int from, int to) const;
  void put_back();

  memory::Pairs& pairs_;
  memory::DeviceSharing& sharing_;
  memory::OwnStream* const own_;
  memory::Meeting& meeting_;
  const PullWays ways_;
  DeviceEnd sent_, received_;
  memory::DevicePlace place_;                   // where this rank's copies are made
  std::optional<memory::DevicePlace> settled_;  // whose NULL stream this call has waited for
  std::uintptr_t base_ = 0;                     // of the allocation from which the others copy
  std::uintptr_t recv_base_ = 0;                // and of that which another rank may write to
  Listed packing_{true, &sharing_.packing()}, pulling_{false};
  Phase phase_ = Phase::over;
  bool prepares_ = false, is_prepared_ = false;
  bool offered_ = false;    // this rank can take part
  bool packs_ = false;      // some of it is on its way into memory of ours
  bool submitted_ = false;  // its copies, all of them
  bool may_ = false;        // all ranks can
  bool is_bounced_ = false;
  bool has_opened_ = false;
  bool pulled_ = false;
  const memory::StreamTurn* turn_ = nullptr;  // of the start in flight, if it is in a stream
  bool was_in_streams_ = false;
};

}  // namespace quadrille::run
