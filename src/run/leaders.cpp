// Runs a call in turns (memory/leaders.hpp). In each turn a piece of every block moves: into the area, to another node,
// and out of the area. All ranks know how many bytes a piece has, so all take as many turns.
//
// Blocks of plain bytes are copied to and from where they lie, also in place: a turn reads its piece of all blocks
// before it writes any. Blocks with gaps are packed straight into the area and out of it if they move in one turn; else
// they are packed before, and unpacked after all turns.
//
// Before that all ranks ask each other whether all have memory for it, and if not, all return an error.
#include "run/leaders.hpp"

#include <algorithm>

#include "memory/copy_kernels.hpp"
#include "plan/chunks.hpp"

namespace quadrille::run {

static_assert(memory::Leaders::usual_parts == plan::leaders_part_bytes, "what the cost model knows of it");

// ---- Any kind ----

LeadersWork::LeadersWork(const plan::LeadersPlan& plan, MpiComm comm)
    : messages(comm, plan.me), beside(comm, plan.me, tags::beside_leaders) {
  messages.pack_up_to(packed_up_to);
  std::size_t slots = 2;  // of an agreement
  if (plan.leads >= 0) {
    const bool uneven = plan.kind == plan::LeadersKind::uneven;
    sent.resize(plan.streams.size() * (uneven ? 1 + plan.members.size() : 1));
    received.resize(plan.streams.size());
    exchange.emplace(plan.exchange, binding, messages);
    slots = std::max(slots, exchange->reserve());
  }
  messages.reserve(slots);
  if (plan.gathers()) offsets.resize(plan.places() + 1);
  if (plan.kind == plan::LeadersKind::uneven) beside.reserve(2 * static_cast<std::size_t>(plan.ranks));
}

void LeadersWork::use_tags(int rounds, int others) {
  messages.use_tag(rounds);
  beside.use_tag(others);
}

LeadersCall::~LeadersCall() {
  if (done()) return;
  work_.messages.end_messages();
  work_.beside.end_messages();
}

void LeadersCall::begin_exchange(bool failed) {
  leaders_error_ = mpi_success;
  next_ = 0;
  step_ = plan_.leads >= 0 ? Step::gathering : Step::waiting;
  area_.pack(failed);
  phase_ = Phase::exchanging;
}

bool LeadersCall::advance_exchange() {
  if (step_ == Step::gathering) {
    if (!area_.all_have_packed()) return false;
    bind();
    work_.exchange->begin();
    step_ = Step::sending;
  }
  if (step_ == Step::sending && !send()) return false;
  while (next_ < plan_.leaders && area_.has_brought(next_)) keep(leaders_error_, area_.error_of(next_++));
  return next_ == plan_.leaders;
}

bool LeadersCall::send() {
  int error = work_.exchange->advance(false);
  if (!work_.exchange->done()) return false;
  if (area_.some_failed()) keep(error, mpi().err_no_mem);
  area_.bring(plan_.leads, error);
  step_ = Step::waiting;
  return true;
}

bool LeadersCall::sleep(unsigned microseconds) {
  if (phase_ != Phase::exchanging || messages_ != 0 || step_ != Step::waiting || next_ == plan_.leaders) return false;
  area_.sleep_for(next_, microseconds);
  return true;
}

std::size_t LeadersCall::part_of(std::size_t place) const {
  std::size_t part = 0;
  while (part + 1 < plan::leaders_parts && place >= plan_.parts[part + 1]) ++part;
  return part;
}

memory::Leaders::Parts parts_for(const plan::LeadersPlan& plan, std::size_t largest) {
  const std::size_t piece = std::min({largest, plan.piece, most_a_place(plan, memory::Leaders::usual_parts)});
  memory::Leaders::Parts parts{};
  for (std::size_t part = 0; part < plan::leaders_parts; ++part) {
    parts[part] = sys::round_up(plan.most_places[part] * piece, sys::cache_line);
  }
  return parts;
}

// ---- Blocks of sizes that all ranks know ----

namespace {

// Blocks whose sizes all ranks know. Those that are larger than a place of the area go in several turns, piece by
// piece.
class EvenLeaders final : public LeadersCall {
 public:
  EvenLeaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work, Group& group,
              memory::Packing& packing)
      : LeadersCall(call, plan, area, work, group, packing), uniform_(recv_.equal()), recv_room_(packing.recv) {
    for (int r = 0; r < (uniform_ ? 1 : plan.ranks); ++r) largest_ = std::max(largest_, recv_.bytes_of(r));
    cut_.piece = std::max<std::size_t>(1, std::min({largest_, plan.piece, most_a_place(plan, area.parts())}));
    turns_ = cut_.rounds(largest_);
    packs_whole_ = turns_ > 1 && !send_.all_dense();
    unpacks_whole_ = turns_ > 1 && !recv_.all_dense();
    take_room();
  }

  int start() override {
    error_ = mpi_success;
    turn_ = 0;
    if (turns_ == 0) return error_;
    if (has_no_room_) take_room();  // of the start before
    pack_whole();
    if (turns_ > 1 && plan_.nodes > 1 && !all_have_room_) {
      // Ranks of other nodes would not know that a block is missing. So before large blocks all ranks ask each other.
      agreement_.begin(has_no_room_ ? 1 : 0);
      phase_ = Phase::agreeing;
    } else {
      begin_turn();
    }
    return advance();
  }

  int advance() override {
    while (phase_ != Phase::idle) {
      if (phase_ == Phase::agreeing) {
        if (!answered()) return mpi_success;
        if (!all_have_room_) return keep(error_, mpi().err_no_mem), end_call();
      } else {
        const bool all_came = advance_exchange();
        // While leaders wait for messages, what stays in the node is read.
        if (!own_is_read_ && (all_came || area_.all_have_packed())) {
          unpack_pieces(Of::own_node);
          own_is_read_ = true;
        }
        if (!all_came) return mpi_success;
        keep(error_, leaders_error_);
        unpack_pieces(Of::others);
        if (++turn_ == turns_) {
          unpack_whole();
          return end_call();
        }
      }
      begin_turn();
    }
    return error_;
  }

 private:
  enum class Of : std::uint8_t { own_node, others };

  void begin_turn() {
    area_.begin();
    find_places();
    pack_pieces();
    begin_exchange(has_no_room_);
    own_is_read_ = false;
  }

  int end_call() {
    phase_ = Phase::idle;
    return error_;
  }

  // The bytes of a block's piece in this turn, of `bytes` in all.
  std::size_t in_turn(std::size_t bytes) const { return cut_.bytes(turn_, bytes); }

  // The bytes of the places [first, end).
  std::size_t between(std::size_t first, std::size_t end) const {
    return uniform_ ? (end - first) * in_turn(largest_) : work_.offsets[end] - work_.offsets[first];
  }

  std::byte* at(std::size_t place) const {
    const std::size_t part = part_of(place);
    return area_.part(part) + between(plan_.parts[part], place);
  }

  // An own place, of the set of this turn.
  std::size_t of_set(std::size_t place) const {
    return place < plan_.own_places() && area_.set() == 1 ? place + plan_.own_places() : place;
  }

  // Where all places begin, if not all blocks have one size.
  void find_places() {
    if (uniform_) return;
    for (std::size_t place = 0; place < plan_.places(); ++place) {
      work_.offsets[place + 1] = work_.offsets[place] + in_turn(recv_.bytes_of(plan_.source_of[place]));
    }
  }

  // ---- The rank's own ----

  void pack_pieces() {
    if (gather_) return pack_piece(group_.me);
    for (const int r : plan_.packs) pack_piece(r);
  }

  void pack_piece(int to) {
    const Block block = block_for(to);
    std::byte* place = at(of_set(plan_.send_at[static_cast<std::size_t>(to)]));
    const std::size_t full = uniform_ ? largest_ : recv_.bytes_of(group_.me), room = in_turn(full);
    const std::size_t bytes = std::min(room, in_turn(block.bytes()));
    // The receivers gave no more room than that: a mistake that the MPI reports as well.
    if (turn_ == 0) keep(error_, error_if_long(block.bytes(), full, call_.collective));
    if (bytes == 0) return;
    if (packs_whole_) {
      if (has_no_room_) return;
      const std::size_t block_at = static_cast<std::size_t>(gather_ ? 0 : to) * largest_;
      memory::copy_bytes(place, whole_send_ + block_at + cut_.begin(turn_), bytes);
    } else if (block.info.dense) {
      memory::copy_bytes(place, block.address + cut_.begin(turn_), bytes);
    } else {
      pack_block(first_part(block, room), place);
    }
  }

  void unpack_pieces(Of whose) {
    for (const plan::LeadersRun& run : plan_.received) {
      if ((run.at < plan_.own_places()) != (whose == Of::own_node) || unpacks_run(run)) continue;
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
      if (has_no_room_) return;
      memory::copy_bytes(whole_recv_ + static_cast<std::size_t>(from) * largest_ + cut_.begin(turn_), place, bytes);
    } else if (block.info.dense) {
      // In place of an allgather the own block is there already.
      memory::copy_bytes(block.address + cut_.begin(turn_), place, bytes);
    } else {
      unpack_block(place, bytes, block);
    }
  }

  // ---- Blocks with gaps in several turns ----

  void take_room() {
    const std::size_t sent = packs_whole_ ? static_cast<std::size_t>(gather_ ? 1 : plan_.ranks) * largest_ : 0;
    const std::size_t received = unpacks_whole_ ? static_cast<std::size_t>(plan_.ranks) * largest_ : 0;
    has_no_room_ = !send_room_.reserve(sent) || !recv_room_.reserve(received);
    if (has_no_room_) return;
    if (packs_whole_) whole_send_ = send_room_.take(sent);
    if (unpacks_whole_) whole_recv_ = recv_room_.take(received);
  }

  bool answered() {
    const int error = agreement_.advance(false);
    keep(error_, error);
    if (error == mpi_success && !agreement_.done()) return false;
    all_have_room_ = agreement_.largest() == 0;
    return true;
  }

  void pack_whole() {
    if (has_no_room_) keep(error_, mpi().err_no_mem);
    if (!packs_whole_ || has_no_room_) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(gather_ ? 1 : plan_.ranks); ++i) {
      pack_block(first_part(block_for(static_cast<int>(i)), largest_), whole_send_ + i * largest_);
    }
  }

  void unpack_whole() {
    if (!unpacks_whole_ || has_no_room_) return;
    for (int r = 0; r < plan_.ranks; ++r) {
      const Block block = recv_[r];
      unpack_block(whole_recv_ + static_cast<std::size_t>(r) * largest_, block.bytes(), block);
    }
  }

  // ---- A leader's ----

  Place place(std::size_t first, std::size_t count) const {
    return plain_place(at(first), between(first, first + count));
  }

  void bind() override {
    for (std::size_t s = 0; s < plan_.streams.size(); ++s) {
      const plan::LeadersStream& stream = plan_.streams[s];
      work_.sent[s] = place(of_set(stream.send_at), stream.send_count);
      work_.received[s] = place(of_set(stream.recv_at), stream.recv_count);
      if (gather_ && stream.peer == group_.me) work_.own = work_.sent[s];
    }
    work_.binding.send = gather_ ? std::span<const Place>(&work_.own, 1) : std::span<const Place>(work_.sent);
    work_.binding.recv = work_.received;
    if (plan_.slot == 0) return;
    work_.binding.scratch = at(plan_.scratch_at);
    work_.binding.block_bytes = plan_.slot * in_turn(largest_);
  }

  const bool uniform_;
  Room recv_room_;
  std::size_t largest_ = 0, turns_ = 0;
  plan::ChunkRounds cut_;
  // Blocks with gaps that move in several turns are packed before, and unpacked after all turns.
  bool packs_whole_ = false, unpacks_whole_ = false, has_no_room_ = false, all_have_room_ = false;
  std::byte* whole_send_ = nullptr;
  std::byte* whole_recv_ = nullptr;
  Agreement agreement_{work_.messages, group_.me, plan_.ranks};
  bool own_is_read_ = false;  // in this turn, what stays in the node
};

// ---- All forms ----

std::unique_ptr<LeadersCall> call_of(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area,
                                     LeadersWork& work, Group& group, memory::Packing& packing) {
  if (plan.kind == plan::LeadersKind::uneven) return uneven_leaders(call, plan, area, work, group, packing);
  return std::make_unique<EvenLeaders>(call, plan, area, work, group, packing);
}

}  // namespace

LeadersRequest::LeadersRequest(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area,
                               LeadersWork& work, int tag, int beside, Group& group)
    : call_(call), work_(work), tag_(tag), beside_(beside), run_(call_of(call_, plan, area, work, group, packing_)) {}

int run_leaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work,
                Group& group) {
  const std::unique_ptr<LeadersCall> made = call_of(call, plan, area, work, group, group.scratch.packing);
  LeadersCall& run = *made;
  int error = run.start();
  // Before it gives its processor away for something else than before, it looks a few times: a leader that has just
  // begun to send would let its messages wait.
  const unsigned most = group.waiter.longest_sleep_us;
  while (!run.done()) {
    const std::size_t stage = run.stage();
    const auto goes_on = [&] {
      keep(error, run.advance());
      return run.done() || run.stage() != stage;
    };
    group.waiter.until(goes_on, [&] { return most > 0 && run.sleep(most); });
  }
  return error;
}

}  // namespace quadrille::run
