// Binds a call to a schedule, runs it, and deals with datatypes and in-place calls around it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/carried.hpp"
#include "run/engines.hpp"
#include "run/executor.hpp"
#include "run/mpi_transport.hpp"
#include "run/places.hpp"

namespace quadrille::run {
namespace {

std::vector<Block> send_blocks(const Call& call, const Group& group) {
  std::vector<Block> blocks;
  const int count = is_allgather(call.collective) ? 1 : group.ranks;
  blocks.reserve(static_cast<std::size_t>(count));
  for (int to = 0; to < count; ++to) blocks.push_back(send_block(call, to, group.me));
  return blocks;
}

std::vector<Block> recv_blocks(const Call& call, const Group& group) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(group.ranks));
  for (int from = 0; from < group.ranks; ++from) blocks.push_back(block_of(call.recv, from));
  return blocks;
}

// The most bytes of a block, on all ranks: N of the papers.
int agree_on_largest(std::uint64_t mine, const Group& group, std::uint64_t& largest) {
  return mpi().Allreduce(&mine, &largest, 1, mpi().uint64, mpi().op_max, group.comm);
}
int agree_on_largest(const std::vector<Block>& send, const Group& group, std::uint64_t& largest) {
  std::uint64_t mine = 0;
  for (const Block& block : send) mine = std::max<std::uint64_t>(mine, block.bytes());
  return agree_on_largest(mine, group, largest);
}

// A schedule whose sizes travel. Scratch is taken by need, or all at once.
int run_carried(const plan::Schedule& schedule, Binding& binding, MpiTransport& transport,
                const CarriedOptions& options, Group& group) {
  if (options.monolithic) {
    std::uint64_t mine = 0, largest = 0;
    for (const Place& block : binding.send) mine = std::max<std::uint64_t>(mine, block.bytes);
    if (const int error = agree_on_largest(mine, group, largest); error != MPI_SUCCESS) return error;
    // Known to all alike: then nobody begins.
    if (largest > SIZE_MAX / 2 / binding.recv.size()) return MPI_ERR_NO_MEM;
    binding.block_bytes = largest;
    binding.scratch = group.carried.working.take(binding.recv.size() * largest);
  }
  const int error =
      CarriedExecution(schedule, binding, transport, group.carried, {.eager = options.eager}).advance(true);
  group.carried.trim();
  return error;
}

// More than this for each of the two padded buffers is not worth it: blocks go unpadded then. Also keeps
// counts within MPI's int.
constexpr std::uint64_t most_padded_bytes = std::uint64_t{256} << 20;

std::vector<Place> padded_places(std::size_t ranks, std::size_t bytes, memory::Pool& pool) {
  std::byte* memory = pool.take(ranks * bytes);
  std::vector<Place> places;
  places.reserve(ranks);
  for (std::size_t i = 0; i < ranks; ++i) places.push_back({memory + i * bytes, bytes, bytes, 0, true});
  return places;
}

}  // namespace

int run_schedule(const Call& call, const plan::Schedule& schedule, bool as_bytes,
                 const CarriedOptions& carried, Group& group) {
  const std::vector<Block> send = send_blocks(call, group);
  const std::vector<Block> recv = recv_blocks(call, group);

  // An in-place all-to-all needs its blocks twice. An in-place allgather does not: its only send
  // block is a receive block that nobody writes to.
  const bool whole_in_place = call.in_place && !is_allgather(call.collective);

  // What is sent packed is received packed: MPICH cuts a large packed message anywhere, and then
  // refuses to unpack the part of an element of several basic types.
  const bool pack_recv = (as_bytes || whole_in_place) && !all_dense(recv);
  const std::vector<Place> recv_places =
      pack_recv ? packed_places(recv, group.packed_recv.take(total_bytes(recv)))
                : own_places(recv, as_bytes || whole_in_place);
  const bool pack_send = whole_in_place || (as_bytes && !all_dense(send));
  std::vector<Place> send_places;
  if (pack_send) {
    send_places = packed_places(send, group.packed_send.take(total_bytes(send)));
    const int error = pack_all(send, send_places, group.quiet);
    if (error != MPI_SUCCESS) return error;
  } else {
    send_places = own_places(send, as_bytes);
  }

  MpiTransport transport(group.comm, group.me);
  Binding binding;
  binding.send = send_places;
  binding.recv = recv_places;
  int error = MPI_SUCCESS;
  if (schedule.sizes == plan::Sizes::known) {
    binding.block_bytes = recv.empty() ? 0 : recv.front().bytes();
    binding.scratch = group.scratch.take(schedule.scratch_blocks * binding.block_bytes);
    Execution execution(schedule, binding, transport);
    error = execution.advance(true);
    group.scratch.trim();
  } else {
    error = run_carried(schedule, binding, transport, carried, group);
  }
  if (error == MPI_SUCCESS && pack_recv) error = unpack_all(recv_places, recv, group.quiet);
  group.packed_send.trim();
  group.packed_recv.trim();
  return error;
}

// The uniform schedule runs between the padded blocks; without one the MPI's own all-to-all does.
int run_padded(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct,
               Group& group) {
  const std::vector<Block> send = send_blocks(call, group);
  const std::vector<Block> recv = recv_blocks(call, group);
  std::uint64_t largest = 0;
  if (const int error = agree_on_largest(send, group, largest); error != MPI_SUCCESS) return error;
  if (largest == 0) return MPI_SUCCESS;
  const auto ranks = static_cast<std::size_t>(group.ranks);
  if (largest > most_padded_bytes / ranks) return run_schedule(call, direct, false, {}, group);

  const std::vector<Place> send_places = padded_places(ranks, largest, group.packed_send);
  const std::vector<Place> recv_places = padded_places(ranks, largest, group.packed_recv);
  int error = pack_all(send, send_places, group.quiet);
  if (error == MPI_SUCCESS && uniform != nullptr) {
    MpiTransport transport(group.comm, group.me);
    const Binding binding{send_places, recv_places, group.scratch.take(uniform->scratch_blocks * largest),
                          largest};
    error = Execution(*uniform, binding, transport).advance(true);
    group.scratch.trim();
  } else if (error == MPI_SUCCESS) {
    error = mpi().Alltoall(send_places[0].address, static_cast<int>(largest), mpi().byte,
                           recv_places[0].address, static_cast<int>(largest), mpi().byte, group.comm);
  }
  if (error == MPI_SUCCESS) error = unpack_all(recv_places, recv, group.quiet);
  group.packed_send.trim();
  group.packed_recv.trim();
  return error;
}

}  // namespace quadrille::run
