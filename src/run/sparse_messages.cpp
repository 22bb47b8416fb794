// What both ways of the sparse exchange share: messages of bytes, and the blocks of a call as
// bytes.
#include <numeric>

#include "run/blocks.hpp"
#include "run/mpi_transport.hpp"
#include "run/sparse.hpp"
#include "sys/sys.hpp"

namespace quadrille::run {
namespace {

// To be released after the start.
int make_argument_of_bytes(std::byte* address, std::size_t bytes, Argument& argument) {
  return make_argument({address, bytes, bytes, mpi().byte.word, true}, argument);
}

// Where a rank may fail, a wait in the MPI misses a revocation of the user's communicator.
int wait_for_one(const Group& group, MpiRequest* request) {
  MpiStatus status;
  int error = mpi_success;
  if (!reports_faults()) {
    error = mpi().Waitall(1, {request}, &status);
    return error == mpi().err_in_status ? error_in(status) : error;
  }
  group.waiter.until([&] {
    int flag = 0;
    error = mpi().Test(request, &flag, &status);
    return flag != 0 || error != mpi_success;
  });
  return error;
}

}  // namespace

int start_bytes(StartSend send, const std::byte* from, std::size_t bytes, int to, int tag, MpiComm comm,
                MpiRequest& request) {
  if (!takes_messages(comm)) return err_revoked();
  Argument all;
  int error = make_argument_of_bytes(const_cast<std::byte*>(from), bytes, all);
  if (error != mpi_success) return error;
  error = send(all.address, all.count, all.type, to, tag, comm, &request);
  release(all);
  return error;
}

Parcel start_receive(const MpiStatus& status, MpiComm comm, Mail& mail, MpiRequest& request, int& error) {
  MpiCount count = 0;
  keep(error, mpi().Get_elements_x(&status, mpi().byte, &count));
  Parcel parcel{source_in(status), 0, static_cast<std::size_t>(count), nullptr};
  std::byte* room = nullptr;
  Argument all;
  try {
    if (count > 0) {
      mail.memory.push_back(std::make_unique_for_overwrite<std::byte[]>(parcel.bytes));
      room = mail.memory.back().get();
    }
    keep(error, make_argument_of_bytes(room, parcel.bytes, all));
  } catch (const std::bad_alloc&) {
    keep(error, mpi().err_no_mem);
    keep(error, receive_and_drop(parcel.bytes, source_in(status), tag_in(status), comm, &request));
    parcel.bytes = 0;
    return parcel;
  }
  keep(error, mpi().Irecv(room, all.count, all.type, source_in(status), tag_in(status), comm, &request));
  release(all);
  parcel.data = room;
  return parcel;
}

int wait_for_all(const Group& group, MpiArray<MpiRequest>& requests) {
  int first = mpi_success;
  for (std::size_t i = 0; i < requests.size(); ++i) keep_error(group, first, wait_for_one(group, requests.at(i)));
  return first;
}

void keep_error(const Group& group, int& first, int error) {
  if (is_fault(error)) revoke(group.messages().comm);
  keep(first, error);
}

void take_back(const Group& group, MpiArray<MpiRequest>& requests) {
  if (!reports_faults()) return;
  revoke(group.messages().comm);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int flag = 0;
    while (mpi().Test(requests.at(i), &flag, mpi().status_ignore) == mpi_success && flag == 0) sys::yield();
  }
}

// Where all blocks are empty the type may be anything.
int make_parcels(const SparseSend& send, int me, MpiComm comm, std::unique_ptr<std::byte[]>& packed,
                 std::vector<Parcel>& parcels) {
  const std::span counts(send.counts, send.destinations.size());
  const auto elements = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), MpiCount{0}));
  const TypeInfo info = elements > 0 ? type_info(send.type) : TypeInfo{};
  const bool packs = elements > 0 && !info.dense;
  if (packs) packed = std::make_unique_for_overwrite<std::byte[]>(elements * info.size);
  std::byte* room = packed.get();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<std::size_t>(counts[i]);
    const std::byte* from = count > 0 ? send.base + send.displacements[i] * info.extent : nullptr;
    parcels.push_back({me, send.destinations[i], count * info.size, packs && count > 0 ? room : from});
    if (!packs || count == 0) continue;
    const int error = pack(from, count, send.type, info, room, comm);
    if (error != mpi_success) return error;
    room += count * info.size;
  }
  return mpi_success;
}

}  // namespace quadrille::run
