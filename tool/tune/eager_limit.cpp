// Idea    A send is complete when its buffer is free. Of a message that the MPI sends at once, or copies, that is so
//         though nobody receives it; of a longer one not before a receive is posted. So rank 0 starts a send, looks for
//         a while whether it is complete, and only then tells the other rank to receive it. The longest that is
//         complete is found by halving. No time is compared with another, so it does not matter how busy the machine
//         is, unless it stops a rank for longer than the patience: then the limit may be found too low.
// Cost    About 20 messages, and the patience for each that waits.
#include "tool/tune/eager_limit.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpi/mpi.hpp"

namespace quadrille::tools {
namespace {

constexpr double patience = 0.02;  // seconds
constexpr std::size_t longest = std::size_t{8} << 20;
constexpr int tag = 1;

// Of another node than rank 0, if there is one.
int other_rank(const team::Team& team) {
  const std::vector<int>& nodes = team.nodes.node_of;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](int node) { return node != nodes.front(); });
  return found == nodes.end() ? 1 : static_cast<int>(found - nodes.begin());
}

void tell(std::uint64_t bytes, int to, MpiComm comm) {
  MpiRequest request;
  MpiStatus status;
  mpi().Isend(&bytes, sizeof bytes, mpi().byte, to, tag, comm, &request);
  mpi().Wait(&request, &status);
}

std::uint64_t hear(MpiComm comm) {
  std::uint64_t bytes = 0;
  MpiRequest request;
  MpiStatus status;
  mpi().Irecv(&bytes, sizeof bytes, mpi().byte, 0, tag, comm, &request);
  mpi().Wait(&request, &status);
  return bytes;
}

bool goes_at_once(std::size_t bytes, int to, const std::vector<std::byte>& data, MpiComm comm) {
  MpiRequest request;
  MpiStatus status;
  mpi().Isend(data.data(), static_cast<int>(bytes), mpi().byte, to, tag + 1, comm, &request);
  int complete = 0;
  for (const double begin = mpi().Wtime(); complete == 0 && mpi().Wtime() - begin < patience;) {
    mpi().Test(&request, &complete, &status);
  }
  tell(bytes, to, comm);
  if (complete == 0) mpi().Wait(&request, &status);
  return complete != 0;
}

std::size_t find(int to, const std::vector<std::byte>& data, MpiComm comm) {
  goes_at_once(1, to, data, comm);  // opens the connection
  if (goes_at_once(longest, to, data, comm)) return 0;
  std::size_t goes = 0, waits = longest;
  while (waits - goes > 1 + goes / 64) {
    const std::size_t between = goes + (waits - goes) / 2;
    (goes_at_once(between, to, data, comm) ? goes : waits) = between;
  }
  return goes;
}

}  // namespace

std::size_t eager_limit(team::Team& team) {
  const MpiComm comm = team.user;
  const int other = other_rank(team);
  std::uint64_t limit = 0;
  if (team.group.me == 0) {
    limit = find(other, std::vector<std::byte>(longest), comm);
    tell(0, other, comm);
  } else if (team.group.me == other) {
    std::vector<std::byte> data(longest);
    while (const std::uint64_t bytes = hear(comm)) {
      MpiRequest request;
      MpiStatus status;
      mpi().Irecv(data.data(), static_cast<int>(bytes), mpi().byte, 0, tag + 1, comm, &request);
      mpi().Wait(&request, &status);
    }
  }
  mpi().Bcast(&limit, sizeof limit, mpi().byte, 0, comm);
  return limit;
}

}  // namespace quadrille::tools
