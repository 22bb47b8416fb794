#include "plan/direct_exchange.hpp"

#include "plan/cyclic.hpp"

namespace quadrille::plan {

Schedule direct_exchange(const Problem& problem, Window window) {
  const int ranks = problem.ranks;
  const int me = problem.me;
  const auto messages = 2 * static_cast<std::size_t>(ranks - 1);
  Builder builder(me);
  builder.reserve(1, messages, messages, 1);
  builder.begin_round(window);
  builder.copy(Buffer::send, me, Buffer::recv, me);
  for (int i = 1; i < ranks; ++i) {
    const int to = cyclic(me + i, ranks);
    builder.send(to, Buffer::send, to);
  }
  for (int i = 1; i < ranks; ++i) {
    const int from = cyclic(me - i, ranks);
    builder.receive(from, Buffer::recv, from);
  }
  return builder.take();
}

}  // namespace quadrille::plan
