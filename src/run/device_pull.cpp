#include "run/device_pull.hpp"

#include <algorithm>

namespace quadrille::run {

using memory::AtDevice;
using memory::DeviceCopies;
using memory::Owned;

// ---- The first elements of a block with gaps, to or from consecutive bytes ----

namespace {

// Equal runs of an element at equal distances.
struct Rows {
  std::ptrdiff_t at = 0, pitch = 0;
  std::size_t bytes = 0, rows = 0;
};

std::vector<Rows> rows_of(const std::vector<TypeRun>& runs) {
  std::vector<Rows> all;
  for (const TypeRun& run : runs) {
    if (!all.empty() && all.back().bytes == run.bytes) {
      Rows& last = all.back();
      const std::ptrdiff_t from_first = run.at - last.at;
      if (last.rows == 1 || from_first == last.pitch * static_cast<std::ptrdiff_t>(last.rows)) {
        if (last.rows == 1) last.pitch = from_first;
        ++last.rows;
        continue;
      }
    }
    all.push_back({run.at, 0, run.bytes, 1});
  }
  return all;
}

// Rows of a block, to or from consecutive bytes.
void copy_rows(std::byte* at, const Rows& rows, std::uintptr_t packed, std::ptrdiff_t packed_pitch, bool packs,
               DeviceCopies& copies) {
  if (packs) {
    copies.copy(memory::DeviceRows{pointer(packed), at, rows.bytes, rows.rows, packed_pitch, rows.pitch});
  } else {
    copies.copy(memory::DeviceRows{at, pointer(packed), rows.bytes, rows.rows, rows.pitch, packed_pitch});
  }
}

// Element by element, or the same run of all elements at once, whichever is less. Equal runs at equal distances are one
// copy of rows.
void copy_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs, DeviceCopies& copies) {
  const std::vector<TypeRun>& runs = *block.info.runs;
  const std::vector<Rows> element = rows_of(runs);
  std::uintptr_t at = packed;
  if (element.size() * count > runs.size()) {
    for (const TypeRun& run : runs) {
      copy_rows(block.address + run.at, {0, block.info.extent, run.bytes, count}, at,
                static_cast<std::ptrdiff_t>(block.info.size), packs, copies);
      at += run.bytes;
    }
    return;
  }
  for (std::size_t e = 0; e < count; ++e) {
    std::byte* const begin = block.address + static_cast<std::ptrdiff_t>(e) * block.info.extent;
    for (const Rows& rows : element) {
      copy_rows(begin + rows.at, rows, at, static_cast<std::ptrdiff_t>(rows.bytes), packs, copies);
      at += rows.bytes * rows.rows;
    }
  }
}

// The same, piece by piece, so that a kernel or a graph can make all.
void add_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs,
                  memory::DeviceBatch& batch) {
  for (std::size_t e = 0; e < count; ++e) {
    const std::uintptr_t element =
        number(block.address) + static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(e) * block.info.extent);
    for (const TypeRun& run : *block.info.runs) {
      const std::uintptr_t at = element + static_cast<std::uintptr_t>(run.at);
      batch.add(packs ? packed : at, packs ? at : packed, run.bytes);
      packed += run.bytes;
    }
  }
}

std::size_t pieces_of(const Block& block, std::size_t count) {
  return block.info.dense ? 1 : block.info.runs->size() * count;
}
constexpr std::size_t most_pieces = std::size_t{1} << 16;  // of a launch: what tells a kernel of them takes 3 MiB

}  // namespace

// ---- All forms ----

DevicePull::DevicePull(const Call& call, Group& group, const PullMeans& means, const PullWays& ways)
    : CallBlocks(call, group),
      pairs_(means.pairs),
      sharing_(means.sharing),
      own_(means.stream),
      meeting_(means.pairs.meeting()),
      ways_(ways) {}

bool DevicePull::run() {
  begin();
  while (!done()) group_.waiter.until([&] { return advance(); });
  return pulled_;
}

bool DevicePull::prepare() {
  prepares_ = true;
  const bool all = run();
  prepares_ = false;
  is_prepared_ = all;
  return all;
}

// ---- The steps ----

void DevicePull::begin() {
  meeting_.begin();
  offered_ = packs_ = submitted_ = may_ = has_opened_ = was_in_streams_ = false;
  settled_.reset();
  turn_ = nullptr;
  if (!is_prepared_) {
    sharing_.begin();
    error_ = mpi_success;
    look_at_ends();
  }
  phase_ = Phase::settling;
  if (waits() || !has_place()) return;
  own_->take(place_);
  own_->mark();
}

bool DevicePull::advance() {
  switch (phase_) {
    case Phase::over:
      return false;
    case Phase::settling:
      return advance_settling();
    case Phase::packing:
      return advance_packing();
    case Phase::copying:
      return advance_copying();
    case Phase::putting_back:
      return advance_putting_back();
    default:
      break;
  }
  const bool moved = meeting_.advance();
  if (!meeting_.met()) return moved;
  if (phase_ == Phase::entering) {
    entered();
  } else if (phase_ == Phase::opening) {
    opened();
  } else if (phase_ == Phase::entering_again) {
    opened_by_all();
  } else {
    end(meeting_.all_say_so());
  }
  return true;
}

// What the program has put into the NULL streams of its buffers is done first. A call that waits has the driver see to
// it.
DevicePull::Look DevicePull::look_at_program() const {
  if (waits() || prepares_ || !has_place()) return Look::done;
  const Look look = own_->look_at_mark();
  if (look != Look::done || !sent_.on_device || sent_.place == place_) return look;
  return memory::look_at_stream(sent_.place, nullptr);
}

DevicePull::Look DevicePull::look_at_copies() const {
  if (is_in_stream()) return look_at_stream();
  if (!waits()) return own_->look();
  const AtDevice at(place_);
  return memory::wait_for_stream(stream()) ? Look::done : Look::failed;
}

bool DevicePull::advance_settling() {
  const Look look = look_at_program();
  if (look == Look::not_yet) return false;
  offered_ =
      look == Look::done && unless_out_of_memory([&] { return is_prepared_ ? !is_bounced_ || pack_sent() : offer(); });
  phase_ = Phase::packing;
  return true;
}

bool DevicePull::advance_packing() {
  if (packs_) {
    const Look look = look_at_copies();
    if (look == Look::not_yet) return false;
    offered_ = offered_ && look == Look::done;
  }
  enter();
  return true;
}

// Comes, and says whether it can take part.
void DevicePull::enter() {
  meeting_.come(offered_, is_in_stream() ? in_a_stream : on_the_host);
  phase_ = Phase::entering;
}

// Has every rank opened what the others send from? All ranks have seen the same lists in the same calls, so they
// remember the same.
void DevicePull::entered() {
  // In a prepared start each rank comes with on_the_host or in_a_stream, and keeps it until all have finished.
  if (is_prepared_) was_in_streams_ = said_by_any(meeting_, group_.ranks) != on_the_host;
  if (is_prepared_ || !meeting_.all_say_so()) return agreed(meeting_.all_say_so());
  if (const bool* known = sharing_.answer(sharing_.all_listed())) return agreed(*known);
  has_opened_ = true;
  offered_ = open();
  meeting_.finish(offered_, memory::Fenced::nothing_streamed());
  phase_ = Phase::opening;
}

bool DevicePull::open() {
  if (copies_here()) return unless_out_of_memory([&] { return sharing_.open_all(place_); });
  sharing_.close_old();
  return true;
}

void DevicePull::opened() {
  const bool all = meeting_.all_say_so();
  meeting_.begin();
  meeting_.come(all, sharing_.opens_later() ? for_now : for_good);
  phase_ = Phase::entering_again;
}

// What some rank could not open for now is tried again in the next call.
void DevicePull::opened_by_all() {
  const bool all = meeting_.all_say_so();
  if (said_by_any(meeting_, group_.ranks) == for_good) sharing_.keep_answer(sharing_.all_listed(), all);
  agreed(all);
}

void DevicePull::agreed(bool may) {
  may_ = may;
  if (is_in_stream()) return let_stream_copy(may);
  if (!may) return finish(false);
  const bool listed = is_prepared_ || unless_out_of_memory([&] { return list(); });
  if (prepares_ || !copies_here()) return finish(listed);
  // Some copies may be in flight when others are refused.
  submitted_ = submit(pulling_, stream()) && listed;
  phase_ = Phase::copying;
}

// No copy may be in flight when this rank reports completion to the others, also after an error.
bool DevicePull::advance_copying() {
  const Look look = look_at_copies();
  if (look == Look::not_yet) return false;
  finish(submitted_ && look == Look::done);
  return true;
}

// Says that this rank touches no other one's memory any more; `yes`: all its copies are done.
void DevicePull::finish(bool yes) {
  meeting_.finish(yes, memory::Fenced::nothing_streamed());
  phase_ = Phase::finishing;
}

void DevicePull::end(bool all) {
  if (has_opened_) sharing_.free_old_bounces();
  if (!all && !was_in_streams_) error_ = mpi_success;  // who makes the call finds it again
  pulled_ = all;
  phase_ = Phase::over;
  if (may_ && !all && !prepares_ && !is_in_stream()) put_back();
}

// ---- What this rank offers the others: its blocks where they are, or packed into memory of ours that is exported ----

void DevicePull::look_at_ends() {
  received_ = look_at_end([&](int from) { return recv_[from]; }, group_.ranks);
  sent_ = call_.in_place ? received_ : look_at_end([&](int to) { return send_[to]; }, sends());
  place_ = received_.on_device ? received_.place : sent_.place;
}

// What this rank sends is where the others can copy it from, and written down.
bool DevicePull::offer() {
  is_bounced_ = false;
  if (!sent_.has_bytes && !received_.has_bytes) return true;
  if (!sent_.on_device && !received_.on_device) return false;
  for (int r = 0; r < group_.ranks; ++r) {
    if (recv_[r].bytes() > 0 && !is_laid_out(recv_[r])) return false;
  }
  if (received_.has_bytes) {
    const DeviceEnd& there = received_.on_device ? received_ : sent_;
    const std::uint64_t id = memory::memory_id(pointer(there.address));
    if (id == 0) return false;
    sharing_.copy_in(id);
    if (ways_.by_leaders && received_.on_device && !let_be_led()) return false;
  }
  if (!sent_.has_bytes) return true;
  return offer_where_it_is() || offer_copies();
}

// Another rank may write to the receive buffer, if it is such that it can. False if the driver says that something went
// wrong.
bool DevicePull::let_be_led() {
  const Extent all = extent_of([&](int from) { return recv_[from]; }, group_.ranks);
  if (all.has_gaps || !sharing_.receive_in(received_.place, all.first, all.last, recv_base_)) return true;
  for (int from = 0; from < group_.ranks; ++from) {
    write_down(Owned::recv, from, number(recv_[from].address) - recv_base_, recv_[from].bytes());
  }
  return settle(received_.place);  // what is written over may be in use until then
}

// What the program has put into the NULL stream there is done, before other ranks touch the memory.
bool DevicePull::settle(const memory::DevicePlace& place) {
  if (!waits() || prepares_ || settled_ == place) return true;
  const AtDevice at(place);
  if (!memory::wait_for_stream(nullptr)) return false;
  settled_ = place;
  return true;
}

bool DevicePull::offer_where_it_is() {
  if (overwritten_ || !sent_.on_device) return false;
  const Extent all = extent_of([&](int to) { return block_for(to); }, sends());
  if (all.has_gaps) return false;
  if (all.last == 0) return true;
  if (!sharing_.send_from(sent_.place, all.first, all.last, base_)) return false;
  for (int to = 0; to < sends(); ++to)
    write_down(Owned::send, to, number(block_for(to).address) - base_, block_for(to).bytes());
  return settle(sent_.place);
}

bool DevicePull::offer_copies() {
  std::size_t total = 0;
  for (int to = 0; to < sends(); ++to) {
    if (block_for(to).bytes() > 0 && !is_laid_out(block_for(to))) return false;
    total += block_for(to).bytes();
  }
  std::byte* const bounce = sharing_.bounce(place_, total);
  if (bounce == nullptr || !sharing_.send_from(place_, number(bounce), number(bounce) + total, base_)) return false;
  is_bounced_ = true;
  std::uintptr_t next = number(bounce);
  for (int to = 0; to < sends(); ++to) {
    write_down(Owned::send, to, next - base_, block_for(to).bytes());
    next += block_for(to).bytes();
  }
  list_packing();
  return prepares_ || pack_sent();
}

void DevicePull::list_packing() {
  packing_.batch->clear();
  packing_.gapped.clear();
  for_each_packed([&](int to, const Block& block, std::uintptr_t packed) {
    if (block.info.dense) {
      packing_.batch->add(packed, number(block.address), block.bytes());
    } else {
      packing_.gapped.push_back({to, packed, block.count});
    }
  });
  // Of memory of the host, which may be sent as well, a kernel reads only what is pinned.
  if (!sent_.on_device || !(sent_.place == place_)) return;
  const AtDevice at(place_);
  take_launches(packing_, true);
}

// Into memory of ours. A call that waits goes along with the NULL stream, of one place alone.
bool DevicePull::pack_sent() {
  if (waits() && sent_.on_device && sent_.place != place_ && !settle(sent_.place)) return false;
  const AtDevice at(place_);
  packs_ = !waits();
  void* const stream = waits() ? nullptr : own_->stream();
  const bool submitted = submit(packing_, stream);
  const bool waited = packs_ || memory::wait_for_stream(stream);
  return submitted && waited;
}

void DevicePull::write_down(Owned side, int block, std::uintptr_t at, std::size_t bytes) {
  memory::write_down(pairs_.places(side, group_.me)[block], {bytes > 0 ? at : 0, bytes, 0});
}

// ---- What this rank copies ----

// True if there is nothing, or one launch makes all of it. `gapped`: so many are pieces of blocks with gaps. Of few of
// those a graph is made, as each is a node of it, and else they are rows of few copies: an estimate.
bool DevicePull::take_launch(memory::DeviceBatch& batch, std::size_t gapped, bool in_one_device) {
  constexpr std::size_t most_nodes = 64;
  if (ways_.kernels) batch.take_kernel(place_, in_one_device, prepares_ && gapped <= most_nodes);
  if (prepares_ && gapped <= most_nodes) batch.make_graph(place_);
  return batch.is_one_launch();
}

// Where a rank's block for another is.
DevicePull::Placed DevicePull::sent(int from, int to) const {
  const std::uint64_t serial = sharing_.line(from).sends;
  if (serial == 0) return {};
  const memory::BlockPlace place = pairs_.places(Owned::send, from)[gather_ ? 0 : to];
  const std::uintptr_t base = from == group_.me ? base_ : sharing_.opened(from, serial, place_);
  return {base == 0 ? 0 : base + place.at, place.bytes};
}

// And where that other one wants to have it; only of ranks for which this one copies.
DevicePull::Placed DevicePull::received(int from, int to) const {
  if (to == group_.me) return {number(recv_[from].address), recv_[from].bytes()};
  const memory::BlockPlace place = pairs_.places(Owned::recv, to)[from];
  const std::uintptr_t base = sharing_.opened(to, sharing_.line(to).receives, place_);
  return {base == 0 ? 0 : base + place.at, place.bytes};
}

// All that it copies; false if something cannot be reached.
bool DevicePull::list() {
  look_what_comes();
  pulling_.batch = &sharing_.copies().fresh();
  pulling_.gapped.clear();
  if (!copies_here()) return true;
  bool reached = list_for(group_.me);
  for (int to = group_.me + 1; to < group_.ranks && ways_.by_leaders; ++to) {
    if (sharing_.copies_for(to)) reached = list_for(to) && reached;
  }
  // Memory of the host, where it may be received as well, a kernel writes to only if it is pinned.
  if (!received_.on_device) return reached;
  const AtDevice at(place_);
  const bool in_one_device = sharing_.is_all_on(place_);
  if (in_one_device && !prepares_) repeat();
  take_launches(pulling_, in_one_device);
  return reached;
}

// `place_` must be current (AtDevice).
void DevicePull::take_launches(Listed& listed, bool in_one_device) {
  if (prepares_ && !listed.gapped.empty()) add_gapped(listed, in_one_device);
  if (!listed.batch->is_one_launch()) take_launch(*listed.batch, 0, in_one_device);
}

// What launched the same copies in a call before does so again.
void DevicePull::repeat() {
  pulling_.batch = &sharing_.copies().take(place_, sharing_.all_listed());
  if (waits() && sharing_.copies().is_for_graph() && receives_in_one()) pulling_.batch->put_graph_in_place(place_);
}

// A graph is of memory, not of addresses. What all ranks list tells whether that of the first block is the same as
// before.
bool DevicePull::receives_in_one() const {
  const std::uint64_t id = sharing_.line(group_.me).copies_in;
  for (int from = 0; from < group_.ranks; ++from) {
    const Block block = recv_[from];
    if (block.bytes() > 0 && memory::memory_id(block.address + first_byte(block)) != id) return false;
  }
  return true;
}

// Of a persistent request also blocks with gaps, if one launch can make all.
void DevicePull::add_gapped(Listed& listed, bool in_one_device) {
  memory::DeviceBatch& batch = *listed.batch;
  const std::size_t plain = batch.size();
  std::size_t pieces = plain;
  for (const Gapped& one : listed.gapped) pieces += pieces_of(block_of(listed, one.block), one.elements);
  if (pieces > most_pieces) return;
  for (const Gapped& one : listed.gapped) {
    add_elements(block_of(listed, one.block), one.elements, one.packed, listed.packs, batch);
  }
  if (take_launch(batch, batch.size() - plain, in_one_device)) return listed.gapped.clear();
  batch.keep(plain);
}

bool DevicePull::submit(const Listed& listed, void* stream) {
  const AtDevice at(place_);
  DeviceCopies copies(stream);
  for (const Gapped& one : listed.gapped) {
    copy_elements(block_of(listed, one.block), one.elements, one.packed, listed.packs, copies);
  }
  const bool submitted = listed.batch->submit(stream);
  return copies.leave() && submitted;
}

// A peer that sent more than this rank expects made a mistake that the MPI reports as well.
void DevicePull::look_what_comes() {
  for (int from = 0; from < group_.ranks; ++from) {
    const memory::BlockPlace& place = pairs_.places(Owned::send, from)[gather_ ? 0 : group_.me];
    const std::size_t bytes = sharing_.line(from).sends != 0 ? place.bytes : 0;
    keep(error_, error_if_long(bytes, recv_.bytes_of(from), call_.collective));
  }
}

// What this rank copies for another one, or for itself.
bool DevicePull::list_for(int to) {
  bool reached = true;
  for (int from = 0; from < group_.ranks; ++from) {
    const bool is_mine = to == group_.me;
    if (is_mine && from == to && gather_ && call_.in_place) continue;
    const Placed source = sent(from, to), destination = received(from, to);
    const std::size_t bytes = std::min(source.bytes, destination.bytes);
    if (bytes == 0) continue;
    const bool has_gaps = is_mine && !recv_[from].info.dense;  // at MPI_BOTTOM it has no address
    if (source.at == 0 || (destination.at == 0 && !has_gaps)) {
      reached = false;
    } else if (has_gaps) {
      pulling_.gapped.push_back({from, source.at, bytes / recv_[from].info.size});
    } else if (source.at != destination.at) {
      pulling_.batch->add(destination.at, source.at, bytes);
    }
  }
  return reached;
}

// What was received over what was to be sent; the others need it again.
void DevicePull::put_back() {
  if (!overwritten_ || !is_bounced_) return;
  const AtDevice at(place_);
  DeviceCopies copies(waits() ? nullptr : own_->stream());
  for_each_packed([&](int, const Block& block, std::uintptr_t from) {
    if (block.info.dense) {
      copies.copy(block.address, pointer(from), block.bytes());
    } else {
      copy_elements(block, block.count, from, false, copies);
    }
  });
  // What goes wrong here goes wrong when it is read again, too.
  if (waits()) {
    copies.wait();
  } else {
    copies.leave();
    phase_ = Phase::putting_back;
  }
}

bool DevicePull::advance_putting_back() {
  if (own_->look() == Look::not_yet) return false;
  phase_ = Phase::over;
  return true;
}

// ---- Starts in the order of a program's stream: their progress takes no call of the driver ----

void DevicePull::begin_in_stream(const memory::StreamTurn& turn) {
  meeting_.begin();
  may_ = has_opened_ = packs_ = false;
  turn_ = &turn;
  offered_ = !turn.is_broken;
  enter();
}

// What is put into the stream may not wait for it: so it has to be one launch, and memory of devices.
bool DevicePull::can_be_in_stream() const {
  if (!is_prepared_) return false;
  const bool is_packed_at_once =
      !is_bounced_ || (sent_.place == place_ && packing_.gapped.empty() && packing_.batch->is_one_launch());
  if (sent_.has_bytes && !(sent_.on_device && is_packed_at_once)) return false;
  if (!received_.has_bytes || !copies_here()) return received_.on_device || !received_.has_bytes;
  return received_.on_device && pulling_.gapped.empty() && pulling_.batch->is_one_launch();
}

bool DevicePull::pack_in(void* stream) {
  if (!is_bounced_) return true;
  const AtDevice at(place_);
  return packing_.batch->launch(stream);
}

bool DevicePull::copy_in(void* stream) {
  const AtDevice at(place_);
  return pulling_.batch->launch(stream);
}

// The stream copies in any case, as what is in it cannot be taken out: also if that is for nothing.
void DevicePull::let_stream_copy(bool may) {
  submitted_ = may;
  if (!copies_here()) return finish(may);
  turn_->words->go.store(turn_->now, std::memory_order_release);
  phase_ = Phase::copying;
}

DevicePull::Look DevicePull::look_at_stream() const {
  if (turn_->words->copied.load(std::memory_order_acquire) == turn_->now) return Look::done;
  return turn_->is_broken ? Look::failed : Look::not_yet;
}

}  // namespace quadrille::run
