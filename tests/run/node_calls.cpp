#include "node_calls.hpp"

#include <algorithm>

#include "fake_mpi.hpp"

namespace quadrille::test {
namespace {

constexpr std::size_t element = 4, margin = 64;
constexpr std::byte untouched{0xEE};

// Byte `at` of the block that `from` sends to `to`.
std::byte byte_of(std::uint32_t call, std::uint32_t turn, int from, int to, std::size_t at) {
  std::uint64_t x = (std::uint64_t{call} << 40) ^ (std::uint64_t{turn} << 32) ^
                    static_cast<std::uint64_t>(from * 1009 + to) << 20 ^ at;
  x *= 0x9E3779B97F4A7C15ULL;
  x ^= x >> 29;
  return static_cast<std::byte>(x * 0xBF58476D1CE4E5B9ULL >> 56);
}

std::size_t draw_size(std::mt19937& random, std::size_t most) {
  switch (random() % 6) {
    case 0:
      return 0;
    case 1:
    case 2:
      return random() % std::min<std::size_t>(most + 1, 17);
    case 3:
      return most;
    default:
      return random() % (most + 1);
  }
}

}  // namespace

DrawnCall draw_call(std::mt19937& random, std::uint32_t number, int ranks, Collective collective, bool may_be_in_place,
                    std::size_t most) {
  DrawnCall drawn;
  drawn.collective = collective;
  drawn.number = number;
  drawn.ranks = ranks;
  drawn.in_place = may_be_in_place && random() % 4 == 0;
  drawn.elements.assign(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), 0);
  const std::size_t common = std::max<std::size_t>(1, draw_size(random, most));
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      const std::size_t drawn_size = draw_size(random, most);
      drawn.elements[static_cast<std::size_t>(from * ranks + to)] = drawn.all_equal() ? common : drawn_size;
    }
  }
  // In place a rank receives from another as much as it sends there.
  for (int from = 0; drawn.in_place && from < ranks; ++from) {
    for (int to = 0; to < from && !is_allgather(collective); ++to) {
      drawn.elements[static_cast<std::size_t>(from * ranks + to)] =
          drawn.elements[static_cast<std::size_t>(to * ranks + from)];
    }
  }
  const unsigned kinds = random() % 3;  // none, some, or all have gaps
  for (int r = 0; r < ranks; ++r) {
    drawn.send_gaps.push_back(kinds == 2 || (kinds == 1 && random() % 2 == 0));
    drawn.recv_gaps.push_back(kinds == 2 || (kinds == 1 && random() % 2 == 0));
  }
  return drawn;
}

void RankCall::Buffer::lay_out(const std::vector<std::size_t>& elements, bool regular, std::mt19937& random) {
  extent = gaps ? static_cast<std::size_t>(gapped_extent) : element;
  std::size_t at = margin / extent;
  for (const std::size_t count : elements) {
    counts.push_back(static_cast<MpiCount>(count));
    displacements.push_back(static_cast<MpiAint>(at));
    at += count + (regular ? 0 : random() % 3);
  }
  bytes.assign(at * extent + margin, untouched);
}

std::byte* RankCall::Buffer::at(std::size_t block, std::size_t byte) {
  const std::size_t number = static_cast<std::size_t>(displacements[block]) + byte / element;
  const std::size_t inside = byte % element;
  return bytes.data() + number * extent + (gaps ? static_cast<std::size_t>(gapped_data[inside]) : inside);
}

void RankCall::Buffer::give(run::Side& side, bool regular, bool arrays) {
  side.type = gaps ? gapped_type() : mpi().int_type;
  if (arrays && !regular) {
    side.base = bytes.data();
    side.counts_large = counts.data();
    side.displacements_large = displacements.data();
    return;
  }
  side.base = bytes.data() + static_cast<std::size_t>(displacements[0]) * extent;
  side.count = static_cast<std::size_t>(counts[0]);
}

RankCall::RankCall(const DrawnCall& drawn, int me) : drawn_(drawn), me_(me) {
  std::mt19937 random(drawn.number * 131 + static_cast<unsigned>(me));
  const bool gathers = is_allgather(drawn.collective), regular = drawn.all_equal();
  std::vector<std::size_t> sent, received;
  for (int r = 0; r < drawn.ranks; ++r) {
    if (r == 0 || !gathers) sent.push_back(drawn.of(me, r));
    received.push_back(drawn.of(r, me));
  }
  send_.gaps = drawn.send_gaps[static_cast<std::size_t>(me)];
  recv_.gaps = drawn.recv_gaps[static_cast<std::size_t>(me)];
  send_.lay_out(sent, regular, random);
  recv_.lay_out(received, regular, random);
  call_.collective = drawn.collective;
  call_.in_place = drawn.in_place;
  if (!drawn.in_place) send_.give(call_.send, regular, !gathers);
  recv_.give(call_.recv, regular, true);
}

// Blocks by destination, or, in place, by source where they will be received over.
void RankCall::write_sent(Buffer& buffer, bool in_place, std::uint32_t turn) const {
  const bool gathers = is_allgather(drawn_.collective);
  for (std::size_t block = 0; block < buffer.counts.size(); ++block) {
    const int to = gathers ? 0 : static_cast<int>(block);
    if (in_place && gathers && static_cast<int>(block) != me_) continue;
    for (std::size_t i = 0; i < element * static_cast<std::size_t>(buffer.counts[block]); ++i) {
      *buffer.at(block, i) = byte_of(drawn_.number, turn, me_, to, i);
    }
  }
}

void RankCall::fill(std::uint32_t turn) {
  std::fill(recv_.bytes.begin(), recv_.bytes.end(), untouched);
  write_sent(drawn_.in_place ? recv_ : send_, drawn_.in_place, turn);
}

std::size_t RankCall::wrong(std::uint32_t turn) const {
  const bool gathers = is_allgather(drawn_.collective);
  Buffer expected = recv_;
  std::fill(expected.bytes.begin(), expected.bytes.end(), untouched);
  for (int from = 0; from < drawn_.ranks; ++from) {
    for (std::size_t i = 0; i < element * drawn_.of(from, me_); ++i) {
      *expected.at(static_cast<std::size_t>(from), i) = byte_of(drawn_.number, turn, from, gathers ? 0 : me_, i);
    }
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < expected.bytes.size(); ++i) count += expected.bytes[i] != recv_.bytes[i] ? 1 : 0;
  if (drawn_.in_place) return count;
  Buffer sent = send_;
  std::fill(sent.bytes.begin(), sent.bytes.end(), untouched);
  write_sent(sent, false, turn);
  for (std::size_t i = 0; i < sent.bytes.size(); ++i) count += sent.bytes[i] != send_.bytes[i] ? 1 : 0;
  return count;
}

}  // namespace quadrille::test
