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
#include <cstring>

#include "mpi/tags.hpp"
#include "run/blocks.hpp"
#include "run/sparse.hpp"
#include "run/under_way.hpp"

namespace quadrille::run {
namespace {

class Consensus {
 public:
  Consensus(const Group& group, unsigned turn, Mail& mail)
      : group_(group), mail_(mail), parity_(turn % 2), barrier_(mpi().request_null) {}

  int run(std::span<const Parcel> out, int reported) {
    send(out, reported);
    group_.waiter.until([&] {
      if (finished()) return true;
      const bool found = take(tags::sparse_blocks[parity_], mail_.parcels) || take(tags::sparse_notes[parity_], notes_);
      if (!found) UnderWay::here().help();
      return false;
    });
    // Each is matched, so each will complete; large ones may still be in flight.
    keep(error_, wait_for_all(group_, receives_));
    mail_.reported = reported;
    for (const Parcel& note : notes_) read(note);
    return error_;
  }

  // The barrier, if it has begun, uses no memory of ours.
  void end() {
    take_back(group_, sends_);
    take_back(group_, receives_);
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
    MpiRequest request = mpi().request_null;
    keep_error(group_, error_, start_bytes(mpi().Issend, from, bytes, to, tag, group_.messages().comm, request));
    sends_.push_back(request);
  }

  // Takes one message if there is one.
  bool take(int tag, std::vector<Parcel>& taken) {
    int found = 0;
    MpiStatus status;
    keep_error(group_, error_, mpi().Iprobe(mpi().any_source, tag, group_.messages().comm, &found, &status));
    if (!found) return false;
    MpiRequest request = mpi().request_null;
    taken.push_back(start_receive(status, group_.messages().comm, mail_, request, error_));
    taken.back().destination = group_.me;
    receives_.push_back(request);
    return true;
  }

  // Enters the barrier as soon as all sends are complete. True when the barrier is complete.
  bool finished() {
    if (!entered_) {
      if (!complete(sends_.all(), static_cast<int>(sends_.size()))) return false;
      entered_ = true;
      keep_error(group_, error_, mpi().Ibarrier(group_.messages().comm, &barrier_));
    }
    return complete(one(barrier_), 1);
  }

  // One after the other: of several, MPI_Testall does not say with which fault they ended. A request that has failed is
  // complete: waiting for it would never end.
  bool complete(MpiRequests requests, int count) {
    for (int i = 0; i < count; ++i) {
      int flag = 0;
      const int error = mpi().Test(requests.at(static_cast<std::size_t>(i)), &flag, mpi().status_ignore);
      keep_error(group_, error_, error);
      if (flag == 0 && error == mpi_success) return false;
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
  MpiRequest barrier_;
  MpiArray<MpiRequest> sends_, receives_;
  std::vector<Parcel> notes_;
};

}  // namespace

int sparse_consensus(const Group& group, unsigned turn, std::span<const Parcel> out, int reported, Mail& mail) {
  Consensus exchange(group, turn, mail);
  return run_or_end(exchange, [&] { return exchange.run(out, reported); });
}

}  // namespace quadrille::run
