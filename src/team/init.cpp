// What is done once a program: in MPI_Init, where the ranks agree on their settings and meet; and in MPI_Finalize,
// where QUADRILLE_EXPLAIN=1 sums up what became of the calls.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "memory/heap.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

// All ranks want a summary, and will come to MPI_Finalize with that.
bool all_explain = false;

// Agreed upon in MPI_Init where that is ours, else as this process knows it.
bool is_fault_tolerant() { return config().fault_tolerant || (tolerates_faults() && !config().watches_faults); }

std::string not_used(Why why) { return text::words_of({.reason = Reason::not_used, .then = {std::move(why)}}); }

// Says where sharing of the program's memory depends on another library.
void explain_mapping_watch(memory::MappingWatch watch) {
  if (watch == memory::MappingWatch::through_ucx) {
    say("UCX reports what the program maps: its memory is shared inside a node");
  } else if (watch == memory::MappingWatch::lost) {
    say("another library replaced mmap and does not report what the program maps: its memory is not shared "
        "inside a node");
  }
}

}  // namespace

DeviceUse mpi_device_use() {
  constexpr auto not_asked = static_cast<DeviceUse>(0xff);
  static constinit FirstAnswer<DeviceUse> use(not_asked);
  const DeviceUse told = use.get([] {
    // With MPI sessions alone there is no MPI_COMM_WORLD to ask, nor a team.
    if (!may_call_mpi()) return not_asked;
    return config().mpi_device.value_or(device_support().takes_devices ? DeviceUse::all : DeviceUse::none);
  });
  return told == not_asked ? DeviceUse::none : told;
}

bool every_rank_explains() { return all_explain; }

Reason why_nothing_is_served() {
  if (is_fault_tolerant()) return Reason::fault_tolerant;
  return config().off ? Reason::switched_off : Reason::none;
}

void explain_fault_tolerance() {
  if (config().explain && rank_in(mpi().comm_world) == 0) say_once(not_used({Reason::fault_tolerant}));
}

void before_init() {
  if (!mpi().foreign) return;
  if (sys::launched_as_first()) {
    say(mpi().problem + "; start the program without Quadrille");
  } else {
    // A launcher ends all ranks as soon as one has failed: the one that speaks must come first.
    sys::sleep_us(1'000'000);
  }
  std::_Exit(EXIT_FAILURE);
}

bool after_init() {
  // An MPI_Init may call PMPI_Init by that name, and a profiler's MPI_Init does: both come here.
  static bool done = false;
  if (std::exchange(done, true)) return false;
  const memory::MappingWatch watch = memory::mapping_watch(true);
  if (!mpi().usable) {
    if (sys::launched_as_first()) say(not_used({Reason::unusable_mpi, mpi().problem}));
    return false;
  }
  const int rank = rank_in(mpi().comm_world);
  Config& settings = config();
  const bool explains = settings.explain;
  // First of all: what follows waits a lot.
  if (!settings.off && crowded_by_launcher()) share_processors(settings, explains && rank == 0);
  all_explain = explains;
  untaken.wanted = explains;
  bool none_is_recorded = settings.record.empty(), told = true;
  if (!all_agree(mpi().comm_world, fingerprint(settings), {&all_explain, &none_is_recorded, &told})) {
    std::string record = std::move(settings.record);
    settings = {};
    settings.explain = explains;
    settings.record = std::move(record);
    settings.warnings = {
        "QUADRILLE_* variables differ among the ranks and are ignored; "
        "give all ranks the same (mpirun -x NAME, or -genv NAME VALUE)"};
  }
  settings.some_recorded = told && !none_is_recorded;
  print_warnings(settings, rank);
  watch_finalize();
  // From now on large allocations can be shared. A program of one rank has nobody to share them with.
  if (size_of(mpi().comm_world) == 1 || settings.off) return false;
  // Later another thread's collective may keep the MPI from making one.
  if (thread_level(mpi().thread_single) == mpi().thread_multiple) own_comm();
  // One node may have other files of settings than another.
  if (!all_true(mpi().comm_world, !tolerates_faults())) {
    all_explain = false;  // a summary of all ranks would need all of them in MPI_Finalize
    settings.watches_faults = all_true(mpi().comm_world, reports_faults());
    settings.fault_tolerant = !settings.watches_faults;
    // A rank that has left a call uses its memory again, and gives it back: nobody may write there, or be ended by
    // reading there.
    settings.ways.cma_write = settings.ways.xpmem = false;
  }
  if (settings.fault_tolerant) {
    explain_fault_tolerance();
    return false;
  }
  if (settings.ways.heap) {
    memory::heap_start();
    if (explains && rank == 0) explain_mapping_watch(watch);
  }
  // What takes long is done here, where it is lost in the time that MPI_Init takes anyway, and not in a call
  // that the program may time.
  if (!meet_world(settings.ways)) {
    if (rank == 0) say(not_used({Reason::no_communicator}));
    settings.off = true;
    return false;
  }
  Team* team = team_of(mpi().comm_world);
  if (team != nullptr && team->eligible()) setup(*team);
  return true;
}

// ---- The summary ----

namespace {

constexpr std::uint64_t group_of_one_rank = 1;

// At most so many lines for communicators; what is more is added up in one.
constexpr std::size_t most_lines = 8;

// The part of one rank: all its calls, and the communicators with most of them. The last tally is of the others.
struct Part {
  Counters all, nonblocking, persistent;  // the latter under the MPI's own names, and only forwarded ones
  Tally tallies[most_lines + 1];
};

// A line for each reason.
void add_lines(const PassedCounts& counts, const char* form, std::vector<std::string>& lines) {
  for (std::size_t r = 0; r < counted_reasons; ++r) {
    if (counts[r] == 0) continue;
    lines.push_back(
        fmt::format("summary: {} forwarded {}{}", counts[r], form, text::summary_words_of(static_cast<Reason>(r))));
  }
}

// How many communicators of a group there were.
std::int32_t turn_of(std::uint64_t group) {
  static auto* const mutex = new std::mutex;
  static auto* const turns = new std::map<std::uint64_t, std::int32_t>;
  const std::lock_guard lock(*mutex);
  return (*turns)[group]++;
}

void take_name(MpiComm comm, Tally& tally) {
  char name[most_mpi_text + 1] = {};
  int length = 0;
  if (mpi().Comm_get_name(comm, name, &length) != mpi_success) return;
  std::memcpy(tally.name, name, std::min(sizeof tally.name - 1, static_cast<std::size_t>(length)));
}

bool has_more_calls(const Tally& a, const Tally& b) {
  return std::pair(a.calls(), b.turn) > std::pair(b.calls(), a.turn);
}

// Adds up what all but the first communicators have in the last element, which is of no single one.
void keep_first(std::vector<Tally>& tallies) {
  std::ranges::stable_sort(tallies, has_more_calls);
  Tally rest;
  for (std::size_t i = most_lines; i < tallies.size(); ++i) rest.add(tallies[i]);
  tallies.resize(std::min(tallies.size(), most_lines));
  tallies.push_back(rest);
}

std::string line_of(const Tally& tally) {
  const std::string calls = fmt::format("{} served, {} forwarded", tally.served, tally.passed);
  if (tally.ranks == 0) return fmt::format("summary: {} more communicators: {}", tally.communicators, calls);
  if (tally.communicators > 1) {
    return fmt::format("summary: {} communicators of one rank: {}", tally.communicators, calls);
  }
  const std::string name = tally.name[0] != '\0' ? fmt::format("{}, ", tally.name) : "";
  const std::string part = tally.told < tally.ranks ? fmt::format(" (counted on {} of them)", tally.told) : "";
  return fmt::format("summary: {}{} rank{}: {}{}", name, tally.ranks, tally.ranks == 1 ? "" : "s", calls, part);
}

// What ranks say of one communicator becomes one tally.
std::vector<Tally> merge(const std::vector<Part>& parts) {
  std::map<std::pair<std::uint64_t, std::int32_t>, Tally> all;
  Tally rest;
  for (const Part& part : parts) {
    for (const Tally& tally : part.tallies) {
      if (tally.ranks == 0) {
        rest.add(tally);
        continue;
      }
      const auto [place, is_new] = all.try_emplace({tally.group, tally.turn}, tally);
      if (is_new) continue;
      place->second.add(tally);
      ++place->second.told;
    }
  }
  std::vector<Tally> tallies;
  tallies.reserve(all.size());
  for (const auto& [key, tally] : all) tallies.push_back(tally);
  keep_first(tallies);
  tallies.back().add(rest);
  return tallies;
}

// The lines of the summary, of the parts of all ranks, or of this one alone.
std::vector<std::string> summary_lines(const std::vector<Part>& parts, bool alone) {
  Counters all, nonblocking, persistent;
  for (const Part& part : parts) {
    all.add(part.all);
    nonblocking.add(part.nonblocking);
    persistent.add(part.persistent);
  }
  const std::uint64_t forwarded = all.all_passed() + nonblocking.all_passed() + persistent.all_passed();
  std::vector<std::string> lines = {
      fmt::format("summary: {} calls served, {} forwarded to the MPI, {}", all.served, forwarded,
                  alone ? "counted on this rank only" : fmt::format("counted on {} ranks", parts.size()))};
  add_lines(all.passed, "", lines);
  add_lines(nonblocking.passed, "nonblocking, ", lines);
  add_lines(persistent.passed, "for persistent requests, ", lines);
  for (const Tally& tally : merge(parts)) {
    if (tally.calls() > 0) lines.push_back(line_of(tally));
  }
  return lines;
}

Part make_part(const Counters& all, std::vector<Tally> tallies) {
  Part part;
  part.all = all;
  part.all.passed[counted_as(Reason::other)] += untaken.without_team;
  std::copy(untaken.nonblocking.begin(), untaken.nonblocking.end(), part.nonblocking.passed.begin());
  std::copy(untaken.persistent.begin(), untaken.persistent.end(), part.persistent.passed.begin());
  // Of one rank: one line for all.
  Tally alone{.group = group_of_one_rank, .ranks = 1};
  std::erase_if(tallies, [&](const Tally& tally) {
    if (tally.ranks != 1) return tally.calls() == 0;
    alone.add(tally);
    return true;
  });
  if (alone.calls() > 0) tallies.push_back(alone);
  keep_first(tallies);
  std::copy(tallies.begin(), tallies.end(), part.tallies);
  return part;
}

}  // namespace

void Counters::add(const Counters& other) {
  served += other.served;
  std::ranges::transform(passed, other.passed, passed.begin(), std::plus());
}

Tally begin_tally(const Team& team) {
  Tally tally;
  if (!team.counted.explains) return tally;
  tally.communicators = rank_in(team.user) == 0 ? 1 : 0;
  if (team.why_not == Reason::intercommunicator) return tally;  // told with the others
  tally.ranks = size_of(team.user);
  tally.group = group_of_one_rank;  // all of them are told in one line, by each rank
  if (tally.ranks == 1) return tally;
  tally.group = text::Hash().add_all(ranks_in_world(team.user)).value();
  tally.turn = turn_of(tally.group);
  return tally;
}

Tally end_tally(const Team& team) {
  Tally tally = team.counted.tally;
  tally.served = team.counted.counters.served;
  tally.passed = team.counted.counters.all_passed();
  if (team.user != mpi().comm_null && tally.ranks > 1) take_name(team.user, tally);
  return tally;
}

void print_summary(const Counters& all, std::vector<Tally> tallies) {
  const int rank = rank_in(mpi().comm_world);
  if (!all_explain && (!config().explain || rank != 0)) return;
  const Part mine = make_part(all, std::move(tallies));
  const int ranks = size_of(mpi().comm_world);
  std::vector<Part> parts = {mine};
  if (all_explain && ranks > 1) {
    const std::shared_ptr<const Processes> known = world();
    const bool own = known != nullptr && known->quiet != nullptr && known->quiet->as_world;
    if (rank == 0) parts.resize(static_cast<std::size_t>(ranks));
    // On a communicator of our own no call of the program is pending. If Quadrille is switched off, there is none.
    mpi().Gather(&mine, sizeof mine, mpi().byte, parts.data(), sizeof mine, mpi().byte, 0,
                 own ? known->quiet->comm : mpi().comm_world);
  }
  if (rank != 0) return;
  for (const std::string& line : summary_lines(parts, !all_explain && ranks > 1)) say(line);
}

}  // namespace quadrille::team
