// Whether Quadrille serves a call, by which algorithm, and what the MPI refuses (api/serve.hpp).
#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "api/call_cache.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "memory/device.hpp"
#include "run/bound_run.hpp"
#include "run/native_run.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "team/setup.hpp"
#include "text/hash.hpp"

namespace quadrille::api {
namespace {

using To = Admission::Outcome;
using run::Call;
using run::Side;
using team::Team;

void explain_passed(Team& team, const Call& call, Reason why) {
  if (team.counted.explains) team::explain(team, call.collective, 0, "mpi", {why});
}

}  // namespace

bool comes_early(const Team& team, Door door) {
  const team::Config& settings = team::config();
  if (team.ready() || door == Door::explicit_api || settings.any_forced) return false;
  return team.calls < settings.setup_after;
}

int uncounted_calls(Door door) {
  const team::Config& settings = team::config();
  const bool looks = settings.explain || settings.any_forced || settings.off || door == Door::explicit_api;
  return looks ? 0 : settings.setup_after;
}

void explain_request(Team& team, const Call& call, record::Form form, const char* algorithm, Why why) {
  const Reason how = form == record::Form::enqueued     ? Reason::enqueued
                     : form == record::Form::persistent ? Reason::persistent
                                                        : Reason::nonblocking;
  team::explain(team, call.collective, 0, algorithm, {.reason = how, .then = {std::move(why)}});
}

bool pass(Team& team, Reason why, CountedAhead& ahead) {
  ahead.team = &team;
  ahead.passed = &team.counted.counters.passed[counted_as(why)];
  ++*ahead.passed;
  return false;
}

Reason why_chosen(const Team& team) {
  return team.ready() && team.nodes.nodes == 1 ? Reason::mpi_inside_a_node : Reason::mpi_between_nodes;
}

// ---- What is selected ----

namespace {

// The class of what moves in all in an Allgatherv, for calls of which several algorithms are tried: by its largest
// block alone, one that moves a single block would be taken for one that moves many.
int load_of(const Call& call, const Team& team) {
  const bool differs =
      is_sized(call.collective) && is_dense(call.collective) && has_arrays(row_of(call.collective).recv);
  if (!differs || team.nodes.nodes == 1 || team.agreed().may_try == team::MayTry::nothing) return 0;
  return choose::size_class_of(run::bytes_of(call.recv, team.group.ranks).all);
}

// Is there anything to choose? Among neighbours there is no way but over the host, unless the MPI takes such memory.
bool has_choice(const Call& call, const Team& team) {
  if (!team.agreed().follows_devices || call.collective == Collective::exchange) return false;
  if (is_neighbor(call.collective) && team.agreed().mpi_device == DeviceUse::none) return false;
  return team.agreed().forced.of(call.collective).algorithm == nullptr;
}

// Whether the ranks ask each other about their buffers: in blocking calls less and less often while the answer is the
// same; for a persistent request always, and for it alone; for a nonblocking one if nobody has asked before. What may
// not wait goes by what the others found.
bool asks_now(choose::Asking& seen, Entry entry) {
  if (!entry.is_request()) return choose::must_ask(seen);
  return !entry.never_waits() && (entry.is_persistent() || seen.now < 0);
}

// Has some rank its data in a device's memory, as far as the ranks know?
bool is_on_devices(const Call& call, Team& team, Entry entry, CountedAhead* ahead) {
  // What a thread makes progress on for a stream calls no driver, so it is the host's.
  if (!team.ready() || entry.is_enqueued() || entry.must_serve(team) || !has_choice(call, team)) return false;
  choose::Asking& seen = team.asked.devices[static_cast<std::size_t>(call.collective)];
  if (ahead != nullptr) ahead->note(seen.unasked, 1);
  if (!asks_now(seen, entry)) return seen.now > 0;
  const bool mine = memory::device_driver() != nullptr && has_device_memory(call, used_blocks(call, team));
  const bool some = !team::true_on_all(team, !mine);
  if (!entry.is_persistent()) choose::note_class(seen, some ? 1 : 0);
  return some;
}

std::size_t neighbor_bytes(const Call& call, const team::Neighbors& n) {
  if (n.isomorphic == nullptr) return 0;
  if (!is_regular(call.collective) && !n.sizes_known()) return 0;
  return run::largest_block(call, {n.iso_send, n.iso_recv});
}

}  // namespace

std::size_t global_bytes(const Call& call, Team& team) {
  if (is_neighbor(call.collective)) return neighbor_bytes(call, *team::neighbors_of(team));
  if (!is_sized(call.collective)) return 0;
  return run::bytes_of(call.recv, has_arrays(row_of(call.collective).recv) ? team.group.ranks : 1).largest;
}

bool moves_nothing(const Call& call, std::size_t bytes) {
  return bytes == 0 && is_dense(call.collective) && is_sized(call.collective);
}

team::CachedSelection& select(const Call& call, std::size_t bytes, Team& team, Entry entry, CountedAhead* ahead) {
  const bool on_devices = is_on_devices(call, team, entry, ahead);
  return team::selection_of(team, call.collective, bytes, load_of(call, team), entry.is_drop_in(), on_devices);
}

// ---- What is admitted ----

bool Admission::is_of_the_mpi() const { return outcome == To::refused || outcome == To::forwarded; }

namespace {

// Of a request make_native() says so.
Admission to_the_mpi(const Call& call, Team& team, Entry entry, Reason why, Reason counted,
                     int error = mpi().err_other) {
  if (!entry.is_request()) explain_passed(team, call, why);
  return {To::forwarded, why, counted, error};
}

// What the MPI refuses it is to report, or we report as the MPI does; no rank waits.
Admission refuse(const Call& call, Team& team, Entry entry, CountedAhead* ahead) {
  const bool has_blocks = !is_neighbor(call.collective) || team::neighbors_of(team) != nullptr;
  const int error = has_blocks ? mpi().err_arg : mpi().err_topology;
  if (entry.is_request()) return {To::refused, Reason::argument, Reason::argument, error};
  // An MPI that takes it after all is one that the other ranks are in, too.
  ahead->early = team.eligible() && !team.taken.in_flight() && comes_early(team, entry.door);
  const Reason obstacle = is_neighbor(call.collective) ? why_no_neighbors(team) : Reason::none;
  const bool is_argument = obstacle == Reason::none;
  const Reason why = is_argument ? Reason::argument : obstacle;
  explain_passed(team, call, why);
  return {To::refused, why, is_argument || team.eligible() ? Reason::argument : team.why_not.load(), error};
}

// Does the call go to the MPI by the last answer of the ranks?
bool goes_unasked(const Call& call, Team& team, CountedAhead& ahead) {
  int* const* const unasked = &team.asked.unasked_to_mpi[static_cast<std::size_t>(call.collective)];
  if (wants_to_be_ready(team) || !choose::take_one(*unasked)) return false;
  ahead.note(**unasked, 1);
  cache_forwarded(call, team, why_chosen(team), false, unasked);
  return true;
}

// On such a communicator a request of ours is served all the same, by messages.
Admission admit_ineligible(const Call& call, Team& team, Entry entry) {
  if (entry.is_ours(call)) return {};
  const bool says_so = !entry.is_request() && team::explains_now(team, Reason::none);
  if (says_so) explain_passed(team, call, team.why_not);
  if (!entry.is_request()) cache_forwarded(call, team, team.why_not, true);
  return {To::forwarded, team.why_not, team.why_not};
}

// A request is not: take() has looked, and our own ones make the communicator ready.
bool is_early(const Team& team, Entry entry, CountedAhead* ahead) {
  if (entry.is_request()) return false;
  ahead->early = comes_early(team, entry.door);
  return ahead->early;
}

Admission admit_dense(const Call& call, Team& team, Entry entry, CountedAhead* ahead) {
  if (!team.eligible()) return admit_ineligible(call, team, entry);
  if (is_early(team, entry, ahead)) return to_the_mpi(call, team, entry, Reason::early, Reason::early);
  if (!team.ready() && !entry.must_serve(team)) {
    const int error = team::setup(team);
    if (error != mpi_success) return to_the_mpi(call, team, entry, team.why_not, team.why_not, error);
  }
  if (!entry.is_request() && team.agreed().points == team::Points::guessed) calibrate(team);
  return {};
}

// Collective, once for each question: what the ranks can only find out together.
int learn(Team& team) {
  if (!team::may_be_duplicate(team::neighbors_of(team)) && !team::may_be_grid(team) && !team::may_be_asserted(team))
    return mpi_success;
  const FaultsReturned guard(team.user);
  if (team::may_be_duplicate(team::neighbors_of(team))) {
    if (const int error = team::ask_original(team); error != mpi_success) return error;
  }
  if (team::may_be_grid(team)) {
    if (const int error = team::recognize(team); error != mpi_success) return error;
  }
  if (team::may_be_asserted(team)) team::ask_assertion(team);
  return mpi_success;
}

// The drop-in door leaves a communicator as it is unless something is to be won by this call.
bool is_worth_it(Team& team, const Call& call, Entry entry) {
  if (entry.is_request() || !entry.is_drop_in() || team.ready()) return true;
  if (!team.eligible()) return false;
  if (team::config().any_forced) return true;
  if (learn(team) != mpi_success) return false;
  if (team.neighbors->checks_sizes()) return true;  // before anything is chosen by sizes that may be wrong
  const team::CachedSelection& selected = team::selection_of(team, call.collective, global_bytes(call, team), 0, true);
  return !is_of_the_mpi(*selected.selection.choice.algorithm);
}

Admission admit_neighbors(const Call& call, Team& team, Entry entry, CountedAhead* ahead) {
  // Before anything that takes time: programs make such communicators for one call.
  if (!entry.is_request() && team.eligible() && team::has_topology(team) && is_early(team, entry, ahead))
    return to_the_mpi(call, team, entry, Reason::early, Reason::early);
  const Reason why = entry.is_ours(call) ? Reason::none : why_no_neighbors(team);
  if (why != Reason::none)
    return to_the_mpi(call, team, entry, why, team.eligible() ? Reason::argument : team.why_not.load());
  if (!is_worth_it(team, call, entry)) {
    return team.eligible() ? to_the_mpi(call, team, entry, Reason::no_gain_by_combining, why_chosen(team))
                           : to_the_mpi(call, team, entry, team.why_not, team.why_not);
  }
  if (entry.never_waits()) {
    if (!team::neighbors_of(team)->checks_sizes()) return {};
    return to_the_mpi(call, team, entry, Reason::sizes_to_check, why_chosen(team));
  }
  const int error = prepare_neighbors(team);
  if (error == mpi_success) return {};
  return to_the_mpi(call, team, entry, Reason::no_communicator, Reason::no_communicator, error);  // on all ranks
}

// Where the user asserts the sizes of the blocks of a v or w call and wants that checked: MPI_ERR_ARG on all ranks if
// block i has not one size everywhere. That only all ranks together can see, and without this check one rank gets
// MPI_ERR_TRUNCATE, others wrong data, or wait for ever.
int check_sizes(const Call& call, Team& team) {
  const team::Neighbors& n = *team::neighbors_of(team);
  if (is_regular(call.collective) || !n.checks_sizes()) return mpi_success;
  std::vector<std::size_t> sizes;
  const bool good = run::list_sizes(call, {n.iso_send, n.iso_recv}, sizes);
  // A rank with two sizes for a block gives what no other gives, so that nobody waits for it.
  const std::uint64_t given = good ? text::Hash().add_all(sizes).value() : ~text::Hash().add(team.group.me).value();
  return error_unless_alike(team.user, given, good, team.group.me == 0, name_of(call.collective),
                            "the sizes of the blocks are not the same at all ranks, as was asserted");
}

}  // namespace

Reason why_no_neighbors(Team& team) {
  if (const Reason why = team::why_nothing_is_served(); why != Reason::none) return why;
  if (team::watches_faults() && !team.eligible()) return team.why_not;
  if (is_inter(team.user)) return Reason::intercommunicator;
  return team::neighbors_of(team) == nullptr ? Reason::no_topology : Reason::none;
}

int prepare_neighbors(Team& team) {
  if (team.eligible() && !team.ready()) {
    if (const int error = team::setup(team); error != mpi_success) return error;
    team::forget_selections(team);  // made when less was known
  }
  // After a death MPI_Comm_dup may fail on some ranks alone, and rings need no messages.
  const bool needs_messages = !team::watches_faults() || !team.eligible();
  if (const int error = needs_messages ? team::prepare_messages(team) : mpi_success; error != mpi_success) return error;
  return learn(team);
}

bool has_mistake(const Call& call, Team& team, Entry entry) {
  const bool always = entry.is_request() && !entry.is_drop_in();
  return (team.eligible() || is_neighbor(call.collective) || always) && is_refused(call, team);
}

Admission admit(const Call& call, Team& team, Entry entry, CountedAhead* ahead) {
  const Admission lost{To::failed, Reason::none, Reason::none, mpi().err_other};
  if (team::watches_faults()) {
    const int fault =
        team.lost ? team::leave_if_faulty(team) : team::leave_if_told(team);  // the call is the MPI's then
    // Open MPI's neighbour collectives return another error if this rank's MPI learns of the fault only in the call.
    const bool is_ended = entry.is_ours(call) || (is_neighbor(call.collective) && !entry.is_request());
    if (fault != mpi_success && is_ended) return {To::failed, Reason::none, Reason::none, fault};
  }
  if (team.lost) return lost;
  const bool neighbors = is_neighbor(call.collective), blocking = !entry.is_request();
  if (blocking || !entry.is_drop_in()) {  // else take() has done both
    if (has_mistake(call, team, entry)) return refuse(call, team, entry, ahead);
    team::await_told(team);
    if (team.lost) return lost;
  }
  if (blocking && goes_unasked(call, team, *ahead)) return {To::forwarded, why_chosen(team), why_chosen(team)};
  const Admission found = neighbors ? admit_neighbors(call, team, entry, ahead) : admit_dense(call, team, entry, ahead);
  if (found.outcome != To::admitted) return found;
  if (blocking && wants_to_be_ready(team)) get_ready_to_take(team);
  if (const int error = neighbors ? check_sizes(call, team) : mpi_success; error != mpi_success)
    return {To::failed, Reason::none, Reason::none, error};
  return {};
}

// ---- What is refused ----

namespace {

// ---- Arguments ----
//
// Only true mistakes count: whatever is legal on one rank alone must be served, or ranks would part ways. Legal are
// MPI_BOTTOM (address zero) with types of absolute addresses, or with displacements that lead to addresses, or where no
// data move, and, in practice, send and receive buffers that start at one address.

// `again`: it has the type of a sound block.
bool block_is_sound(const Side& side, int block, bool again) {
  const std::ptrdiff_t count = side.count_of(block);
  if (count <= 0) return count == 0;
  const MpiType type = side.type_of(block);
  if (!again && (type == mpi().datatype_null || !is_committed(type))) return false;
  if (side.base != nullptr) return true;
  const TypeInfo info = type_info(type);
  return !info.dense || info.size == 0 || side.displacement_of(block, 0) != 0;
}

bool blocks_are_sound(const Side& side, Form form, int blocks) {
  for (int b = 0; b < (has_arrays(form) ? blocks : 1); ++b) {
    const bool again = b > 0 && side.count_of(b - 1) > 0 && side.type_of(b) == side.type_of(b - 1);
    if (!block_is_sound(side, b, again)) return false;
  }
  return true;
}

// None of the arrays that blocks of this form need is missing.
bool arrays_given(const Side& side, Form form) {
  if (!has_arrays(form)) return true;
  const bool counts = side.counts != nullptr || side.counts_large != nullptr;
  return counts && (side.displacements != nullptr || side.displacements_large != nullptr) &&
         (form == Form::arrays || side.types);
}

// A type that is none, or not committed, is a mistake in a dense call even if nothing moves: so all MPIs say, but not
// of types that are given one a block.
bool side_is_sound(const Side& side, Form form, int blocks, bool neighbors) {
  if (neighbors && blocks == 0) return true;
  if (!arrays_given(side, form)) return false;
  if (!neighbors && !side.types && (side.type == mpi().datatype_null || !is_committed(side.type))) return false;
  return blocks_are_sound(side, form, blocks);
}

// ---- Sizes ----
//
// We serve a call that sends a rank more or less than it receives from itself. Open MPI refuses such calls before it
// sends anything, with the error that others return of a message that was too long.

// `call` is sound.
bool is_uneven(const Call& call) {
  if (call.in_place || is_inter(call.comm)) return false;
  const bool has_one_size = is_regular(call.collective);
  if (!has_one_size && is_neighbor(call.collective)) return false;
  int own = 0;
  if (!has_one_size) mpi().Comm_rank(call.comm, &own);
  return call.send.bytes_of(own) != call.recv.bytes_of(own);
}

// A communicator of this process alone, on which no call waits, for neighbours a grid; null if the MPI cannot make it.
// Of one thread, as its calls are.
struct Alone {
  MpiComm comm = mpi().comm_null;

  explicit Alone(bool as_grid) {
    MpiComm plain;
    if (make_alone(&plain) != mpi_success) return;
    if (!as_grid) {
      comm = plain;
      return;
    }
    const int one = 1, periodic = 1;
    if (mpi().Cart_create(plain, 1, &one, &periodic, 0, &comm) != mpi_success) comm = mpi().comm_null;
    if (comm != mpi().comm_null) mpi().Comm_set_errhandler(comm, mpi().errors_return);
    mpi().Comm_free(&plain);
  }
  Alone& operator=(Alone&&) = delete;
  ~Alone() {
    if (comm != mpi().comm_null) mpi().Comm_free(&comm);
  }
};

// One int is sent where two fit. An MPI that does not check sizes copies one.
bool refuses_one_for_two(Collective collective) {
  if (!row_of(collective).of_mpi) return false;
  const Alone alone(is_neighbor(collective));
  if (alone.comm == mpi().comm_null) return false;
  int sent[2] = {}, received[4] = {};  // the grid's one process has two neighbours: itself, twice
  const int ones[2] = {1, 1}, twos[2] = {2, 2}, places[2] = {};
  const MpiAint far_places[2] = {};
  const MpiArray<MpiType> ints(2, mpi().int_type);
  const CollectiveRow& row = row_of(collective);
  const auto side_of = [&](void* base, Form form, const int* counts) {
    Side side;
    side.base = static_cast<std::byte*>(base);
    side.count = static_cast<std::size_t>(counts[0]);
    side.type = ints[0];
    if (!has_arrays(form)) return side;
    side.counts = counts;
    side.displacements = places;
    if (form != Form::arrays) side.types = ints.all(), side.displacements_large = far_places;
    return side;
  };
  const Call call{collective, side_of(sent, row.send, ones), side_of(received, row.recv, twos), false, alone.comm};
  return run::run_native(call, alone.comm) != mpi_success;
}

// Asked for each collective after the first error of that kind. Each thread that comes before there is an answer gets
// the same one.
bool refuses_uneven(Collective collective) {
  enum : signed char { unknown, no, yes };
  static constinit std::array<std::atomic<signed char>, collective_count> known{};
  std::atomic<signed char>& answer = known[static_cast<std::size_t>(collective)];
  if (answer.load(std::memory_order_relaxed) == unknown) {
    const Serving guard;
    answer.store(refuses_one_for_two(collective) ? yes : no, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == yes;
}

// ---- Errors ----

// A class of errors in arguments. Others also come of communication, in which the other ranks have counted the call.
bool is_of_arguments(int its_class) {
  const int classes[] = {mpi().err_buffer, mpi().err_count, mpi().err_type,    mpi().err_comm,
                         mpi().err_arg,    mpi().err_group, mpi().err_request, mpi().err_topology};
  return std::ranges::find(classes, its_class) != std::end(classes);
}

bool was_refused(const CountedAhead& ahead, const Call& call, int error) {
  if (error == mpi_success) return false;
  const int its_class = class_of(error);
  if (is_of_arguments(its_class)) return true;
  if (its_class == mpi().err_truncate) return is_uneven(call) && refuses_uneven(call.collective);
  return ahead.team != nullptr && is_refused(call, *ahead.team);
}

// An error handler of the program may have freed the communicator, and the team with it.
bool is_gone(const CountedAhead& ahead, MpiComm comm) {
  return ahead.team != nullptr && !team::is_there(*ahead.team, comm);
}

void undo(const CountedAhead& ahead) {
  for (std::size_t c = 0; c < ahead.changed; ++c) *ahead.changes[c].number += ahead.changes[c].back;
  if (ahead.passed == nullptr) return;
  --*ahead.passed;
  ++ahead.team->counted.counters.passed[counted_as(Reason::argument)];
}

}  // namespace

bool is_refused(const Call& call, team::Team& team) {
  const bool neighbors = is_neighbor(call.collective);
  if (neighbors && (call.in_place || team::neighbors_of(team) == nullptr)) return true;
  if (call.recv.base == mpi().in_place) return true;
  const BlockNumbers blocks = blocks_of(call, team);
  const CollectiveRow& row = row_of(call.collective);
  return !side_is_sound(call.recv, row.recv, blocks.recv, neighbors) ||
         (!call.in_place && !side_is_sound(call.send, row.send, blocks.send, neighbors));
}

bool keep_or_undo_at_length(const CountedAhead& ahead, const Call& call, int error) {
  bool refused = true;
  // What the communicator needs cannot be begun: it is lost then, and its next call says so.
  static_cast<void>(thrown_by([&] {
    if (error != mpi_success && is_gone(ahead, call.comm)) return;
    refused = was_refused(ahead, call, error);
    if (refused) return undo(ahead);
    if (ahead.early) team::count_early(call.comm);
    if (ahead.wants && error == mpi_success) want_to_be_ready(call);
  }));
  return !refused;
}

void UndoUnlessReturned::undo() const {
  static_cast<void>(thrown_by([&] {
    if (!is_gone(ahead_, comm_)) api::undo(ahead_);
  }));
}

}  // namespace quadrille::api
