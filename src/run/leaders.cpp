// Runs a call in turns (memory/leaders.hpp). In each turn a piece of every block moves: into the area, to another node,
// and out of the area. All ranks know how many bytes a piece has, so all take as many turns.
//
// Blocks of plain bytes are copied to and from where they lie, also in place: a turn reads its piece of all blocks before
// it writes any. Blocks with gaps are packed straight into the area and out of it if they move in one turn; else they
// are packed before, and unpacked after all turns.
//
// Before that all ranks ask each other whether all have memory for it, and if not, all return an error.
#include "run/leaders.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "memory/copy.hpp"
#include "run/agreement.hpp"
#include "run/blocks.hpp"
#include "run/executor.hpp"
#include "run/mpi_transport.hpp"
#include "run/room.hpp"

namespace quadrille::run {
namespace {

class LeadersCall {
 public:
  LeadersCall(const Call& call, const plan::LeadersPlan& plan, Group& group)
      : call_(call),
        plan_(plan),
        group_(group),
        area_(group.leaders),
        gathers_(plan.gathers()),
        send_(call.in_place ? call.recv : call.send),
        recv_(call.recv),
        uniform_(recv_.equal()),
        send_room_(group.scratch.packed_send),
        recv_room_(group.scratch.packed_recv) {
    for (int r = 0; r < (uniform_ ? 1 : plan.ranks); ++r) largest_ = std::max(largest_, recv_.bytes_of(r));
    piece_ = std::max<std::size_t>(1, std::min({largest_, plan.piece, most_a_place(plan)}));
    turns_ = (largest_ + piece_ - 1) / piece_;
    if (turns_ > 1 && !(send_is_dense() && recv_.all_dense())) pack_whole();
  }

  int run() {
    if (turns_ > 1 && plan_.nodes > 1 && !all_have_room()) return MPI_ERR_NO_MEM;
    if (plan_.leads >= 0) make_exchange();
    for (turn_ = 0; turn_ < turns_; ++turn_) {
      area_.begin();
      find_places();
      pack_pieces();
      area_.pack(has_no_room_);
      if (plan_.leads >= 0) lead();
      for (int leader = 0; leader < plan_.leaders; ++leader) {
        group_.waiter.until([&] { return area_.has_brought(leader); });
        keep(error_, area_.error_of(leader));
      }
      unpack_pieces();
    }
    if (unpacks_whole_) unpack_whole();
    return error_;
  }

 private:
  bool send_is_dense() const { return call_.in_place ? recv_.all_dense() : send_.all_dense(); }
  Block block_for(int to) const {
    if (!gathers_) return send_[to];
    return call_.in_place ? recv_[group_.me] : send_[0];
  }
  // The bytes of a block's piece in this turn, of `bytes` in all.
  std::size_t in_turn(std::size_t bytes) const {
    const std::size_t before = turn_ * piece_;
    return bytes <= before ? 0 : std::min(piece_, bytes - before);
  }
  // The bytes of the places [first, end).
  std::size_t between(std::size_t first, std::size_t end) const {
    return uniform_ ? (end - first) * in_turn(largest_) : offsets_[end] - offsets_[first];
  }
  std::byte* at(std::size_t place) const {
    std::size_t part = 0;
    while (part + 1 < plan::leaders_parts && place >= plan_.parts[part + 1]) ++part;
    return area_.part(part) + between(plan_.parts[part], place);
  }
  // An own place, of the set of this turn.
  std::size_t of_set(std::size_t place) const {
    return place < plan_.own_places() && area_.set() == 1 ? place + plan_.own_places() : place;
  }

  // Where all places begin, if not all blocks have one size.
  void find_places() {
    if (uniform_) return;
    offsets_.resize(plan_.places() + 1);
    for (std::size_t place = 0; place < plan_.places(); ++place) {
      offsets_[place + 1] = offsets_[place] + in_turn(recv_.bytes_of(plan_.source_of[place]));
    }
  }

  // ---- The rank's own ----

  void pack_pieces() {
    if (gathers_) return pack_piece(group_.me);
    for (int r = 0; r < plan_.ranks; ++r) pack_piece(r);
  }

  void pack_piece(int to) {
    const Block block = block_for(to);
    std::byte* place = at(of_set(plan_.send_at[static_cast<std::size_t>(to)]));
    const std::size_t full = uniform_ ? largest_ : recv_.bytes_of(group_.me), room = in_turn(full);
    const std::size_t bytes = std::min(room, in_turn(block.bytes()));
    // The receivers gave no more room than that: a mistake that the MPI reports as well.
    if (turn_ == 0) keep(error_, error_if_long(block.bytes(), full, call_.collective));
    if (bytes == 0) return;
    if (whole_send_ != nullptr) {
      memory::copy_bytes(place, whole_send_ + static_cast<std::size_t>(gathers_ ? 0 : to) * largest_ + turn_ * piece_, bytes);
    } else if (block.info.dense) {
      memory::copy_bytes(place, block.address + turn_ * piece_, bytes);
    } else if (!has_no_room_) {
      const Block part = first_part(block, room);
      keep(error_, pack(part.address, part.count, part.type, part.info, place, group_.messages().quiet));
    }
  }

  void unpack_pieces() {
    for (const plan::LeadersRun& run : plan_.received) {
      if (unpacks_run(run)) continue;
      for (int i = 0; i < run.count; ++i) {
        unpack_piece(run.first + i, at(of_set(run.at + static_cast<std::size_t>(i))));
      }
    }
  }

  // Blocks that lie one behind the other on both sides are copied together.
  bool unpacks_run(const plan::LeadersRun& run) {
    if (turns_ > 1 || !recv_.equal() || !recv_.all_dense()) return false;
    const Block first = recv_[run.first];
    if (run.count > 1 && recv_[run.first + 1].address != first.address + largest_) return false;
    memory::copy_bytes(first.address, at(of_set(run.at)), largest_ * static_cast<std::size_t>(run.count));
    return true;
  }

  void unpack_piece(int from, const std::byte* place) {
    const Block block = recv_[from];
    const std::size_t bytes = in_turn(block.bytes());
    if (bytes == 0) return;
    if (unpacks_whole_) {
      memory::copy_bytes(whole_recv_ + static_cast<std::size_t>(from) * largest_ + turn_ * piece_, place, bytes);
    } else if (block.info.dense) {
      // In place of an allgather the own block is there already.
      memory::copy_bytes(block.address + turn_ * piece_, place, bytes);
    } else if (!has_no_room_) {
      keep(error_, unpack_block(place, bytes, block, group_.messages().quiet));
    }
  }

  // ---- Blocks with gaps in several turns ----

  // Ranks of other nodes would not know that a block is missing. So before large blocks all ranks ask each other.
  bool all_have_room() {
    MpiTransport transport(group_.messages().comm, group_.me);
    Agreement agreement(transport, group_.me, plan_.ranks);
    agreement.begin(has_no_room_ ? 1 : 0);
    int error = MPI_SUCCESS;
    group_.waiter.until([&] {
      error = agreement.advance(false);
      return error != MPI_SUCCESS || agreement.done();
    });
    keep(error_, error);
    return agreement.largest() == 0;
  }

  void pack_whole() {
    const auto sends = static_cast<std::size_t>(gathers_ ? 1 : plan_.ranks);
    const bool packs = !send_is_dense();
    unpacks_whole_ = !recv_.all_dense();
    if ((packs && !send_room_.reserve(sends * largest_)) ||
        (unpacks_whole_ && !recv_room_.reserve(static_cast<std::size_t>(plan_.ranks) * largest_))) {
      unpacks_whole_ = false;
      has_no_room_ = true;
      error_ = MPI_ERR_NO_MEM;
      return;
    }
    if (unpacks_whole_) whole_recv_ = recv_room_.take(static_cast<std::size_t>(plan_.ranks) * largest_);
    if (!packs) return;
    whole_send_ = send_room_.take(sends * largest_);
    for (std::size_t i = 0; i < sends; ++i) {
      const Block block = first_part(block_for(static_cast<int>(i)), largest_);
      keep(error_, pack(block.address, block.count, block.type, block.info, whole_send_ + i * largest_,
                        group_.messages().quiet));
    }
  }

  void unpack_whole() {
    for (int r = 0; r < plan_.ranks; ++r) {
      const Block block = recv_[r];
      keep(error_, unpack_block(whole_recv_ + static_cast<std::size_t>(r) * largest_, block.bytes(), block,
                                group_.messages().quiet));
    }
  }

  // ---- A leader's ----

  void make_exchange() {
    transport_.emplace(group_.messages().comm, group_.me);
    transport_->pack_up_to(packed_up_to);
    execution_.emplace(plan_.exchange, binding_, *transport_);
    sent_.resize(plan_.streams.size());
    received_.resize(plan_.streams.size());
  }

  Place place(std::size_t first, std::size_t count) const {
    const std::size_t bytes = between(first, first + count);
    return {at(first), bytes, bytes, 0, true};
  }

  void bind() {
    for (std::size_t s = 0; s < plan_.streams.size(); ++s) {
      const plan::LeadersStream& stream = plan_.streams[s];
      sent_[s] = place(of_set(stream.send_at), stream.send_count);
      received_[s] = place(of_set(stream.recv_at), stream.recv_count);
      if (gathers_ && stream.peer == group_.me) own_ = sent_[s];
    }
    binding_.send = gathers_ ? std::span<const Place>(&own_, 1) : std::span<const Place>(sent_);
    binding_.recv = received_;
    if (plan_.slot == 0) return;
    binding_.scratch = at(plan_.scratch_at);
    binding_.block_bytes = plan_.slot * in_turn(largest_);
  }

  void lead() {
    group_.waiter.until([&] { return area_.all_have_packed(); });
    bind();
    execution_->begin();
    int error = MPI_SUCCESS;
    group_.waiter.until([&] {
      error = execution_->advance(false);
      return error != MPI_SUCCESS || execution_->done();
    });
    if (area_.some_failed()) keep(error, MPI_ERR_NO_MEM);
    area_.bring(plan_.leads, error);
  }

  const Call& call_;
  const plan::LeadersPlan& plan_;
  Group& group_;
  memory::Leaders& area_;
  const bool gathers_;
  const Blocks send_, recv_;
  const bool uniform_;
  Room send_room_, recv_room_;
  std::size_t largest_ = 0, piece_ = 1, turns_ = 0, turn_ = 0;
  std::vector<std::size_t> offsets_;  // [place], and the end
  bool unpacks_whole_ = false, has_no_room_ = false;
  std::byte* whole_send_ = nullptr;
  std::byte* whole_recv_ = nullptr;
  std::optional<MpiTransport> transport_;
  Binding binding_;
  std::optional<Execution> execution_;
  std::vector<Place> sent_, received_;  // [stream]
  Place own_;
  int error_ = MPI_SUCCESS;
};

}  // namespace

std::size_t most_a_place(const plan::LeadersPlan& plan) {
  std::size_t most = SIZE_MAX;
  for (std::size_t part = 0; part < plan::leaders_parts; ++part) {
    if (plan.most_places[part] == 0) continue;
    most = std::min(most, memory::Leaders::part_bytes_a_rank[part] / plan.most_places[part]);
  }
  return most;
}

int run_leaders(const Call& call, const plan::LeadersPlan& plan, Group& group) {
  if (plan.kind == plan::LeadersKind::uneven) return run_uneven_leaders(call, plan, group);
  return LeadersCall(call, plan, group).run();
}

}  // namespace quadrille::run
