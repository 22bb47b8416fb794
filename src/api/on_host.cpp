#include "api/on_host.hpp"

#include <cstdint>

#include "memory/device.hpp"
#include "memory/device_streams.hpp"
#include "mpi/types.hpp"
#include "run/blocks.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

// Where the bytes of an element are, if `exact`; else where they are among others.
struct Layout {
  std::vector<TypeRun> runs;
  bool exact = true;
};

Layout layout_of(const run::Block& block) {
  const TypeInfo& info = block.info;
  if (info.dense) return {{{0, info.size}}};
  if (info.runs != nullptr) return {*info.runs};
  MpiAint lower = 0, extent = 0;
  mpi().Type_get_true_extent(block.type, &lower, &extent);
  Layout layout;
  const auto bytes = static_cast<std::size_t>(extent);
  if (bytes != info.size && find_bytes(block.type, info.size, lower, extent, layout.runs)) return layout;
  return {{{lower, bytes}}, bytes == info.size};
}

void add_elements(const run::Block& block, const std::vector<TypeRun>& runs, memory::Regions& regions) {
  const auto address = reinterpret_cast<std::intptr_t>(block.address);
  const std::ptrdiff_t extent = block.info.extent;
  memory::Regions element;
  for (const TypeRun& run : runs) element.add(run.at, run.bytes);
  element.put_in_order();
  // Element by element, or run by run: whichever is less.
  if (runs.size() > 1 && element.size() * block.count <= runs.size()) {
    for (std::size_t e = 0; e < block.count; ++e) {
      const std::intptr_t moved = address + static_cast<std::intptr_t>(e) * extent;
      for (const memory::Region& region : element) {
        regions.add(moved + region.begin, region.bytes, region.rows, static_cast<std::ptrdiff_t>(region.pitch));
      }
    }
    return;
  }
  for (const TypeRun& run : runs) regions.add(address + run.at, run.bytes, block.count, extent);
}

// Any byte of a block that is not empty tells where all of them are.
const void* byte_of(const run::Block& block) {
  std::ptrdiff_t at = 0;
  if (block.info.runs != nullptr) {
    at = block.info.runs->front().at;
  } else if (!block.info.dense) {
    MpiAint lower = 0, extent = 0;
    mpi().Type_get_true_extent(block.type, &lower, &extent);
    at = lower;
  }
  return reinterpret_cast<const void*>(reinterpret_cast<std::intptr_t>(block.address) + at);
}

template <class Work>
void for_each_block(const run::Side& side, const UsedOfSide& used, Work&& work) {
  const run::Blocks all(side);
  const int count = used.list != nullptr ? static_cast<int>(used.list->size()) : used.count;
  for (int i = 0; i < count; ++i) {
    const int b = used.list != nullptr ? (*used.list)[static_cast<std::size_t>(i)] : i;
    if (side.count_of(b) == 0 || all.bytes_of(b) == 0) continue;
    if (!work(b, all[b])) return;
  }
}

using memory::Where;
using Kind = memory::Staging::Kind;
Kind kind_of(choose::HostBuffers buffers, std::size_t bytes, std::size_t span) {
  // A fraction of the memory between the first byte and the last: to pin all of it would cost more than it gains.
  if (buffers == choose::HostBuffers::pageable || span > 4 * bytes + (std::size_t{1} << 20)) return Kind::ordinary;
  return buffers == choose::HostBuffers::fresh ? Kind::fresh : Kind::kept;
}

// The blocks of a side are memory of one place, so one of them tells.
Where find_side(const run::Side& side, const UsedOfSide& used, memory::DevicePlace& place, bool* can_stay = nullptr) {
  Where where = Where::host;
  for_each_block(side, used, [&](int, const run::Block& first) {
    where = memory::find_memory(byte_of(first), place);
    if (where == Where::device && can_stay != nullptr) *can_stay = memory::can_be_exported(byte_of(first));
    return false;
  });
  return where;
}

bool has_gaps(const run::Side& side, const UsedOfSide& used) {
  bool gaps = false;
  for_each_block(side, used, [&](int, const run::Block& block) {
    gaps = !block.info.dense;
    return !gaps;
  });
  return gaps;
}

}  // namespace

void free_staging_at_end() { team::before_end(team::AtEnd::staging, memory::free_staging); }

OnHost::OnHost(const run::Call& call, const UsedBlocks& used, choose::HostBuffers buffers, When kernels)
    : call_(call), buffers_(buffers), kernels_(kernels), own_(used.own) {
  if (!call.in_place) take(call_.send, used.send, send_);
  take(call_.recv, used.recv, recv_);
}

void OnHost::take(run::Side& side, const UsedOfSide& used, Copy& copy) {
  const Where where = find_side(side, used, copy.place);
  if (where == Where::host) return;
  copy.is_lost = where == Where::unknown;
  MpiType known{};
  Layout layout;
  bool is_known = false;
  for_each_block(side, used, [&](int b, const run::Block& block) {
    if (!is_known || block.type != known) {
      layout = layout_of(block);
      known = block.type;
      is_known = true;
    }
    add_elements(block, layout.runs, copy.regions);
    const bool is_read = call_.in_place && (own_ < 0 || b == own_);
    if (&side == &call_.recv && (is_read || !layout.exact)) add_elements(block, layout.runs, copy.read);
    return true;
  });
  copy.regions.put_in_order();
  copy.read.put_in_order();
  free_staging_at_end();
  const std::intptr_t first = copy.regions.first();
  const auto span = static_cast<std::size_t>(copy.regions.last() - first);
  // As far from a cache line's beginning as on the device.
  const std::size_t ahead = static_cast<std::size_t>(first) % sys::cache_line;
  const memory::AtDevice at(copy.place);
  const Kind kind = copy.is_lost ? Kind::ordinary : kind_of(buffers_, copy.regions.bytes(), span);
  copy.host.take(copy.place, ahead + span, kind);
  copy.moved = reinterpret_cast<std::intptr_t>(copy.host.data() + ahead) - first;
  side.base = reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(side.base) + copy.moved);
  if (copy.host.is_pinned() && team::config().device_kernels) take_kernels(copy);
}

void OnHost::take_kernels(Copy& copy) const {
  const memory::Regions& read = regions_of(copy, To::host);
  if (!read.empty()) copy.out.take(copy.place, read, copy.moved, true, kernels_);
  if (&copy == &recv_) copy.in.take(copy.place, copy.regions, copy.moved, false, kernels_);
}

void OnHost::put(const Copy& copy, To to, memory::DeviceCopies& copies) const {
  copies.move(to, regions_of(copy, to), copy.moved, to == To::host ? copy.out : copy.in);
}

void OnHost::move(const Copy& copy, To to) {
  if (!copy.can_be_copied() || regions_of(copy, to).empty()) return;
  const memory::AtDevice at(copy.place);
  memory::DeviceCopies copies;
  put(copy, to, copies);
  failed_ = !copies.wait() || failed_;
}

bool OnHost::fetch() {
  failed_ = send_.is_lost || recv_.is_lost;
  step_ = Step::fetched;
  move(send_, To::host);
  move(recv_, To::host);
  return !failed_;
}

int OnHost::finish(int error) {
  if (error != mpi_success) return error;
  move(recv_, To::device);
  return failed_ ? mpi().err_other : mpi_success;
}

// ---- In steps ----

void OnHost::prepare_steps() {
  for (Copy* copy : {&send_, &recv_}) {
    if (copy->can_be_copied() && copy->stream == nullptr) copy->stream = memory::borrow_stream(copy->place);
  }
}

void OnHost::begin_fetch(bool settled) {
  prepare_steps();
  failed_ = send_.is_lost || recv_.is_lost;
  if (settled) return begin_to_read();
  for (const Copy* copy : {&send_, &recv_}) {
    if (copy->stream != nullptr) copy->stream->mark();
  }
  step_ = Step::settling;
}

// After a failure nothing is on its way there.
bool OnHost::are_done(Look (memory::OwnStream::*look)() const) {
  for (const Copy* copy : {&send_, &recv_}) {
    if (copy->stream == nullptr) continue;
    const Look now = ((*copy->stream).*look)();
    if (now == Look::not_yet) return false;
    failed_ = failed_ || now == Look::failed;
  }
  return true;
}

void OnHost::begin_to_move(const Copy& copy, To to) {
  if (!copy.can_be_copied() || regions_of(copy, to).empty()) return;
  const memory::AtDeviceBeside at(copy.place);
  memory::DeviceCopies copies(copy.stream->stream());
  put(copy, to, copies);
  failed_ = !copies.leave() || failed_;
}

void OnHost::begin_to_read() {
  begin_to_move(send_, To::host);
  begin_to_move(recv_, To::host);
  step_ = Step::reading;
}

bool OnHost::has_fetched() {
  if (step_ == Step::settling) {
    if (!are_done(&memory::OwnStream::look_at_mark)) return false;
    begin_to_read();
  }
  if (step_ == Step::reading) {
    if (!are_done(&memory::OwnStream::look)) return false;
    step_ = Step::fetched;
  }
  return true;
}

void OnHost::begin_finish(int error) {
  error_ = error;
  step_ = Step::writing;
  if (error != mpi_success || !recv_.can_be_copied()) return;
  // Of one that fetch() was called for.
  if (recv_.stream == nullptr) recv_.stream = memory::borrow_stream(recv_.place);
  begin_to_move(recv_, To::device);
}

bool OnHost::has_finished() {
  if (step_ == Step::writing) {
    if (!are_done(&memory::OwnStream::look)) return false;
    step_ = Step::fetched;
    if (error_ == mpi_success && failed_) error_ = mpi().err_other;
  }
  return true;
}

// ---- In the order of a stream ----

bool OnHost::fetch_in(void* stream) {
  memory::DeviceCopies copies(stream);
  for (const Copy* copy : {&send_, &recv_}) {
    if (copy->is_used()) put(*copy, To::host, copies);
  }
  return copies.leave();
}

bool OnHost::finish_in(void* stream) {
  memory::DeviceCopies copies(stream);
  if (recv_.is_used()) put(recv_, To::device, copies);
  return copies.leave();
}

bool has_device_memory(const run::Call& call, const UsedBlocks& used) {
  memory::DevicePlace place;
  return find_side(call.recv, used.recv, place) == Where::device ||
         (!call.in_place && find_side(call.send, used.send, place) == Where::device);
}

void StayingAt::prepare_steps() {
  free_staging_at_end();
  if (sent.on_device) of_sent_ = memory::borrow_stream(sent.place);
  const bool is_other = received.on_device && !(sent.on_device && received.place == sent.place);
  if (is_other) of_received_ = memory::borrow_stream(received.place);
}

void StayingAt::begin_to_settle() {
  for (const memory::LentStream* stream : {&of_sent_, &of_received_}) {
    if (*stream != nullptr) (*stream)->mark();
  }
}

memory::OwnStream::Look StayingAt::look() const {
  using Look = memory::OwnStream::Look;
  Look all = Look::done;
  for (const memory::LentStream* stream : {&of_sent_, &of_received_}) {
    if (*stream == nullptr) continue;
    const Look now = (*stream)->look_at_mark();
    if (now == Look::not_yet) return now;
    if (now == Look::failed) all = now;
  }
  return all;
}

bool stays_on_device(run::Call& call, const UsedBlocks& used, StayingAt& at) {
  bool sent_can = true, received_can = true;
  const Where sent = call.in_place ? Where::host : find_side(call.send, used.send, at.sent.place, &sent_can);
  const Where received = find_side(call.recv, used.recv, at.received.place, &received_can);
  at.sent.on_device = sent == Where::device, at.received.on_device = received == Where::device;
  if ((!at.sent.on_device && !at.received.on_device) || !sent_can || !received_can) return false;
  if (sent == Where::unknown || received == Where::unknown) return false;
  if (call.in_place && !is_allgather(call.collective)) return false;
  const bool alone = is_neighbor(call.collective);  // a side on the host is packed else
  if ((at.sent.on_device || (alone && !call.in_place)) && has_gaps(call.send, used.send)) return false;
  if ((at.received.on_device || alone) && has_gaps(call.recv, used.recv)) return false;
  call.on_device = at.received.on_device ? at.received.place : at.sent.place;
  memory::lend_context(*call.on_device);
  return true;
}

}  // namespace quadrille::api
