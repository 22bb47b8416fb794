#include "run/device_pipeline.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "run/device_copies.hpp"

namespace quadrille::run {

using memory::Owned;

// ---- Seats ----

// What all seats that a rank has in a call share.
struct SeatMeans {
  PipelineRoom& room;
  memory::ChunkRings& rings;
  LaneCopies& copies;
  std::size_t chunk, depth;
  int ranks;
  bool gathers;
};

// Where the seat's rank has its blocks, which are listed as distances from this in ChunkRings::blocks().
struct SeatMemory {
  std::uintptr_t send = 0, recv = 0;
  bool sends_from_device = false, receives_on_device = false;
};

// One rank's part in the exchange: what goes from its send blocks into its ring, and what of the other ranks' rings is
// for it. Another rank, on the same device, may have the seat in its place.
class PipelineSeat {
 public:
  static constexpr std::size_t takes = 16;  // at most so many pieces are on their way in: a stream is kept busy by two
  // Marks that seats need in the two lanes.
  static std::size_t marks_out(std::size_t seats, std::size_t depth) { return seats * depth; }
  static std::size_t marks_in(std::size_t seats) { return seats * takes; }

  // `number`: of the seat, among those of who has it. `exchange` knows what is sent and received; all must outlive it.
  PipelineSeat(const SeatMeans& means, int rank, std::size_t number, plan::ChunkExchange& exchange,
               const SeatMemory& memory)
      : means_(means), rank_(rank), number_(number), exchange_(exchange), memory_(memory) {}

  // The block that the rank sends to itself, beside the others.
  void copy_own() {
    const int to = means_.gathers ? 0 : rank_;
    const std::size_t bytes = std::min(bytes_of(Owned::send, to), bytes_of(Owned::recv, rank_));
    std::byte* const there = recv_at(rank_);
    const std::byte* const here = send_at(rank_);
    if (bytes == 0 || here == there) return;
    if (!memory_.sends_from_device && !memory_.receives_on_device) {
      std::memmove(there, here, bytes);
      return;
    }
    means_.copies.copy(memory_.receives_on_device ? means_.room.in : means_.room.out, there, here, bytes);
  }

  // True if it got further.
  bool move() {
    bool moved = false;
    while (publish_one()) moved = true;
    while (release_one()) moved = true;
    while (put_one()) moved = true;
    while (take_some()) moved = true;
    bool all = exchange_.has_published_all() && takings_ == 0;
    for (int from = 0; from < means_.ranks && all; ++from) all = from == rank_ || exchange_.has_all_of(from);
    moved = moved || all != is_over_;
    is_over_ = all;
    return moved;
  }
  // Is all of it where it belongs, as far as the marks tell?
  bool is_over() const { return is_over_; }

 private:
  // Pieces that are on their way out of a ring, and what is taken when they are done.
  struct Taking {
    int from = 0;
    std::uint64_t next = 0;
    std::uint64_t mark = 0;
  };

  std::byte* send_at(int to) const { return at(memory_.send, memory::Owned::send, means_.gathers ? 0 : to); }
  std::byte* recv_at(int from) const { return at(memory_.recv, memory::Owned::recv, from); }
  std::byte* at(std::uintptr_t base, memory::Owned side, int block) const {
    return reinterpret_cast<std::byte*>(base + means_.rings.blocks(side, rank_)[block].at);
  }
  std::uint64_t bytes_of(memory::Owned side, int block) const { return means_.rings.blocks(side, rank_)[block].bytes; }
  std::byte* place_of(int rank, std::uint64_t number) const {
    return means_.rings.ring(rank) + number % means_.depth * means_.chunk;
  }
  std::uint64_t mark_of(std::uint64_t chunk) const { return number_ * means_.depth + chunk % means_.depth; }

  // ---- Into its ring ----

  bool put_one() {
    if (exchange_.has_put_all()) return false;
    const auto taken = [&](int by) { return means_.rings.taken(by, rank_).load(std::memory_order_acquire); };
    const std::uint64_t number = exchange_.next_put();
    if (number - exchange_.next_published() >= means_.depth || !exchange_.may_put(taken)) return false;
    list_chunk(number);
    means_.copies.submit(means_.room.batch, means_.room.out, mark_of(number));
    exchange_.put();
    return true;
  }

  // What lies side by side in the buffer, too, is one copy: so small blocks are few. The processor copies what is on
  // the host.
  void list_chunk(std::uint64_t chunk) {
    std::byte* const place = place_of(rank_, chunk);
    means_.room.batch.clear();
    exchange_.for_each_part(chunk, [&](int to, const plan::ChunkPiece& piece) {
      const std::byte* const from = send_at(to) + piece.in_block;
      if (memory_.sends_from_device) {
        means_.room.batch.add_behind(number(place + piece.in_chunk), number(from), piece.bytes);
      } else {
        std::memcpy(place + piece.in_chunk, from, piece.bytes);
      }
    });
  }

  bool publish_one() {
    const std::uint64_t number = exchange_.next_published();
    if (number == exchange_.next_put()) return false;
    if (!means_.copies.is_done(means_.room.out, mark_of(number))) return false;
    exchange_.publish();
    means_.rings.published(rank_).store(exchange_.next_published(), std::memory_order_release);
    return true;
  }

  // ---- From those of the others ----

  // Small pieces that are there go together. What is taken together is given back together, so large ones do not.
  bool take_some() {
    if (takings_ == takes) return false;
    const std::uint64_t enough = means_.chunk / 4;
    const std::size_t before = takings_;
    std::uint64_t bytes = 0;
    means_.room.batch.clear();
    for (int round = 0; round < means_.ranks; ++round) {
      const int from = plan::partner_in_round(rank_, round, means_.ranks);
      if (from == rank_ || exchange_.has_all_of(from)) continue;
      const std::uint64_t published = means_.rings.published(from).load(std::memory_order_acquire);
      while (takings_ < takes && bytes < enough && exchange_.may_take(from, published)) bytes += take_piece(from);
    }
    if (takings_ == before) return false;
    const std::uint64_t mark = number_ * takes + marks_++ % takes;
    means_.copies.submit(means_.room.batch, means_.room.in, mark);
    for (std::size_t i = before; i < takings_; ++i) taking_[(first_taking_ + i) % takes].mark = mark;
    return true;
  }

  std::uint64_t take_piece(int from) {
    const plan::ChunkPiece piece = exchange_.next_piece(from);
    const std::uint64_t block = bytes_of(Owned::recv, from);
    const std::uint64_t fits = std::min(piece.bytes, block - std::min(piece.in_block, block));
    const std::byte* const place = place_of(from, exchange_.next_take(from)) + piece.in_chunk;
    std::byte* const to = recv_at(from) + piece.in_block;
    if (fits > 0 && !memory_.receives_on_device) {
      std::memcpy(to, place, fits);
    } else if (fits > 0) {
      means_.room.batch.add(number(to), number(place), fits);
    }
    exchange_.take(from);
    taking_[(first_taking_ + takings_++) % takes] = {from, exchange_.next_take(from), 0};
    return fits;
  }

  bool release_one() {
    if (takings_ == 0) return false;
    const Taking& first = taking_[first_taking_];
    if (!means_.copies.is_done(means_.room.in, first.mark)) return false;
    means_.rings.taken(rank_, first.from).store(first.next, std::memory_order_release);
    first_taking_ = (first_taking_ + 1) % takes;
    --takings_;
    return true;
  }

  const SeatMeans means_;
  const int rank_;
  const std::size_t number_;
  plan::ChunkExchange& exchange_;
  const SeatMemory memory_;
  std::uint64_t marks_ = 0;             // of copies in
  std::array<Taking, takes> taking_{};  // those on their way in, in a ring
  std::size_t first_taking_ = 0, takings_ = 0;
  bool is_over_ = false;
};

PipelineRoom::PipelineRoom(int ranks) : exchange(ranks) {
  batch.reserve(std::max(static_cast<std::size_t>(ranks), PipelineSeat::takes));
  seats.reserve(1);
}

PipelineRoom::~PipelineRoom() = default;

void PipelineRoom::hold(std::size_t others, int ranks) {
  seats.reserve(others + 1);
  while (led.size() < others) led.emplace_back(ranks);
}

// ---- The exchange ----

namespace {

using Opens = memory::DeviceSharing::Opens;
using Outcome = Pipelined::Outcome;

// What a rank says beside whether it can take part.
constexpr std::uint64_t has_device = 1, never_can = 2, is_overwritten = 4, opens_later = 8;

class DevicePipeline : CallBlocks {
 public:
  DevicePipeline(const Call& call, Group& group, PipelineRoom& room, const PipelineWays& ways)
      : CallBlocks(call, group),
        room_(room),
        rings_(*room.rings),
        sharing_(*group.sharing),
        meeting_(group.pairs.meeting()),
        ways_(ways),
        exchange_(room.exchange) {
    exchange_.begin({group.me, group.ranks, ways.chunk, ways.depth, gather_, overwritten_});
  }

  Pipelined run() {
    const bool offered = unless_out_of_memory([&] { return offer(); });
    meeting_.begin();
    write_down();
    meeting_.come(offered, said_);
    const bool all = all_say_so();
    const std::uint64_t said = said_by_any(meeting_, group_.ranks);
    if (!all || (said & has_device) == 0) {
      finish(false);
      return {(said & never_can) != 0 ? Outcome::never : Outcome::another_way};
    }
    look_what_comes();
    rings_.next = exchange_.end();
    take_all_seats(opened_by_all());
    move();
    if (finish(!copies_.failed())) return {Outcome::done, error_, by_leaders_, ways_.chunk};
    return {(said & is_overwritten) != 0 ? Outcome::lost : Outcome::another_way};  // where an error is found again
  }

 private:
  // Waits until all ranks have come, or have finished.
  bool all_say_so() {
    while (!meeting_.met()) group_.waiter.until([&] { return meeting_.advance(); });
    return meeting_.all_say_so();
  }

  bool finish(bool yes) {
    meeting_.finish(yes, memory::Fenced::nothing_streamed());
    return all_say_so();
  }

  // ---- What this rank offers ----

  bool offer() {
    sharing_.begin();
    received_ = look_at_end([&](int from) { return recv_[from]; }, group_.ranks);
    sent_ = look_at_end([&](int to) { return block_for(to); }, sends());
    said_ = (sent_.on_device || received_.on_device ? has_device : 0U) | (overwritten_ ? is_overwritten : 0U);
    if (sent_.has_gaps || received_.has_gaps) return false;
    if (!sent_.on_device && !received_.on_device) return true;
    if (!take_lanes()) {
      said_ |= never_can;
      return false;
    }
    if (!settle(sent_, received_)) return false;
    memory_.sends_from_device = sent_.on_device, memory_.receives_on_device = received_.on_device;
    if (ways_.by_leaders) let_be_led();
    return true;
  }

  bool take_lanes() {
    const memory::DevicePlace& from = sent_.on_device ? sent_.place : received_.place;
    if (!rings_.register_with(from)) return false;
    // As many as a leader has needed before. It copies in both directions, whatever it sends itself.
    const std::size_t seats = ways_.by_leaders ? room_.led.size() + 1 : 1;
    const bool sends = sent_.on_device || seats > 1;
    const memory::DevicePlace& to = received_.on_device ? received_.place : sent_.place;
    return (!sends || room_.out.take(from, PipelineSeat::marks_out(seats, ways_.depth))) &&
           (!received_.on_device || room_.in.take(to, PipelineSeat::marks_in(seats)));
  }

  // Another rank may copy in this one's place, if all of it is in memory of one device that can be exported.
  void let_be_led() {
    if (!received_.on_device || (sent_.has_bytes && !(sent_.on_device && sent_.place == received_.place))) return;
    const Extent send = extent_of([&](int to) { return block_for(to); }, sends());
    const Extent recv = extent_of([&](int from) { return recv_[from]; }, group_.ranks);
    std::uintptr_t from = 0, to = 0;
    sharing_.copy_in(memory::memory_id(pointer(recv.first)));
    if (sent_.has_bytes && !sharing_.send_from(sent_.place, send.first, send.last, from)) return;
    if (!sharing_.receive_in(received_.place, recv.first, recv.last, to)) return;
    memory_.send = from, memory_.recv = to;
  }

  void write_down() {
    exchange_.send(rings_.next, [&](int to) { return std::uint64_t{block_for(to).bytes()}; });
    for (int to = 0; to < group_.ranks; ++to) {
      const plan::ChunkSpan& span = exchange_.sent_to(to);
      group_.pairs.places(Owned::send, group_.me)[to] = {span.at, span.bytes, 0};
    }
    for (int to = 0; to < sends(); ++to) write_down(Owned::send, to, block_for(to), memory_.send);
    for (int from = 0; from < group_.ranks; ++from) write_down(Owned::recv, from, recv_[from], memory_.recv);
  }

  // As a distance from the beginning of what is exported, if that may be used.
  void write_down(memory::Owned side, int block, const Block& what, std::uintptr_t base) {
    memory::write_down(rings_.blocks(side, group_.me)[block], {number(what.address) - base, what.bytes(), 0});
  }

  // ---- What all do ----

  // A peer that sent more than this rank expects made a mistake that the MPI reports as well.
  void look_what_comes() {
    for (int from = 0; from < group_.ranks; ++from) {
      const bool is_own = from == group_.me;
      if (is_own && call_.in_place) continue;
      const std::uint64_t bytes =
          is_own ? block_for(from).bytes() : std::uint64_t{group_.pairs.places(Owned::send, from)[group_.me].bytes};
      keep(error_, error_if_long(bytes, recv_.bytes_of(from), call_.collective));
    }
  }

  // Has each leader opened what those have for whom it copies? What some rank could not open for now is tried again in
  // the next call.
  bool opened_by_all() {
    if (!ways_.by_leaders || !sharing_.leads_any()) return false;
    const std::uint64_t listed = sharing_.all_listed(Opens::of_led);
    if (const bool* const can = sharing_.answer(listed)) return *can;
    const bool opened = finish(unless_out_of_memory([&] { return open(); }));
    meeting_.begin();
    meeting_.come(opened, said_ | (sharing_.opens_later() ? opens_later : 0));
    const bool all = all_say_so();
    if ((said_by_any(meeting_, group_.ranks) & opens_later) == 0) sharing_.keep_answer(listed, all);
    return all;
  }

  // What those have for whom this rank copies.
  bool open() {
    sharing_.close_old();
    const std::size_t others = led_by_me();
    room_.hold(others, group_.ranks);
    return others == 0 || (take_lanes() && sharing_.open_all(received_.place, Opens::of_led));
  }

  std::size_t led_by_me() const {
    std::size_t led = 0;
    for (int rank = group_.me + 1; rank < group_.ranks; ++rank) led += sharing_.copies_for(rank) ? 1 : 0;
    return led;
  }

  void take_all_seats(bool by_leaders) {
    by_leaders_ = by_leaders;
    if (by_leaders) copies_.take_batches();
    room_.seats.clear();
    if (by_leaders && sharing_.is_led()) return;
    take_seat(group_.me, exchange_, memory_);
    if (by_leaders) take_seats_of_others();
  }

  void take_seat(int rank, plan::ChunkExchange& exchange, const SeatMemory& memory) {
    for (int from = 0; from < group_.ranks; ++from) {
      if (from == rank) continue;
      const memory::BlockPlace place = group_.pairs.places(Owned::send, from)[rank];
      exchange.receive(from, {place.at, place.bytes});
    }
    const SeatMeans means{room_, rings_, copies_, ways_.chunk, ways_.depth, group_.ranks, gather_};
    room_.seats.emplace_back(means, rank, room_.seats.size(), exchange, memory);
  }

  // In their places it sends and receives as they have written down.
  void take_seats_of_others() {
    auto exchange = room_.led.begin();
    for (int rank = group_.me + 1; rank < group_.ranks; ++rank) {
      if (!sharing_.copies_for(rank)) continue;
      const memory::SharingLine& line = sharing_.line(rank);
      const std::uintptr_t send = sharing_.opened(rank, line.sends, received_.place);
      const std::uintptr_t recv = sharing_.opened(rank, line.receives, received_.place);
      if ((line.sends != 0 && send == 0) || recv == 0) copies_.fail();  // all were said to be open
      const bool overwrites = (meeting_.generation_of(rank) & is_overwritten) != 0;
      exchange->begin({rank, group_.ranks, ways_.chunk, ways_.depth, gather_, overwrites});
      const memory::BlockPlace* const blocks = rings_.blocks(Owned::send, rank);
      exchange->send(rings_.published(rank).load(std::memory_order_acquire),
                     [&](int to) { return std::uint64_t{blocks[gather_ ? 0 : to].bytes}; });
      take_seat(rank, *exchange++, {send, recv, true, true});
    }
  }

  void move() {
    std::vector<PipelineSeat>& seats = room_.seats;
    for (PipelineSeat& seat : seats) seat.copy_own();
    bool all = seats.empty();
    while (!all) {
      group_.waiter.until([&] {
        bool moved = false;
        all = true;
        for (PipelineSeat& seat : seats) {
          moved = seat.move() || moved;
          all = all && seat.is_over();
        }
        return moved || all;
      });
    }
    // No copy may be in flight when this rank reports completion to the others, also after an error.
    const auto come_to_rest = [&](const DeviceEnd& end, const memory::CopyLane& lane) {
      if (end.on_device || seats.size() > 1) group_.waiter.until([&] { return copies_.is_at_rest(lane); });
    };
    if (seats.empty()) return;
    come_to_rest(sent_, room_.out);
    come_to_rest(received_, room_.in);
  }

  PipelineRoom& room_;
  memory::ChunkRings& rings_;
  memory::DeviceSharing& sharing_;
  memory::Meeting& meeting_;
  const PipelineWays ways_;
  LaneCopies copies_;
  plan::ChunkExchange& exchange_;
  DeviceEnd sent_, received_;
  SeatMemory memory_;       // of this rank
  std::uint64_t said_ = 0;  // of this rank, when it comes
  bool by_leaders_ = false;
};

}  // namespace

Pipelined run_pipeline(const Call& call, Group& group, PipelineRoom& room, const PipelineWays& ways) {
  return DevicePipeline(call, group, room, ways).run();
}

}  // namespace quadrille::run
