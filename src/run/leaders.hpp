// A call through the leaders of the nodes: the engine that carries plan::LeadersPlan out. It never waits in the middle,
// so that all forms of a call are the same object: a blocking call starts it and waits.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "memory/leaders.hpp"
#include "plan/leaders.hpp"
#include "run/blocks.hpp"

namespace quadrille::run {

// What the calls of a plan need besides their data, for one of them at a time. All of it is taken here, when the ranks
// can still agree what to do without: in the middle of a call no rank may lack any. Throws std::bad_alloc.
class LeadersWork {
 public:
  // `comm` is that of the group's messages. The plan must outlive it.
  LeadersWork(const plan::LeadersPlan& plan, MpiComm comm);
  LeadersWork& operator=(LeadersWork&&) = delete;
  // Tags for the messages of leaders, and for those beside them.
  void use_tags(int rounds, int beside);

  std::vector<std::size_t> offsets;   // of an allgather: [place], and the end
  std::vector<Place> sent, received;  // of a leader: [block of the exchange]
  Place own;                          // of an allgather, what is sent
  Binding binding;
  MpiTransport messages, beside;
  std::optional<Execution> exchange;  // of a leader
};

// A call of either kind. Call, plan, area and work must outlive it.
class LeadersCall : protected CallBlocks {
 public:
  // Ends messages in flight, after a fault.
  virtual ~LeadersCall();
  // Neither waits. Both return an MPI error code. May be started again when it is done.
  virtual int start() = 0;
  virtual int advance() = 0;
  bool done() const { return phase_ == Phase::idle; }
  // Sleeps at most so long, if this rank waits for a leader of its node alone. Else false. What goes beside leaders
  // needs this rank.
  bool sleep(unsigned microseconds);
  // Another number whenever it waits for something else than before.
  std::size_t stage() const {
    return 16 * turn_ + 4 * static_cast<std::size_t>(phase_) + static_cast<std::size_t>(step_);
  }

 protected:
  enum class Phase : std::uint8_t { idle, agreeing, exchanging, ending };
  LeadersCall(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work, Group& group,
              memory::Packing& packing)
      : CallBlocks(call, group), plan_(plan), area_(area), work_(work), packing_(packing), send_room_(packing.send) {}

  // This rank has written what is its own, or has `failed` to.
  void begin_exchange(bool failed);
  // Goes on as far as is possible without waiting. True if all that this rank reads is there (memory/leaders.hpp).
  bool advance_exchange();
  // Binds a leader's exchange, when all ranks of the node have packed.
  virtual void bind() = 0;
  // The part of the area in which a place is.
  std::size_t part_of(std::size_t place) const;

  const plan::LeadersPlan& plan_;
  memory::Leaders& area_;
  LeadersWork& work_;
  memory::Packing& packing_;
  Room send_room_;
  std::size_t turn_ = 0;
  std::size_t messages_ = 0;         // beside the leaders
  int leaders_error_ = mpi_success;  // of a leader of this node, in this turn
  Phase phase_ = Phase::idle;

 private:
  enum class Step : std::uint8_t { gathering, sending, waiting };
  bool send();

  Step step_ = Step::waiting;
  int next_ = 0;  // leader that has not been heard
};

// Of an Alltoallv or Alltoallw (uneven_leaders.cpp). Large blocks go as messages of their own.
std::unique_ptr<LeadersCall> uneven_leaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area,
                                            LeadersWork& work, Group& group, memory::Packing& packing);

// A call that was started, and may be started again: of nonblocking and persistent calls.
class LeadersRequest {
 public:
  // The arrays of the call must outlive it. `area` and `work` are not used by other calls from a start until it is
  // done.
  LeadersRequest(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work, int tag,
                 int beside, Group& group);
  int start() {
    work_.use_tags(tag_, beside_);
    return run_->start();
  }
  int advance() { return run_->advance(); }
  bool done() const { return run_->done(); }

 private:
  const Call call_;
  LeadersWork& work_;
  const int tag_, beside_;
  memory::Packing packing_;
  const std::unique_ptr<LeadersCall> run_;
};

// Carries a blocking call out. Returns an MPI error code.
int run_leaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work,
                Group& group);

// Messages of scattered bytes, of so many, are copied together; of larger ones a datatype is made.
inline constexpr std::size_t packed_up_to = 16384;

// The parts of an area for blocks of at most so many bytes, whose size all ranks know: no more than they need.
memory::Leaders::Parts parts_for(const plan::LeadersPlan& plan, std::size_t largest);

}  // namespace quadrille::run
