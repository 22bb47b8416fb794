// One kind of calls that is made again, on the ranks that do so.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "mpi/mpi.hpp"
#include "report/budget.hpp"
#include "report/replay_calls.hpp"
#include "team/team.hpp"
#include "tool/bench/data.hpp"
#include "tool/bench/timing.hpp"
#include "tool/bench/world.hpp"

namespace quadrille::tools {

inline constexpr const char* no_communicator = "the MPI has no communicator left";

// A text that rank `root` has.
void share_text(std::string& text, int root, const World& world);

// All are collective over the world, also where a rank is in none of the groups.
class ReplayCase {
 public:
  // `work` is a case as in cases.hpp.
  ReplayCase(const nlohmann::ordered_json& work, const World& world);
  ~ReplayCase();
  ReplayCase(const ReplayCase&) = delete;
  ReplayCase& operator=(const ReplayCase&) = delete;

  // Makes the calls by the MPI and by Quadrille. The same on all ranks; empty if the case can be measured.
  std::string prepare();
  // Adds what may be faster and fits into the budget; those that the ranks of the first group would measure. A batch
  // takes so many seconds at least.
  void add_contenders(const BudgetOfCase& budget, double batch);
  // Ends what the first calls try out. False on all ranks if there was no time for that.
  bool end_trials(const Budget& budget);
  // Makes a call by the MPI, and one by Quadrille.
  TurnCosts costs(double batch);
  // Seconds for each, and not beyond the budget.
  Timing time(const std::vector<std::size_t>& who, double seconds, const Budget& budget);
  // What Quadrille chose, on the first group.
  std::string chosen();

  const std::vector<std::string>& names() const { return names_; }
  // "mpi", "default", or an algorithm. False on all ranks if there is no communicator.
  bool add(const std::string& name);

 private:
  bool is_member() const { return comm_ != mpi().comm_null; }
  bool have_all(bool mine) const { return sum_over_ranks(mine ? 0 : 1, world_) == 0; }
  void take_blocks(const nlohmann::ordered_json& work, std::size_t group);
  void take_matrix(const nlohmann::ordered_json& rows);
  MpiComm make_own() const;
  std::vector<std::string> contenders();
  std::vector<std::string> around_contenders() const;
  // The second of all.
  const Implementation& ours() const { return all_[1]; }
  void call(std::size_t which, long times) { calls_[which]->run(times); }
  const team::CachedSelection* selection(const Implementation& one) const;
  std::string chosen_here() const;
  void choose_as_dropped_in();
  bool last_goes_by_its_name();
  void remove_last();
  std::uint64_t wrong_bytes();
  double seconds_of_call(std::size_t which);

  const World& world_;
  Collective collective_{};
  int root_ = 0;  // of the world: the first rank of the first group
  MpiComm comm_ = mpi().comm_null;
  bool is_split_ = false;
  CallForm form_ = CallForm::blocking;
  BenchCase case_;
  std::optional<BenchData> data_;
  std::vector<Implementation> all_;
  std::vector<std::unique_ptr<ReplayCalls>> calls_;  // of each; null where this rank is in none of the groups
  std::vector<std::string> names_;
  bool is_slow_ = false;  // its calls need no warm-up
};

}  // namespace quadrille::tools
