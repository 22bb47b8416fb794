#include "team/reach.hpp"

#include <unistd.h>

#include <chrono>

#include "sys/process_memory.hpp"

namespace quadrille::team {
namespace {

// What a rank tells the others of itself.
struct Card {
  std::int64_t process;
  std::uint64_t word_at;  // address of a word, and what it holds
  std::uint64_t word;
};

// The word by which a peer knows that it reads the right process: process numbers mean something else in
// another container.
std::uint64_t* make_word() {
  static std::uint64_t word =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
          0x9e3779b97f4a7c15ULL ^
      static_cast<std::uint64_t>(getpid());
  return &word;
}

bool can_read(const Card& card) {
  std::uint64_t word = 0;
  return sys::read_process(static_cast<pid_t>(card.process), card.word_at,
                           reinterpret_cast<std::byte*>(&word), sizeof word) &&
         word == card.word;
}

// Writes what is there already.
bool can_write(const Card& card) {
  return sys::write_process(static_cast<pid_t>(card.process), card.word_at,
                            reinterpret_cast<const std::byte*>(&card.word), sizeof card.word);
}

enum Ability : unsigned char { reads = 1, writes = 2 };

}  // namespace

void find_reach(run::Group& group, const memory::Ways& ways) {
  const auto count = static_cast<std::size_t>(group.ranks);
  const std::uint64_t* word = make_word();
  const Card mine{getpid(), reinterpret_cast<std::uintptr_t>(word), *word};
  std::vector<Card> cards(count);
  mpi().Allgather(&mine, sizeof mine, mpi().byte, cards.data(), sizeof mine, mpi().byte, group.comm);

  std::vector<unsigned char> i_can(count, 0), can_to_me(count, 0);
  for (std::size_t p = 0; p < count && (ways.cma_read || ways.cma_write); ++p) {
    if (static_cast<int>(p) == group.me || !can_read(cards[p])) continue;
    if (ways.cma_read) i_can[p] |= reads;
    if (ways.cma_write && can_write(cards[p])) i_can[p] |= writes;
  }
  mpi().Alltoall(i_can.data(), 1, mpi().byte, can_to_me.data(), 1, mpi().byte, group.comm);

  group.peers.assign(count, {});
  for (std::size_t p = 0; p < count; ++p) {
    memory::Peer& peer = group.peers[p];
    peer.process = static_cast<pid_t>(cards[p].process);
    peer.i_read = (i_can[p] & reads) != 0;
    peer.i_write = (i_can[p] & writes) != 0;
    peer.reads_me = (can_to_me[p] & reads) != 0;
    peer.writes_me = (can_to_me[p] & writes) != 0;
  }
  group.rings = ways.ring && group.pairs.has_rings();
  group.direct = true;
}

}  // namespace quadrille::team
