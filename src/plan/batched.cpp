// Batched exchange: waitall-stride, waitany-stride, testany-stride.
//
// Idea    Between pairwise (one pair in flight) and nonblocking (all pairs): `stride` pairs.
//           waitall-stride  a batch is waited for as a whole, then the next is posted
//                           (the paper's multi-pair blocking exchange)
//           waitany-stride  each pair that completes makes room for one more
//                           (multi-pair nonblocking exchange)
//           testany-stride  the same with polling (multi-pair test exchange)
// Source  Namugwanya et al., section 3.1; stride 5 is the paper's choice.
// Cost    ceil((P - 1) / stride) rounds, P - 1 messages, P - 1 blocks, 1 local copy, no scratch.
//
// Example, P = 6, stride 2, rank 0, waitall:
//   copy     send[0] -> recv[0]
//   batch 1  send to 1 and 2, receive from 5 and 4
//   batch 2  send to 3 and 4, receive from 3 and 2
//   batch 3  send to 5,       receive from 1
#include "plan/algorithms.hpp"
#include "plan/direct_exchange.hpp"

namespace quadrille::plan {
namespace {

Schedule batched(const Problem& problem, Window::Wait wait) {
  const auto stride = static_cast<std::uint32_t>(value_of(problem.parameters, "stride", 5));
  return direct_exchange(problem, {wait, stride});
}

}  // namespace

Schedule waitall_stride(const Problem& problem) { return batched(problem, Window::Wait::all); }
Schedule waitany_stride(const Problem& problem) { return batched(problem, Window::Wait::any); }
Schedule testany_stride(const Problem& problem) { return batched(problem, Window::Wait::test); }

}  // namespace quadrille::plan
