// Which algorithms may serve calls with a device's memory, where the MPI takes it (Namugwanya et al., section 3: its two
// families, and the MPI's own).
#include <algorithm>

#include "choose/candidates.hpp"
#include "choose/select.hpp"

namespace quadrille::choose {
namespace {

bool may_serve_devices(const Algorithm& one, const GlobalKey& key) {
  if (one.from_device == FromDevice::shared) return true;
  return one.from_device == FromDevice::straight && key.mpi_sends_devices && !one.trial.kin_on_devices;
}

// With the standard values of its parameters; by leaders, too, where it knows them, as several ranks may share a device.
std::vector<Choice> values_of(const Algorithm& one, Collective collective) {
  std::vector<Choice> values = {plain(collective, one.name)};
  if (one.from_device != FromDevice::shared) return values;
  Choice led;
  if (parse_choice(collective, std::string(one.name) + ":leader=1", led).empty()) values.push_back(led);
  return values;
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
  if (key.mpi_collects_devices) {
    selection.choice = plain(key.collective, "cuda-aware-mpi");
    selection.why = "the MPI takes the device's memory";
    if (may_try && !is_of_the_mpi(*host.algorithm)) selection.rivals.push_back(host);
  } else {
    selection.choice = host;
    selection.why = "over the host, as the MPI's collectives take no device's memory";
  }
  if (!may_try) return selection;
  for (const Algorithm& one : algorithms()) {
    if (!may_serve_devices(one, key) || !serves(one, key.collective) || !why_not(one, key).empty()) continue;
    for (const Choice& choice : values_of(one, key.collective)) {
      if (to_string(choice) != to_string(host)) selection.rivals.push_back(choice);
    }
  }
  return selection;
}

}  // namespace quadrille::choose
