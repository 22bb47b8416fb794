// What was selected for the calls of a communicator.
//
// Programs repeat some sizes in turn, so some are kept for each collective, with all that their calls run on: a call
// that comes again selects nothing, builds nothing, and looks no parameter up. The oldest makes way for a new one. What
// is kept on a rank says nothing of the others. To select anew gives the same, until a trial has decided: then calls go
// by that (api/trials.hpp).
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <vector>

#include "choose/select.hpp"
#include "choose/trial.hpp"
#include "run/bound_run.hpp"

namespace quadrille::team {

struct CachedLeaders;
struct Team;
struct Try;

// What the calls of a choice run on.
struct Prepared {
  const plan::Schedule* schedule = nullptr;  // null: its engine needs none
  CachedLeaders* leaders = nullptr;          // of its engine alone
  const plan::Schedule* direct = nullptr;    // of algorithms that pad: for what would be too large
  run::Moving moving;
};
// Builds a schedule when it is first needed. All ranks call it for the same choice.
Prepared prepare(Team& team, Collective collective, const choose::Choice& choice);

// May the data of a device's memory stay there in a call by this choice? All ranks say the same.
bool may_stay_on_device(const Team& team, const choose::Choice& choice);

// In the place of a CachedSelection's load: calls with a device's memory.
inline constexpr int on_devices = choose::load_on_devices;

struct CachedSelection {
  std::size_t bytes = 0;
  bool drop_in = false;  // neighbour collectives
  int load = 0;          // class of what moves in all, where all ranks know it and blocks differ (api/admission.hpp)
  choose::Selection selection;
  bool explained = false, device_explained = false;
  Try* trial = nullptr;                   // once it was needed for the rivals
  int decision = 0;                       // number of the trial's decision that the choice came from; 0: none
  bool follows_load = false;              // it has rivals, and its calls may move any amount
  std::optional<Prepared> prepared = {};  // for the choice, once it ran

  // This choice is made instead.
  void settle(choose::Choice choice) {
    selection.choice = std::move(choice);
    decision = 0;
    prepared.reset();
    explained = device_explained = false;
  }
};

// Of one collective.
class Selections {
 public:
  // Enough for all powers of two that a program may go through. To look at all takes less than to select one.
  static constexpr std::size_t most = 32;

  // Null if nothing is kept for such calls.
  CachedSelection* find(std::size_t bytes, bool drop_in, int load = 0);
  // Valid until the next.
  CachedSelection& keep(CachedSelection selected);
  // That of the last call; null if there is none.
  const CachedSelection* last() const { return last_; }
  void forget();

 private:
  std::list<CachedSelection> kept_;  // the oldest first; without any, no memory is taken for them
  CachedSelection* last_ = nullptr;
};

// What is known to all ranks about calls of a dense collective with blocks of `bytes`.
choose::GlobalKey key_of(Team& team, Collective collective, std::size_t bytes);
// What serves a call whose largest block has `bytes`, as all ranks know it; 0 if they do not (see choose::GlobalKey).
// Among neighbours the drop-in door leaves more to the MPI, and there is no load. Where the calls are with a device's
// memory the team is ready, and `load` is that of others like these.
CachedSelection& selection_of(Team& team, Collective collective, std::size_t bytes, int load = 0, bool drop_in = false,
                              bool with_devices = false);
// Nothing was to be tried, or a trial has decided.
bool is_decided(const CachedSelection& cached);
// Collective: the candidates without those whose plan is, on all ranks, that of one before which the same engine runs:
// a NUMA-aware order is the plain one where there is one NUMA domain.
std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates);
// What the selected choice runs on.
const Prepared& prepared_of(Team& team, Collective collective, CachedSelection& cached);

// Prints, once, what was selected and why, where the user wants to know.
void explain(Team& team, Collective collective, CachedSelection& cached);

// Forgets what was selected; after the forced algorithms have changed, or more is known.
void forget_selections(Team& team);

}  // namespace quadrille::team
