// Idea    For a few block sizes, batches of calls go one way and the other in turn: through the inboxes or by one copy,
//         and for private memory through rings or by the kernel. Of the batches of a way the shortest counts, which
//         nobody disturbed, on the slowest rank; best_cut() says where to switch. `quadrille tune` does the same for
//         longer. A call alone would not do: what it leaves to be waited for, the next one pays.
//         Where ranks share processors, only large blocks of private memory are tried, with fewer calls.
// Cost    rounds * (1 + batch) calls of each way, size and collective. Sizes that would take long are left out.
#include "api/calibrate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "memory/measured_buffers.hpp"
#include "run/engines.hpp"
#include "sys/sys.hpp"
#include "team/ask.hpp"
#include "team/config.hpp"
#include "team/switch_points.hpp"
#include "tuner/contest.hpp"

namespace quadrille::api {
namespace {

using choose::SwitchPoints;

constexpr int rounds = 4, batch = 6, large_batch = 8, crowded_batch = 2;
// So short a measurement cannot tell less; and the way that copies less leaves more of the caches to the program.
constexpr double margin = 1.1;
constexpr std::size_t small_sizes[] = {768, 1024, 1536, 2048, 3072, 4096};
constexpr std::size_t large_sizes[] = {8192, 16384, 32768, 65536, 131072, 262144};
constexpr std::size_t crowded_sizes[] = {16384, 65536, 262144};
constexpr std::size_t most_bytes = std::size_t{1} << 20;           // of a rank's buffer
constexpr std::size_t most_crowded_bytes = std::size_t{16} << 20;  // that an oversubscribed node moves in a call
// A larger size is not begun after so many seconds of one search: other programs use these processors, or the ranks are
// many.
constexpr double most_seconds = 0.01, most_large_seconds = 0.02;

class Calibration {
 public:
  explicit Calibration(team::Team& team) : team_(team), group_(team.group), found_(group_.reach().points) {}

  // False if it took too long.
  bool is_whole() const { return !late_; }

  // The points as they should be.
  SwitchPoints find_points() {
    const SwitchPoints before = group_.reach().points;
    if (group_.reach().heaps_mapped && !team_.crowded) find_inbox_limits();
    if (all(group_.kernel_copies_everywhere())) find_kernel_copies();
    team::use_switch_points(team_, before);
    return found_;
  }

 private:
  // Has the search taken too long on some rank?
  bool is_late() {
    const bool late = !team::true_on_all(team_, mpi().Wtime() <= end_);
    late_ = late_ || late;
    return late;
  }
  bool all(bool mine) const { return team::all_true(team_.user, mine); }

  std::size_t buffer_bytes(std::size_t block) const { return block * static_cast<std::size_t>(group_.ranks); }

  bool call(Collective collective, memory::MeasuredBuffers& buffers, std::size_t bytes, bool through_inbox) {
    run::Call call{collective, {}, {}, false, team_.user};
    call.send.base = buffers.send(is_allgather(collective) ? bytes : buffer_bytes(bytes));
    call.recv.base = buffers.recv();
    call.send.count = call.recv.count = bytes;
    call.send.type = call.recv.type = mpi().byte;
    return (through_inbox ? run::run_inbox(call, group_) : run::run_node(call, group_, true)) == mpi_success;
  }

  // Seconds of a batch after one more call of its kind.
  double time(Collective collective, memory::MeasuredBuffers& buffers, std::size_t bytes, bool through_inbox) {
    bool good = call(collective, buffers, bytes, through_inbox);
    const double begin = mpi().Wtime();
    const bool is_small = bytes <= small_sizes[std::size(small_sizes) - 1];
    const int calls = is_small ? batch : team_.crowded ? crowded_batch : large_batch;
    for (int i = 0; i < calls; ++i) good = call(collective, buffers, bytes, through_inbox) && good;
    return good ? mpi().Wtime() - begin : std::numeric_limits<double>::max();
  }

  // How many of the sizes the first of two ways is better for, by the shortest times. `use(way)` prepares it, and says
  // whether it is the inboxes. Sets `sizes` to those that were measured in time. The same on all ranks.
  template <class Use>
  std::size_t find_cut(Collective collective, memory::MeasuredBuffers& buffers, std::span<const std::size_t>& sizes,
                       Use use) {
    std::vector<double> mine;  // of both ways in turn
    std::size_t measured = 0;
    for (; measured < sizes.size() && !is_late(); ++measured) {
      tuner::Contest contest(2, {rounds, tuner::Counts::least});
      while (!contest.decided()) {
        for (const std::size_t way : {0, 1}) contest.note(way, time(collective, buffers, sizes[measured], use(way)));
        contest.end_visit();
      }
      mine.push_back(contest.least(0) * margin);
      mine.push_back(contest.least(1));
    }
    sizes = sizes.first(measured);
    std::vector<double> most(mine.size()), times[2];
    team::largest_of_all(team_, mine, most);
    for (std::size_t i = 0; i < most.size(); ++i) times[i % 2].push_back(most[i]);
    return tuner::best_cut(times[0], times[1]);
  }

  // The sizes that are measured: those up to `limit`, and whose buffers are not too large.
  std::span<const std::size_t> sizes_of(std::span<const std::size_t> sizes, std::size_t limit) const {
    std::size_t count = 0;
    while (count < sizes.size() && sizes[count] <= limit && buffer_bytes(sizes[count]) <= most_bytes) ++count;
    return sizes.first(count);
  }

  void find_inbox_limits() {
    const auto sizes = sizes_of(small_sizes, group_.reach().slot_limit);
    if (sizes.empty()) return;
    memory::MeasuredBuffers buffers(buffer_bytes(sizes.back()), true);
    if (!all(buffers.good())) return;
    end_ = mpi().Wtime() + most_seconds;
    const auto use = [&](std::size_t way) {
      SwitchPoints points = group_.reach().points;
      points.inbox_limit.fill(way == 0 ? group_.reach().slot_limit : 0);
      team::use_switch_points(team_, points);
      return way == 0;
    };
    std::span<const std::size_t> measured = sizes;
    std::size_t gather = find_cut(Collective::allgather, buffers, measured, use);
    std::size_t alltoall = find_cut(Collective::alltoall, buffers, measured, use);
    if (measured.size() < sizes.size()) return;
    gather = tuner::largest_of_first(sizes, gather, group_.reach().slot_limit);
    alltoall = tuner::largest_of_first(sizes, alltoall, group_.reach().slot_limit);
    found_.inbox_limit = for_dense(alltoall, gather);  // of one size; it holds for the other forms, too
  }

  void find_kernel_copies() {
    const auto ranks = static_cast<std::size_t>(group_.ranks);
    std::span<const std::size_t> sizes =
        team_.crowded ? sizes_of(crowded_sizes, most_crowded_bytes / (ranks * ranks)) : sizes_of(large_sizes, SIZE_MAX);
    if (sizes.empty()) return;
    memory::MeasuredBuffers buffers(buffer_bytes(sizes.back()), false);
    if (!all(buffers.good())) return;
    end_ = mpi().Wtime() + most_large_seconds;
    const auto use = [&](std::size_t way) {
      SwitchPoints points = group_.reach().points;
      points.cma_from = way == 0 ? SIZE_MAX : 0;
      team::use_switch_points(team_, points);
      return false;
    };
    const std::size_t cut = find_cut(Collective::alltoall, buffers, sizes, use);
    if (sizes.empty()) return;
    const std::size_t least = tuner::least_of_second(sizes, cut);
    // Rings were better as far as was measured: then the kernel copies no sooner than was guessed.
    found_.cma_from = cut == sizes.size() ? std::max(least, found_.cma_from) : least;
  }

  team::Team& team_;
  run::Group& group_;
  SwitchPoints found_;
  double end_ = 0;  // of this search, in seconds
  bool late_ = false;
};

std::string summary(const SwitchPoints& points) {
  const auto limit = [&](Collective c) { return points.inbox_limit[static_cast<std::size_t>(c)]; };
  return fmt::format(
      "inboxes up to {} bytes (alltoall), {} (allgather); for private memory the kernel's copy from {} bytes",
      limit(Collective::alltoall), limit(Collective::allgather), points.cma_from);
}

}  // namespace

void calibrate(team::Team& team) {
  team::settle_switch_points(team);
  run::Group& group = team.group;
  // Known to all ranks alike.
  if (!group.reach().rings || !group.reach().local.empty()) return;
  Calibration calibration(team);
  team::use_switch_points(team, calibration.find_points());
  team::forget_selections(team);
  team::keep_switch_points({group.ranks, team.crowded, group.reach().points});
  if (team.counted.explains && group.me == 0) {
    const bool whole = calibration.is_whole();
    team::say(fmt::format("switch points {} with {} ranks: {}{}", whole ? "measured" : "not all measured", group.ranks,
                          summary(group.reach().points),
                          whole ? "" : "; the others are guessed; `quadrille tune` measures and saves all"));
  }
}

}  // namespace quadrille::api
