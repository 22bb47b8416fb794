// Which algorithms may serve calls with a device's memory, where the MPI takes it (Namugwanya et al., section 3: its two
// families, and the MPI's own).
#include <algorithm>

#include "choose/candidates.hpp"
#include "choose/select.hpp"
#include "choose/select_neighbors.hpp"

namespace quadrille::choose {
namespace {

// Also for a NeighborKey.
template <class Key>
bool may_serve_devices(const Algorithm& one, const Key& key) {
  const bool may_move = one.from_device == FromDevice::shared ||
                        (one.from_device == FromDevice::straight && key.mpi_sends_devices && !one.trial.kin_on_devices);
  return may_move && serves(one, key.collective) && why_not(one, key).empty();
}

// With the standard values of its parameters; by leaders, too, where it knows them, as several ranks may share a device.
std::vector<Choice> values_of(const Algorithm& one, Collective collective) {
  if (one.from_device == FromDevice::shared) return variants_on_devices(one);
  return {plain(collective, one.name)};
}

// What stands at first, and what is to be tried against it.
template <class Key>
Selection untried(const Key& key, const Choice& host, bool by_the_mpi, bool may_try) {
  Selection selection;
  if (by_the_mpi) {
    selection.choice = plain(key.collective, "cuda-aware-mpi");
    selection.why = "the MPI takes the device's memory";
    if (may_try && !is_of_the_mpi(*host.algorithm)) selection.rivals.push_back(host);
  } else {
    selection.choice = host;
    selection.why = "over the host, as the MPI's collectives take no device's memory";
  }
  if (!may_try) return selection;
  for (const Algorithm& one : algorithms()) {
    if (!may_serve_devices(one, key)) continue;
    for (const Choice& choice : values_of(one, key.collective)) {
      if (to_string(choice) != to_string(host)) selection.rivals.push_back(choice);
    }
  }
  return selection;
}

// Null: nothing was measured, or it cannot serve such calls.
const SizedChoice* measured_for(const GlobalKey& key, const SizedChoices* measured) {
  if (measured == nullptr || !is_sized(key.collective)) return nullptr;
  const SizedChoice* const found = choice_for(*measured, key.bytes);
  if (found == nullptr || found->choice.algorithm == nullptr) return nullptr;
  return why_not(*found->choice.algorithm, key).empty() ? found : nullptr;
}

}  // namespace

Selection select_for_devices(const GlobalKey& key, const Choice& host, const SizedChoices* measured) {
  Selection selection;
  if (const SizedChoice* found = measured_for(key, measured)) {
    selection.choice = found->choice;
    selection.why = "measured before with a device's memory, says the tuning table";
    return selection;
  }
  const bool may_try = key.nodes == 1 ? key.tries : key.tries_between;
  return untried(key, host, key.mpi_collects_devices, may_try);
}

Selection select_for_devices(const NeighborKey& key, const Choice& host) {
  const bool by_the_mpi = key.mpi_collects_devices && !key.by_ourselves;
  return untried(key, host, by_the_mpi, key.tries);
}

}  // namespace quadrille::choose
