#include "run/away.hpp"

#include <algorithm>

namespace quadrille::run {
namespace {

std::size_t round_of_messages(const plan::Schedule& schedule) {
  const auto found = std::find_if(schedule.rounds.begin(), schedule.rounds.end(), [](const plan::Round& round) {
    return round.sends.count + round.receives.count > 0;
  });
  return static_cast<std::size_t>(found - schedule.rounds.begin());
}

// Of a blocking call. What is inside the node packs elsewhere meanwhile.
RunMemory memory_of(Group& group) { return {group.scratch.sure, group.scratch.away, group.scratch.carried}; }

}  // namespace

AwayMessages::AwayMessages(const Call& call, const plan::Schedule& schedule, Group& group, std::size_t eager)
    : CallBlocks(call, group),
      unpacks_(overwritten_ && !recv_.all_dense()),
      send_room_(group.scratch.away.send),
      recv_room_(group.scratch.away.recv),
      send_places_(group.scratch.away_send_places),
      recv_places_(group.scratch.away_recv_places),
      transport_(group.messages().comm, group.me),
      run_(schedule, binding_, transport_),
      round_(round_of_messages(schedule)),
      beside_(round_ < schedule.rounds.size() && schedule.rounds[round_].beside) {
  if (schedule.scratch_blocks > 0) {
    passed_on_.emplace(call, schedule, Moving{.as_bytes = true, .eager = eager},
                       Traffic{group.messages().comm, group.messages().quiet, group.me, group.ranks}, memory_of(group),
                       BetweenNodes{group.reach().local, round_});
  } else {
    bind();
    has_room_ = take_room();
  }
  if (!has_room_) error_ = mpi().err_no_mem;
  run_.begin(schedule.rounds.size());
}

// No message may be in flight to memory that the caller frees.
AwayMessages::~AwayMessages() {
  advance(true);
  if (!passed_on_) return;
  passed_on_.reset();
  memory_of(group_).trim();
}

void AwayMessages::begin() {
  if (passed_on_) return keep(error_, passed_on_->start(false));
  transport_.drop_received(!has_room_);
  run_.begin(round_);
  keep(error_, run_.advance(false));
}

// All blocks where they lie.
void AwayMessages::bind() {
  const auto ranks = static_cast<std::size_t>(group_.ranks);
  send_places_.assign(gather_ ? 1 : ranks, {});
  recv_places_.assign(ranks, {});
  if (gather_) send_places_[0] = typed_place(block_for(0));
  for (int rank = 0; rank < group_.ranks; ++rank) {
    if (!gather_ && group_.local_of(rank) >= 0) continue;
    if (!gather_) send_places_[static_cast<std::size_t>(rank)] = typed_place(send_[rank]);
    recv_places_[static_cast<std::size_t>(rank)] = typed_place(recv_[rank]);
  }
  binding_.send = send_places_;
  binding_.recv = recv_places_;
}

// Of blocks in place, which are as long on both sides: copies of what is sent, and room to receive what has gaps.
bool AwayMessages::take_room() {
  if (!overwritten_) return true;
  std::size_t total = 0;
  for (const Place& place : send_places_) total += place.bytes;
  if (!send_room_.reserve(total) || !recv_room_.reserve(unpacks_ ? total : 0)) return false;
  for (int rank = 0; rank < group_.ranks; ++rank) {
    Place& sent = send_places_[static_cast<std::size_t>(rank)];
    Place& received = recv_places_[static_cast<std::size_t>(rank)];
    if (sent.bytes == 0) continue;
    const Block block = send_[rank];
    sent = plain_place(packed(block, send_room_), block.bytes());
    if (!block.info.dense) received = plain_place(recv_room_.take(block.bytes()), block.bytes());
  }
  return true;
}

void AwayMessages::unpack() {
  if (passed_on_ || !unpacks_ || !has_room_) return;
  for (int rank = 0; rank < group_.ranks; ++rank) {
    const Place& received = recv_places_[static_cast<std::size_t>(rank)];
    if (received.bytes == 0) continue;
    if (const Block block = recv_[rank]; !block.info.dense) {
      keep(error_, unpack_block(received.address, block.bytes(), block, group_.messages().quiet));
    }
  }
}

}  // namespace quadrille::run
