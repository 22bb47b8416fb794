#include "team/ask.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mpi/errors.hpp"
#include "mpi/generation.hpp"
#include "sys/sys.hpp"
#include "team/faults.hpp"

namespace quadrille::team {

void mark_lost(Team& team) {
  team.lost = true;
  drop_cached_calls();  // no call goes the short way
}

void lose(Team& team) {
  mark_lost(team);
  throw std::runtime_error("the MPI failed in a collective of Quadrille");
}

void ask_all(Team& team, std::shared_ptr<void> used, const std::function<int(MpiRequest*)>& begin) {
  const ErrorsReturned guard(team.own());
  std::unique_ptr<std::shared_ptr<void>> kept;
  if (used != nullptr) kept = std::make_unique<std::shared_ptr<void>>(std::move(used));
  constexpr int most_tries = 100;
  MpiRequest request;
  int error = begin(&request);
  for (int tries = 1; error != mpi_success && tries < most_tries; ++tries) {
    sys::yield();
    error = begin(&request);
  }
  MpiStatus status;
  int done = 0;
  if (error == mpi_success) {
    try {
      team.group.waiter.until([&] {
        error = mpi().Testall(1, one(request), &done, &status);
        return error != mpi_success || done != 0;
      });
    } catch (...) {
      static_cast<void>(kept.release());  // the MPI may still use it
      throw;
    }
  }
  if (error != mpi_success) lose(team);
}

namespace {

template <class Number>
void reduce(Team& team, std::span<const Number> mine, std::span<Number> all, MpiType type, MpiOp op) {
  const auto ask = [&](std::shared_ptr<void> used, const Number* from, Number* to) {
    ask_all(team, std::move(used), [&](MpiRequest* request) {
      return mpi().Iallreduce(from, to, static_cast<int>(mine.size()), type, op, team.own(), request);
    });
  };
  // Without fault tolerance nothing is left in the middle, and no memory is taken while others may wait.
  if (!watches_faults()) return ask(nullptr, mine.data(), all.data());
  struct Numbers {
    std::vector<Number> mine, all;
  };
  const auto numbers = std::make_shared<Numbers>(Numbers{{mine.begin(), mine.end()}, std::vector<Number>(mine.size())});
  ask(numbers, numbers->mine.data(), numbers->all.data());
  std::copy(numbers->all.begin(), numbers->all.end(), all.begin());
}

}  // namespace

void largest_of_all(Team& team, std::span<const double> mine, std::span<double> largest) {
  reduce(team, mine, largest, mpi().double_type, mpi().op_max);
}

void largest_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> largest) {
  reduce(team, mine, largest, mpi().uint64, mpi().op_max);
}

void sum_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> sum) {
  reduce(team, mine, sum, mpi().uint64, mpi().op_sum);
}

bool true_on_all(Team& team, bool mine) {
  const std::uint64_t not_mine = mine ? 0 : 1;
  std::uint64_t some = 0;
  largest_of_all(team, {&not_mine, 1}, {&some, 1});
  return some == 0;
}

}  // namespace quadrille::team
