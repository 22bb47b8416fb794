// Which algorithms may serve calls with a device's memory, where the MPI takes it (Namugwanya et al., section 3: its
// two families, and the MPI's own).
#include <algorithm>
#include <memory>
#include <utility>

#include "choose/candidates.hpp"
#include "choose/select.hpp"
#include "choose/select_neighbors.hpp"

namespace quadrille::choose {
namespace {

// Also for a NeighborKey.
template <class Key>
bool may_serve_devices(const Algorithm& one, const Key& key) {
  const bool sends = one.from_device && key.mpi_sends_devices && one.trial.is_tried_on_devices;
  return (sees_to_devices(one) || sends) && serves(one, key.collective) && why_not(one, key) == Reason::none;
}

// With the standard values of its parameters; by leaders, too, where it knows them, as several ranks may share a
// device. What has another algorithm exchange its data between nodes has the MPI's own do it, or what serves the host.
std::vector<Choice> values_of(const Algorithm& one, Collective collective, const Choice& host, bool between_nodes) {
  if (!sees_to_devices(one)) return {plain(collective, one.name)};
  std::vector<Choice> all = variants_on_devices(one, !between_nodes);
  const bool has_inner = one.engine == Engine::pipeline && between_nodes;
  if (has_inner && !is_of_the_mpi(*host.algorithm) && is_of_the_host(*host.algorithm)) {
    all.push_back(all.front());
    all.back().inner = std::make_shared<const Choice>(Choice{host.algorithm, host.parameters});
  }
  return all;
}

// What stands at first, and what is to be tried against it.
template <class Key>
Selection untried(const Key& key, const Choice& host, bool by_the_mpi, bool may_try, bool between_nodes) {
  Selection selection;
  if (by_the_mpi) {
    selection.choice = plain(key.collective, "cuda-aware-mpi");
    selection.why = {Reason::mpi_takes_devices};
    if (may_try && !is_of_the_mpi(*host.algorithm)) selection.rivals.push_back(host);
  } else {
    selection.choice = host;
    selection.why = {Reason::mpi_lacks_devices};
  }
  if (!may_try) return selection;
  for (const Algorithm& one : algorithms()) {
    if (!may_serve_devices(one, key)) continue;
    for (const Choice& choice : values_of(one, key.collective, host, between_nodes)) {
      if (to_string(choice) != to_string(host)) selection.rivals.push_back(choice);
    }
  }
  return selection;
}

// ---- Between nodes, by the model ----

bool has_model(const GlobalKey& key) {
  return key.nodes > 1 && is_sized(key.collective) && key.model != nullptr && key.costs != nullptr &&
         key.device_model != nullptr;
}

// What serves the host: messages go straight, if the MPI takes them. Else what a rank sends goes to the host, and what
// it receives comes back, each once.
Priced as_on_the_host(const GlobalKey& key, const Choice& host) {
  if (why_no_cost(*host.algorithm) != Reason::none) return {};
  const Model& straight = key.device_model->straight;
  if (host.algorithm->from_device && key.mpi_sends_devices) {
    return straight.quadrille == plan::Machine{} ? Priced() : price(host, even_load(key.bytes), straight, *key.costs);
  }
  const double sent = is_allgather(key.collective) ? 1 : key.ranks, received = key.ranks;
  const Bus& bus = key.device_model->bus;
  Priced priced = price(host, even_load(key.bytes), *key.model, *key.costs);
  priced.seconds += bus.call + bus.byte * (sent + received) * static_cast<double>(key.bytes);
  return priced;
}

Priced by_the_mpi(const GlobalKey& key) {
  const Model& straight = key.device_model->straight;
  if (!key.mpi_collects_devices || straight.mpi == plan::Machine{}) return {};
  Priced own = price(plain(key.collective, "mpi"), even_load(key.bytes), straight, *key.costs);
  own.choice = plain(key.collective, "cuda-aware-mpi");
  return own;
}

Priced fastest_straight(const GlobalKey& key) {
  const Model& straight = key.device_model->straight;
  if (straight.quadrille == plan::Machine{}) return {};
  return fastest(even_load(key.bytes), straight, *key.costs,
                 [&](const Algorithm& one) { return one.from_device && may_serve_devices(one, key); });
}

// What stands at first stays unless another takes less than model_margin of its time.
void look_at_model(const GlobalKey& key, const Choice& host, bool may_try, Selection& selection) {
  const Priced own = by_the_mpi(key), as_host = as_on_the_host(key, host);
  const Priced& usual = key.mpi_collects_devices ? own : as_host;
  if (usual.choice.algorithm == nullptr) return;
  Priced best = fastest_straight(key);
  // The MPI's own on the host's memory is no other way: it would get the device's pointers.
  const bool is_another = key.mpi_collects_devices && !is_of_the_mpi(*host.algorithm);
  if (is_another && as_host.seconds < best.seconds) best = as_host;
  if (best.seconds >= model_margin * usual.seconds) {
    selection.why.then.push_back({Reason::nothing_modelled_faster});
  } else if (may_try) {
    std::erase_if(selection.rivals, [&](const Choice& one) { return to_string(one) == to_string(best.choice); });
    selection.rivals.insert(selection.rivals.begin(), std::move(best.choice));
  } else {
    selection.choice = std::move(best.choice);
    selection.why = {.reason = Reason::modelled_on_devices, .number = best.seconds * 1e6};
  }
}

// Null: nothing was measured, or it cannot serve such calls.
const SizedChoice* measured_for(const GlobalKey& key, const SizedChoices* measured) {
  if (measured == nullptr || !is_sized(key.collective)) return nullptr;
  const SizedChoice* const found = choice_for(*measured, key.bytes);
  if (found == nullptr || found->choice.algorithm == nullptr) return nullptr;
  return why_not(found->choice, key).reason == Reason::none ? found : nullptr;
}

}  // namespace

Selection select_for_devices(const GlobalKey& key, const Choice& host, const SizedChoices* measured) {
  if (const SizedChoice* found = measured_for(key, measured)) return {found->choice, {Reason::measured_on_devices}};
  const bool may_try = key.nodes == 1 ? key.tries : key.tries_between;
  Selection selection = untried(key, host, key.mpi_collects_devices, may_try, key.nodes > 1);
  if (has_model(key)) look_at_model(key, host, may_try, selection);
  return selection;
}

Selection select_for_devices(const NeighborKey& key, const Choice& host) {
  const bool by_the_mpi = key.mpi_collects_devices && !key.by_ourselves;
  return untried(key, host, by_the_mpi, key.tries, false);  // nothing that sees to devices serves neighbours
}

}  // namespace quadrille::choose
