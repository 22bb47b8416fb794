// A call bound to a schedule: it can be started, advanced, and started again. Dense and neighbour collectives, and
// schedules whose sizes are known or travel with the data, are bound here and nowhere else, so that datatypes, in-place
// calls, and all forms of a call are one piece of code.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mpi/byte_type.hpp"
#include "run/agreement.hpp"
#include "run/call.hpp"
#include "run/executor.hpp"

namespace quadrille::run {

// Of a neighbour collective the block in the user's arrays for each block of the schedule, -1 where this rank has none:
// a neighbour that is not there. Of an allgather only `recv` counts: it sends block 0.
struct NeighborSlots {
  std::span<const int> send, recv;
};

// Bytes of the largest block of either side. In the forms with one count that is the block, also on a rank that
// has no neighbour and only passes blocks on.
std::size_t largest_block(const Call& call, const NeighborSlots& slots);

// The sizes in bytes of the blocks of a v or w call; of an allgather, that of all. False if what is sent and what is
// received have not the same sizes, as they must where block i has one size on all ranks.
bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes);

// How an algorithm moves blocks.
struct Moving {
  // It passes blocks on, so they must be plain bytes: others are packed before and unpacked after.
  bool as_bytes = false;
  // Messages of several blocks are packed up to so many bytes. Of neighbours, whose block i has one size on all ranks,
  // larger ones go from and to where their blocks lie, as derived datatypes (the paper's zero-copy). If none is packed,
  // blocks with gaps are part of these datatypes, too.
  std::size_t pack_up_to = 0;
  // Of schedules whose sizes travel; see run/carried_blocks.hpp.
  bool monolithic = false;
  std::size_t eager = 0;
  bool operator==(const Moving&) const = default;
};

// The place of the messages of a call: `comm` is private, and no other call in flight uses `tag` on it. MPI packs on
// `quiet`.
struct Traffic {
  MpiComm comm;
  MpiComm quiet;
  int me;
  int ranks;
  int tag = tags::rounds;
  // Null, or where `comm` is of more ranks than the call: the numbers there of its ranks. No collective goes there
  // then.
  const int* numbers = nullptr;
};

// [rank] Negative: it lives on another node. Then a dense collective is to do what is between nodes: blocks of ranks of
// the own node count for an allgather alone, which may forward them, and the schedule before its first round with
// messages is not looked at. Empty: all blocks are meant.
using BetweenNodes = std::span<const int>;

// What a call consists of that is bound to a schedule, [block of the schedule].
struct RunLists {
  std::vector<Block> send, recv;
  std::vector<Place> send_places, recv_places;
};

// What a call by messages packs in and is bound with. Not shared by calls in flight together.
struct RunMemory {
  SureRoom sure;
  memory::Packing packing;  // of calls whose sizes a rank alone knows
  CarriedMemory carried;
  RunLists lists;
  void trim() { sure.trim(), packing.send.trim(), packing.recv.trim(), carried.trim(); }
};

// Gives large pieces of memory back when a blocking call is over.
struct BlockingMemory {
  explicit BlockingMemory(RunMemory& memory) : kept(memory) {}
  BlockingMemory& operator=(BlockingMemory&&) = delete;
  ~BlockingMemory() { kept.trim(); }
  RunMemory& kept;
};

// A rank that finds no memory does not leave the others alone. Where all ranks know how much is needed, they ask each
// other, and all return MPI_ERR_NO_MEM. Else a rank takes part without what it cannot keep, and returns that error
// alone, or together with the ranks whose blocks it should have forwarded.
class BoundRun {
 public:
  // Of a dense collective, or of a neighbour collective with these slots. Schedule and memory must outlive the run; the
  // arrays of the call need not.
  BoundRun(const Call& call, const plan::Schedule& schedule, const Moving& moving, const Traffic& traffic,
           RunMemory& memory, BetweenNodes part = {});
  BoundRun(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots, const Moving& moving,
           const Traffic& traffic, RunMemory& memory);
  // Of an all-to-all, with each block padded to the size of the largest of all ranks, which the first start asks for.
  // `uniform` null: the MPI's own all-to-all, if the run may `block`, else the direct schedule. If padded blocks take
  // more than 256 MiB on a side, they go unpadded by the direct schedule.
  BoundRun(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct, const Traffic& traffic,
           RunMemory& memory);
  BoundRun& operator=(BoundRun&&) = delete;

  // Both return an MPI error code; after an error the run is over. A start of a run whose sizes are known takes no
  // memory but what the MPI takes.
  int start(bool block = false);    // and goes on, as advance()
  int advance(bool block = false);  // as far as is possible without waiting, or to the end
  bool done() const { return phase_ == Phase::idle; }
  // Of what is between nodes: may it be started before what is done inside a node?
  bool is_beside() const { return first_round_ < schedule_->rounds.size() && schedule_->rounds[first_round_].beside; }

 private:
  enum class Phase { idle, asking_for_largest, asking_for_room, moving };
  void use_device(const Call& call);
  void bind();
  bool find_places(const std::vector<Block>& blocks, bool as_bytes, std::vector<Place>& places);
  void bind_neighbor_scratch();
  // Take memory. False if there is none.
  bool take_room();
  bool take_sure_room();
  bool take_monolithic_room();
  std::size_t monolithic_bytes() const;
  bool take_own_room(memory::Pool& pool, const std::vector<Block>& blocks, std::vector<Place>& places);
  bool must_ask() const { return sized_ && !all_have_room_ && !memory_.sure.is_enough(wanted_); }
  void ask(Phase question, std::uint64_t mine);
  bool is_asking() const { return phase_ == Phase::asking_for_largest || phase_ == Phase::asking_for_room; }
  int answered();
  int largest_known();
  int pad_to(std::size_t bytes);
  int begin_moving();
  void take_part_without_room();
  int exchange_by_mpi();
  int finish();

  const plan::Schedule* schedule_;
  Moving moving_;
  const Traffic traffic_;
  const std::size_t first_round_ = 0;
  RunMemory& memory_;
  ByteTypes byte_types_;
  std::vector<Block>& send_ = memory_.lists.send;
  std::vector<Block>& recv_ = memory_.lists.recv;
  std::vector<Place>& send_places_ = memory_.lists.send_places;
  std::vector<Place>& recv_places_ = memory_.lists.recv_places;
  std::vector<Place> scratch_places_;
  bool pack_send_ = false, pack_recv_ = false;
  bool sized_ = false;             // all ranks know the sizes of all blocks
  const bool keeps_gaps_ = false;  // blocks that move as bytes may have gaps
  bool uniform_scratch_ = true;
  bool whole_in_place_ = false;  // blocks are received over those that are sent
  const bool by_mpi_ = false;
  bool lacks_padding_ = false;  // blocks are to be padded to a size that is not known yet
  const plan::Schedule* const unpadded_ = nullptr;
  std::size_t padded_ = 0;  // bytes of a packed block; 0: as many as it has
  std::size_t wanted_ = 0;  // of a sized call: bytes that no room of any rank exceeds
  bool has_room_ = true, all_have_room_ = false;
  Binding binding_;
  MpiTransport transport_{traffic_.comm, traffic_.me, traffic_.tag, traffic_.numbers};
  std::optional<Execution> run_;
  Agreement agreement_{transport_, traffic_.me, traffic_.ranks};
  Phase phase_ = Phase::idle;
};

}  // namespace quadrille::run
