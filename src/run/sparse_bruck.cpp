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
#include <cstring>

#include "mpi/tags.hpp"
#include "run/blocks.hpp"
#include "run/sparse.hpp"
#include "run/under_way.hpp"

namespace quadrille::run {
namespace {

class Rounds {
 public:
  Rounds(const Group& group, int radix, int reported, Mail& mail) : group_(group), radix_(radix), mail_(mail) {
    mail_.reported = reported;
  }

  int run(std::span<const Parcel> out) {
    held_.assign(out.begin(), out.end());
    for (const SparseRound& round : sparse_rounds(group_.ranks, radix_)) exchange(round);
    mail_.parcels = std::move(held_);
    return error_;
  }

  void end() { take_back(group_, requests_); }

 private:
  void exchange(const SparseRound& round) {
    auto by_hop = sort_by_hop(held_, group_.me, group_.ranks, round, radix_);
    held_ = std::move(by_hop[0]);
    messages_.clear();
    for (int z = 1; z <= round.hops; ++z) {
      send(by_hop[static_cast<std::size_t>(z)], rank_above(group_.me, z * round.weight, group_.ranks));
    }
    std::vector<Parcel> arrived;
    for (int z = 1; z <= round.hops; ++z) {
      arrived.push_back(receive(rank_below(group_.me, z * round.weight, group_.ranks)));
    }
    const int error = wait_for_all(group_, requests_);
    keep(error_, error);
    requests_.clear();
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
    MpiRequest request = mpi().request_null;
    const MpiComm comm = group_.messages().comm;
    keep_error(group_, error_, start_bytes(mpi().Isend, message.get(), bytes, to, tags::sparse_rounds, comm, request));
    requests_.push_back(request);
    messages_.push_back(std::move(message));
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
    MpiRequest request = mpi().request_null;
    const Parcel message = start_receive(status, group_.messages().comm, mail_, request, error_);
    requests_.push_back(request);
    return message;
  }

  const Group& group_;
  const int radix_;
  Mail& mail_;
  int error_ = mpi_success;
  std::vector<Parcel> held_;
  std::vector<std::unique_ptr<std::byte[]>> messages_;  // of this round, being sent
  MpiArray<MpiRequest> requests_;
};

}  // namespace

int sparse_bruck(const Group& group, std::span<const Parcel> out, int radix, int reported, Mail& mail) {
  Rounds rounds(group, radix, reported, mail);
  return run_or_end(rounds, [&] { return rounds.run(out); });
}

}  // namespace quadrille::run
