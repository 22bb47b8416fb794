// Finding out which of several ways is the fastest: of algorithms, by trials (choose/trial.hpp) or by the model, and of
// the ways of blocks inside a node, where no tuning table has the switch points between them.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/serve.hpp"
#include "choose/model.hpp"
#include "memory/measured_buffers.hpp"
#include "mpi/mpi.hpp"
#include "run/engines.hpp"
#include "run/native_run.hpp"
#include "team/config.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"
#include "tuner/contest.hpp"

namespace quadrille::api {
namespace {

// Bytes that this rank sends and receives.
double bytes_moved(const run::Call& call, team::Team& team) {
  const bool neighbors = is_neighbor(call.collective);
  const BlockNumbers blocks = neighbors ? blocks_of(call, team) : BlockNumbers{team.group.ranks, team.group.ranks};
  const std::uint64_t sent = run::bytes_of(call.in_place ? call.recv : call.send, blocks.send).all;
  return static_cast<double>(sent + run::bytes_of(call.recv, blocks.recv).all);
}

// Of neighbour collectives others know nothing: what they take depends on who the neighbours are.
bool is_kept_for_others(const team::Try& one) { return is_dense(one.of.collective); }

std::string name_of(const team::Try& one, std::size_t candidate) {
  return choose::to_string(one.trial.candidates[candidate]);
}

std::string names(const team::Try& one) {
  std::string all = name_of(one, 0);
  for (std::size_t c = 1; c < one.trial.candidates.size(); ++c) all += ", " + name_of(one, c);
  return all;
}

Why tell(const team::Try& one) {
  if (!one.trial.were_alike) return {Reason::first_calls_differ, names(one)};
  const bool by_steps = choose::steps_tell(one.trial), is_first = one.decisions == 0;
  Why told{is_first ? Reason::first_calls_took : Reason::later_calls_took};
  if (by_steps) told.reason = is_first ? Reason::first_steps_took : Reason::later_steps_took;
  for (std::size_t c = 0; c < one.trial.candidates.size(); ++c) {
    const bool is_step = by_steps && one.trial.contest.is_in(c);
    const double median = is_step ? one.trial.steps.median(c) : one.trial.contest.median(c);
    // A way's steps that vary may take less than nothing beside those of the first candidate.
    if (median > 0 && median != tuner::never) told.then.push_back({Reason::took, name_of(one, c), median * 1e6});
  }
  return told;
}

// Which of the candidates that is; -1: none.
int number_of(const std::vector<choose::Choice>& candidates, const choose::Choice* named) {
  if (named == nullptr || named->algorithm == nullptr) return -1;
  const std::string best = choose::to_string(*named);
  const auto found = std::ranges::find(candidates, best, [](const auto& one) { return choose::to_string(one); });
  return found == candidates.end() ? -1 : static_cast<int>(found - candidates.begin());
}

void settle(team::Try& one, std::size_t best, Why why) {
  one.trial.contest.end();
  ++one.decisions;
  // Some ranks may serve such calls from their caches, requests also before the first decision.
  if (std::exchange(one.best, best) != best) drop_cached_calls();
  one.why = std::move(why);
}

// By what was found in another program, for such loads: where all ranks know the size, it is selected at once.
bool settle_by_table(const team::Team& team, team::Try& one) {
  if (is_sized(one.of.collective)) return false;
  const bool on_devices = one.of.load == team::on_devices;
  const choose::MeasuredChoices& measured = team.agreed().by_size;
  const choose::ChoicesByCollective& all = on_devices ? measured.on_devices : measured.on_host;
  const choose::SizedChoices& known = all[static_cast<std::size_t>(one.of.collective)];
  const choose::SizedChoice* found = choose::choice_for(known, one.of.bytes.from);
  const int number = number_of(one.trial.candidates, found == nullptr ? nullptr : &found->choice);
  if (number < 0) return false;
  settle(one, static_cast<std::size_t>(number), {Reason::measured});
  return true;
}

// Collective: goes by what the ranks keep if all of them keep the same. They may have been in different communicators.
bool settle_by_verdict(team::Team& team, team::Try& one) {
  const std::optional<choose::Verdict> kept = team::verdict_of(one.of);
  const int mine = number_of(one.trial.candidates, kept.has_value() ? &kept->best : nullptr);
  const double both_ways[] = {static_cast<double>(mine), -static_cast<double>(mine)};
  double most[2] = {};
  team::largest_of_all(team, both_ways, most);
  if (most[0] != -most[1] || mine < 0) return false;
  choose::take_over(one.trial, static_cast<std::size_t>(mine));
  settle(one, static_cast<std::size_t>(mine), {.reason = Reason::measured_elsewhere, .then = {kept->why}});
  return true;
}

// Where the trial of such calls is kept. Blocks that go through the inboxes untried have trials of their own, and so
// have larger ones that fit a slot, of which inboxes are a candidate: others of their class may not fit a slot.
std::tuple<Collective, bool, int, int> place_of(const run::Call& call, std::size_t bytes, team::Team& team,
                                                const team::CachedSelection& cached) {
  constexpr int by_inbox = -1, in_slots = -2;
  const int number =
      cached.follows_load ? team.asked.load_of(call.collective, cached).now : choose::size_class_of(bytes);
  const bool fits = team.nodes.nodes == 1 && is_dense(call.collective) && is_sized(call.collective) &&
                    bytes <= team.group.reach().slot_limit;
  const int in_a_node = bytes <= team.group.inbox_limit(call.collective) ? by_inbox : in_slots;
  return {call.collective, cached.follows_load, number, fits && cached.load == 0 ? in_a_node : cached.load};
}

// Which sizes a trial of such calls is of. The limits of the inboxes and of their slots lie between two trials.
choose::Bytes bytes_tried(Collective collective, int number, std::size_t bytes, const team::Team& team, int load) {
  if (!is_sized(collective)) return choose::bytes_of_load_class(number);
  const choose::Bytes all = choose::bytes_of_size_class(number);
  const bool has_limit = team.nodes.nodes == 1 && is_dense(collective) && load == 0;
  if (!has_limit) return all;
  const choose::Bytes on_this_side = choose::on_one_side(all, bytes, team.group.reach().slot_limit);
  return choose::on_one_side(on_this_side, bytes, team.group.inbox_limit(collective));
}

// Of v and w calls inside a node the ranks know the load alone. With small blocks no order of copies is worth trying.
bool has_small_blocks(const run::Call& call, const team::Team& team, const team::CachedSelection& cached, int load) {
  const bool is_inside = cached.follows_load && is_dense(call.collective) && team.nodes.nodes == 1;
  if (!is_inside || cached.load == team::on_devices) return false;
  return !choose::may_have_large_blocks(load, team.group.ranks, team.group.inbox_limit(call.collective));
}

// Collective when the trial of such calls begins.
team::Try& trial_of(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  if (cached.trial != nullptr) return *cached.trial;
  const auto key = place_of(call, bytes, team, cached);
  const auto [place, is_new] = team.asked.trials.try_emplace(key);
  team::Try& one = place->second;
  cached.trial = &one;
  if (!is_new) return one;
  std::vector<choose::Choice> candidates = {cached.selection.choice};
  candidates.insert(candidates.end(), cached.selection.rivals.begin(), cached.selection.rivals.end());
  const choose::Bytes tried = bytes_tried(call.collective, std::get<2>(key), bytes, team, cached.load);
  one.of = choose::case_of(team.nodes, team.crowded, call.collective, tried, cached.load, candidates);
  one.trial = choose::make_trial(candidates, team.crowded);
  if (has_small_blocks(call, team, cached, std::get<2>(key))) {
    settle(one, 0, {Reason::any_size_in_a_node});
    return one;
  }
  if (is_kept_for_others(one) && (settle_by_table(team, one) || settle_by_verdict(team, one))) return one;
  one.trial = choose::make_trial(team::without_twins(team, call.collective, candidates), team.crowded);
  if (one.trial.candidates.size() == 1) settle(one, 0, {Reason::identical_plans});
  return one;
}

// The end of a visit. Of the seconds of a candidate the mean over the ranks counts, see choose/trial.hpp; what a rank
// did not note nobody knows.
void end_visit(team::Team& team, team::Try& one) {
  std::vector<double> times = choose::times_of(one.trial);
  const std::size_t n = times.size();
  std::vector<std::uint64_t> mine(2 * n), sums(2 * n);  // nanoseconds, and behind them how many ranks noted none
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_noted = times[i] != choose::not_noted;
    mine[is_noted ? i : n + i] = is_noted ? static_cast<std::uint64_t>(times[i] * 1e9) : 1;
  }
  team::sum_of_all(team, mine, sums);
  for (std::size_t i = 0; i < n; ++i) {
    times[i] = sums[n + i] == 0 ? static_cast<double>(sums[i]) / (1e9 * team.group.ranks) : choose::not_noted;
  }
  choose::judge(one.trial, times);
  if (!one.trial.contest.decided()) return;
  if (!one.trial.were_alike && one.decisions > 0) return;  // what was found before stays
  settle(one, choose::best_of(one.trial), tell(one));
  if (one.trial.were_alike && is_kept_for_others(one))
    team::keep_verdict(one.of, {one.trial.candidates[one.best], one.why});
}

// Does what stands until the trial is decided copy from other ranks' memory, in a kernel of ours?
bool has_kernels(const team::Team& team, const team::Try& one) {
  const choose::Engine engine = one.trial.candidates[one.best].algorithm->engine;
  const bool copies = engine == choose::Engine::exchange || engine == choose::Engine::node;
  return copies && team.nodes.nodes == 1 && one.of.load != team::on_devices;
}

// Two races over one stream of calls disturb each other: orders of copies come when all ranks know which kernels copy
// blocks of that size. Collective. No call of those that wait is the MPI's.
bool awaits_kernels(const run::Call& call, team::Team& team, team::Try& one) {
  constexpr int most = choose::Trial::most_waiting;
  if (one.waited > most || !has_kernels(team, one)) return false;
  if (one.waited % choose::Trial::calls_between_looks == 0) {
    const std::optional<memory::StreamTuner>& tuner = team.group.copying.tuner;
    const std::size_t copied = run::bytes_of(call.recv, team.group.ranks).all;
    const bool is_first = one.waited == 0;
    const bool waits = tuner && (is_first ? !tuner->has_decided(copied) : tuner->is_measuring(copied));
    if (team::true_on_all(team, !waits)) one.waited = most;
  }
  return ++one.waited <= most;
}

// False if it is decided, in this call.
bool take_turn(const run::Call& call, std::size_t bytes, team::Team& team, team::Try& one,
               team::CachedSelection& cached, Attempt& attempt) {
  // Not what the selection has, which ranks may have made at different times.
  attempt.choice = &one.trial.candidates[one.best];
  if (awaits_kernels(call, team, one)) return true;
  // Where all ranks know the size, each class has a trial of its own.
  const double moved = bytes > 0 ? 0 : bytes_moved(call, team);
  int candidate = choose::begin_call(one.trial, moved, mpi().Wtime());
  if (candidate < 0) {
    end_visit(team, one);
    candidate = choose::begin_call(one.trial, moved, mpi().Wtime());
  }
  attempt.choice = nullptr;
  if (candidate < 0) return false;
  if (one.decisions == 0 && cached.selection.why.reason != Reason::first_calls_try) {
    cached.selection.why = {Reason::first_calls_try, names(one)};
    cached.explained = false;
  }
  if (team.group.copying.tuner) team.group.copying.tuner->hold_checks();
  attempt.trial = &one.trial;
  attempt.choice = &one.trial.candidates[static_cast<std::size_t>(candidate)];
  attempt.ahead.note(one.trial.calls, -1);
  return true;
}

// The selection becomes what was decided last.
void go_by(const team::Try& one, team::CachedSelection& cached) {
  if (cached.decision == one.decisions) return;
  cached.settle(one.trial.candidates[one.best]);
  cached.selection.why = one.why;
  cached.decision = one.decisions;
}

// When all ranks together move much more or less than before, another trial is begun, or what came of it is taken up
// again. Returns the calls that count until what was found is checked: those that ask, each with those that will keep
// the answer.
int follow_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, choose::Asking& load,
                bool is_timed) {
  // A pending trial finds out by itself whether its calls are alike, if they are timed.
  const bool is_tried = cached.trial != nullptr && !cached.trial->trial.contest.decided();
  if ((is_timed && is_tried) || !choose::must_ask(load)) return 0;
  const double moved = bytes_moved(call, team);
  double most = 0;
  team::largest_of_all(team, {&moved, 1}, {&most, 1});
  const int now = choose::load_class_of(most);
  const int unasked =
      has_small_blocks(call, team, cached, now) ? choose::most_unasked_of_settled_class : choose::most_unasked_of_class;
  const bool is_new =
      team.nodes.nodes == 1 ? choose::note_class_to_keep(load, now, unasked) : choose::note_class(load, now, unasked);
  if (!is_new) return 1 + load.unasked;
  if (cached.trial == nullptr) return 0;  // the first call
  cached.settle(cached.trial->trial.candidates[0]);
  cached.trial = nullptr;
  return 0;
}

}  // namespace

void begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached,
                   Attempt& attempt) {
  choose::Asking& load = team.asked.load_of(call.collective, cached);
  // Else the call goes by what others of its class have found. All ranks have called the same form.
  const bool is_timed = run::has_function(call);
  const int counted = cached.follows_load ? follow_load(call, team, cached, load, is_timed) : 1;
  team::Try& one = trial_of(call, bytes, team, cached);
  if (is_timed) {
    if (counted > 0 && choose::begin_again(one.trial, counted)) one.waited = 0;
    if (!one.trial.contest.decided() && take_turn(call, bytes, team, one, cached, attempt)) return;
    if (!cached.follows_load) attempt.ahead.note(one.trial.pause.left, 1);
  }
  go_by(one, cached);
  // What stands in for a function that the MPI lacks is not what was timed.
  if (!is_timed && is_of_the_mpi(*cached.selection.choice.algorithm)) attempt.choice = &one.trial.candidates[0];
  if (cached.follows_load) attempt.ahead.note(load.unasked, 1);
}

void go_by_decision(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached) {
  if (cached.trial == nullptr && !cached.selection.rivals.empty()) {
    const auto known = team.asked.trials.find(place_of(call, bytes, team, cached));
    if (known != team.asked.trials.end()) cached.trial = &known->second;
  }
  if (cached.trial != nullptr && cached.trial->decisions > 0) go_by(*cached.trial, cached);
}

int choose_by_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, CountedAhead& ahead) {
  choose::Asking& asking = team.asked.asking[static_cast<std::size_t>(call.collective)];
  ahead.note(asking.unasked, 1);
  if (!choose::must_ask(asking)) return mpi_success;
  if (const int error = team::prepare_messages(team); error != mpi_success) return error;
  const int ranks = team.group.ranks;
  const run::BytesMoved mine = run::bytes_of(call.in_place ? call.recv : call.send, ranks);
  run::BytesMoved most;
  // A revocation of the user's communicator must end the wait.
  const MpiComm comm = team::watches_faults() ? team.user : team.group.messages().comm;
  const FaultsReturned guard(comm);
  const int error = ours::allreduce(&mine, &most, 2, mpi().uint64, mpi().op_max, comm);
  if (error != mpi_success) team::lose(team);
  const choose::Load load{static_cast<double>(most.all) / ranks, static_cast<double>(most.largest)};
  cached.settle(choose::fastest(team::key_of(team, call.collective, 0), load).choice);
  choose::note_answer(asking, row_of(cached.selection.choice.algorithm->engine).answer);
  return mpi_success;
}

// ---- Switch points inside a node ----
//
// Idea    For a few block sizes, batches of calls go one way and the other in turn: through the inboxes or by one copy,
//         and for private memory through rings or by the kernel. Of the batches of a way the shortest counts, which
//         nobody disturbed, on the slowest rank; best_cut() says where to switch. `quadrille tune` does the same for
//         longer. A call alone would not do: what it leaves to be waited for, the next one pays.
// Cost    rounds * (1 + batch) calls of each way, size and collective. Sizes that would take long are left out.

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
    const int error = through_inbox ? run::run_inbox(call, group_) : run::run_node(call, group_, true);
    if (buffers.is_private()) buffers.read(buffer_bytes(bytes));
    return error == mpi_success;
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
