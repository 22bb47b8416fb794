// Calls whose data lie in devices' memory of one node, by copies between the ranks' own buffers (run/device_pull.hpp).
#pragma once

#include <memory>

#include "choose/registry.hpp"
#include "memory/device.hpp"
#include "run/call.hpp"
#include "run/device_pull.hpp"
#include "run/op.hpp"
#include "team/own_rings.hpp"

struct Quadrille_Request_state;

namespace quadrille::api {

// Notes how a call by an algorithm for data of devices was carried out. Explains it once a communicator where the user
// wants to know.
void tell_way(Collective collective, const choose::Choice& choice, team::Team& team, const Why& how);

// The data of all ranks of a node go over the memory of the host, whole, and there by pairs. Returns an MPI error code.
int exchange_over_host(const run::Call& call, team::Team& team);

// A nonblocking or persistent call, as a request carries it out.
//
// A persistent one has what it needs of its own, so that ranks may start several in different orders, and is made only
// if all ranks can take part. A nonblocking one takes its turn on a lane, and finds out in its start. If it cannot be
// done so, or a copy fails, all ranks go through rings over the host instead; a persistent one from then on.
class PullRequest {
 public:
  // The request, the team, the arrays of the call, and the lane, which has what it needs to pull, must outlive it. It
  // goes through the lane's rings instead.
  PullRequest(const run::Call& call, Quadrille_Request_state& request, team::Team& team, team::Lane& lane,
              const choose::Choice& choice);
  PullRequest& operator=(PullRequest&&) = delete;

  // Of a persistent one, right after it is made. Collective, and waits. False, on all ranks: it must not be started.
  bool prepare();

  // Neither waits, as long as it pulls. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return phase_ == Phase::over; }

  // ---- In the order of a stream (api/enqueue.hpp); of a persistent one ----

  // Nothing: its starts can be in a stream of that place.
  Reason why_not_in_stream(const memory::DevicePlace& place) const;
  // Where it has data; no place if it has none.
  memory::DevicePlace place() const { return pull_.has_place() ? pull_.place() : memory::DevicePlace(); }
  // Put into the stream what comes before the write of `ready`, and what comes behind it. False if the driver refuses.
  bool pack_in(void* stream) { return pull_.pack_in(stream); }
  bool copy_in(void* stream);

 private:
  enum class Phase : std::uint8_t { over, pulling, fetching, by_rings };
  bool goes_on();
  int go_through_rings(bool begins);
  int go_over_host();

  const run::Call call_;
  Quadrille_Request_state& request_;
  team::Team& team_;
  team::Lane& lane_;
  const memory::CopyPlan copying_;
  run::DevicePull pull_;
  const choose::Choice choice_;
  std::unique_ptr<run::Op> instead_;
  Phase phase_ = Phase::over;
};

using PullOp = run::OpOf<run::Carrier::pull, PullRequest>;

}  // namespace quadrille::api
