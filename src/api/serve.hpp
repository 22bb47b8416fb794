// The way of a call from a door through the rooms.
#pragma once

#include <cstdint>

#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::api {

// The drop-in door serves programs that know nothing of us: a communicator is set up only when it has
// been used a few times. The explicit door sets it up at the first call.
enum class Door { explicit_api, drop_in };

// A call that is like an earlier one of this thread: same communicator, one dense datatype on both sides,
// small blocks. For blocks of some bytes the way through the rooms costs as much as the exchange
// itself, so its result is remembered: where the group is, and up to which size inboxes serve it.
struct Remembered {
  std::uint64_t generation = 0;  // of team::generation; 0: nothing is remembered
  MPI_Comm comm{};
  MPI_Datatype type{};
  std::size_t type_size = 0;
  std::size_t most_bytes = 0;
  run::Group* group = nullptr;
  std::uint64_t* served = nullptr;
};

// Serves an all-to-all that is like the remembered one; false if it is not.
bool serve_again(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, int& error);

// Serves a call, or returns false: then the caller hands it to the MPI unchanged. When it returns true,
// `error` is what the collective returns; errors have been raised through the error handler.
bool serve(const run::Call& call, Door door, int& error);

}  // namespace quadrille::api
