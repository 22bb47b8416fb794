// What all ranks of a team ask each other between calls, and what a rank tells the others of a failed copy.
//
// They go by the answer. A rank to which the MPI gives none does not know what the others do from then on, so it does
// nothing on this communicator any more: that call, and every later one, returns an error. It is not alone in that with
// a collective of the MPI either.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"
#include "mpi/tags.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/numa.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"

namespace quadrille::team {

void mark_lost(Team& team) {
  team.lost = true;
  drop_cached_calls();  // no call goes the short way
}

void lose(Team& team) {
  mark_lost(team);
  throw std::runtime_error("the MPI failed in a collective of Quadrille");
}

namespace {

// Starts a collective with `begin`, again if that fails, as nothing has been sent then; and waits for it. A peer may
// wait for a call that this rank has started and left, so that is kept moving. Without an answer the team is lost, and
// this throws. Other ranks may wait, so this allocates nothing; `begin` is to be passed by std::ref(), for the same
// reason.
// Keeps `used`, the buffers of the collective, until the collective ends; null: they live long enough.
void ask_all(Team& team, std::shared_ptr<void> used, const std::function<int(MpiRequest*)>& begin) {
  const ErrorsReturned guard(team.own());
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
      alignas(std::shared_ptr<void>) std::byte for_ever[sizeof used];
      new (for_ever) std::shared_ptr<void>(std::move(used));  // the MPI may still use it: nothing lets go of it
      throw;
    }
  }
  if (error != mpi_success) lose(team);
}

template <class Number>
void reduce(Team& team, std::span<const Number> mine, std::span<Number> all, MpiType type, MpiOp op) {
  const auto ask = [&](std::shared_ptr<void> used, const Number* from, Number* to) {
    const auto begin = [&](MpiRequest* request) {
      return mpi().Iallreduce(from, to, static_cast<int>(mine.size()), type, op, team.own(), request);
    };
    ask_all(team, std::move(used), std::ref(begin));
  };
  // Without fault tolerance nothing is left in the middle, and no memory is taken while others may wait.
  if (!watches_faults()) return ask(nullptr, mine.data(), all.data());
  struct Numbers {
    std::vector<Number> mine, all;
  };
  std::shared_ptr<Numbers> numbers;
  const int thrown = thrown_by([&] {
    numbers = std::make_shared<Numbers>(Numbers{{mine.begin(), mine.end()}, std::vector<Number>(mine.size())});
  });
  // This rank cannot join the collective, and the others would take its next one for this one.
  if (thrown != mpi_success) lose(team);
  ask(numbers, numbers->mine.data(), numbers->all.data());
  std::copy(numbers->all.begin(), numbers->all.end(), all.begin());
}

// Which rank of its node this process is, of all that there are if the world is known: another number of it in another
// communicator does not move it to another processor.
int rank_on_node(const Team& team) {
  const int mine = team.world_ranks[static_cast<std::size_t>(team.group.me)];
  if (const std::shared_ptr<const Processes> all = world(); all != nullptr) {
    const std::vector<int>& nodes = all->nodes.node_of;
    const auto me = nodes.begin() + mine;
    return static_cast<int>(std::count(nodes.begin(), me, *me));
  }
  return static_cast<int>(std::ranges::count_if(members_of(team.nodes, team.group.me), [&](int member) {
    return team.world_ranks[static_cast<std::size_t>(member)] < mine;
  }));
}

// The domain of every rank. Collective; asked only when an order of copies is first used, because
// reading the topology takes milliseconds.
std::vector<int> agree_on_domains(Team& team) {
  struct Domains {
    int mine;
    std::vector<int> all;
  };
  const auto domains = std::make_shared<Domains>();
  domains->mine = numa_domain(config().topology.empty() ? 0 : rank_on_node(team), config().topology);
  domains->all.resize(static_cast<std::size_t>(team.group.ranks));
  const auto begin = [&](MpiRequest* request) {
    return mpi().Iallgather(&domains->mine, 1, mpi().int_type, domains->all.data(), 1, mpi().int_type, team.own(),
                            request);
  };
  ask_all(team, domains, std::ref(begin));
  return std::move(domains->all);
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

const std::vector<int>& domains_of(Team& team) {
  if (!team.domains.empty()) return team.domains;
  team.domains = agree_on_domains(team);
  if (team.counted.explains && team.group.me == 0) {
    say_once(fmt::format("{} ranks, {}: {}", team.group.ranks,
                         team.nodes.nodes == 1 ? "1 node" : fmt::format("{} nodes, that of rank 0", team.nodes.nodes),
                         describe_domains(team.domains, members_of(team.nodes, 0))));
  }
  return team.domains;
}

bool all_true(MpiComm comm, bool mine) {
  all_agree(comm, 0, {&mine});
  return mine;
}

bool all_agree(MpiComm comm, std::uint64_t value, std::initializer_list<bool*> all_want) {
  // min(x) == max(x), and max(x) is ~min(~x): one reduction tells.
  std::uint64_t mine[5] = {value, ~value}, least[5] = {};
  std::transform(all_want.begin(), all_want.end(), mine + 2, [](const bool* wants) { return *wants ? 1U : 0U; });
  const bool told = ours::allreduce(mine, least, 5, mpi().uint64, mpi().op_min, comm) == mpi_success;
  const std::uint64_t* all = least + 2;
  for (bool* const wants : all_want) *wants = told && *all++ == 1;
  return told && least[0] == ~least[1];
}

// ---- Failed copies ----

namespace {

constexpr std::uint64_t is_start = std::uint64_t{1} << 63;

bool has_messages(const Team& team) {
  return team.nodes.nodes > 1 && team.group.messages().comm != MpiComm{} &&
         team.group.messages().comm != mpi().comm_null;
}

void send_to_other_nodes(const Team& team, std::uint64_t number) {
  // What is sent stays where it is: nobody waits until it has left, and there is little of it.
  static auto& numbers = *new std::deque<std::uint64_t>;  // outlives all destructors
  const std::uint64_t& kept = numbers.emplace_back(number);
  for (int rank = 0; rank < team.group.ranks; ++rank) {
    if (team.group.local_of(rank) >= 0) continue;
    MpiRequest request;
    if (mpi().Isend(&kept, 1, mpi().uint64, rank, tags::failed_copy, team.group.messages().comm, &request) ==
        mpi_success) {
      mpi().Request_free(&request);
    }
  }
}

// They may be of calls in which this rank had nothing on a device.
void receive_from_other_nodes(Team& team) {
  const MpiComm comm = team.group.messages().comm;
  for (;;) {
    int found = 0;
    MpiStatus status;
    if (mpi().Iprobe(mpi().any_source, tags::failed_copy, comm, &found, &status) != mpi_success || found == 0) return;
    std::uint64_t number = 0;
    MpiRequest request;
    if (mpi().Irecv(&number, 1, mpi().uint64, source_in(status), tags::failed_copy, comm, &request) != mpi_success ||
        mpi().Wait(&request, mpi().status_ignore) != mpi_success) {
      return;
    }
    team.failed_calls.note(number);
  }
}

}  // namespace

std::uint64_t number_of_call(const Team& team, bool is_counted) {
  const Counters& counters = team.counted.counters;
  // A refused call is one of this rank alone, and an early one is counted only where a team was made for it.
  const std::uint64_t refused = counters.passed[counted_as(Reason::argument)];
  const std::uint64_t early = counters.passed[counted_as(Reason::early)];
  return counters.served + counters.all_passed() - refused - early + (is_counted ? 0 : 1);
}

std::uint64_t number_of_start(unsigned request, std::uint64_t start) { return is_start | (start << 32) | request; }

void tell_failed(Team& team, std::uint64_t number) {
  team.failed_calls.note(number);
  if (has_messages(team)) send_to_other_nodes(team, number);
}

bool has_failed(Team& team, std::uint64_t number, bool may_look) {
  if (may_look && has_messages(team)) receive_from_other_nodes(team);
  return team.failed_calls.has(number);
}

}  // namespace quadrille::team
