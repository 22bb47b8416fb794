// One call in flight, of any engine and in any form: a request holds one, and starts it as often as the program does.
// For the engines of a node, also the operation whose starts each make their exchange anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "memory/node_copy.hpp"
#include "memory/pool.hpp"
#include "run/call.hpp"

namespace quadrille::run {

// What carries a request out.
enum class Carrier : std::uint8_t { nothing, mpi, messages, inbox, rings, copies, leaders, pull };
constexpr const char* to_string(Carrier carrier) {
  constexpr const char* names[] = {"nothing", "mpi", "messages", "inbox", "rings", "copies", "leaders", "pull"};
  return names[static_cast<std::size_t>(carrier)];
}

// What holds for each start of an operation.
struct OpTraits {
  bool calls_mpi = true;            // in advance()
  bool sends_all_at_start = false;  // peers need no more of this rank than its start
};

class Op {
 public:
  explicit Op(Carrier by, OpTraits what = {}) : carrier(by), traits(what) {}
  Op& operator=(Op&&) = delete;
  virtual ~Op() = default;

  // Neither waits. Both return an MPI error code; after an error the start is over.
  virtual int start() = 0;
  virtual int advance() = 0;
  virtual bool done() const = 0;

  const Carrier carrier;
  const OpTraits traits;
};

// A run as an operation, made from these arguments.
template <Carrier by, class Run>
class OpOf final : public Op {
 public:
  template <class... Arguments>
  explicit OpOf(OpTraits what, Arguments&&... arguments) : Op(by, what), run(std::forward<Arguments>(arguments)...) {}

  int start() override { return run.start(); }
  int advance() override { return run.advance(); }
  bool done() const override { return run.done(); }

  Run run;
};

// ---- A call in the memory of a node: each start makes its exchange anew ----

// A start comes after the end of the one before, so no rank is more than one start ahead, as in blocking calls. The
// control memory belongs to one request, or to calls that follow each other on a lane.

// What calls in flight together must not share, as an exchange takes it. Blocking calls use that of the group. `Work`:
// of the exchange, kept between starts for its memory.
template <class Work>
struct Means {
  memory::Packing& packing;
  memory::CopyPlan& copying;
  Work& work;
};
template <class Work>
struct OwnOfCall {
  Means<Work> means() { return {packing, copying, work}; }
  const Call call;
  memory::CopyPlan copying;
  memory::Packing packing = {};
  Work work = {};
};

// An `Exchange` has begin(), advance(), which is true if it got further, done(), and end(), which returns an MPI error
// code.
template <class Exchange, class Work, class Make>
class StartedCall final : public Op {
 public:
  StartedCall(Carrier by, bool sends_all_at_start, const Call& call, const memory::CopyPlan& copying, const Make& make)
      : Op(by, {may_have_gaps(call), sends_all_at_start}), own_{call, copying}, make_(make) {}

  // Only the first start takes memory, and those of calls with gaps in their blocks.
  int start() override {
    if (const int error = make_(now_, own_); error != mpi_success) return error;
    now_->begin();
    return go_on();
  }
  int advance() override { return done() ? mpi_success : go_on(); }
  bool done() const override { return !now_ || now_->done(); }

 private:
  int go_on() {
    while (!now_->done()) {
      if (!now_->advance()) return mpi_success;
    }
    const int error = now_->end();
    now_.reset();
    return error;
  }

  OwnOfCall<Work> own_;
  const Make make_;
  std::optional<Exchange> now_;  // the start in flight
};

// `make(now, own)` makes the exchange of a start in `now`, and returns an MPI error code. The arrays of the call must
// outlive the operation. `copying`: that of the group, as it was when the request was made.
template <class Exchange, class Work, class Make>
std::unique_ptr<Op> started(Carrier by, bool sends_all_at_start, const Call& call, const memory::CopyPlan& copying,
                            const Make& make) {
  return std::make_unique<StartedCall<Exchange, Work, Make>>(by, sends_all_at_start, call, copying, make);
}

}  // namespace quadrille::run
