#include "run/transport.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <new>

#include "mpi/mpi.hpp"
#include "mpi/progress.hpp"
#include "mpi/types.hpp"
#include "sys/sys.hpp"

namespace quadrille::run {
namespace {

MpiType type_of(const Place& place) {
  // Plain bytes may meet typed data on the other side (packed in-place calls): that is what
  // MPI_PACKED is for.
  return place.type == 0 ? mpi().packed : MpiType{place.type};
}

std::size_t bytes_of(std::span<const Place> places) {
  std::size_t bytes = 0;
  for (const Place& place : places) bytes += place.bytes;
  return bytes;
}

// A type of `times` * `bytes` + `rest` bytes that all lie in the first `bytes`.
int make_sink(std::size_t times, std::size_t rest, std::size_t bytes, MpiType& sink) {
  MpiType piece, again;
  int error = mpi().Type_contiguous(static_cast<int>(bytes), mpi().byte, &piece);
  if (error != mpi_success) return error;
  error = mpi().Type_create_resized(piece, 0, 0, &again);
  mpi().Type_free(&piece);
  if (error != mpi_success) return error;
  const int lengths[] = {static_cast<int>(times), static_cast<int>(rest)};
  const MpiAint places[] = {0, 0};
  const MpiArray<MpiType> types = {again, mpi().byte};
  error = mpi().Type_create_struct(2, lengths, places, types.all(), &sink);
  mpi().Type_free(&again);
  return error != mpi_success ? error : mpi().Type_commit(&sink);
}

// The error of the message that failed, instead of "there is one among them". A fault comes before other errors.
int first_error(const std::vector<MpiStatus>& statuses) {
  int first = mpi_success;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const int error = error_in(status_at(statuses.data(), i));
    if (is_fault(error)) return error;
    keep(first, error);
  }
  return first != mpi_success ? first : mpi().err_in_status;
}

// Of one place, of which there may be more elements than an int counts. Returns an MPI error code.
int make_argument(const Place& place, Argument& argument) {
  argument.address = place.address;
  argument.type = type_of(place);
  if (place.count <= INT_MAX) {
    argument.count = static_cast<int>(place.count);
    return mpi_success;
  }
  MpiType large;
  const int error = make_large_type(place.count, place.type == 0 ? mpi().byte : argument.type, large);
  argument = {place.address, 1, large, true};
  return error;
}

// Scattered places become one derived datatype with absolute addresses.
int scattered(std::span<const Place> places, Argument& argument) {
  std::vector<int> lengths(places.size());
  std::vector<MpiAint> addresses(places.size());
  MpiArray<MpiType> types(places.size(), mpi().byte);
  std::vector<MpiType> made;
  int error = mpi_success;
  for (std::size_t i = 0; i < places.size() && error == mpi_success; ++i) {
    Argument one;
    error = make_argument(places[i], one);
    lengths[i] = one.count;
    // MPI_BOTTOM is address zero, so displacements are addresses.
    addresses[i] = reinterpret_cast<MpiAint>(one.address);
    // MPI_PACKED may not be part of a derived type.
    if (places[i].type != 0 || one.made) types.set(i, one.type);
    if (one.made) made.push_back(one.type);
  }
  if (error == mpi_success) {
    argument.made = true;
    argument.count = 1;
    error = mpi().Type_create_struct(static_cast<int>(places.size()), lengths.data(), addresses.data(), types.all(),
                                     &argument.type);
    if (error == mpi_success) error = mpi().Type_commit(&argument.type);
  }
  for (MpiType& type : made) mpi().Type_free(&type);
  return error;
}

// A type may be freed while a message that uses it is in flight.
void release(Argument& argument) {
  if (argument.made) mpi().Type_free(&argument.type);
}

}  // namespace

MpiTransport::MpiTransport(MpiComm comm, int me, int tag, const int* ranks)
    : comm_(comm), ranks_(ranks), me_(rank_of(me)), tag_(tag) {}

MpiTransport::~MpiTransport() {
  end_messages();
  finish_copies();  // which use the driver at the right place
  for (Argument& argument : kept_) release(argument);
}

// After a fault has ended a wait (team/team.cpp). The revocation ends each message on all ranks, but not at once:
// until then the MPI may write to the program's memory.
void MpiTransport::end_messages() {
  if (!reports_faults()) return;
  for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
    if (requests_[slot] == mpi().request_null) continue;
    revoke(comm_);
    int flag = 0;
    while (mpi().Test(requests_.at(slot), &flag, mpi().status_ignore) == mpi_success && flag == 0) sys::yield();
  }
}

int MpiTransport::rank_of(int peer) const { return ranks_ == nullptr ? peer : ranks_[peer]; }

int MpiTransport::argument_of(std::span<const Place> places, Argument& argument) {
  const bool scatters = places.size() > 1;
  // A piece of packed places moves when it grows, but is too small to need a type.
  const bool keeps = keeps_ && (scatters || places[0].count > INT_MAX);
  if (keeps && next_kept_ < kept_.size()) {
    argument = kept_[next_kept_++];
    return mpi_success;
  }
  argument.address = static_cast<std::byte*>(nullptr);
  const int error = scatters ? scattered(places, argument) : make_argument(places[0], argument);
  if (error == mpi_success && keeps) {
    kept_.push_back(argument);
    ++next_kept_;
  }
  return error;
}

MpiRequest* MpiTransport::request(std::size_t slot) {
  if (slot >= requests_.size()) requests_.resize(slot + 1, mpi().request_null);
  return requests_.at(slot);
}

bool MpiTransport::has_in_flight(std::size_t slots) const {
  for (std::size_t slot = 0; slot < std::min(slots, requests_.size()); ++slot) {
    if (requests_[slot] != mpi().request_null) return true;
  }
  return false;
}

Place MpiTransport::piece_of(std::size_t slot, std::span<const Place> places) {
  const auto is_plain = [](const Place& place) { return place.dense && place.type == 0; };
  if (most_packed_ == 0 || places.size() < 2 || !std::ranges::all_of(places, is_plain)) return {};
  const std::size_t bytes = bytes_of(places);
  if (bytes > most_packed_) return {};
  if (slot >= pieces_.size()) pieces_.resize(slot + 1);
  std::vector<std::byte>& memory = pieces_[slot].memory;
  const bool has_room = memory.size() >= bytes || thrown_by([&] { memory.resize(bytes); }) == mpi_success;
  return {.address = has_room ? memory.data() : nullptr, .count = bytes, .bytes = bytes};
}

void MpiTransport::reserve(std::size_t slots) {
  requests_.reserve(slots);
  statuses_.reserve(slots);
  pieces_.reserve(slots);
}

// The message of this slot has arrived.
void MpiTransport::unpack(std::size_t slot) {
  if (slot >= pieces_.size()) return;
  const std::byte* at = pieces_[slot].memory.data();
  for (const Place& place : pieces_[slot].places) {
    if (place.bytes > 0) std::memcpy(place.address, at, place.bytes);
    at += place.bytes;
  }
  pieces_[slot].places.clear();
}

int MpiTransport::start_send(std::size_t slot, int peer, std::span<const Place> places) {
  const Place piece = piece_of(slot, places);
  std::byte* at = piece.address;
  if (at == nullptr) return start(true, slot, peer, places);
  for (const Place& place : places) {
    if (place.bytes > 0) std::memcpy(at, place.address, place.bytes);
    at += place.bytes;
  }
  return start(true, slot, peer, {&piece, 1});
}

int MpiTransport::start(bool sends, std::size_t slot, int peer, std::span<const Place> places) {
  Argument all;
  int error = argument_of(places, all);
  if (error != mpi_success) return error;
  MpiRequest* const in_flight = request(slot);
  if (!sends) {
    error = mpi().Irecv(all.address, all.count, all.type, rank_of(peer), tag_, comm_, in_flight);
  } else if (takes_messages(comm_)) {
    error = (mpi().*send_)(all.address, all.count, all.type, rank_of(peer), tag_, comm_, in_flight);
  } else {
    error = err_revoked();
  }
  if (!keeps_) release(all);
  return started(slot, error);
}

// A message that was not has no request, whatever the MPI left there.
int MpiTransport::started(std::size_t slot, int error) {
  if (error != mpi_success) requests_.set(slot, mpi().request_null);
  return spread(error);
}

// This rank may lack blocks that it forwards. After the revocation no rank receives anything from it.
int MpiTransport::spread(int error) const {
  if (is_fault(error)) revoke(comm_);
  return error;
}

// All of it to the same bytes, over and over.
int MpiTransport::start_dropping(std::size_t slot, int peer, std::size_t bytes) {
  constexpr std::size_t sink_bytes = 4096;
  static std::byte sink[sink_bytes];
  MpiRequest* const in_flight = request(slot);
  const std::size_t again = bytes / sink_bytes;
  Argument all{sink, again > 0 ? 1 : static_cast<int>(bytes), mpi().byte, again > 0};
  int error = all.made ? make_sink(again, bytes % sink_bytes, sink_bytes, all.type) : mpi_success;
  if (error != mpi_success) return started(slot, error);
  error = mpi().Irecv(all.address, all.count, all.type, rank_of(peer), tag_, comm_, in_flight);
  release(all);
  return started(slot, error);
}

int MpiTransport::start_receive(std::size_t slot, int peer, std::span<const Place> places) {
  if (drops_) return start_dropping(slot, peer, bytes_of(places));
  const Place piece = piece_of(slot, places);
  if (piece.address == nullptr) return start(false, slot, peer, places);
  pieces_[slot].places.assign(places.begin(), places.end());
  return start(false, slot, peer, {&piece, 1});
}

// Where a rank may fail, Open MPI's MPI_Waitall() and MPI_Testany() forget messages that are still in flight when
// another ends in an error. So messages are tested, in MPI_Testall(), which tells of no error before all are complete,
// or one by one.
int MpiTransport::wait_or_test_all(int count, bool block, int& flag) {
  if (block && !reports_faults()) return mpi().Waitall(count, requests_.all(), statuses_.data());
  for (;; sys::yield()) {
    const int error = test_all(count, requests_.all(), &flag, statuses_.data());
    if (!block || flag != 0 || error != mpi_success) return error;
  }
}

int MpiTransport::all_done(std::size_t slots, bool block, bool& done) {
  if (slots > 0) request(slots - 1);  // the last pairs of a round may be empty
  int flag = 1;
  const int count = static_cast<int>(slots);
  statuses_.resize(slots);
  int error = wait_or_test_all(count, block, flag);
  last_error_ = error;
  if (error == mpi().err_in_status) {
    wait_for_pending();
    error = first_error(statuses_);
  } else if (error != mpi_success) {
    mpi().Waitall(count, requests_.all(), mpi().statuses_ignore);
  }
  done = flag != 0 || error != mpi_success;
  for (std::size_t slot = 0; done && error == mpi_success && slot < slots; ++slot) unpack(slot);
  return error_of(error);
}

// After an error other messages may still be in flight.
void MpiTransport::wait_for_pending() {
  for (std::size_t slot = 0; slot < statuses_.size(); ++slot) {
    MpiStatus status = status_at(statuses_.data(), slot);
    if (error_in(status) != mpi().err_pending) continue;
    const int error = mpi().Waitall(1, {requests_.at(slot)}, &status);
    if (error != mpi().err_in_status) set_status(status, source_in(status), tag_in(status), error);
    set_status_at(statuses_.data(), slot, status);
  }
}

std::size_t MpiTransport::came(std::size_t slot) const {
  const MpiStatus status = status_at(statuses_.data(), slot);
  if (last_error_ == mpi_success) return bytes_in(status);
  return last_error_ == mpi().err_in_status && error_in(status) == mpi_success ? bytes_in(status) : 0;
}

// What is dropped is cut to nothing.
int MpiTransport::error_of(int error) const {
  int kind = error;
  if (drops_ && error != mpi_success) mpi().Error_class(error, &kind);
  return drops_ && kind == mpi().err_truncate ? mpi_success : spread(error);
}

int MpiTransport::any_done(std::size_t slots, bool block, bool poll, std::size_t& slot) {
  if (slots > 0) request(slots - 1);
  const int count = static_cast<int>(slots);
  int index = mpi().undefined;
  MpiStatus status;
  const bool waits = block && !poll && !reports_faults();
  const int error = waits ? mpi().Waitany(count, requests_.all(), &index, &status)
                          : test_any(count, requests_.all(), &index, &status, reports_faults());
  last_error_ = error;
  if (statuses_.size() < slots) statuses_.resize(slots);
  if (index != mpi().undefined) set_status_at(statuses_.data(), static_cast<std::size_t>(index), status);
  slot = index == mpi().undefined ? slots : static_cast<std::size_t>(index);
  if (error == mpi_success && index != mpi().undefined) unpack(slot);
  return error_of(error);
}

// From one argument to another of as many bytes, without a message. False if that cannot be.
bool MpiTransport::repack(std::size_t bytes, const Argument& from, const Argument& to, int& error) {
  if (bytes > static_cast<std::size_t>(INT_MAX)) return false;
  const std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[bytes]);
  if (packed == nullptr) return false;
  const auto count = [](const Argument& argument) { return static_cast<std::size_t>(argument.count); };
  error = pack_at_once(from.address, count(from), from.type, packed.get(), bytes, comm_);
  if (error == mpi_success) error = unpack_at_once(to.address, count(to), to.type, packed.get(), bytes, comm_);
  return true;
}

// Others may be on their way at this moment: of another thread, or of a call with which this thread goes on inside of
// this very function (mpi/progress.hpp), so that no lock may be held here. So each has a tag of its own. Both ends
// are here: no other rank must know it.
int MpiTransport::send_to_self(const Argument& send, const Argument& receive) {
  const int tag = tags::next_own();
  return mpi().Sendrecv(send.address, send.count, send.type, me_, tag, receive.address, receive.count, receive.type,
                        me_, tag, comm_, mpi().status_ignore);
}

void MpiTransport::use_device(const memory::DevicePlace& place, bool beside) {
  device_place_ = place;
  beside_ = beside;
  device_copies_.emplace();
}

int MpiTransport::finish_copies() {
  if (!device_copies_) return mpi_success;
  const memory::AtDevice at(device_place_);
  return device_copies_->wait() ? mpi_success : mpi().err_other;
}

void MpiTransport::copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!device_copies_) {
    std::memcpy(to, from, bytes);
    return;
  }
  const memory::AtDevice at(device_place_);
  device_copies_->copy(to, from, bytes);
}

int MpiTransport::copy(const Place& from, const Place& to) {
  if (from.dense && to.dense) {
    // Not equal by a mistake of the program, which may not make more of it.
    if (const std::size_t bytes = std::min(from.bytes, to.bytes); bytes > 0)
      copy_bytes(to.address, from.address, bytes);
    return from.bytes > to.bytes ? mpi().err_truncate : mpi_success;
  }
  Argument send, receive;
  int error = make_argument(from, send);
  if (error != mpi_success) return error;
  error = make_argument(to, receive);
  if (error == mpi_success) {
    const bool repacked = from.bytes == to.bytes && !may_ask_for_progress() && repack(from.bytes, send, receive, error);
    if (!repacked) error = send_to_self(send, receive);
    release(receive);
  }
  release(send);
  return error;
}

}  // namespace quadrille::run
