// The copies between the buffers of a node's ranks, for dense and for neighbour collectives.
//
// Idea    Each rank writes down where all its send and recv blocks are, and says that it is there (memory/meeting.hpp).
//         When all are, each does its copies, whoever owns the blocks. Nobody leaves before all are done: anybody may
//         still read its send blocks or write its recv blocks.
// Source  Li, Zhang and Hoefler, sections 2 and 3; Ramesh et al. (HINT), section V, algorithm 3.
// Cost    A copy a block and two waits for all. Blocks that not all ranks reach where they are, have gaps, or are
//         sent in place are copied once more by their owner, before or after.
//
// Two things may go wrong at run time, and then all ranks do the call in another way instead. A rank cannot share a
// block (its heap is full), or has no memory for copies, or more to copy than it may: it says so when it enters. Or it
// cannot attach a block of another: it says so when it has finished. All ranks wait for all at both points anyway, and
// read what they say.
//
// The messages of a dense call between nodes are in flight during or after the copies, depending on the schedule
// (AwayMessages in engines.hpp).
//
// A call that is started has control memory of its own, so that ranks may start several in different orders. A start
// publishes where this rank's blocks are. Progress copies when all ranks have published, and leaves when all have
// copied. The owner copies blocks outside of the shared heap once more. If the memory for that is unavailable on some
// rank, all ranks exchange by pairs instead.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memory/heap.hpp"
#include "memory/reach.hpp"
#include "mpi/mpi.hpp"
#include "plan/schedule.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::run {
namespace {

using memory::BlockPlace;
using Owned = memory::Pairs::Owned;

// Where a rank's blocks are, said so that every rank of its node can reach them by load and store.
//
//   in its shared heap     an offset there, if all ranks map that heap
//   anywhere               an address, if all ranks may attach this rank's memory (memory/reach.hpp)
//
// The owner decides block by block, from what all ranks said of themselves at set-up; who reads the place only
// follows it. An attach may fail all the same: then find() is null, and the caller must tell the others.
class SharedBlocks {
 public:
  // `pairs`: by which the ranks of this call tell each other. `heaps_alone`: of a call in flight beside others, as a
  // peer's memory is attached for one call at a time.
  SharedBlocks(Group& group, const memory::Pairs& pairs, bool heaps_alone = false)
      : group_(group), pairs_(pairs), attaches_(!heaps_alone && group.reach().all_attach_me) {}

  // Whether all ranks can reach these bytes of this process.
  bool reachable(const std::byte* address, std::size_t bytes) const {
    return bytes == 0 || attaches_ || in_heap(address, bytes);
  }

  // Writes down where these bytes are. False if not all ranks can reach them.
  bool publish(BlockPlace& place, const std::byte* address, std::size_t bytes) {
    place = {0, bytes, 0};
    if (bytes == 0) return true;
    if (in_heap(address, bytes)) {
      place.at = memory::heap_offset(address);
      return true;
    }
    if (!attaches_) return false;
    place.at = reinterpret_cast<std::uintptr_t>(address);
    place.by_address = 1;
    first_ = std::min<std::uint64_t>(first_, place.at);
    last_ = std::max<std::uint64_t>(last_, place.at + bytes);
    return true;
  }

  // After all blocks: the generation that goes with their addresses. One for all of them, because a peer that meets
  // another one drops what it has attached, and it may need two blocks of this rank at once.
  std::uint64_t offer() const {
    return first_ < last_ ? memory::note_offered(reinterpret_cast<const void*>(first_), last_ - first_) : 0;
  }

  // Bytes of a rank of this node that has entered, as they are mapped here. Null if they cannot be attached. Valid
  // until the next call but one.
  std::byte* find(int rank, const BlockPlace& place, std::size_t bytes) const {
    if (rank == group_.me) return mine(place);
    const int local = group_.local_of(rank);
    const auto peer = static_cast<std::size_t>(local);
    if (place.by_address == 0) return group_.reach().peers[peer].heap + place.at;
    return group_.attached[peer].map(place.at, bytes, pairs_.meeting().generation_of(local));
  }

  // Bytes of this rank.
  static std::byte* mine(const BlockPlace& place) {
    return place.by_address != 0 ? reinterpret_cast<std::byte*>(place.at) : memory::heap_base() + place.at;
  }

 private:
  bool in_heap(const std::byte* address, std::size_t bytes) const {
    return group_.reach().all_map_me && memory::heap_shareable(address, bytes);
  }

  Group& group_;
  const memory::Pairs& pairs_;
  const bool attaches_;                          // all ranks may attach this rank's memory
  std::uint64_t first_ = UINT64_MAX, last_ = 0;  // all addresses that were given
};

// Which blocks of this rank the copies have to do with, and where all ranks write down where theirs are.
//
// A dense collective has a block to each rank of the node and one from each, or one block to all. What is written down
// is a rule, or else a table with as many places as the node has ranks, in control memory.
//
// Among neighbours a rank may have more blocks than there are ranks, so its places are in memory of its own, and the
// control memory says only where (memory/meeting.hpp). The size of a block stands beside its place: one look for both,
// also where all blocks differ in size. Two tables in turn, because a peer may still read those of the call before.
class BlocksHere {
 public:
  // `edges`: of a neighbour collective; null: of a dense one.
  BlocksHere(const plan::Schedule& schedule, const EdgesHere* edges, bool gathers, Group& group, memory::Pairs& pairs,
             SharedBlocks& shared)
      : schedule_(schedule), edges_(edges), gather_(gathers), group_(group), pairs_(pairs), shared_(shared) {}

  // How many blocks of this rank there are, and their numbers in the user's arrays.
  int sends() const {
    const int blocks = is_dense() ? group_.ranks_here() : static_cast<int>(edges_->sent.size());
    return gather_ ? std::min(blocks, 1) : blocks;
  }
  int recvs() const { return is_dense() ? group_.ranks_here() : static_cast<int>(edges_->received.size()); }
  int send_block(int i) const {
    if (gather_) return 0;
    return is_dense() ? group_.member(i) : edges_->sent[static_cast<std::size_t>(i)].send_block;
  }
  int recv_block(int i) const {
    return is_dense() ? group_.member(i) : edges_->received[static_cast<std::size_t>(i)].recv_block;
  }
  // Whose send block, and which, recv block i is to hold.
  std::pair<int, int> origin(int i) const {
    if (is_dense()) return {group_.member(i), gather_ ? 0 : group_.me};
    const plan::EdgeCopy& edge = edges_->received[static_cast<std::size_t>(i)];
    return {edge.source, gather_ ? 0 : edge.send_block};
  }
  // What this rank copies.
  std::span<const plan::Copy> copies() const {
    return is_dense() ? plan::copies_inside_node(schedule_) : std::span<const plan::Copy>(schedule_.copies);
  }

  // Makes room for this rank's places. False if that cannot be shared.
  bool open() {
    if (is_dense()) {
      const int me = group_.local_of(group_.me);
      sent_ = memory::RuleFinder(pairs_.places(Owned::send, me));
      received_ = memory::RuleFinder(pairs_.places(Owned::recv, me));
      return true;
    }
    const std::size_t sent = static_cast<std::size_t>(gather_ ? 1 : edges_->send_blocks) * sizeof(BlockPlace);
    const std::size_t both = sent + static_cast<std::size_t>(edges_->recv_blocks) * sizeof(BlockPlace);
    memory::Pool& pool = group_.scratch.neighbor_places[group_.scratch.neighbor_calls++ % 2];
    std::byte* memory = nullptr;
    if (thrown_by([&] { memory = pool.take(std::max<std::size_t>(both, 1)); }) != mpi_success) return false;
    send_ = reinterpret_cast<BlockPlace*>(memory);
    recv_ = reinterpret_cast<BlockPlace*>(memory + sent);
    return publish_table(Owned::send, memory, sent) && publish_table(Owned::recv, memory + sent, both - sent);
  }
  // Writes down where a block of this rank is, in the order of the blocks.
  void put(Owned which, int block, const BlockPlace& place) {
    const bool is_sent = which == Owned::send;
    if (is_dense()) {
      (is_sent ? sent_ : received_).add(place);
    } else {
      (is_sent ? send_ : recv_)[block] = place;
    }
  }
  // After all of them.
  void close() {
    if (!is_dense()) return;
    pairs_.meeting().set_rule(Owned::send, sent_.rule());
    pairs_.meeting().set_rule(Owned::recv, received_.rule());
  }
  // Where a block of any rank of the node is. False if that cannot be attached.
  bool look_up(Owned which, int owner, int block, BlockPlace& place) const {
    const int of = group_.local_of(owner);
    const memory::BlockRule& rule = pairs_.meeting().rule(which, of);
    if (is_dense()) {
      const int number = gather_ && which == Owned::send ? block : group_.local_of(block);
      place = rule.regular != 0 ? rule.block(number) : pairs_.places(which, of)[number];
      return true;
    }
    const std::byte* places = shared_.find(owner, rule.block(0), rule.bytes);
    if (places == nullptr) return false;
    place = reinterpret_cast<const BlockPlace*>(places)[block];
    return true;
  }

 private:
  bool is_dense() const { return edges_ == nullptr; }
  bool publish_table(Owned which, const std::byte* table, std::size_t bytes) {
    BlockPlace place;
    const bool good = shared_.publish(place, table, bytes);
    pairs_.meeting().set_rule(which, {place.at, place.bytes, place.by_address, 0, 0});
    return good;
  }

  const plan::Schedule& schedule_;
  const EdgesHere* const edges_;
  const bool gather_;
  Group& group_;
  memory::Pairs& pairs_;
  SharedBlocks& shared_;
  memory::RuleFinder sent_{nullptr}, received_{nullptr};  // of a dense collective
  BlockPlace *send_ = nullptr, *recv_ = nullptr;          // among neighbours, this rank's places
};

using Came = std::vector<std::size_t>;  // [recv block]: bytes, if some blocks must be unpacked
Means<Came> means_of(Group& group) { return {group.scratch.packing, group.copying, group.scratch.came}; }

class Copies : CallBlocks {
 public:
  // `edges`: see BlocksHere. `heaps_alone`: see SharedBlocks. `most_staged`: so many bytes this rank may copy before
  // and after. All of these must outlive it.
  Copies(const Call& call, const plan::Schedule& schedule, const EdgesHere* edges, Group& group, memory::Pairs& pairs,
         const Means<Came>& means, bool heaps_alone = false, std::size_t most_staged = SIZE_MAX)
      : CallBlocks(call, group),
        means_(means),
        meeting_(pairs.meeting()),
        shared_(group, pairs, heaps_alone),
        here_(schedule, edges, gather_, group, pairs, shared_),
        send_room_(means.packing.send),
        recv_room_(means.packing.recv) {
    const std::size_t sent = bytes_to_stage(), received = bytes_to_unpack();
    const bool is_little = sent <= most_staged && received <= most_staged - sent;
    // Without room nothing is thrown: the others wait for this rank to enter.
    has_room_ = is_little && send_room_.reserve(sent) && recv_room_.reserve(received);
  }

  // False if not all blocks can be reached; then nothing has happened to what the call reads.
  bool run(int& error) {
    begin();
    while (!done()) group_.waiter.until([&] { return advance(); });
    error = error_;
    return copied_;
  }

  // The same in steps that never wait: begin(), then advance() until it is done().
  void begin() {
    meeting_.begin();
    const bool good = write_down();
    meeting_.come(good, shared_.offer());  // of what was written down
    phase_ = Phase::entering;
  }
  // True if it got further.
  bool advance() {
    const bool moved = meeting_.advance();
    if (!meeting_.met()) return moved;
    if (phase_ == Phase::entering) {
      copy_blocks();
      phase_ = Phase::finishing;
      meeting_.advance();
      if (!meeting_.met()) return true;
    }
    copied_ = meeting_.all_say_so();
    leave();
    return true;
  }
  bool done() const { return phase_ == Phase::over; }
  // When it is done: could all blocks be reached, and an MPI error code.
  bool copied() const { return copied_; }
  int error() const { return error_; }

 private:
  enum class Phase : std::uint8_t { over, entering, finishing };

  void copy_blocks() {
    shared_all_ = meeting_.all_say_so();
    memory::NodeCopy copy(means_.copying, shared_all_ ? total_ : 0);
    const bool copied = shared_all_ && copy_all(copy) && look_what_came();
    meeting_.finish(copied, copy.done());
  }
  void leave() {
    phase_ = Phase::over;
    if (copied_) {
      take_home();
    } else if (shared_all_ && overwritten_) {
      restore();
    }
  }
  bool is_shared(const Block& block) const {
    return block.info.dense && shared_.reachable(block.address, block.bytes());
  }

  std::size_t bytes_to_stage() const {
    std::size_t total = 0;
    for (int i = 0; i < here_.sends(); ++i) {
      const Block block = block_for(here_.send_block(i));
      if (overwritten_ || !is_shared(block)) total += block.bytes();
    }
    return total;
  }
  std::size_t bytes_to_unpack() const {
    std::size_t total = 0;
    for (int i = 0; i < here_.recvs(); ++i) {
      if (const Block block = recv_[here_.recv_block(i)]; !is_shared(block)) total += block.bytes();
    }
    return total;
  }

  // Writes down where this rank's blocks are. False if one of them cannot be shared.
  bool write_down() {
    if (!has_room_ || !here_.open()) return false;
    bool good = true;
    const auto put = [&](Owned which, int block, const std::byte* bytes, std::size_t size) {
      BlockPlace place;
      good = shared_.publish(place, bytes, size) && good;
      here_.put(which, block, place);
    };
    for (int i = 0; i < here_.sends(); ++i) {
      const int number = here_.send_block(i);
      const Block block = block_for(number);
      const bool is_staged = overwritten_ || !is_shared(block);
      put(Owned::send, number, is_staged ? packed(block, send_room_) : block.address, block.bytes());
    }
    for (int i = 0; i < here_.recvs(); ++i) {
      const int number = here_.recv_block(i);
      const Block block = recv_[number];
      put(Owned::recv, number, is_shared(block) ? block.address : recv_room_.take(block.bytes()), block.bytes());
      total_ += block.bytes();
      least_expected_ = std::min(least_expected_, block.bytes());
    }
    here_.close();
    return good;
  }

  // False as soon as a block cannot be attached.
  bool copy_all(memory::NodeCopy& copy) {
    const std::span<const plan::Copy> copies = here_.copies();
    return std::all_of(copies.begin(), copies.end(), [&](const plan::Copy& c) { return copy_one(c, copy); });
  }

  bool copy_one(const plan::Copy& c, memory::NodeCopy& copy) {
    BlockPlace from, to;
    if (!here_.look_up(Owned::send, c.from.owner, gather_ ? 0 : c.from.block, from)) return false;
    if (!here_.look_up(Owned::recv, c.to.owner, c.to.block, to)) return false;
    const std::size_t bytes = std::min<std::size_t>(from.bytes, to.bytes);
    if (bytes == 0) return true;
    const std::byte* source = shared_.find(c.from.owner, from, bytes);
    std::byte* destination = shared_.find(c.to.owner, to, bytes);
    if (source == nullptr || destination == nullptr) return false;
    if (source != destination) copy(destination, source, bytes);
    return true;
  }

  // What peers sent to this rank: to be read before it finishes, for then they may take their places away. False if
  // they cannot be attached. Each is looked at only if it must be unpacked, or may be too long.
  bool look_what_came() {
    means_.work.clear();
    if (recv_room_.size() == 0 && meeting_.longest_sent() <= least_expected_) return true;
    for (int i = 0; i < here_.recvs(); ++i) {
      const auto [source, sent_block] = here_.origin(i);
      BlockPlace sent;
      if (!here_.look_up(Owned::send, source, sent_block, sent)) return false;
      const std::size_t fits = fitting(sent.bytes, recv_[here_.recv_block(i)].bytes());
      if (recv_room_.size() > 0) means_.work.push_back(fits);
    }
    return true;
  }

  // What only the owner of a recv buffer can do.
  void take_home() {
    if (recv_room_.size() == 0) return;
    for (int i = 0; i < here_.recvs(); ++i) {
      const int number = here_.recv_block(i);
      const Block block = recv_[number];
      if (is_shared(block) || block.bytes() == 0) continue;
      // It is there, and may be on its way to other nodes.
      if (gather_ && call_.in_place && number == group_.me) continue;
      const std::byte* bytes = bytes_of_mine(Owned::recv, number);
      unpack_block(bytes, means_.work[static_cast<std::size_t>(i)], block);
    }
  }

  // Some blocks were received over what was to be sent, and the call is done anew: puts back what was there.
  void restore() {
    for (int i = 0; i < here_.sends(); ++i) {
      const int number = here_.send_block(i);
      const Block block = block_for(number);
      if (block.bytes() == 0 || !is_shared(block)) continue;
      const std::byte* bytes = bytes_of_mine(Owned::send, number);
      unpack_block(bytes, block.bytes(), block);
    }
  }

  const std::byte* bytes_of_mine(Owned which, int block) const {
    BlockPlace place{};
    here_.look_up(which, group_.me, block, place);  // what is its own a rank always reaches
    return SharedBlocks::mine(place);
  }

  const Means<Came> means_;
  memory::Meeting& meeting_;
  SharedBlocks shared_;
  BlocksHere here_;
  Room send_room_, recv_room_;
  Phase phase_ = Phase::over;
  bool shared_all_ = false;                            // all can share their blocks
  bool copied_ = false;                                // and all have copied theirs
  bool has_room_ = false;                              // there is memory for them, and they are not too large
  std::size_t total_ = 0, least_expected_ = SIZE_MAX;  // bytes of recv blocks
};

// A start that does not wait.
class StartedCopies {
 public:
  using Own = OwnOfCall<Came>;
  StartedCopies(const plan::Schedule& schedule, Group& group, memory::Inbox& inbox, memory::Pairs& pairs,
                bool heaps_alone, Own& own)
      : group_(group), inbox_(inbox), pairs_(pairs), own_(own) {
    copies_.emplace(own.call, schedule, nullptr, group, pairs, own.means(), heaps_alone);
  }

  void begin() { copies_->begin(); }
  bool done() const { return copies_ ? copies_->done() : instead_ == nullptr || instead_->done(); }
  bool advance() {
    if (!copies_) {
      keep(error_, instead_->advance());
      return done();
    }
    const bool moved = copies_->advance();
    if (!copies_->done()) return moved;
    error_ = copies_->error();
    if (copies_->copied()) return true;
    copies_.reset();  // gives its memory back
    instead_ = node_op(own_.call, group_, inbox_, &pairs_, own_.copying);
    keep(error_, instead_->start());
    return done();
  }
  int end() const { return error_; }

 private:
  Group& group_;
  memory::Inbox& inbox_;
  memory::Pairs& pairs_;
  Own& own_;
  std::optional<Copies> copies_;
  std::unique_ptr<Op> instead_;
  int error_ = mpi_success;
};

}  // namespace

int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging, std::size_t eager) {
  constexpr std::size_t little = std::size_t{1} << 20;
  std::optional<AwayMessages> away;
  if (!group.reach().local.empty()) away.emplace(call, schedule, group, eager);
  std::optional<Copies> copies;
  if (!reports_faults()) {  // a rank that has left cannot end what others write to its memory
    copies.emplace(call, schedule, nullptr, group, group.pairs, means_of(group), false,
                   staging == Staging::little ? little : SIZE_MAX);
  }
  if (away && away->is_beside()) away->begin();
  int error = mpi_success;
  if (!copies || !copies->run(error)) error = run_node(call, group, true);
  if (away && !away->is_beside()) away->begin();
  if (away) keep(error, away->finish([] {}));
  return error;
}

std::unique_ptr<Op> copies_op(const Call& call, const plan::Schedule& schedule, Group& group, memory::Inbox& inbox,
                              memory::Pairs& pairs, bool heaps_alone) {
  const auto make = [&schedule, &group, &inbox, &pairs, heaps_alone](auto& now, auto& own) {
    now.emplace(schedule, group, inbox, pairs, heaps_alone, own);
    return mpi_success;
  };
  return started<StartedCopies, Came>(Carrier::copies, false, call, group.copying, make);
}

EdgesHere edges_here(int me, int send_blocks, int recv_blocks, const std::vector<plan::EdgeCopy>& edges) {
  EdgesHere here{send_blocks, recv_blocks, {}, {}};
  for (const plan::EdgeCopy& edge : edges) {
    if (edge.source == me) here.sent.push_back(edge);
    if (edge.destination == me) here.received.push_back(edge);
  }
  return here;
}

bool run_neighbor_copies(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, Group& group,
                         int& error) {
  return Copies(call, schedule, &edges, group, group.pairs, means_of(group)).run(error);
}

}  // namespace quadrille::run
