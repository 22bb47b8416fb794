// Makes a call and checks it: the second half of exchange.hpp.
#include <algorithm>
#include <sstream>

#include "exchange.hpp"

namespace quadrille::test {

namespace {

// The argument arrays of a call, as MPI wants them.
struct Arguments {
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<MPI_Datatype> types;
  friend bool operator==(const Arguments&, const Arguments&) = default;
};

Arguments arguments_of(const std::vector<Block>& blocks, bool in_bytes) {
  Arguments result;
  for (const Block& block : blocks) {
    const std::ptrdiff_t unit = in_bytes ? 1 : block.type->extent;
    result.counts.push_back(static_cast<int>(block.count));
    result.displacements.push_back(static_cast<int>(block.at / unit));
    result.types.push_back(block.type->handle);
  }
  return result;
}

// In place the arguments of the send side are to be ignored: they are null.
int call(const Door& door, const Exchange& exchange, const void* from, const Arguments& send,
         void* to, const Arguments& receive, MPI_Comm comm) {
  const bool in_place = exchange.in_place;
  const void* const source = in_place ? MPI_IN_PLACE : from;
  const int* const counts = in_place ? nullptr : send.counts.data();
  const int* const displacements = in_place ? nullptr : send.displacements.data();
  const int count = in_place ? 0 : send.counts[0];
  const MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : send.types[0];
  switch (exchange.collective) {
    case Collective::alltoall:
      return door.alltoall(source, count, type, to, receive.counts[0], receive.types[0], comm);
    case Collective::alltoallv:
      return door.alltoallv(source, counts, displacements, type, to, receive.counts.data(),
                            receive.displacements.data(), receive.types[0], comm);
    case Collective::alltoallw:
      return door.alltoallw(source, counts, displacements, in_place ? nullptr : send.types.data(),
                            to, receive.counts.data(), receive.displacements.data(),
                            receive.types.data(), comm);
    case Collective::allgather:
      return door.allgather(source, count, type, to, receive.counts[0], receive.types[0], comm);
    case Collective::allgatherv:
      return door.allgatherv(source, count, type, to, receive.counts.data(),
                             receive.displacements.data(), receive.types[0], comm);
    default:
      break;  // sparse_test.cpp, neighbor_test.cpp
  }
  return MPI_ERR_INTERN;
}

// The images before and after a call.
struct Images {
  Image send;
  Image receive;
  Image expected;
};

Images make_images(const Exchange& exchange, const Communicator& where) {
  const int me = where.rank;
  const std::uint64_t seed = where.number << 40 | where.calls;
  const bool gathers = is_allgather(exchange.collective);
  const auto world = [&](int rank) { return where.world[static_cast<std::size_t>(rank)]; };
  // The message from s to d; that of a gather has no destination.
  const auto key = [&](int s, int d) { return Key{world(s), gathers ? -2 : world(d), seed}; };
  // Bytes may lie anywhere; other types at any address that is aligned for them.
  const bool bytes = exchange.receive.front().type->base == Base::byte;
  const std::size_t shift = bytes ? static_cast<std::size_t>(where.calls + 3U * me) % 16 : 0;
  const Image poisoned(exchange.receive, seed * 2 + 1, shift);
  Images images{Image(exchange.send, seed * 2, shift), poisoned, poisoned};
  for (std::size_t d = 0; d < exchange.send.size(); ++d) {
    images.send.write(exchange.send[d], key(me, static_cast<int>(d)));
  }
  for (std::size_t s = 0; s < exchange.receive.size(); ++s) {
    const int peer = static_cast<int>(s);
    const bool mine = !gathers || peer == me;
    if (exchange.in_place && mine) images.receive.write(exchange.receive[s], key(me, peer));
    images.expected.write(exchange.receive[s], key(peer, me));
  }
  return images;
}

// Makes the call with buffers of its own. Returns what is wrong.
std::string run(const Door& door, const Exchange& exchange, const Communicator& where,
                const Images& images) {
  const bool in_bytes = is_typed(exchange.collective);
  const Arguments send = arguments_of(exchange.send, in_bytes);
  const Arguments receive = arguments_of(exchange.receive, in_bytes);
  const Arguments send_before = send;
  const Arguments receive_before = receive;
  Image sent = images.send, received = images.receive;
  const int code =
      call(door, exchange, sent.address(), send, received.address(), receive, where.comm);
  std::string problem;
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return "it returned an error: " + std::string(text, static_cast<std::size_t>(length));
  }
  if (std::string text = received.difference(images.expected); !text.empty()) {
    problem += "receive buffer: " + text + ". ";
  }
  if (std::string text = sent.difference(images.send); !text.empty()) {
    problem += "send buffer was changed: " + text + ". ";
  }
  if (send != send_before || receive != receive_before) {
    problem += "an argument array was changed. ";
  }
  return problem;
}

}  // namespace

Communicator describe(std::string name, MPI_Comm comm) {
  // Ranks have been in different numbers of communicators, so the number must be agreed on.
  static std::uint64_t made = 0;
  Communicator result;
  result.name = std::move(name);
  result.comm = comm;
  MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_UINT64_T, MPI_MAX, comm);
  result.number = ++made;
  MPI_Comm_rank(comm, &result.rank);
  MPI_Comm_size(comm, &result.size);
  MPI_Group here;
  MPI_Group world;
  MPI_Comm_group(comm, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(result.size));
  for (int rank = 0; rank < result.size; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  result.world.resize(ranks.size());
  MPI_Group_translate_ranks(here, result.size, ranks.data(), world, result.world.data());
  MPI_Group_free(&here);
  MPI_Group_free(&world);
  return result;
}

std::string check(const Shape& shape, const Communicator& where, bool compare) {
  ++where.calls;
  const Exchange call = exchange(shape, where);
  const Images images = make_images(call, where);
  std::ostringstream name;
  name << to_string(shape) << ", communicator " << where.name << ", rank " << where.rank << " of "
       << where.size << ": ";
  const std::string own = run(tested, call, where, images);
  if (!own.empty()) return name.str() + own;
  if (!compare || !mpi_can(shape, where.size)) return {};
  const std::string theirs = run(native(), call, where, images);
  return theirs.empty() ? theirs : name.str() + "by the MPI itself: " + theirs;
}

}  // namespace quadrille::test
