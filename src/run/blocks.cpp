#include "run/blocks.hpp"

#include <algorithm>

#include "mpi/thrown.hpp"
#include "mpi/type_runs.hpp"
#include "run/mpi_transport.hpp"

namespace quadrille::run {

bool is_plain(const Call& call) {
  if (!is_regular(call.collective)) return false;
  const Side& sent = call.in_place ? call.recv : call.send;
  const TypeInfo send = type_info(sent.type), recv = type_info(call.recv.type);
  return send.dense && recv.dense && sent.count * send.size == call.recv.count * recv.size;
}

bool may_have_gaps(const Call& call) {
  return !Blocks(call.in_place ? call.recv : call.send).all_dense() || !Blocks(call.recv).all_dense();
}

int fill_slot(std::byte* slot, const Block& block, MpiComm comm) {
  if (block.info.dense) {
    memory::Inbox::fill(slot, block.address, block.bytes());
    return mpi_success;
  }
  return pack(block.address, block.count, block.type, block.info, slot, comm);
}

int unpack_block(const std::byte* from, std::size_t bytes, const Block& block, MpiComm comm) {
  if (block.info.size == 0) return mpi_success;
  return unpack(from, block.address, std::min(block.count, bytes / block.info.size), block.type, block.info, comm);
}

int copy_own(const Block& whole, const Block& to, Group& group, memory::Pool& room) {
  const Block from = first_part(whole, to.bytes());
  const std::size_t bytes = from.bytes();
  if (bytes == 0) return mpi_success;
  if (from.info.dense && to.info.dense && from.address == to.address) return mpi_success;
  if (from.info.dense) return unpack_block(from.address, bytes, to, group.messages().quiet);
  if (bytes == to.bytes()) {
    if (to.info.dense) {
      return pack(from.address, from.count, from.type, from.info, to.address, group.messages().quiet);
    }
    const bool have_runs = from.info.runs != nullptr && to.info.runs != nullptr;
    // Peers wait for this rank: without memory nothing is thrown.
    if (std::byte* at = nullptr; have_runs && thrown_by([&] { at = room.take(bytes); }) == mpi_success) {
      pack_runs(from.address, from.count, from.info, at);
      unpack_runs(at, to.address, to.count, to.info);
      room.trim();
      return mpi_success;
    }
  }
  return MpiTransport(group.messages().quiet, group.messages().quiet_me).copy(typed_place(from), typed_place(to));
}

std::byte* CallBlocks::packed(const Block& block, Room& room) {
  std::byte* const bytes = room.take(block.bytes());
  keep(error_, pack(block.address, block.count, block.type, block.info, bytes, group_.messages().quiet));
  return bytes;
}

}  // namespace quadrille::run
