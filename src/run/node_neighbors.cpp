// A neighbour collective between ranks that share a node, for any topology.
//
// Idea    All that a rank has for one neighbour goes into the ring of that pair (memory/control_memory.hpp), one block
//         behind the other, and is announced once: several edges between two ranks, as on small tori, cost
//         hardly more than one. A rank waits for its neighbours only; a ring bounds how far one can be ahead.
//         A large block stays where it is, in the shared heap or in other memory that the receiver may read
//         (CMA). Its head says where, the receiver copies it from there, and says through the ring of the
//         other direction that it has; the owner does not leave before. What cannot be read after all comes
//         through the ring when it is asked for.
// Cost    One wait for each neighbouring rank. Blocks are copied twice, large ones once where they can be read.
// Source  Quadrille; the single copy is that of SH-Naive in Li, Zhang and Hoefler, section 3.
//
// What is in a ring: heads, each of them followed by its block if that travels through the ring. Small blocks of
// one size share a head (a run); what a gather sends along several edges to one rank is there once. Sizes are in
// the head and not looked up, so a pair that disagrees about them is an error and no disorder.
//
// A rank without memory to pack in says to its neighbours, instead of each block, that there is none, and drops what it
// would have to unpack: it returns an error, they do as well, and nobody waits.
//
// Example, ranks 0 and 1 on a ring of two, so with two edges each way, blocks of 8 bytes: rank 0 writes
// head, block, block, 32 bytes in all, and announces them; it waits until rank 1 has announced as many.
#include <algorithm>
#include <cstring>

#include "memory/heap.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "sys/sys.hpp"

namespace quadrille::run {
namespace {

// What is in a ring before a block, or instead of one.
struct BlockHead {
  std::uint64_t bytes;  // of a block
  std::uint64_t at;     // offset in the sender's heap, or one of these

  static constexpr std::uint64_t follows = ~std::uint64_t{0};  // the block is behind its head
  static constexpr std::uint64_t was_read = follows - 1;       // no block: those that were offered have been read
  // No block: `bytes` is the number of one, among those of this pair, that shall come through the ring after all.
  static constexpr std::uint64_t asked_for = follows - 2;
  static constexpr std::uint64_t refused = follows - 3;  // no block: its sender has no memory to pack it
  // Several blocks of that size are behind the head, in one piece and announced with it; the low half says how many.
  static constexpr std::uint64_t run = std::uint64_t{1} << 62;
  static constexpr std::uint64_t repeated = run >> 1;  // one block is, for so many edges
  bool is_run() const { return at >> 62 == 1; }
  // The block is at this address of the sender.
  static constexpr std::uint64_t address = std::uint64_t{1} << 63;
  bool is_address() const { return at >> 62 == 2; }
};

using NeighborMeans = Means<std::vector<NeighborProgress>>;

class NodeNeighbors : CallBlocks {
 public:
  // `rings`: [pair], or [distance - 1 to any rank].
  NodeNeighbors(const Call& call, const NodeEdges& edges, Group& group, const NeighborMeans& means,
                std::span<PairRings> rings)
      : CallBlocks(call, group),
        edges_(edges),
        to_pack_(bytes_to_pack()),
        received_(bytes_received()),
        means_(means),
        rings_(rings),
        packed_send_(means.packing.send),
        packed_recv_(means.packing.recv),
        copy_(means.copying, received_.all) {
    means_.work.assign(edges_.pairs.size(), {});
    for (std::size_t p = 0; p < edges_.pairs.size(); ++p) {
      means_.work[p].least_offered = least_offered_to(edges_.pairs[p]);
    }
    has_room_ = packed_send_.reserve(to_pack_) && packed_recv_.reserve(received_.to_unpack);
    if (has_room_) {
      pack_all_sent();
    } else {
      error_ = mpi().err_no_mem;
    }
  }

  // Sends what there is room for.
  void begin() {
    left_ = edges_.pairs.size();
    for (std::size_t p = 0; p < edges_.pairs.size(); ++p) {
      if (p + ahead < edges_.pairs.size()) rings(p + ahead).to.prefetch_write();
      push(p);
      if (is_done(p)) --left_;
    }
    in_turn_ = group_.waiter.crowded() && needs_no_answer();
    const auto copy = [](std::byte* to, const std::byte* from, std::size_t bytes) {
      if (bytes > 0) std::memmove(to, from, bytes);
    };
    for (const auto& [from, to] : edges_.own) copy_mine(block_for(from), recv_[to], means_.packing.own, copy);
  }
  bool done() const { return left_ == 0; }
  // Moves what can be moved. True if something was.
  bool advance() {
    bool moved = false;
    for (std::size_t p = 0; p < edges_.pairs.size(); ++p) {
      if (is_done(p)) continue;
      if (p + ahead < edges_.pairs.size()) rings(p + ahead).from.prefetch_read();
      moved |= pop(p);
      moved |= push(p);
      if (is_done(p)) {
        --left_;
      } else if (in_turn_) {
        break;
      }
    }
    return moved;
  }
  // When it is done. Returns an MPI error code.
  int end() {
    copy_.done();
    return error_;
  }

 private:
  using Head = BlockHead;
  using Ring = memory::Ring;

  // Only the counts of blocks that travel may be looked at.
  std::size_t bytes_to_pack() const {
    if (send_.all_dense()) return 0;
    std::size_t total = 0;
    for (const NeighborPair& pair : edges_.pairs) {
      for (const int b : pair.send_blocks) {
        if (!send_.is_dense(sent(b))) total += send_.bytes_of(sent(b));
        if (gather_ && total > 0) return total;
      }
    }
    return total;
  }
  // All of them is an estimate of what will be copied: large blocks are, small ones cost little.
  struct Received {
    std::size_t all = 0, to_unpack = 0;
  };
  Received bytes_received() const {
    Received bytes;
    for (const NeighborPair& pair : edges_.pairs) {
      if (recv_.all_dense()) {
        bytes.all += bytes_of_all(recv_, pair.recv_blocks);
        continue;
      }
      for (const int b : pair.recv_blocks) {
        const std::size_t of_block = recv_.bytes_of(b);
        bytes.all += of_block;
        if (!recv_.is_dense(b)) bytes.to_unpack += of_block;
      }
    }
    return bytes;
  }
  static std::size_t bytes_of_all(const Blocks& blocks, const std::vector<int>& which) {
    if (blocks.equal()) return which.empty() ? 0 : which.size() * blocks.bytes_of(which[0]);
    std::size_t total = 0;
    for (const int b : which) total += blocks.bytes_of(b);
    return total;
  }

  int sent(int b) const { return gather_ ? 0 : b; }

  // Blocks with gaps, one behind the other, in the order of the edges.
  void pack_all_sent() {
    if (to_pack_ == 0) return;
    const std::byte* gathered = nullptr;
    for (std::size_t p = 0; p < edges_.pairs.size(); ++p) {
      progress(p).first_packed = packed_.size();
      for (const int b : edges_.pairs[p].send_blocks) {
        const Block block = block_for(b);
        if (block.info.dense) {
          packed_.push_back(block.address);
        } else if (gathered != nullptr) {
          packed_.push_back(gathered);
        } else {
          packed_.push_back(packed(block, packed_send_));
          if (gather_) gathered = packed_.back();
        }
      }
    }
  }

  NeighborProgress& progress(std::size_t p) { return means_.work[p]; }
  bool is_done(std::size_t p) {
    const NeighborProgress& at = progress(p);
    const NeighborPair& pair = edges_.pairs[p];
    return at.sent == pair.send_blocks.size() && at.taken == pair.recv_blocks.size() && !at.offered && !at.owes &&
           !has_refused(p);
  }

  // The rings of so many pairs further on are brought in meanwhile: they lie in the caches of others.
  static constexpr std::size_t ahead = 2;
  PairRings& rings(std::size_t p) const {
    if (rings_.size() == edges_.pairs.size()) return rings_[p];
    int distance = edges_.pairs[p].peer - group_.me;
    if (distance < 0) distance += group_.ranks;
    return rings_[static_cast<std::size_t>(distance) - 1];
  }

  // All is sent, and nothing of it waits to be read. Then this rank needs nothing but what the others send anyway, so
  // it may wait for one after the other; to look at all of them each time costs more where cores are shared.
  bool needs_no_answer() {
    for (std::size_t p = 0; p < edges_.pairs.size(); ++p) {
      const NeighborProgress& at = progress(p);
      if (at.sent < edges_.pairs[p].send_blocks.size() || at.offered) return false;
    }
    return true;
  }

  // ---- To a peer ----

  const std::byte* bytes_of(std::size_t p, std::size_t k, const Block& block) const {
    return packed_.empty() ? block.address : packed_[means_.work[p].first_packed + k];
  }
  bool stays_in_heap(int peer, const std::byte* bytes, std::size_t size) const {
    return group_.reach().peers[static_cast<std::size_t>(peer)].can.map && memory::heap_shareable(bytes, size);
  }

  bool push(std::size_t p) {
    const NeighborPair& pair = edges_.pairs[p];
    NeighborProgress& at = progress(p);
    if (at.sent == pair.send_blocks.size() && !at.owes && asked_.empty()) return false;
    Ring::Writer out(rings(p).to, rings(p).seen);
    while (at.sent < pair.send_blocks.size()) {
      if (!has_room_) {
        if (out.room() < sizeof(Head)) break;
        put(out, {0, Head::refused});
        ++at.sent;
      } else if (const std::size_t sent = push_run(out, p, at); sent > 0) {
        at.sent += sent;
      } else if (push_block(out, p, at)) {
        ++at.sent;
        at.sent_part = 0;
      } else {
        break;
      }
    }
    // Behind all blocks, where the peer expects it, and after all of its own have been taken.
    if (at.sent == pair.send_blocks.size()) {
      const bool answered = send_asked(out, p, at);
      if (at.taken == pair.recv_blocks.size() && answered && ask(out, p) && at.owes && !has_refused(p) &&
          out.room() >= sizeof(Head)) {
        put(out, {0, Head::was_read});
        at.owes = false;
      }
    }
    return out.publish();
  }

  static void put(Ring::Writer& out, const Head& head) {
    out.write(reinterpret_cast<const std::byte*>(&head), sizeof head);
  }

  // Small blocks of one size behind one head, as far as there is room in one piece. Returns how many.
  std::size_t push_run(Ring::Writer& out, std::size_t p, const NeighborProgress& at) {
    if (at.sent_part > 0) return 0;
    const std::vector<int>& blocks = edges_.pairs[p].send_blocks;
    const Block first = block_for(blocks[at.sent]);
    const std::size_t size = first.bytes(), room = std::min(out.room_in_one_piece(), out.ring_bytes() / 4);
    if (size >= at.least_offered || room < sizeof(Head) + size) return 0;
    const std::size_t fit = gather_ || size == 0 ? blocks.size() : (room - sizeof(Head)) / size;
    const std::size_t end = at.sent + std::min(fit, blocks.size() - at.sent);
    std::size_t next = gather_ || send_.equal() ? end : at.sent + 1;
    while (next < end && send_.bytes_of(sent(blocks[next])) == size) ++next;
    const std::size_t count = next - at.sent;
    std::byte* to = out.claim(sizeof(Head) + (gather_ ? 1 : count) * size);
    const Head head = {size, Head::run | (gather_ ? Head::repeated : 0) | count};
    std::memcpy(to, &head, sizeof head);
    to += sizeof head;
    memory::copy_bytes(to, bytes_of(p, at.sent, first), size);
    for (std::size_t k = at.sent + 1; k < next && !gather_; ++k) {
      memory::copy_bytes(to += size, bytes_of(p, k, block_for(blocks[k])), size);
    }
    return count;
  }

  // True if the next block of the pair is on its way as a whole.
  bool push_block(Ring::Writer& out, std::size_t p, NeighborProgress& at) {
    const NeighborPair& pair = edges_.pairs[p];
    const Block block = block_for(pair.send_blocks[at.sent]);
    const std::byte* bytes = bytes_of(p, at.sent, block);
    const std::size_t size = block.bytes();
    if (at.sent_part == 0) {
      if (out.room() < sizeof(Head)) return false;
      if (const std::uint64_t where = offered_at(pair.peer, bytes, size, at); where != Head::follows) {
        put(out, {size, where});
        at.offered = true;
        return true;
      }
    }
    return push_bytes(out, bytes, size, at);
  }
  // How a block is offered; or that it follows.
  std::uint64_t offered_at(int peer, const std::byte* bytes, std::size_t size, const NeighborProgress& at) const {
    if (size < at.least_offered) return Head::follows;
    if (stays_in_heap(peer, bytes, size)) return memory::heap_offset(bytes);
    const bool reads_me = group_.reach().peers[static_cast<std::size_t>(peer)].can.read;
    if (!reads_me || size < std::min(group_.reach().points.cma_from, read_from_bytes)) return Head::follows;
    return Head::address | reinterpret_cast<std::uintptr_t>(bytes);
  }
  static bool push_bytes(Ring::Writer& out, const std::byte* bytes, std::size_t size, NeighborProgress& at) {
    if (at.sent_part == 0) {
      if (out.room() < sizeof(Head)) return false;
      put(out, {size, Head::follows});
      at.sent_part = sizeof(Head);
    }
    const std::size_t done = at.sent_part - sizeof(Head);
    at.sent_part += out.write(bytes + done, size - done);
    return at.sent_part == sizeof(Head) + size;
  }

  // Blocks that the peer could not read. True if it waits for none.
  bool send_asked(Ring::Writer& out, std::size_t p, NeighborProgress& at) {
    for (std::size_t i = 0; i < asked_.size();) {
      if (asked_[i].pair != p) {
        ++i;
        continue;
      }
      const Block block = block_for(edges_.pairs[p].send_blocks[asked_[i].block]);
      if (!push_bytes(out, bytes_of(p, asked_[i].block, block), block.bytes(), at)) return false;
      at.sent_part = 0;
      asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return true;
  }
  // Asks for the blocks that this rank could not read. True if all have been asked for.
  bool ask(Ring::Writer& out, std::size_t p) {
    for (Refused& refused : refused_) {
      if (refused.pair != p || refused.asked) continue;
      if (out.room() < sizeof(Head)) return false;
      put(out, {refused.block, Head::asked_for});
      refused.asked = true;
    }
    return true;
  }

  // ---- From a peer ----

  bool pop(std::size_t p) {
    const NeighborPair& pair = edges_.pairs[p];
    NeighborProgress& at = progress(p);
    if (at.taken == pair.recv_blocks.size() && !at.offered && !has_refused(p)) return false;
    Ring::Reader in(rings(p).from);
    while (at.taken < pair.recv_blocks.size()) {
      const std::size_t taken = pop_blocks(in, p, at);
      if (taken == 0) break;
      at.taken += taken;
      at.taken_part = 0;
    }
    // Answers come behind all blocks. What we have not even offered yet they cannot mean.
    if (at.taken == pair.recv_blocks.size() && at.sent == pair.send_blocks.size()) {
      while ((at.offered || has_refused(p)) && pop_answer(in, p, at)) continue;
    }
    return in.release();
  }

  // Blocks come in the order in which they were asked for.
  auto refused_of(std::size_t p) {
    return std::find_if(refused_.begin(), refused_.end(), [p](const Refused& r) { return r.pair == p; });
  }
  bool has_refused(std::size_t p) { return refused_of(p) != refused_.end(); }
  // That the peer has read all, or wants a block after all; or a block that we wanted. True if it is here as a whole.
  bool pop_answer(Ring::Reader& in, std::size_t p, NeighborProgress& at) {
    if (at.taken_part > 0) return pop_refused(in, p, at);
    if (in.waiting() < sizeof(Head)) return false;
    Head head;
    in.read(reinterpret_cast<std::byte*>(&head), sizeof head);
    if (head.at == Head::was_read) {
      at.offered = false;
    } else if (head.at == Head::asked_for) {
      asked_.push_back({p, head.bytes});
    } else {
      begin_block(head, refused_of(p)->room, at);
      return pop_refused(in, p, at);
    }
    return true;
  }
  bool pop_refused(Ring::Reader& in, std::size_t p, NeighborProgress& at) {
    const auto first = refused_of(p);
    if (!pop_bytes(in, recv_[edges_.pairs[p].recv_blocks[first->block]], at)) return false;
    refused_.erase(first);
    at.taken_part = 0;
    return true;
  }

  // How many of the next blocks of the pair have arrived as a whole: all of a run, or one, or none.
  std::size_t pop_blocks(Ring::Reader& in, std::size_t p, NeighborProgress& at) {
    const NeighborPair& pair = edges_.pairs[p];
    const Block block = recv_[pair.recv_blocks[at.taken]];
    if (at.taken_part == 0) {
      if (in.waiting() < sizeof(Head)) return 0;
      Head head;
      in.read(reinterpret_cast<std::byte*>(&head), sizeof head);
      const std::size_t fits = fitting(head.bytes, block.bytes());
      if (head.at == Head::refused) {
        keep(error_, mpi().err_no_mem);
        return 1;
      }
      if (head.is_run()) return pop_run(in, head, pair, at.taken);
      const memory::Peer& peer = group_.reach().peers[static_cast<std::size_t>(pair.peer)];
      if (head.is_address()) {
        at.owes = true;
        read_from(peer, head.at & ~Head::address, fits, block, p);
        return 1;
      }
      if (head.at != Head::follows) {
        at.owes = true;
        copy_in(copy_, peer.heap + head.at, fits, block);
        return 1;
      }
      begin_block(head, room_for(block), at);
    }
    return pop_bytes(in, block, at) ? 1 : 0;
  }

  // A block behind its head: where it goes, and what of it is here. True if that is all.
  static void begin_block(const Head& head, std::byte* room, NeighborProgress& at) {
    at.coming = head.bytes;
    at.room = room;
    at.taken_part = sizeof(Head);
  }
  std::byte* room_for(const Block& block) {
    if (block.info.dense) return block.address;
    return has_room_ ? packed_recv_.take(block.bytes()) : nullptr;
  }
  bool pop_bytes(Ring::Reader& in, const Block& block, NeighborProgress& at) {
    const std::size_t fits = at.room == nullptr ? 0 : std::min<std::size_t>(at.coming, block.bytes());
    std::size_t done = at.taken_part - sizeof(Head);
    if (done < fits) done += in.read(at.room + done, fits - done);
    if (done >= fits) done += in.read(nullptr, at.coming - done);
    at.taken_part = sizeof(Head) + done;
    if (done < at.coming) return false;
    if (!block.info.dense) unpack_block(at.room, fits, block);
    return true;
  }

  // The next block of pair p, from the memory of the peer. If that may not be read after all, it is asked for.
  void read_from(const memory::Peer& peer, std::uint64_t from, std::size_t bytes, const Block& block, std::size_t p) {
    std::byte* room = room_for(block);
    if (room == nullptr) return;
    if (bytes > 0 && !sys::read_process(peer.process, from, room, bytes)) {
      refused_.push_back({p, progress(p).taken, room, false});
    } else if (!block.info.dense) {
      unpack_block(room, bytes, block);
    }
  }

  std::size_t pop_run(Ring::Reader& in, const Head& head, const NeighborPair& pair, std::size_t taken) {
    const std::size_t count = static_cast<std::uint32_t>(head.at);
    const std::size_t step = (head.at & Head::repeated) != 0 ? 0 : head.bytes;
    const std::byte* from = in.take(step == 0 ? head.bytes : count * step);
    const std::size_t end = std::min(taken + count, pair.recv_blocks.size());
    for (std::size_t k = taken; k < end; ++k, from += step) {
      const Block block = recv_[pair.recv_blocks[k]];
      const std::size_t fits = fitting(head.bytes, block.bytes());
      if (block.info.dense) {
        memory::copy_bytes(block.address, from, fits);
      } else {
        unpack_block(from, fits, block);
      }
    }
    return end - taken;
  }

  // With few neighbours it pays sooner to read a block than in exchanges of all with all.
  static constexpr std::size_t read_from_bytes = std::size_t{16} << 10;
  // A smaller block is sooner copied twice than waited for; unless the peer gets much: then it waits anyway.
  static constexpr std::size_t least_offered = 1024, least_of_many = 256, many = 4096;
  std::size_t least_offered_to(const NeighborPair& pair) const {
    const std::vector<int>& blocks = pair.send_blocks;
    const std::size_t total = gather_ ? blocks.size() * send_[0].bytes() : bytes_of_all(send_, blocks);
    return total >= many ? least_of_many : least_offered;
  }

  const NodeEdges& edges_;
  const std::size_t to_pack_;
  const Received received_;
  const NeighborMeans means_;
  const std::span<PairRings> rings_;
  Room packed_send_, packed_recv_;
  bool has_room_ = true;
  std::vector<const std::byte*> packed_;  // [edge] if any block has gaps
  memory::NodeCopy copy_;
  struct Asked {
    std::size_t pair, block;
  };
  std::vector<Asked> asked_;  // blocks of ours that peers could not read
  struct Refused {
    std::size_t pair, block;
    std::byte* room;
    bool asked;
  };
  std::vector<Refused> refused_;  // blocks of peers that we could not read
  std::size_t left_ = 0;          // pairs that are not done
  bool in_turn_ = false;          // see needs_no_answer()
};

// To look means to look at all neighbours. Where ranks share a core, that is done once before the core is given away.
sys::Waiter impatient(sys::Waiter waiter) {
  if (waiter.crowded()) waiter.spins = 1;
  return waiter;
}

}  // namespace

NodeEdges node_edges(int me, int ranks, const plan::EdgeEnds& sources, const plan::EdgeEnds& destinations) {
  std::vector<NeighborPair> of(static_cast<std::size_t>(ranks));
  const auto add = [&of](const plan::EdgeEnds& ends, std::vector<int> NeighborPair::*blocks) {
    for (std::size_t i = 0; i < ends.peers.size(); ++i) {
      (of[static_cast<std::size_t>(ends.peers[i])].*blocks).push_back(ends.blocks[i]);
    }
  };
  add(destinations, &NeighborPair::send_blocks);
  add(sources, &NeighborPair::recv_blocks);
  NodeEdges edges;
  const NeighborPair& own = of[static_cast<std::size_t>(me)];
  for (std::size_t k = 0; k < std::min(own.send_blocks.size(), own.recv_blocks.size()); ++k) {
    edges.own.emplace_back(own.send_blocks[k], own.recv_blocks[k]);
  }
  for (int step = 1; step < ranks; ++step) {
    const int peer = (me + step) % ranks;
    NeighborPair& pair = of[static_cast<std::size_t>(peer)];
    if (pair.send_blocks.empty() && pair.recv_blocks.empty()) continue;
    pair.peer = peer;
    edges.pairs.push_back(std::move(pair));
  }
  return edges;
}

void list_rings(const memory::Pairs& pairs, int me, int ranks, std::vector<PairRings>& rings) {
  rings.reserve(static_cast<std::size_t>(ranks - 1));
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (me + distance) % ranks;
    rings.push_back({pairs.ring(peer, me), pairs.ring(me, peer)});
  }
}

int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group) {
  Scratch& scratch = group.scratch;
  if (scratch.rings.empty()) list_rings(group.pairs, group.me, group.ranks, scratch.rings);
  NodeNeighbors neighbors(call, edges, group, {scratch.packing, group.copying, scratch.neighbor_progress},
                          scratch.rings);
  neighbors.begin();
  const sys::Waiter waiter = impatient(group.waiter);
  while (!neighbors.done()) {
    waiter.until([&] {
      const bool moved = neighbors.advance();
      // What else there is comes when others have run.
      return waiter.crowded() ? neighbors.done() : moved;
    });
  }
  return neighbors.end();
}

std::unique_ptr<Op> neighbor_op(const Call& call, const NodeEdges& edges, Group& group, std::span<PairRings> rings) {
  const auto make = [&edges, &group, rings](auto& now, auto& own) {
    if (now) return mpi().err_request;  // something was thrown in the middle of the start before
    now.emplace(own.call, edges, group, own.means(), rings);
    return mpi_success;
  };
  return started<NodeNeighbors, std::vector<NeighborProgress>>(Carrier::rings, false, call, group.copying, make);
}

}  // namespace quadrille::run
