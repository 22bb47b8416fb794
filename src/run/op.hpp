// One call in flight, of any engine and in any form: a request holds one, and starts it as often as the program does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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

}  // namespace quadrille::run
