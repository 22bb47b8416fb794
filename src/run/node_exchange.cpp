// The exchange of blocks between the ranks of a node, each pair by the best way that it has. Blocking calls and
// requests (op.hpp) differ in who makes progress on it.
//
// Idea    Every rank tells every peer, in the peer's inbox, where the block for it is: in the slot itself
//         if it is small, else in memory that the peer can reach. Then it takes its own blocks, one peer
//         after the other, straight from the senders' buffers. So buffers of all kinds, datatypes and
//         sizes can be mixed in one call, and nobody need agree on anything beforehand.
// Ways    in_slot     the block is in the slot
//         in_heap     the receiver copies it from the sender's shared heap
//         at_address  the receiver copies it out of the sender's process, by XPMEM or CMA; if that fails, it
//                     asks for the ring
//         written     the sender copies it into the receiver's process, which may not read the sender's; if that
//                     fails, it tells the receiver and takes the ring
//         in_ring     both copy it through the pair's ring at the same time
//         as_message  the MPI moves it
//         refused     the sender has no memory to pack it in: both return an error, and nobody waits
// Cost    P - 1 blocks read by each rank, each copied once (in_heap, at_address, written) or twice. One
//         wait to enter; one to leave if a peer touches this rank's memory.
// Source  Quadrille; the single copy is that of SH-Naive in the cache-oblivious paper and of HINT's
//         row order, begun at the neighbour so that not all ranks read the same one at first.
//
// If the ranks live on several nodes, those of a node do this among themselves, and blocks for other nodes go as
// messages meanwhile (AwayMessages in run/engines.hpp).
//
// A block with gaps is packed first, and an in-place block is copied first, because it is received over.
//
// Example, 3 ranks, blocks of 1 MiB, rank 2's buffer outside the shared heap: rank 0 finds "in_heap,
// offset o" in its slot from rank 1 and copies from there; it finds "in_ring" in its slot from rank 2 and
// empties that ring while rank 2 fills it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "memory/heap.hpp"
#include "mpi/mpi.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "sys/sys.hpp"

namespace quadrille::run {
namespace {

using choose::Way;
using memory::Carried;
using memory::Inbox;
using memory::Peer;
using memory::Slot;

// What a slot holds if the block is elsewhere: an offset in the sender's heap, or an address and the
// sender's generation (memory/reach.hpp).
struct Offer {
  std::uint64_t at;
  std::uint64_t generation;
};

struct ExchangeMeans {
  memory::Inbox& inbox;
  memory::Pairs* pairs;    // null: every block fits a slot, or goes as a message
  std::size_t slot_limit;  // largest block that goes through a slot
  Means<NodeWork> own;
  std::span<memory::XpmemPeer> attached = {};  // [rank of the node]; empty: not by XPMEM
  bool trims = true;                           // what it took of the pools
  Way way = Way::measured;
};

class NodeExchange : CallBlocks {
 public:
  // `away`: as run_node() has it. All of these must outlive it.
  NodeExchange(const Call& call, Group& group, const ExchangeMeans& means, const plan::Schedule* away = nullptr)
      : CallBlocks(call, group),
        means_(means),
        work_(means.own.work),
        to_all_(gather_ && means.pairs == nullptr),
        away_(group.reach().local.empty() ? nullptr : away),
        packed_send_(means.own.packing.send, means.trims),
        packed_recv_(means.own.packing.recv, means.trims),
        copy_(means.own.copying, bytes_to_copy()) {
    work_.clear();
    // Without room nothing is thrown: the others wait for what this rank says.
    has_room_ = reserve_work() && packed_send_.reserve(bytes_to_stage()) && packed_recv_.reserve(bytes_to_unpack());
    if (!has_room_) error_ = mpi().err_no_mem;
  }

  void begin() {
    phase_ = Phase::taking;
    if (away_ != nullptr) to_others_.emplace(call_, *away_, group_).begin();
    if (to_all_) {
      offer_to_all();
    } else {
      means_.inbox.begin();
      if (means_.pairs != nullptr) means_.pairs->begin();
      for (int step = 1; step < group_.ranks; ++step) offer((group_.me + step) % group_.ranks);
    }
    if (!call_.in_place) copy_mine(block_for(group_.me), recv_[group_.me], means_.own.packing.own, copy_);
  }

  // A step, if it can make one. `block`: it may wait for messages. True if it got further.
  bool advance(bool block = false) {
    switch (phase_) {
      case Phase::taking:
        return take_next();
      case Phase::streaming:
        return answer_and_advance() || end_streams();
      case Phase::awaiting_messages:
        return end_messages(block);
      case Phase::leaving:
        return answer_and_advance() || leave();
      case Phase::over:
        break;
    }
    return false;
  }

  bool done() const { return phase_ == Phase::over; }
  int end() const { return error_; }

 private:
  enum class Phase : std::uint8_t { taking, streaming, awaiting_messages, leaving, over };

  // Has every block a slot, as all ranks know?
  bool all_in_slots() const { return means_.pairs == nullptr && is_sized(call_.collective); }
  bool reserve_work() {
    if (all_in_slots()) return true;
    const auto ranks = static_cast<std::size_t>(group_.ranks_here());
    return thrown_by([&] { work_.reserve(ranks); }) == mpi_success;
  }

  bool take_next() {
    while (next_ < group_.ranks && is_away((group_.me - next_ + group_.ranks) % group_.ranks)) ++next_;
    if (next_ == group_.ranks) {
      phase_ = Phase::streaming;
      return true;
    }
    const int from = (group_.me - next_ + group_.ranks) % group_.ranks;
    const Slot* slot = to_all_ ? means_.inbox.look_out(local(from)) : means_.inbox.look(local(from));
    if (slot == nullptr) return advance_streams();
    take(from, *slot);
    ++next_;
    return true;
  }

  // When all that goes through rings is there, blocks are written to those who could not read them. What cannot be
  // written goes through rings after that.
  bool end_streams() {
    if (!work_.out.empty() || !work_.in.empty()) return false;
    for (const NodeWork::Part& s : work_.to_write) write_to(s);
    work_.to_write.clear();
    if (work_.out.empty()) phase_ = Phase::awaiting_messages;
    return true;
  }

  bool end_messages(bool block) {
    bool all_done = messages_ == 0;
    if (!all_done) keep(error_, transport().all_done(messages_, block, all_done));
    if (!all_done) return answer_and_advance();
    if (to_others_) keep(error_, to_others_->finish([this] { answer_and_advance(); }));
    const memory::Fenced fenced = copy_.done();
    if (means_.pairs != nullptr) means_.pairs->finish(fenced);
    phase_ = Phase::leaving;
    return true;
  }

  // Only when nobody touches this rank's memory any more.
  bool leave() {
    const auto has_finished = [this](int user) { return means_.pairs->has_finished(local(user)); };
    while (!work_.users.empty() && has_finished(work_.users.back())) work_.users.pop_back();
    if (!work_.users.empty()) return false;
    // A peer reports a failed write before it finishes, and may leave a ring full behind.
    if (learn_of_failed_writes()) return true;
    if (!work_.in.empty()) return false;
    for (const NodeWork::Part& p : work_.packed) {
      unpack_block(p.at, p.bytes, recv_[p.peer]);
    }
    phase_ = Phase::over;
    return true;
  }

  // A rank's number on this node, by which shared memory knows it. Negative: it lives elsewhere.
  int local(int rank) const { return group_.local_of(rank); }
  bool is_away(int rank) const { return local(rank) < 0; }
  const Peer& peer(int rank) const { return group_.reach().peers[static_cast<std::size_t>(local(rank))]; }
  bool is_large(const Block& block) const { return block.bytes() > means_.slot_limit; }
  bool attaches(int to) const { return !means_.attached.empty() && peer(to).can.attach; }

  bool is_in_heap(int to, const std::byte* bytes, std::size_t size) const {
    return peer(to).can.map && memory::heap_shareable(bytes, size);
  }
  // It would fit a slot, but one copy is faster than two.
  bool is_better_in_heap(int to, const Block& block) const {
    return means_.pairs != nullptr && means_.way != Way::rings &&
           block.bytes() > group_.inbox_limit(call_.collective) && block.info.dense && !overwritten_ &&
           is_in_heap(to, block.address, block.bytes());
  }

  // Of all ranks of the node but this one.
  template <class Bytes>
  std::size_t sum_of_peers(const Bytes& bytes) const {
    std::size_t total = 0;
    for (int rank = 0; rank < group_.ranks; ++rank) {
      if (rank != group_.me && !is_away(rank)) total += bytes(rank);
    }
    return total;
  }
  // Bytes of the blocks that must be sent from a copy.
  std::size_t bytes_to_stage() const {
    if (!overwritten_ && send_.all_dense()) return 0;
    if (gather_) {
      const Block mine = block_for(0);
      return is_large(mine) && !mine.info.dense ? mine.bytes() : 0;
    }
    return sum_of_peers([this](int to) {
      const Block block = send_[to];
      return is_large(block) && (overwritten_ || !block.info.dense) ? block.bytes() : 0;
    });
  }
  // Bytes of the blocks that may have to be received packed.
  std::size_t bytes_to_unpack() const {
    if (recv_.all_dense() || all_in_slots()) return 0;
    return sum_of_peers([this](int from) { return recv_.is_dense(from) ? 0 : recv_.bytes_of(from); });
  }

  // An estimate of what this rank receives. Only large blocks are worth the sum.
  std::size_t bytes_to_copy() const {
    if (all_in_slots()) return 0;
    const auto ranks = static_cast<std::size_t>(group_.ranks_here());
    if (call_.recv.counts == nullptr && call_.recv.counts_large == nullptr) {
      return recv_[0].bytes() * ranks;
    }
    return recv_.bytes_of(group_.me) + sum_of_peers([this](int from) { return recv_.bytes_of(from); });
  }

  // ---- The sender's side ----

  void fill_slot(std::byte* slot, const Block& block) {
    if (block.info.dense) return memory::Inbox::fill(slot, block.address, block.bytes());
    pack_block(block, slot);
  }

  // All ranks know that every block fits a slot. One that does not is larger than what its receiver gave for it.
  void offer_to_all() {
    Inbox& inbox = means_.inbox;
    const Block block = first_part(block_for(0), means_.slot_limit);
    inbox.begin_out();
    fill_slot(inbox.block_to_all(), block);
    inbox.publish_to_all(Carried::in_slot, block.bytes());
  }

  void offer(int to) {
    if (is_away(to)) return;
    const bool direct = means_.pairs != nullptr;
    Block block = block_for(to);
    if (!direct && is_sized(call_.collective)) block = first_part(block, means_.slot_limit);
    Inbox& inbox = means_.inbox;
    if (may_write(to)) give_room(to);
    if (!is_large(block) && !is_better_in_heap(to, block)) {
      fill_slot(inbox.block_to(local(to)), block);
      return inbox.publish(local(to), Carried::in_slot, block.bytes());
    }
    if (!has_room_) return inbox.publish(local(to), Carried::refused, 0);
    const std::byte* bytes = staged(block);
    const Carried way = direct ? way_to(to, bytes, block.bytes()) : Carried::as_message;
    auto* from = const_cast<std::byte*>(bytes);
    Offer where{reinterpret_cast<std::uintptr_t>(bytes), 0};
    switch (way) {
      case Carried::as_message:
        inbox.publish(local(to), way, block.bytes());
        return send_message(to, block, from);
      case Carried::in_ring:
        work_.out.push_back({to, from, block.bytes(), 0});
        break;
      case Carried::written:
        work_.to_write.push_back({to, from, block.bytes(), 0});
        break;
      case Carried::at_address:
        if (attaches(to)) where.generation = memory::note_offered(bytes, block.bytes());
        if (group_.reach().rings) work_.offered.push_back({to, from, block.bytes(), 0});
        work_.users.push_back(to);
        break;
      case Carried::in_heap:
        where.at = memory::heap_offset(bytes);
        [[fallthrough]];
      default:
        work_.users.push_back(to);
    }
    std::memcpy(inbox.block_to(local(to)), &where, sizeof where);
    inbox.publish(local(to), way, block.bytes());
  }

  // The bytes of a large block, one behind the other. Null if it has gaps and goes as a message.
  const std::byte* staged(const Block& block) {
    if (gathered_ != nullptr) return gathered_;
    const std::byte* bytes = block.address;
    if (overwritten_ || (!block.info.dense && means_.pairs != nullptr)) {
      bytes = packed(block, packed_send_);
    } else if (!block.info.dense) {
      bytes = nullptr;
    }
    if (gather_) gathered_ = bytes;
    return bytes;
  }

  Carried way_to(int to, const std::byte* bytes, std::size_t size) const {
    const Reach& reach = group_.reach();
    if (means_.way == Way::rings && reach.rings) return Carried::in_ring;
    if (is_in_heap(to, bytes, size)) return Carried::in_heap;
    if (attaches(to)) return Carried::at_address;
    if (means_.way == Way::direct || size >= reach.points.cma_from || !reach.rings) {
      if (peer(to).can.read) return Carried::at_address;
      if (peer(to).i_can.write) return Carried::written;
    }
    return reach.rings ? Carried::in_ring : Carried::as_message;
  }

  void send_message(int to, const Block& block, std::byte* bytes) {
    const Place place = bytes == nullptr ? typed_place(block) : packed_place(block, bytes);
    keep(error_, transport().start_send(messages_++, to, {&place, 1}));
  }

  // A peer that may write to this rank is told where its block shall go.
  bool may_write(int from) const { return means_.pairs != nullptr && peer(from).can.write && !peer(from).i_can.read; }
  void give_room(int from) {
    const Block block = recv_[from];
    if (!has_room_) return means_.pairs->give_room(local(from), {0, 0});
    std::byte* room = block.info.dense ? block.address : packed_recv_.take(block.bytes());
    means_.pairs->give_room(local(from), {reinterpret_cast<std::uintptr_t>(room), block.bytes()});
  }

  void write_to(const NodeWork::Part& s) {
    const memory::Pairs::Place room = means_.pairs->room_at(local(s.peer));
    if (sys::write_process(peer(s.peer).process, room.address, s.at, std::min<std::size_t>(s.bytes, room.bytes))) {
      return;
    }
    means_.pairs->report_failed_write(local(s.peer));
    if (!group_.reach().rings) return keep(error_, mpi().err_other);
    work_.out.push_back(s);
  }

  // ---- The receiver's side ----

  void take(int from, const Slot& slot) {
    Block block = recv_[from];
    if (!has_room_) block.count = 0;  // what comes is dropped
    const std::size_t sent = slot.bytes, fits = fitting(sent, block.bytes());
    Offer where{};
    if (slot.carried != Carried::in_slot) std::memcpy(&where, Inbox::block_of(slot), sizeof where);
    switch (slot.carried) {
      case Carried::in_slot:
        return unpack_block(Inbox::block_of(slot), fits, block);
      case Carried::in_heap:
        return copy_in(copy_, peer(from).heap + where.at, fits, block);
      case Carried::at_address:
        return read_from(from, where, fits, sent - fits, block);
      case Carried::written:
        work_.users.push_back(from);
        return work_.written.push_back({from, packed_room(from, fits, block), fits, sent - fits});
      case Carried::in_ring:
        return work_.in.push_back({from, packed_room(from, fits, block), fits, sent - fits});
      case Carried::as_message:
        return receive_message(from, sent, block);
      case Carried::refused:
        return keep(error_, mpi().err_no_mem);
    }
  }

  // Where the bytes of a block go that come one behind the other; unpacked at the end if need be. A peer that may
  // write there, and did not, leaves its room to them.
  std::byte* packed_room(int from, std::size_t bytes, const Block& block) {
    if (block.info.dense) return block.address;
    const std::uint64_t given = may_write(from) ? means_.pairs->room_for(local(from)).address : 0;
    std::byte* room = given != 0 ? reinterpret_cast<std::byte*>(given) : packed_recv_.take(block.bytes());
    work_.packed.push_back({from, room, bytes});
    return room;
  }

  void read_from(int from, const Offer& offer, std::size_t bytes, std::size_t more, const Block& block) {
    if (bytes == 0) return;
    if (!means_.attached.empty()) {
      memory::XpmemPeer& memory = means_.attached[static_cast<std::size_t>(local(from))];
      if (const std::byte* here = memory.map(offer.at, bytes, offer.generation))
        return copy_in(copy_, here, bytes, block);
    }
    std::byte* room = packed_room(from, bytes, block);
    if (peer(from).i_can.read && sys::read_process(peer(from).process, offer.at, room, bytes)) return;
    // Set-up found this way open, and now it is not: what lies there may be of a special kind.
    if (!group_.reach().rings) return keep(error_, mpi().err_other);
    means_.pairs->ask_for_ring(local(from));
    work_.in.push_back({from, room, bytes, more});
  }

  void receive_message(int from, std::size_t sent, const Block& block) {
    if (sent > block.bytes()) return receive_long(from, sent, block);
    Place place = typed_place(block);
    // In place it is sent packed, and MPICH cuts a large packed message anywhere and then refuses to
    // unpack part of an element: so it is received packed.
    if (overwritten_ && !block.info.dense && is_large(block)) {
      place = packed_place(block, packed_room(from, block.bytes(), block));
    }
    keep(error_, transport().start_receive(messages_++, from, {&place, 1}));
  }

  // A message that is longer than its block. Of some, as the MPI does, the first part is taken; others are errors
  // already.
  void receive_long(int from, std::size_t sent, const Block& block) {
    const bool is_cut = block.count > 0 && error_if_long(sent, block.bytes(), call_.collective) == mpi_success;
    std::byte* room = nullptr;
    if (is_cut && thrown_by([&] {
                    room = long_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(sent)).get();
                  }) != mpi_success) {
      keep(error_, mpi().err_no_mem);
    }
    if (room == nullptr) return keep(error_, transport().start_dropping(messages_++, from, sent));
    work_.packed.push_back({from, room, block.bytes()});
    const Place place{.address = room, .count = sent, .bytes = sent};
    keep(error_, transport().start_receive(messages_++, from, {&place, 1}));
  }

  // ---- Both sides ----

  // Sends what was only offered to those who ask for it. True if somebody did.
  bool answer_asks() {
    return std::erase_if(work_.offered, [this](const NodeWork::Part& s) {
             if (!means_.pairs->is_asked_for_ring(local(s.peer))) return false;
             work_.out.push_back(s);
             return true;
           }) > 0;
  }

  // Receives through the ring what a peer could not write; without rings both have an error. True if there was such.
  bool learn_of_failed_writes() {
    return std::erase_if(work_.written, [this](const NodeWork::Part& s) {
             if (!means_.pairs->has_failed_to_write(local(s.peer))) return false;
             if (group_.reach().rings) {
               work_.in.push_back(s);
             } else {
               keep(error_, mpi().err_other);
             }
             return true;
           }) > 0;
  }

  // Moves what can be moved through the rings. True if something was.
  bool advance_streams() {
    bool moved = false;
    for (NodeWork::Part& s : work_.out) {
      const std::size_t done = means_.pairs->ring(local(s.peer), local(group_.me)).push(s.at, s.bytes);
      s.at += done;
      s.bytes -= done;
      moved |= done > 0;
    }
    for (NodeWork::Part& s : work_.in) {
      memory::Ring ring = means_.pairs->ring(local(group_.me), local(s.peer));
      const std::size_t done = ring.pop(s.at, s.bytes);
      s.at += done;
      s.bytes -= done;
      const std::size_t dropped = s.bytes == 0 ? ring.pop(nullptr, s.dropped) : 0;
      s.dropped -= dropped;
      moved |= done + dropped > 0;
    }
    const auto is_done = [](const NodeWork::Part& s) { return s.bytes + s.dropped == 0; };
    moved |= std::erase_if(work_.out, is_done) + std::erase_if(work_.in, is_done) > 0;
    return moved;
  }

  // While this rank waits for others, for all who may ask: the one that it waits for may wait for them.
  bool answer_and_advance() {
    const bool asked = answer_asks(), failed = learn_of_failed_writes();
    return advance_streams() || asked || failed;
  }

  MpiTransport& transport() {
    if (!transport_) transport_.emplace(group_.messages().comm, group_.me);
    return *transport_;
  }

  const ExchangeMeans means_;
  NodeWork& work_;
  const bool to_all_;                 // one block for everybody, which fits a slot
  const plan::Schedule* const away_;  // null: there are no other nodes, or this is not to serve them
  Room packed_send_, packed_recv_;
  bool has_room_ = false;
  memory::NodeCopy copy_;
  const std::byte* gathered_ = nullptr;             // the block that goes to everybody
  std::vector<std::unique_ptr<std::byte[]>> long_;  // messages that are longer than their blocks
  std::optional<MpiTransport> transport_;
  std::optional<AwayMessages> to_others_;
  std::size_t messages_ = 0;
  int next_ = 1;  // distance to the rank before this one from which it takes next
  Phase phase_ = Phase::over;
};

}  // namespace

int run_node(const Call& call, Group& group, bool direct, const plan::Schedule* away, Way way) {
  memory::Pairs* const pairs = direct ? &group.pairs : nullptr;
  Scratch& scratch = group.scratch;
  const Means<NodeWork> own{scratch.packing, group.copying, scratch.node_work};
  const ExchangeMeans means{group.inbox, pairs, group.reach().slot_limit, own, group.attached, true, way};
  NodeExchange exchange(call, group, means, away);
  exchange.begin();
  const bool waits_in_mpi = !reports_faults();  // a wait in the MPI misses a revocation of the user's communicator
  while (!exchange.done()) group.waiter.until([&] { return exchange.advance(waits_in_mpi); });
  return exchange.end();
}

// XPMEM is not used: blocking calls, which another thread may make meanwhile, keep what it maps.
std::unique_ptr<Op> node_op(const Call& call, Group& group, memory::Inbox& inbox, memory::Pairs* pairs,
                            const memory::CopyPlan& copying, Way way) {
  const auto make = [&group, &inbox, pairs, way](auto& now, auto& own) {
    const std::size_t capacity = inbox.capacity();
    const std::size_t limit = pairs == nullptr ? capacity : std::min(capacity, group.reach().slot_limit);
    now.emplace(own.call, group, ExchangeMeans{inbox, pairs, limit, own.means(), {}, false, way});
    return mpi_success;
  };
  return started<NodeExchange, NodeWork>(pairs == nullptr ? Carrier::inbox : Carrier::rings, pairs == nullptr, call,
                                         copying, make);
}

}  // namespace quadrille::run
