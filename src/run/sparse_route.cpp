#include "run/sparse_route.hpp"

#include <algorithm>
#include <cstring>

namespace quadrille::run {
namespace {

struct MessageHead {
  std::uint64_t parcels;
  std::int64_t error;
};

struct ParcelHead {
  std::int32_t source;
  std::int32_t destination;
  std::uint64_t bytes;
};

// How many of `weight` lie between a rank and the parcel's destination, in this digit. The lower
// digits are zero already: the parcel has taken their hops.
int hop_of(const Parcel& parcel, int holder, int ranks, int weight, int radix) {
  return rank_below(parcel.destination, holder, ranks) / weight % radix;
}

}  // namespace

std::vector<SparseRound> sparse_rounds(int ranks, int radix) {
  std::vector<SparseRound> rounds;
  // In 64 bits: the weight after the last may not fit an int.
  for (std::int64_t weight = 1; weight < ranks; weight *= radix) {
    const std::int64_t below = (ranks - 1) / weight;  // larger digits would go round the circle
    rounds.push_back({static_cast<int>(weight), static_cast<int>(std::min<std::int64_t>(radix - 1, below))});
  }
  return rounds;
}

int rank_above(int rank, int distance, int ranks) {
  return rank < ranks - distance ? rank + distance : rank - (ranks - distance);
}

int rank_below(int rank, int distance, int ranks) {
  return rank >= distance ? rank - distance : rank + (ranks - distance);
}

std::vector<std::vector<Parcel>> sort_by_hop(std::span<const Parcel> held, int holder, int ranks,
                                             const SparseRound& round, int radix) {
  std::vector<std::vector<Parcel>> by_hop(static_cast<std::size_t>(round.hops) + 1);
  for (const Parcel& parcel : held) {
    const int hop = hop_of(parcel, holder, ranks, round.weight, radix);
    by_hop[static_cast<std::size_t>(hop)].push_back(parcel);
  }
  return by_hop;
}

std::size_t message_bytes(std::span<const Parcel> parcels) {
  std::size_t bytes = sizeof(MessageHead);
  for (const Parcel& parcel : parcels) bytes += sizeof(ParcelHead) + parcel.bytes;
  return bytes;
}

void write_message(std::span<const Parcel> parcels, int error, std::byte* to) {
  const MessageHead head{parcels.size(), error};
  std::memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (const Parcel& parcel : parcels) {
    const ParcelHead mine{parcel.source, parcel.destination, parcel.bytes};
    std::memcpy(to, &mine, sizeof mine);
    to += sizeof mine;
    if (parcel.bytes > 0) std::memcpy(to, parcel.data, parcel.bytes);
    to += parcel.bytes;
  }
}

bool read_message(const std::byte* from, std::size_t bytes, std::vector<Parcel>& parcels, int& error) {
  const std::byte* const end = from + bytes;
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  MessageHead head;
  if (left() < sizeof head) return false;
  std::memcpy(&head, from, sizeof head);
  from += sizeof head;
  error = std::max(error, static_cast<int>(head.error));
  for (std::uint64_t i = 0; i < head.parcels; ++i) {
    ParcelHead one;
    if (left() < sizeof one) return false;
    std::memcpy(&one, from, sizeof one);
    from += sizeof one;
    if (left() < one.bytes) return false;
    parcels.push_back({one.source, one.destination, one.bytes, from});
    from += one.bytes;
  }
  return from == end;
}

}  // namespace quadrille::run
