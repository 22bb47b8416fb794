#include "report/replay_case.hpp"

#include <algorithm>
#include <memory>

#include "abi/functions.hpp"
#include "choose/select.hpp"
#include "mpi/errors.hpp"
#include "report/graph.hpp"
#include "team/neighbors.hpp"
#include "team/team.hpp"
#include "tool/bench/neighbors.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_contenders = 12;
constexpr double far_behind = 3;
// A call that takes a little less, in seconds, is made once more: it may be the first, or the machine was busy.
constexpr double longest_disturbance = 0.2;

// The communicator that `make` makes of `comm`, with its error handler. Null where there is none left.
template <class Make>
MpiComm made_of(MpiComm comm, const Make& make) {
  MpiComm made = mpi().comm_null;
  {
    const ErrorsReturned returned(comm);
    made = make();
  }
  MpiErrhandler handler;
  if (made != mpi().comm_null && mpi().Comm_get_errhandler(comm, &handler) == mpi_success) {
    mpi().Comm_set_errhandler(made, handler);
    mpi().Errhandler_free(&handler);
  }
  return made;
}

void free_comm(MpiComm comm) {
  if (comm != mpi().comm_null) mpi().Comm_free(&comm);
}

}  // namespace

void share_text(std::string& text, int root, const World& world) {
  std::uint64_t length = text.size();
  mpi().Bcast(&length, 1, mpi().uint64, root, world.comm);
  text.resize(length);
  mpi().Bcast(text.data(), static_cast<int>(length), mpi().byte, root, world.comm);
}

ReplayCase::ReplayCase(const Json& work, const World& world) : world_(world) {
  choose::collective_from_name(work["collective"].get<std::string>(), collective_);
  form_ = call_form_from_name(work.value("form", "blocking"));
  int group = 0, mine = -1, at = 0;
  for (const auto& ranks : work["groups"]) {
    const auto found = std::find(ranks.begin(), ranks.end(), world.rank);
    if (found != ranks.end()) mine = group, at = static_cast<int>(found - ranks.begin());
    ++group;
  }
  root_ = work["groups"][0][0];
  comm_ = made_of(world.comm, [&] {
    MpiComm comm = mpi().comm_null;
    const int error = mpi().Comm_split(world.comm, mine < 0 ? mpi().undefined : mine, at, &comm);
    return error == mpi_success ? comm : mpi().comm_null;
  });
  is_split_ = have_all(mine < 0 || is_member());
  if (!is_split_) comm_ = mpi().comm_null;  // to free it takes all of its ranks
  case_.collective = collective_;
  case_.ranks = static_cast<int>(work["groups"][0].size());
  case_.me = at;
  take_blocks(work, static_cast<std::size_t>(std::max(mine, 0)));
}

ReplayCase::~ReplayCase() {
  calls_.clear();  // their requests before the communicators
  for (const Implementation& one : all_) free_comm(one.comm);
  free_comm(comm_);
}

void ReplayCase::take_blocks(const Json& work, std::size_t group) {
  if (work.contains("block")) case_.bytes = work["block"];
  if (work.contains("graphs")) {
    BenchEdges edges = edges_of(work, group, static_cast<std::size_t>(case_.me));
    for (const auto* sizes : {&edges.received, &edges.sent}) {
      for (const std::size_t bytes : *sizes) case_.bytes = std::max(case_.bytes, bytes);
    }
    case_.edges = std::make_shared<const BenchEdges>(std::move(edges));
  } else if (!work.contains("block")) {
    take_matrix(work["bytes"]);
  }
}

void ReplayCase::take_matrix(const Json& rows) {
  auto matrix = std::make_shared<TrafficMatrix>();
  matrix->ranks = rows.size();
  for (const auto& row : rows) {
    for (const auto& bytes : row) {
      matrix->bytes.push_back(bytes);
      matrix->largest = std::max(matrix->largest, matrix->bytes.back());
    }
  }
  case_.bytes = matrix->largest;
  case_.traffic.kind = Distribution::file;
  case_.traffic.matrix = std::move(matrix);
}

std::string ReplayCase::prepare() {
  if (!is_split_) return no_communicator;
  const std::size_t have = available_memory();
  const std::size_t need = is_member() ? 3 * buffer_bytes(case_) * static_cast<std::size_t>(world_.ranks_here) : 0;
  const bool fits = why_too_large(case_).empty() && (have == 0 || need < have / 10 * 9);
  if (sum_over_ranks(fits ? 0 : 1, world_) > 0) return "not enough memory";
  if (is_member()) data_.emplace(case_);
  if (!add("mpi") || !add("default")) {
    return form_ == CallForm::persistent ? "the MPI has no such request, or no communicator left" : no_communicator;
  }
  if (wrong_bytes() > 0) return "wrong bytes were delivered";
  choose_as_dropped_in();
  return "";
}

// For one implementation; with the neighbours, if the calls are between neighbours.
MpiComm ReplayCase::make_own() const {
  if (case_.edges != nullptr) return make_graph_comm(comm_, *case_.edges);
  World group = world_;
  group.comm = comm_;
  return make_comm(group);
}

bool ReplayCase::add(const std::string& name) {
  Implementation made{name, all_.empty(), mpi().comm_null};
  if (is_member()) made.comm = made_of(comm_, [&] { return make_own(); });
  if (!have_all(!is_member() || made.comm != mpi().comm_null)) return false;
  if (is_member() && !made.native) {
    const char* const forced = name == "default" ? "" : name.c_str();
    Quadrille_Set_algorithm(made.comm, std::string(name_of(collective_)).c_str(), forced);
  }
  all_.push_back(made);
  names_.push_back(name);
  calls_.push_back(is_member() ? std::make_unique<ReplayCalls>(form_, *data_, all_.back()) : nullptr);
  return have_all(!is_member() || calls_.back()->is_good());
}

void ReplayCase::remove_last() {
  calls_.pop_back();
  free_comm(all_.back().comm);
  all_.pop_back();
  names_.pop_back();
}

TurnCosts ReplayCase::costs(double batch) {
  const TurnCosts costs{std::max(seconds_of_call(0), seconds_of_call(1)), batch};
  is_slow_ = costs.call > slow_call;
  return costs;
}

void ReplayCase::add_contenders(const BudgetOfCase& budget, double batch) {
  std::string text;
  if (is_member()) {
    for (const std::string& one : contenders()) text += one + "\n";
  }
  share_text(text, root_, world_);
  const TurnCosts costs = this->costs(batch);
  const auto fits = [&] { return names_.size() < std::min(budget.fitting(costs, 1, 4), most_contenders + 2); };
  for (std::size_t at = 0; at < text.size() && fits();) {
    const std::size_t end = text.find('\n', at);
    if (!add(text.substr(at, end - at))) break;
    // One that is far behind in its first call is no contender where each call takes long.
    const double call = seconds_of_call(names_.size() - 1);
    const bool is_behind = call > slow_call && call > far_behind * costs.call;
    if (is_behind || (is_neighbor(collective_) && !last_goes_by_its_name())) remove_last();
    at = end + 1;
  }
}

// The engine of a request is not chosen among algorithms.
std::vector<std::string> ReplayCase::contenders() {
  if (form_ != CallForm::blocking) return {};
  if (is_neighbor(collective_)) return around_contenders();
  team::Team* const team = team::team_of(ours().comm);
  if (team == nullptr || !team->ready()) return {};
  const plan::NodeMap& nodes = team->nodes;
  const auto candidates =
      choose::measured_candidates(collective_, team->group.ranks, nodes.nodes, nodes.ranks_on_fullest_node());
  std::vector<std::string> names;
  for (const choose::Choice& one : team::without_twins(*team, collective_, candidates)) {
    names.push_back(choose::to_string(one));
  }
  return names;
}

// All but the MPI's own. Which of them can serve the call shows in one call.
std::vector<std::string> ReplayCase::around_contenders() const {
  std::vector<std::string> names;
  for (const choose::Algorithm& one : choose::algorithms()) {
    const bool is_another = !choose::is_of_the_mpi(one) && !one.needs.device_mpi;
    if (is_another && choose::serves(one, collective_)) names.emplace_back(one.name);
  }
  return names;
}

// Makes a call. Returns whether the forced algorithm served it.
bool ReplayCase::last_goes_by_its_name() {
  bool does = true;
  if (is_member()) {
    call(all_.size() - 1, 1);
    const team::CachedSelection* const used = selection(all_.back());
    does = used != nullptr && used->selection.choice.algorithm->name == names_.back();
  }
  return have_all(does);
}

// The functions named Quadrille_ avoid the MPI on graphs that some MPIs get wrong. Under `quadrille run` calls go to
// the MPI there, as the program was written for it; and that is what a report is about.
void ReplayCase::choose_as_dropped_in() {
  if (!is_neighbor(collective_) || form_ != CallForm::blocking || !is_member()) return;
  const team::CachedSelection* const used = selection(ours());
  if (used == nullptr) return;
  const std::size_t bytes = used->bytes;
  team::Team& team = *team::team_of(ours().comm);
  const choose::Choice choice = team::selection_of(team, collective_, bytes, 0, true).selection.choice;
  if (!choose::is_of_the_mpi(*choice.algorithm)) return;
  Quadrille_Set_algorithm(ours().comm, std::string(name_of(collective_)).c_str(), "mpi");
  call(1, 1);
}

bool ReplayCase::end_trials(const Budget& budget) {
  if (form_ != CallForm::blocking) return true;
  const auto rivals = [this]() -> std::size_t {
    const team::CachedSelection* const used = is_member() ? selection(ours()) : nullptr;
    return used != nullptr ? used->selection.rivals.size() : 0;
  };
  // Between two looks at the clock there are more calls each time, while they are short.
  int made = 0, turn = 1;
  const int most = choose::most_calls_of_trial(1 + rivals());
  while (!have_all(made >= most || rivals() == 0)) {
    const double before = budget.left();
    if (before <= 0) return false;
    for (int i = 0; i < turn && made < most && rivals() > 0; ++i, ++made) call(1, 1);
    if (before - budget.left() < slow_call) turn *= 2;
  }
  return true;
}

Timing ReplayCase::time(const std::vector<std::size_t>& who, double seconds, const Budget& budget) {
  std::vector<Timed> things;
  things.reserve(who.size());
  for (const std::size_t one : who) {
    things.push_back({[this, one](long calls) {
      if (is_member()) call(one, calls);
    }});
  }
  TimingOptions options;
  options.world = world_.comm;
  options.seconds = seconds;
  options.end = budget.end();
  options.warmup = is_slow_ ? 0 : 3;
  return time_by_turns(things, options);
}

std::string ReplayCase::chosen() {
  std::string text = is_member() ? chosen_here() : "";
  share_text(text, root_, world_);
  return text;
}

std::string ReplayCase::chosen_here() const {
  if (form_ != CallForm::blocking) {
    const team::Team* const team = team::find_team(ours().comm);
    return team != nullptr ? to_string(team->request_by) : "mpi";
  }
  const team::CachedSelection* const used = selection(ours());
  const std::string text = used != nullptr ? choose::to_string(used->selection.choice) : "";
  return text.empty() ? "mpi" : text;
}

const team::CachedSelection* ReplayCase::selection(const Implementation& one) const {
  const team::Team* const team = team::team_of(one.comm);
  if (team == nullptr || !team->ready()) return nullptr;
  return team->chosen.selections[static_cast<std::size_t>(collective_)].last();
}

// Of one call of each, over all ranks.
std::uint64_t ReplayCase::wrong_bytes() {
  std::uint64_t wrong = 0;
  for (std::size_t which = 0; which < all_.size(); ++which) {
    if (!is_member()) continue;
    data_->fill(which + 1);
    call(which, 1);
    wrong += data_->mismatches(which + 1);
  }
  return sum_over_ranks(wrong, world_);
}

double ReplayCase::seconds_of_call(std::size_t which) {
  const Timed one{[this, which](long calls) {
    if (is_member()) call(which, calls);
  }};
  const double first = max_over_ranks(time_batch(one, 1, world_.comm), world_.comm);
  if (first <= slow_call || first > longest_disturbance) return first;
  return std::min(first, max_over_ranks(time_batch(one, 1, world_.comm), world_.comm));
}

}  // namespace quadrille::tools
