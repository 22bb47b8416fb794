// The sparse exchange in both ways: by nonblocking consensus, and by store and forward.
#include "run/sparse.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>

#include "mpi/mpi.hpp"
#include "mpi/tags.hpp"
#include "run/transport.hpp"
#include "run/under_way.hpp"

namespace quadrille::run {
namespace {

// ---- Routes and parcels ----

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

// ---- Messages ----

// A message of bytes.
Place place_of_bytes(const std::byte* at, std::size_t bytes) {
  return {const_cast<std::byte*>(at), bytes, bytes, mpi().byte.word, true};
}

// Begins to receive the message of which a probe gave `status`. Its memory goes to `mail`. If there is none, the
// message is taken all the same, so that its sender can end; `error` says so.
Parcel start_receive(MpiTransport& transport, std::size_t slot, const MpiStatus& status, Mail& mail, int& error) {
  MpiCount count = 0;
  keep(error, mpi().Get_elements_x(&status, mpi().byte, &count));
  Parcel parcel{source_in(status), 0, static_cast<std::size_t>(count), nullptr};
  std::byte* room = nullptr;
  const int lacking = thrown_by([&] {
    if (count == 0) return;
    mail.memory.push_back(std::make_unique_for_overwrite<std::byte[]>(parcel.bytes));
    room = mail.memory.back().get();
  });
  keep(error, lacking);
  if (lacking != mpi_success) {
    keep(error, transport.start_dropping(slot, parcel.source, parcel.bytes));
    parcel.bytes = 0;
    return parcel;
  }
  const Place place = place_of_bytes(room, parcel.bytes);
  keep(error, transport.start_receive(slot, parcel.source, {&place, 1}));
  parcel.data = room;
  return parcel;
}

// Waits for the messages of slots [0, slots). Returns the error of one that failed. Where a rank may fail, a wait in
// the MPI misses a revocation of the user's communicator.
int wait_for_all(const Group& group, MpiTransport& transport, std::size_t slots) {
  int error = mpi_success;
  group.waiter.until([&] {
    bool done = false;
    keep(error, transport.all_done(slots, !reports_faults(), done));
    return done;
  });
  return error;
}

// Keeps the first error. After a fault revokes the communicator: this rank may lack blocks that it forwards.
void keep_error(const Group& group, int& first, int error) {
  if (is_fault(error)) revoke(group.messages().comm);
  keep(first, error);
}

// If a fault ends a wait in `run` (team/team.cpp), revokes the communicator: then all messages end.
template <class Run>
int run_or_revoke(const Group& group, const Run& run) {
  try {
    return run();
  } catch (const std::exception&) {
    if (reports_faults()) revoke(group.messages().comm);
    throw;
  }
}

// ---- By consensus ----

// The sparse exchange by nonblocking consensus.
//
// Idea: send each block straight to its destination, synchronously: such a send completes only when
// the receiver has taken it. A rank looks for messages from anybody meanwhile. When its own sends
// are complete, it enters a nonblocking barrier, and goes on looking. When the barrier is complete,
// all ranks had entered it, so all sends were complete, so all messages were taken: nothing can
// come any more.
//
// Source: Hoefler, Siebert and Lumsdaine, "Scalable communication protocols for dynamic sparse data
// exchange", PPoPP 2010, algorithm 2 (NBX).
//
// Cost for a rank with k destinations: k messages out, what comes in, each block once; and a
// barrier, about log2 P rounds of empty messages.
//
// Example, 3 ranks: 0 sends A to 2, 2 sends B to 0, 1 sends nothing.
//   rank 1 has nothing to wait for and enters the barrier at once, still looking
//   rank 2 takes A: the send of rank 0 is complete; rank 0 enters the barrier
//   rank 0 takes B: rank 2 enters; all three leave
//
// Errors: a rank with an error sends no blocks but a note with the error's class to every other
// rank, in the same way. So all ranks have it when the barrier is complete, and a call without
// errors pays nothing.
//
// Successive calls: a rank may leave and begin the next call while another still looks for
// messages. Two tags in turn keep them apart. Two are enough: a rank begins call n + 2 after the
// barrier of call n + 1 was complete, so every rank had entered that barrier, so every rank had
// left call n. Hence messages of the calls n and n + 2 are never looked for at the same time.
class Consensus {
 public:
  Consensus(const Group& group, unsigned turn, Mail& mail)
      : group_(group),
        mail_(mail),
        parity_(turn % 2),
        barrier_(mpi().request_null),
        transport_(group.messages().comm, group.me) {
    transport_.send_synchronously();
  }

  int run(std::span<const Parcel> out, int reported) {
    send(out, reported);
    group_.waiter.until([&] {
      if (finished()) return true;
      const bool found = take(tags::sparse_blocks[parity_], mail_.parcels) || take(tags::sparse_notes[parity_], notes_);
      if (!found) UnderWay::here().help();
      return false;
    });
    // Each is matched, so each will complete; large ones may still be in flight.
    keep(error_, wait_for_all(group_, transport_, messages_));
    mail_.reported = reported;
    for (const Parcel& note : notes_) read(note);
    return error_;
  }

 private:
  void send(std::span<const Parcel> out, int reported) {
    note_ = reported;
    if (reported == mpi_success) {
      for (const Parcel& p : out) send(p.data, p.bytes, p.destination, tags::sparse_blocks[parity_]);
      return;
    }
    for (int to = 0; to < group_.ranks; ++to) {
      const auto* note = reinterpret_cast<const std::byte*>(&note_);
      if (to != group_.me) send(note, sizeof note_, to, tags::sparse_notes[parity_]);
    }
  }

  void send(const std::byte* from, std::size_t bytes, int to, int tag) {
    const Place place = place_of_bytes(from, bytes);
    transport_.use_tag(tag);
    const int error = transport_.start_send(sends_, to, {&place, 1});
    keep(error_, error);
    if (error == mpi_success) messages_ = open_ = ++sends_;
  }

  // Takes one message if there is one.
  bool take(int tag, std::vector<Parcel>& taken) {
    int found = 0;
    MpiStatus status;
    keep_error(group_, error_, mpi().Iprobe(mpi().any_source, tag, group_.messages().comm, &found, &status));
    if (!found) return false;
    transport_.use_tag(tag);
    taken.push_back(start_receive(transport_, messages_++, status, mail_, error_));
    taken.back().destination = group_.me;
    return true;
  }

  // Enters the barrier as soon as all sends are complete. True when the barrier is complete.
  bool finished() {
    if (!entered_) {
      if (!sends_are_done()) return false;
      entered_ = true;
      keep_error(group_, error_, mpi().Ibarrier(group_.messages().comm, &barrier_));
    }
    int flag = 0;
    const int error = mpi().Test(&barrier_, &flag, mpi().status_ignore);
    keep_error(group_, error_, error);
    return flag != 0 || error != mpi_success;  // waiting for one that has failed would never end
  }

  // One after the other: to wait for all after an error of one would keep this rank from taking messages. Open MPI's
  // MPI_Testany() tells of one of several that have failed, and forgets the others.
  bool sends_are_done() {
    while (open_ > 0) {
      std::size_t done = sends_;
      const int error = transport_.any_done(sends_, false, true, done);
      keep(error_, error);
      if (done == sends_) return error != mpi_success || !transport_.has_in_flight(sends_);
      --open_;
    }
    return true;
  }

  void read(const Parcel& note) {
    int reported = mpi().err_other;
    if (note.bytes == sizeof reported) std::memcpy(&reported, note.data, sizeof reported);
    mail_.reported = std::max(mail_.reported, reported);
  }

  const Group& group_;
  Mail& mail_;
  const unsigned parity_;
  int note_ = mpi_success;
  int error_ = mpi_success;
  bool entered_ = false;
  MpiRequest barrier_;                // uses no memory of ours
  std::size_t sends_ = 0, open_ = 0;  // messages that are sent, and those of them that are not complete
  std::size_t messages_ = 0;          // and those that are received
  std::vector<Parcel> notes_;
  MpiTransport transport_;  // ends its messages first
};

// ---- By store and forward ----

// The sparse exchange by store and forward.
//
// Idea: write the distance from source to destination in base r. In the round of weight w = 1, r,
// r^2, ... a block whose distance has the digit z there hops z * w ranks up. All blocks that a rank
// holds and that take the same hop travel in one message, each with a head that says source,
// destination and bytes. Everybody sends to the same r - 1 ranks in a round, if only an empty
// message, so everybody knows from whom a message comes, and a probe tells its size: nothing has to
// be agreed upon before, and no barrier comes after.
//
// Source: the rounds are those of Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11), 1997;
// blocks of unequal sizes with their heads in the message are ours.
//
// Cost: ceil(log_r P) rounds of up to r - 1 messages, however many destinations there are; a block
// is sent as often as its distance has digits that are not zero. A rank keeps what passes through
// it until the call ends.
//
// Example, 8 ranks, r = 2, a block from rank 1 to rank 6: the distance 5 is 101 in base 2.
//   weight 1, digit 1: rank 1 -> rank 2
//   weight 2, digit 0: stays at rank 2
//   weight 4, digit 1: rank 2 -> rank 6
//
// Errors: each message says the largest error class that its sender knows. Every rank's word
// reaches every rank, by the same digits as a block would, so all ranks know it when the rounds are
// over.
//
// Successive calls need no second tag: two ranks exchange at most one message each way in a call,
// its peer is known, and messages between two ranks do not overtake.
class Rounds {
 public:
  Rounds(const Group& group, int radix, int reported, Mail& mail)
      : group_(group), radix_(radix), mail_(mail), transport_(group.messages().comm, group.me, tags::sparse_rounds) {
    mail_.reported = reported;
  }

  int run(std::span<const Parcel> out) {
    held_.assign(out.begin(), out.end());
    for (const SparseRound& round : sparse_rounds(group_.ranks, radix_)) exchange(round);
    mail_.parcels = std::move(held_);
    return error_;
  }

 private:
  void exchange(const SparseRound& round) {
    auto by_hop = sort_by_hop(held_, group_.me, group_.ranks, round, radix_);
    held_ = std::move(by_hop[0]);
    messages_.clear();
    slots_ = 0;
    for (int z = 1; z <= round.hops; ++z) {
      send(by_hop[static_cast<std::size_t>(z)], rank_above(group_.me, z * round.weight, group_.ranks));
    }
    std::vector<Parcel> arrived;
    for (int z = 1; z <= round.hops; ++z) {
      arrived.push_back(receive(rank_below(group_.me, z * round.weight, group_.ranks)));
    }
    const int error = wait_for_all(group_, transport_, slots_);
    keep(error_, error);
    // Some messages have not come: their memory holds anything, and this rank forwards nothing.
    if (is_fault(error) || is_fault(error_)) return revoke(group_.messages().comm);
    for (const Parcel& message : arrived) {
      if (!read_message(message.data, message.bytes, held_, mail_.reported)) {
        keep(error_, mpi().err_intern);
      }
    }
  }

  void send(std::span<const Parcel> parcels, int to) {
    std::size_t bytes = message_bytes(parcels);
    std::unique_ptr<std::byte[]> message;
    try {
      message = std::make_unique_for_overwrite<std::byte[]>(bytes);
      write_message(parcels, mail_.reported, message.get());
    } catch (const std::bad_alloc&) {
      // The blocks to forward are lost, so every rank that can still be reached must learn of the error.
      keep(error_, mpi().err_no_mem);
      mail_.reported = std::max(mail_.reported, mpi().err_no_mem);
      bytes = message_bytes({});
      message = std::make_unique_for_overwrite<std::byte[]>(bytes);
      write_message({}, mail_.reported, message.get());
    }
    const Place place = place_of_bytes(message.get(), bytes);
    messages_.push_back(std::move(message));
    keep(error_, transport_.start_send(slots_++, to, {&place, 1}));
  }

  // Waits until the message from this rank is there, and begins to receive it.
  Parcel receive(int from) {
    MpiStatus status;
    int error = mpi_success;
    group_.waiter.until([&] {
      int found = 0;
      error = mpi().Iprobe(from, tags::sparse_rounds, group_.messages().comm, &found, &status);
      return found != 0 || error != mpi_success || (UnderWay::here().help(), false);
    });
    keep_error(group_, error_, error);
    if (error != mpi_success) return {};
    return start_receive(transport_, slots_++, status, mail_, error_);
  }

  const Group& group_;
  const int radix_;
  Mail& mail_;
  int error_ = mpi_success;
  std::vector<Parcel> held_;
  std::vector<std::unique_ptr<std::byte[]>> messages_;  // of this round, being sent
  std::size_t slots_ = 0;                               // in use in this round
  MpiTransport transport_;                              // ends its messages first
};

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

int sparse_consensus(const Group& group, unsigned turn, std::span<const Parcel> out, int reported, Mail& mail) {
  Consensus exchange(group, turn, mail);
  return run_or_revoke(group, [&] { return exchange.run(out, reported); });
}

int sparse_bruck(const Group& group, std::span<const Parcel> out, int radix, int reported, Mail& mail) {
  Rounds rounds(group, radix, reported, mail);
  return run_or_revoke(group, [&] { return rounds.run(out); });
}

// Where all blocks are empty the type may be anything.
int make_parcels(const SparseSend& send, int me, MpiComm comm, std::unique_ptr<std::byte[]>& packed,
                 std::vector<Parcel>& parcels) {
  const std::span counts(send.counts, send.destinations.size());
  const auto elements = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), MpiCount{0}));
  const TypeInfo info = elements > 0 ? type_info(send.type) : TypeInfo{};
  const bool packs = elements > 0 && !info.dense;
  if (packs) packed = std::make_unique_for_overwrite<std::byte[]>(elements * info.size);
  std::byte* room = packed.get();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<std::size_t>(counts[i]);
    const std::byte* from = count > 0 ? send.base + send.displacements[i] * info.extent : nullptr;
    parcels.push_back({me, send.destinations[i], count * info.size, packs && count > 0 ? room : from});
    if (!packs || count == 0) continue;
    const int error = pack(from, count, send.type, info, room, comm);
    if (error != mpi_success) return error;
    room += count * info.size;
  }
  return mpi_success;
}

}  // namespace quadrille::run
