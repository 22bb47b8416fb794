// A call in the memory of a node as an operation: each start makes its exchange anew.
//
// A start comes after the end of the one before, so no rank is more than one start ahead, as in blocking calls. The
// control memory belongs to one request, or to calls that follow each other on a lane.
#pragma once

#include <memory>
#include <optional>

#include "memory/node_copy.hpp"
#include "memory/pool.hpp"
#include "run/call.hpp"
#include "run/op.hpp"

namespace quadrille::run {

// What calls in flight together must not share. `Work`: of the exchange, kept between starts for its memory.
template <class Work>
struct OwnOfCall {
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
