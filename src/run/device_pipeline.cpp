#include "run/device_pipeline.hpp"

#include "run/device_elements.hpp"

namespace quadrille::run {
namespace {

using memory::Owned;
using Opens = memory::DeviceSharing::Opens;
using Outcome = Pipelined::Outcome;

// What a rank says beside whether it can take part.
constexpr std::uint64_t has_device = 1, never_can = 2, is_overwritten = 4, opens_later = 8;

class DevicePipeline : CallBlocks {
 public:
  DevicePipeline(const Call& call, Group& group, const PipelineMeans& means, const PipelineWays& ways)
      : CallBlocks(call, group),
        means_(means),
        meeting_(means.pairs.meeting()),
        ways_(ways),
        exchange_(means.room.exchange) {
    exchange_.begin({group.me, group.ranks, ways.chunk, ways.depth, gather_, overwritten_});
  }

  Pipelined run() {
    const bool offered = unless_out_of_memory([&] { return offer(); });
    meeting_.begin();
    write_down();
    meeting_.come(offered, said_);
    const bool all = all_say_so();
    const std::uint64_t said = said_by_any();
    if (!all || (said & has_device) == 0) {
      finish(false);
      return {(said & never_can) != 0 ? Outcome::never : Outcome::another_way};
    }
    look_what_comes();
    means_.rings.next = exchange_.end();
    take_all_seats(opened_by_all());
    move();
    if (finish(!copies_.failed())) return {Outcome::done, error_, by_leaders_};
    return {(said & is_overwritten) != 0 ? Outcome::lost : Outcome::another_way};  // where an error is found again
  }

 private:
  // Waits until all ranks have come, or have finished.
  bool all_say_so() {
    while (!meeting_.met()) group_.waiter.until([&] { return meeting_.advance(); });
    return meeting_.all_say_so();
  }

  // Of what ranks say beside that, when they come.
  std::uint64_t said_by_any() const {
    std::uint64_t said = 0;
    for (int rank = 0; rank < group_.ranks; ++rank) said |= meeting_.generation_of(rank);
    return said;
  }

  bool finish(bool yes) {
    meeting_.finish(yes, memory::Fenced::nothing_streamed());
    return all_say_so();
  }

  // ---- What this rank offers ----

  bool offer() {
    means_.sharing.begin();
    const bool sends_one = gather_ && call_.in_place;  // of its receive blocks
    received_ = look_at_end(recv_, group_.ranks, -1);
    sent_ = look_at_end(send_, sends_one ? group_.ranks : sends(), sends_one ? group_.me : -1);
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
    const memory::DevicePlace& place = sent_.on_device ? sent_.place : received_.place;
    if (!means_.rings.register_with(place)) return false;
    // As many as a leader has needed before. It copies in both directions, whatever it sends itself.
    const std::size_t seats = ways_.by_leaders ? means_.room.led.size() + 1 : 1;
    const bool sends = sent_.on_device || seats > 1;
    const memory::DevicePlace& from = sent_.on_device ? sent_.place : received_.place;
    const memory::DevicePlace& to = received_.on_device ? received_.place : sent_.place;
    return (!sends || means_.out.take(from, PipelineSeat::marks_out(seats, ways_.depth))) &&
           (!received_.on_device || means_.in.take(to, PipelineSeat::marks_in(seats)));
  }

  // Another rank may copy in this one's place, if all of it is in memory of one device that can be exported.
  void let_be_led() {
    if (!received_.on_device || (sent_.has_bytes && !(sent_.on_device && sent_.place == received_.place))) return;
    const Extent send = extent_of([&](int to) { return block_for(to); }, sends());
    const Extent recv = extent_of([&](int from) { return recv_[from]; }, group_.ranks);
    std::uintptr_t from = 0, to = 0;
    means_.sharing.copy_in(memory::memory_id(pointer(recv.first)));
    if (sent_.has_bytes && !means_.sharing.send_from(sent_.place, send.first, send.last, from)) return;
    if (!means_.sharing.receive_in(received_.place, recv.first, recv.last, to)) return;
    memory_.send = from, memory_.recv = to;
  }

  void write_down() {
    exchange_.send(means_.rings.next, [&](int to) { return std::uint64_t{block_for(to).bytes()}; });
    for (int to = 0; to < group_.ranks; ++to) {
      const plan::ChunkSpan& span = exchange_.sent_to(to);
      means_.pairs.places(Owned::send, group_.me)[to] = {span.at, span.bytes, 0};
    }
    for (int to = 0; to < sends(); ++to) write_down(Owned::send, to, block_for(to), memory_.send);
    for (int from = 0; from < group_.ranks; ++from) write_down(Owned::recv, from, recv_[from], memory_.recv);
  }

  // As a distance from the beginning of what is exported, if that may be used.
  void write_down(memory::Owned side, int block, const Block& what, std::uintptr_t base) {
    memory::write_down(means_.rings.blocks(side, group_.me)[block], {number(what.address) - base, what.bytes(), 0});
  }

  // ---- What all do ----

  // A peer that sent more than this rank expects made a mistake that the MPI reports as well.
  void look_what_comes() {
    for (int from = 0; from < group_.ranks; ++from) {
      const bool is_own = from == group_.me;
      if (is_own && call_.in_place) continue;
      const std::uint64_t bytes =
          is_own ? block_for(from).bytes() : std::uint64_t{means_.pairs.places(Owned::send, from)[group_.me].bytes};
      keep(error_, error_if_long(bytes, recv_.bytes_of(from), call_.collective));
    }
  }

  // Has each leader opened what those have for whom it copies? What some rank could not open for now is tried again in
  // the next call.
  bool opened_by_all() {
    if (!ways_.by_leaders || !means_.sharing.leads_any()) return false;
    const std::uint64_t listed = means_.sharing.all_listed(Opens::of_led);
    if (const bool* const can = means_.sharing.answer(listed)) return *can;
    bool later = false;
    const bool opened = finish(unless_out_of_memory([&] { return open(later); }));
    meeting_.begin();
    meeting_.come(opened, said_ | (later ? opens_later : 0));
    const bool all = all_say_so();
    if ((said_by_any() & opens_later) == 0) means_.sharing.keep_answer(listed, all);
    return all;
  }

  // What those have for whom this rank copies. `later`: it could not open that for now.
  bool open(bool& later) {
    const std::size_t others = led_by_me();
    means_.room.hold(others, group_.ranks);
    if (others != 0) {
      if (!take_lanes()) return false;
      const bool opens = means_.sharing.open_all(received_.place, Opens::of_led);
      later = !opens && means_.sharing.opens_later();
      return opens;
    }
    means_.sharing.close_old();
    return true;
  }

  std::size_t led_by_me() const {
    std::size_t led = 0;
    for (int rank = group_.me + 1; rank < group_.ranks; ++rank) led += means_.sharing.copies_for(rank) ? 1 : 0;
    return led;
  }

  void take_all_seats(bool by_leaders) {
    by_leaders_ = by_leaders;
    if (by_leaders) copies_.take_batches();
    means_.room.seats.clear();
    if (by_leaders && means_.sharing.is_led()) return;
    take_seat(group_.me, exchange_, memory_);
    if (by_leaders) take_seats_of_others();
  }

  void take_seat(int rank, plan::ChunkExchange& exchange, const SeatMemory& memory) {
    for (int from = 0; from < group_.ranks; ++from) {
      if (from == rank) continue;
      const memory::BlockPlace place = means_.pairs.places(Owned::send, from)[rank];
      exchange.receive(from, {place.at, place.bytes});
    }
    const SeatMeans means{means_.rings, means_.out,  means_.in,    copies_, means_.room.batch,
                          ways_.chunk,  ways_.depth, group_.ranks, gather_};
    means_.room.seats.emplace_back(means, rank, means_.room.seats.size(), exchange, memory);
  }

  // In their places it sends and receives as they have written down.
  void take_seats_of_others() {
    auto exchange = means_.room.led.begin();
    for (int rank = group_.me + 1; rank < group_.ranks; ++rank) {
      if (!means_.sharing.copies_for(rank)) continue;
      const memory::SharingLine& line = means_.sharing.line(rank);
      const std::uintptr_t send = means_.sharing.opened(rank, line.sends, received_.place);
      const std::uintptr_t recv = means_.sharing.opened(rank, line.receives, received_.place);
      if ((line.sends != 0 && send == 0) || recv == 0) copies_.fail();  // all were said to be open
      const bool overwrites = (meeting_.generation_of(rank) & is_overwritten) != 0;
      exchange->begin({rank, group_.ranks, ways_.chunk, ways_.depth, gather_, overwrites});
      const memory::BlockPlace* const blocks = means_.rings.blocks(Owned::send, rank);
      exchange->send(means_.rings.published(rank).load(std::memory_order_acquire),
                     [&](int to) { return std::uint64_t{blocks[gather_ ? 0 : to].bytes}; });
      take_seat(rank, *exchange++, {send, recv, true, true});
    }
  }

  void move() {
    std::vector<PipelineSeat>& seats = means_.room.seats;
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
    come_to_rest(sent_, means_.out);
    come_to_rest(received_, means_.in);
  }

  const PipelineMeans means_;
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

Pipelined run_pipeline(const Call& call, Group& group, const PipelineMeans& means, const PipelineWays& ways) {
  return DevicePipeline(call, group, means, ways).run();
}

}  // namespace quadrille::run
