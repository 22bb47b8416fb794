// Makes a call and checks it: the second half of exchange.hpp.
#include <algorithm>
#include <sstream>

#include "exchange.hpp"
#include "placed.hpp"

namespace quadrille::test {

namespace {

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
std::string run(const Door& door, const Exchange& exchange, const Communicator& where, const Images& images) {
  const Arguments send(exchange.send), receive(exchange.receive);
  const Arguments send_before = send, receive_before = receive;
  Image sent = images.send, received = images.receive;
  Placed sent_place(sent, exchange.send), received_place(received, exchange.receive);
  // In place the arguments of the send side are to be ignored: they are null.
  CallSide from{MPI_IN_PLACE, 0, MPI_DATATYPE_NULL};
  if (!exchange.in_place) from = send.of(sent_place.address(), exchange.send.front());
  const int code =
      call(door, exchange.collective, from, receive.of(received_place.address(), exchange.receive.front()), where.comm);
  sent_place.bring_back();
  received_place.bring_back();
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

Arguments::Arguments(const std::vector<Block>& blocks) {
  counts.reserve(1), displacements.reserve(1), bytes.reserve(1);  // some MPIs refuse a null array
  addresses.reserve(1), types.reserve(1);
  for (const Block& block : blocks) {
    counts.push_back(static_cast<int>(block.count));
    displacements.push_back(static_cast<int>(block.at / block.type->extent));
    bytes.push_back(static_cast<int>(block.at));
    addresses.push_back(block.at);
    types.push_back(block.type->handle);
  }
}

CallSide Arguments::of(const void* buffer, const Block& one) const {
  return {const_cast<void*>(buffer), static_cast<int>(one.count),
          one.type->handle,          counts.data(),
          displacements.data(),      bytes.data(),
          addresses.data(),          types.data()};
}

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
  name << to_string(shape) << ", communicator " << where.name << ", rank " << where.rank << " of " << where.size
       << ": ";
  const std::string own = run(tested, call, where, images);
  if (!own.empty()) return name.str() + own;
  if (!compare || !mpi_can(shape, where.size)) return {};
  const std::string theirs = run(native(), call, where, images);
  return theirs.empty() ? theirs : name.str() + "by the MPI itself: " + theirs;
}

}  // namespace quadrille::test
