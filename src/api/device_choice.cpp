#include "api/device_choice.hpp"

#include "api/on_host.hpp"
#include "api/serve.hpp"
#include "choose/trial.hpp"
#include "memory/device.hpp"
#include "team/ask.hpp"

namespace quadrille::api {
namespace {

// Is there anything to choose? Among neighbours there is no way but over the host, unless the MPI takes such memory.
bool has_choice(const run::Call& call, const team::Team& team) {
  if (!team.agreed().follows_devices || call.collective == Collective::exchange) return false;
  if (is_neighbor(call.collective) && team.agreed().mpi_device == DeviceUse::none) return false;
  return team.agreed().forced.by_collective[static_cast<std::size_t>(call.collective)].algorithm == nullptr;
}

bool asks_now(choose::AskedClass& seen, Asks asks) {
  switch (asks) {
    case Asks::now_and_then:
      return choose::must_ask(seen);
    case Asks::for_itself:
      return true;
    case Asks::once:
      return seen.now < 0;
    case Asks::never:
      break;
  }
  return false;
}

}  // namespace

bool is_on_devices(const run::Call& call, team::Team& team, Asks asks, CountedAhead* ahead) {
  if (!has_choice(call, team)) return false;
  choose::AskedClass& seen = team.asked.devices[static_cast<std::size_t>(call.collective)];
  if (ahead != nullptr) ahead->note(seen.unasked, 1);
  if (!asks_now(seen, asks)) return seen.now > 0;
  const memory::DeviceDriver* const driver = memory::device_driver();
  const bool mine = driver != nullptr && has_device_memory(call, used_blocks(call, team), *driver);
  const bool some = !team::true_on_all(team, !mine);
  if (asks != Asks::for_itself) choose::note_class(seen, some ? 1 : 0);
  return some;
}

team::CachedSelection& device_selection_for(const run::Call& call, std::size_t bytes, team::Team& team, bool drop_in) {
  return is_neighbor(call.collective) ? team::device_neighbor_selection(team, call.collective, bytes, drop_in)
                                      : team::device_selection_of(team, call.collective, bytes, load_of(call, team));
}

}  // namespace quadrille::api
