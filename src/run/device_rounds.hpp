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

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "memory/device.hpp"
#include "memory/device_batch.hpp"
#include "memory/device_streams.hpp"
#include "memory/held_memory.hpp"
#include "memory/pool.hpp"
#include "plan/chunks.hpp"
#include "run/device_copies.hpp"

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
    std::uint64_t lacks_ints = 0;  // its numbers are more than an int holds; nothing to rounds
  };
  // Carries out the call, whose data are plain bytes on the host. Waits. Returns an MPI error code.
  using Exchange = std::function<int(const Call&)>;

  // All of these must outlive it. Throws std::bad_alloc.
  DeviceRounds(const Call& call, Group& group, memory::CopyLane& out, memory::CopyLane& in, const RoundWays& ways)
      : CallBlocks(call, group), ways_(ways), cut_{ways.piece}, sent_(send_, out), received_(recv_, in) {
    const CollectiveRow& row = row_of(call.collective);
    sent_.count = sends();
    sent_.first = gather_ && call.in_place ? group.me : 0;
    sent_.has_arrays = has_arrays(row.send);
    received_.count = group.ranks;
    received_.has_arrays = has_arrays(row.recv);
  }

  // No operation is in flight then.
  ~DeviceRounds() { come_to_rest(); }

  // What it needs is there when it returns, or it says that it cannot.
  Offer offer() {
    for (Half* half : {&sent_, &received_}) {
      half->end = look_at_end([&](int b) { return block(*half, b); }, half->count);
    }
    Offer offer;
    offer.has_device = sent_.end.on_device || received_.end.on_device ? 1 : 0;
    offer.differs = balance();
    offer.cannot = 1;
    if (sent_.end.has_gaps || received_.end.has_gaps) {
      sent_.end.on_device = received_.end.on_device = false;  // no lane is taken there
      return offer;
    }
    own_goes_along_ = !call_.in_place && !received_.end.on_device;
    // In place the block stays where it is; where blocks of one size are exchanged there, it must be what comes.
    const bool comes_again = call_.in_place && !received_.end.on_device && !sent_.has_arrays;
    sent_.whole = gather_ || own_goes_along_ || comes_again;
    received_.whole = own_goes_along_;
    for (Half* half : {&sent_, &received_}) half->largest = largest_of(*half);
    offer.largest = std::max(sent_.largest, received_.largest);
    const bool can = unless_out_of_memory([&] {
      offer.never_can = lacks_streams() ? 1 : 0;
      return offer.never_can == 0 && settle(sent_.end, received_.end) && take_memory(sent_) && take_memory(received_);
    });
    offer.cannot = can ? 0 : 1;
    return offer;
  }

  // If all ranks can, and the largest block of all has so many bytes. False if a copy has failed.
  bool run(std::uint64_t largest, const Exchange& exchange) {
    copy_own();
    const std::uint64_t rounds = cut_.rounds(largest);
    std::uint64_t put = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      // The slots of all rounds before this one are free on the sending side.
      for (; put < std::min<std::uint64_t>(rounds, round + ways_.depth); ++put) submit(sent_, put);
      copy_by_processor(sent_, round, true);
      wait_for(sent_, round);
      wait_for(received_, round);
      keep(error_, exchange(call_of(round)));
      copy_by_processor(received_, round, false);
      submit(received_, round);
    }
    come_to_rest();
    return !copies_.failed();
  }

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
    // Of the round that is exchanged.
    std::vector<int> counts, displacements;
    MpiArray<MpiType> types;
  };

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
  bool is_sent(const Half& half) const { return &half == &sent_; }

  // ---- What this rank offers ----

  // Of the pair of ranks: splitmix64. Numbers of bytes that differ in several pairs do not make up for each other.
  static std::uint64_t weight_of(std::uint64_t from, std::uint64_t to, std::uint64_t ranks) {
    std::uint64_t mixed = (from * ranks + to + 1) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
    return mixed ^ mixed >> 31U;
  }

  // What it sends less what it expects, each number of bytes by a weight of its own; modulo 2^64.
  std::uint64_t balance() const {
    const auto ranks = static_cast<std::uint64_t>(group_.ranks), me = static_cast<std::uint64_t>(group_.me);
    std::uint64_t sum = 0;
    for (std::uint64_t peer = 0; peer < ranks; ++peer) {
      const int p = static_cast<int>(peer);
      if (p == group_.me && call_.in_place) continue;
      const std::uint64_t sent = send_.bytes_of(gather_ ? sent_.first : p), expected = recv_.bytes_of(p);
      sum += weight_of(me, peer, ranks) * sent - weight_of(peer, me, ranks) * expected;
    }
    return sum;
  }

  std::uint64_t largest_of(const Half& half) const {
    std::uint64_t largest = 0;
    for (int b = 0; b < half.count; ++b) {
      if (is_exchanged(half, b)) largest = std::max(largest, std::uint64_t{block(half, b).bytes()});
    }
    return largest;
  }

  bool lacks_streams() {
    for (Half* half : {&sent_, &received_}) {
      if (half->end.on_device && !half->lane.take(half->end.place, ways_.depth)) return true;
    }
    return false;
  }

  // Where the pieces of its blocks are in a slot, and how large that must be. Those of the first round are the largest.
  void lay_out(Half& half) {
    half.slot_bytes = 0;
    half.at.assign(half.has_arrays ? static_cast<std::size_t>(half.count) : 0, 0);
    for (int b = 0; b < half.count; ++b) {
      if (half.has_arrays && !is_exchanged(half, b)) continue;
      if (half.has_arrays) half.at[static_cast<std::size_t>(b)] = half.slot_bytes;
      half.slot_bytes += cut_.bytes(0, block(half, b).bytes());
    }
  }

  // On the host. What is sent in place must be out of the way of what comes.
  bool can_be_direct(Half& half) const {
    if (half.end.on_device || (is_sent(half) && call_.in_place)) return false;
    if (!half.has_arrays) return half.count == 1 || cut_.rounds(half.largest) <= 1;
    const Extent all = extent_of([&](int b) { return block(half, b); }, half.count);
    if (all.last == 0) return true;
    if (all.last - all.first > INT_MAX) return false;
    half.memory = pointer(all.first);
    half.at.assign(static_cast<std::size_t>(half.count), 0);
    for (int b = 0; b < half.count; ++b) {
      const Block one = block(half, b);
      if (one.bytes() > 0) half.at[static_cast<std::size_t>(b)] = number(one.address) - all.first;
    }
    return true;
  }

  bool take_memory(Half& half) {
    const auto blocks = static_cast<std::size_t>(half.count);
    if (half.has_arrays) half.counts.assign(blocks, 0), half.displacements.assign(blocks, 0);
    if (half.has_arrays && is_typed(call_.collective)) half.types = MpiArray<MpiType>(blocks, mpi().byte);
    if (half.largest == 0) {
      half.at.assign(blocks, 0);
      return true;
    }
    half.direct = can_be_direct(half);
    if (half.direct) {
      if (!half.has_arrays) half.memory = block(half, 0).address;
      return true;
    }
    lay_out(half);
    half.slots = half.end.on_device ? std::min<std::size_t>(ways_.depth, cut_.rounds(half.largest)) : 1;
    if (!half.end.on_device) {
      half.memory = half.ordinary.take(half.slot_bytes);
      return true;
    }
    half.batches = std::vector<memory::DeviceBatch>(half.slots);
    const memory::AtDeviceBeside at(half.end.place);
    half.pinned.take(half.end.place, half.slots * half.slot_bytes, memory::Staging::Kind::pinned);
    half.memory = half.pinned.data();
    return half.memory != nullptr;
  }

  // ---- Rounds ----

  // Calls work(place in the slot, address, bytes) for each block that has bytes in this round and is to be copied.
  template <class Work>
  void for_each_piece(const Half& half, std::uint64_t round, Work&& work) const {
    std::byte* const slot = half.memory + slot_of(half, round) * half.slot_bytes;
    for (int b = 0; b < half.count; ++b) {
      if (!moves(half, b)) continue;
      const Block one = block(half, b);
      const std::uint64_t bytes = cut_.bytes(round, one.bytes());
      if (bytes == 0) continue;
      const std::uint64_t at =
          half.has_arrays ? half.at[static_cast<std::size_t>(b)] : static_cast<std::uint64_t>(b) * bytes;
      work(slot + at, one.address + cut_.begin(round), bytes);
    }
  }

  // What lies side by side on both sides is one copy.
  void add_copies(Half& half, std::uint64_t round, memory::DeviceBatch& batch) const {
    for_each_piece(half, round, [&](std::byte* place, std::byte* address, std::uint64_t bytes) {
      const std::uintptr_t host = number(place), device = number(address);
      batch.add_behind(is_sent(half) ? host : device, is_sent(half) ? device : host, bytes);
    });
    if (!ways_.kernels) return;
    const memory::AtDeviceBeside at(half.end.place);
    batch.take_kernel(half.end.place, false, false);
  }

  void submit(Half& half, std::uint64_t round) {
    if (!half.end.on_device || copies_.failed() || round >= cut_.rounds(half.largest)) return;
    const std::uint64_t slot = slot_of(half, round);
    memory::DeviceBatch& batch = half.batches[slot];
    const int error = thrown_by([&] {
      batch.clear();
      add_copies(half, round, batch);
      copies_.submit(batch, half.lane, slot);
    });
    if (error != mpi_success) copies_.fail();  // the others wait for this rank in all rounds
  }

  // For the copies of that round, or of the one before it in its slot.
  void wait_for(Half& half, std::uint64_t round) {
    if (half.end.on_device) group_.waiter.until([&] { return copies_.is_done(half.lane, slot_of(half, round)); });
  }

  void copy_by_processor(const Half& half, std::uint64_t round, bool to_slot) const {
    if (half.end.on_device || half.direct || half.memory == nullptr) return;
    for_each_piece(half, round, [&](std::byte* place, std::byte* address, std::uint64_t bytes) {
      std::memcpy(to_slot ? place : address, to_slot ? address : place, bytes);
    });
  }

  // The block that this rank sends to itself, on the device, beside the others.
  void copy_own() {
    if (call_.in_place || own_goes_along_) return;
    const Block from = block(sent_, gather_ ? 0 : group_.me), to = recv_[group_.me];
    const std::size_t bytes = fitting(from.bytes(), to.bytes());
    if (bytes > 0 && from.address != to.address) copies_.copy(received_.lane, to.address, from.address, bytes);
  }

  Side side_of(Half& half, std::uint64_t round, std::byte* nowhere) const {
    Side side;
    side.type = mpi().byte;
    side.base = half.memory == nullptr ? nowhere : half.memory + slot_of(half, round) * half.slot_bytes;
    const std::uint64_t begin = half.direct ? cut_.begin(round) : 0;
    if (!half.has_arrays) {
      side.count = cut_.bytes(round, half.largest);
      if (half.memory != nullptr && side.count > 0) side.base += begin;
      return side;
    }
    for (int b = 0; b < half.count; ++b) {
      const auto i = static_cast<std::size_t>(b);
      const std::uint64_t bytes = is_exchanged(half, b) ? cut_.bytes(round, block(half, b).bytes()) : 0;
      half.counts[i] = static_cast<int>(bytes);
      half.displacements[i] = bytes == 0 ? 0 : static_cast<int>(half.at[i] + begin);
    }
    side.counts = half.counts.data();
    side.displacements = half.displacements.data();
    if (!half.types.empty()) side.types = half.types.all();
    return side;
  }

  Call call_of(std::uint64_t round) {
    Call call = call_;
    call.in_place = false;
    call.send = side_of(sent_, round, &nowhere_[0]);
    call.recv = side_of(received_, round, &nowhere_[1]);
    return call;
  }

  void come_to_rest() {
    for (Half* half : {&sent_, &received_}) {
      if (half->end.on_device && half->lane.stream() != nullptr) {
        group_.waiter.until([&] { return copies_.is_at_rest(half->lane); });
      }
    }
  }

  const RoundWays ways_;
  const plan::ChunkRounds cut_;
  bool own_goes_along_ = false;  // the block that the rank sends to itself is exchanged, too
  Half sent_, received_;
  LaneCopies copies_;
  std::byte nowhere_[2] = {};  // for sides without data
};

}  // namespace quadrille::run
