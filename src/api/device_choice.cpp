#include "api/device_choice.hpp"

#include "api/on_host.hpp"
#include "api/serve.hpp"
#include "choose/trial.hpp"
#include "memory/device.hpp"
#include "team/ask.hpp"

namespace quadrille::api {
bool is_on_devices(const run::Call& call, team::Team& team) {
  if (!team.agreed().follows_devices || !is_dense(call.collective)) return false;
  const auto index = static_cast<std::size_t>(call.collective);
  if (team.agreed().forced.by_collective[index].algorithm != nullptr) return false;
  choose::AskedClass& seen = team.asked.devices[index];
  if (choose::must_ask(seen)) {
    const memory::DeviceDriver* const driver = memory::device_driver();
    const bool mine = driver != nullptr && has_device_memory(call, used_blocks(call, team), *driver);
    choose::note_class(seen, team::true_on_all(team, !mine) ? 0 : 1);
  }
  return seen.now > 0;
}

}  // namespace quadrille::api
