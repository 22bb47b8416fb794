#include "run/call.hpp"

#include "run/mpi_transport.hpp"

namespace quadrille::run {

Block block_of(const Side& side, int block) {
  Block b;
  b.type = side.type_of(block);
  b.info = type_info(b.type);
  b.count = static_cast<std::size_t>(side.count_of(block));
  const std::ptrdiff_t displacement = side.displacement_of(block, side.count);
  b.address = side.base + (side.types != nullptr ? displacement : displacement * b.info.extent);
  return b;
}

Block send_block(const Call& call, int to, int me) {
  if (is_allgather(call.collective)) {
    return call.in_place ? block_of(call.recv, me) : block_of(call.send, 0);
  }
  return block_of(call.in_place ? call.recv : call.send, to);
}

Place typed_place(const Block& block) {
  return {block.address, block.count, block.bytes(), to_handle(block.type), block.info.dense};
}

}  // namespace quadrille::run
