#include "api/pull.hpp"

#include "api/enqueue.hpp"
#include "api/serve.hpp"
#include "memory/device.hpp"
#include "run/device_pull.hpp"
#include "run/engines.hpp"
#include "team/config.hpp"

namespace quadrille::api {

void note_pull(Collective collective, const std::string& choice, team::Team& team, bool pulled) {
  using team::DeviceWay;
  team.counted.device_way = pulled ? DeviceWay::pulled : DeviceWay::not_pulled;
  if (memory::device_driver() == nullptr || !team::explains_now(team, team.counted.device_way)) return;
  team::explain(team, collective, 0, choice, {pulled ? Reason::pulled : Reason::not_pulled});
}

run::PullWays ways_of_pull(const choose::Choice& choice) {
  free_staging_at_end();
  return {plan::value_of(choice.parameters, "leader", 0) != 0, team::config().device_kernels};
}

int pull(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  sweep_turns();  // what is pending no more does not keep it from opening memory
  run::DevicePull by_copies(call, team.group, {team.group.pairs, *team.group.sharing}, ways_of_pull(choice));
  const bool pulled = by_copies.run();
  note_pull(call.collective, team.counted.explains ? choose::to_string(choice) : "", team, pulled);
  return pulled ? by_copies.error() : exchange_over_host(call, team);
}

int exchange_over_host(const run::Call& call, team::Team& team) {
  return run_over_host(call, team, choose::HostBuffers::as_suits,
                       [&](const run::Call& there) { return run::run_node(there, team.group, true); });
}

}  // namespace quadrille::api
