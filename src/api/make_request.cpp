// What carries a request out. All ranks decide alike.
//
// A blocking call may wait for all ranks in its middle; a request may not, since its rank does something else
// meanwhile. So what inboxes, the exchange by pairs and the orders of copies do inside a node in blocking calls, rings
// do here, which a rank can leave at any point; between nodes it is messages. What the MPI is to carry out goes to its
// nonblocking function; a persistent call goes by messages instead, as the ranks may start several in different orders.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "api/requests.hpp"
#include "api/serve.hpp"
#include "api/serve_neighbors.hpp"
#include "choose/select.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {
namespace {

using choose::Engine;
using run::Call;
using team::Team;

// The tags below are taken. MPI has at least 32768 of them; that so many requests lie between two that are
// under way together is not to be expected.
constexpr unsigned first_tag = 64, tags = 32768 - first_tag;

struct BlockNumbers {
  int send = 0, recv = 0;
};

// A request that is being made.
struct Making {
  Call call;
  const bool persistent;
  Team& team;
  Quadrille_Request_state& made;
  int tag = 0;

  // The messages of two requests must not meet. All ranks count all requests.
  void take_tag() { tag = static_cast<int>(first_tag + team.group.persistent++ % tags); }
  run::Traffic traffic() const { return {team.group.comm, team.group.quiet, team.group.me, team.group.ranks, tag}; }
  // `why()` says why; it is not asked where nobody wants to know.
  template <class Why>
  void explain(const char* algorithm, Why why) const {
    if (!team.explains) return;
    team::explain(team, call.collective, 0, algorithm, (persistent ? "persistent; " : "nonblocking; ") + why());
  }
};

BlockNumbers numbers_of(const Making& m) {
  if (!is_neighbor(m.call.collective)) {
    int ranks = 0;
    if (m.team.eligible) {
      ranks = m.team.group.ranks;
    } else {
      is_inter(m.team.user) ? mpi().Comm_remote_size(m.team.user, &ranks) : mpi().Comm_size(m.team.user, &ranks);
    }
    return {is_allgather(m.call.collective) ? 1 : ranks, ranks};
  }
  const team::Neighbors* neighbors = team::neighbors_of(m.team);
  return neighbors != nullptr ? BlockNumbers{neighbors->send_blocks, neighbors->recv_blocks} : BlockNumbers{};
}

// The program may free its datatypes as soon as the call is made.
int keep_types(Making& m) {
  const BlockNumbers blocks = numbers_of(m);
  return m.made.types.keep(m.call, m.call.in_place ? 0 : blocks.send, blocks.recv) == MPI_SUCCESS ? MPI_SUCCESS
                                                                                                  : MPI_ERR_TYPE;
}

int by_the_mpi(Making& m, const std::string& why) {
  m.explain("mpi", [&] { return why; });
  pass(m.team, m.team.eligible ? why_chosen(m.team) : m.team.why_passed);
  const BlockNumbers blocks = numbers_of(m);
  m.made.run.emplace<run::NativeRun>(m.call, blocks.send, blocks.recv);
  return MPI_SUCCESS;
}

// Rings for a call among `edges`; empty, on all ranks, if there are none. A nonblocking call takes those of its lane.
std::span<run::PairRings> rings_for(Making& m, const run::NodeEdges& edges) {
  if (m.team.nodes.nodes != 1 || !m.team.group.rings) return {};
  if (m.persistent) {
    const std::size_t most = m.team.group.pairs.ring_bytes();
    auto own = team::own_rings(m.team, edges,
                               [&](const run::NeighborPair& pair) { return team::ring_bytes_for(m.call, pair, most); });
    if (own) m.made.rings = std::move(*own);
    return m.made.rings.pairs;
  }
  team::Lanes& lanes = team::lanes_of(m.team);
  if (lanes.lanes.empty()) return {};
  m.made.lane = &lanes.lanes[lanes.calls++ % lanes.lanes.size()];
  return m.made.lane->rings.pairs;
}

// Its communicator for messages.
int prepare_messages(Making& m) {
  const int error = team::prepare_messages(m.team);
  if (error != MPI_SUCCESS || m.team.eligible) return error;
  // Nobody sends to another on it but we, and only with the tags of exchanges that are awaited.
  m.team.group.quiet = m.team.group.comm;
  mpi().Comm_rank(m.team.user, &m.team.group.me);
  mpi().Comm_size(m.team.user, &m.team.group.ranks);
  return MPI_SUCCESS;
}

// ---- Dense collectives ----

int by_schedule(Making& m, const choose::Choice& choice) {
  if (const int error = prepare_messages(m); error != MPI_SUCCESS) {
    return m.persistent ? error : by_the_mpi(m, team::no_communicator);
  }
  const team::Prepared on = team::prepare(m.team, m.call.collective, choice);
  if (choice.algorithm->engine != Engine::padded) {
    m.made.run.emplace<run::BoundRun>(m.call, *on.schedule, on.moving, m.traffic(), m.made.memory());
    return MPI_SUCCESS;
  }
  m.made.run.emplace<run::PaddedRun>(m.call, on.schedule, *on.direct, m.traffic(), m.made.memory());
  return MPI_SUCCESS;
}

// Small blocks of a size that all ranks know. True if there is an inbox for them.
bool by_inbox(Making& m, std::size_t bytes) {
  if (m.team.nodes.nodes != 1 || !m.team.group.rings || !is_sized(m.call.collective)) return false;
  memory::Inbox* inbox = nullptr;
  if (m.persistent) {
    if (bytes > memory::most_slot_bytes) return false;
    auto own = team::own_inbox(m.team, bytes);
    if (!own) return false;
    m.made.inbox = std::move(*own);
    inbox = &m.made.inbox.inbox;
  } else {
    team::Lanes& lanes = team::lanes_of(m.team);
    if (lanes.lanes.empty() || bytes > lanes.lanes.front().inbox.inbox.capacity()) return false;
    m.made.lane = &lanes.lanes[lanes.calls++ % lanes.lanes.size()];
    inbox = &m.made.lane->inbox.inbox;
  }
  m.made.run.emplace<run::InboxRun>(m.call, m.team.group, *inbox);
  return true;
}

template <class Why>
int by_shared_memory_or_messages(Making& m, std::size_t bytes, Why why) {
  const bool in_node = m.team.eligible && m.team.nodes.nodes == 1 && m.team.group.rings;
  if (in_node && by_inbox(m, bytes)) {
    m.explain("inbox", why);
    return MPI_SUCCESS;
  }
  if (in_node) {
    team::Lanes& lanes = team::lanes_of(m.team);
    const run::NodeEdges& edges = m.call.in_place ? lanes.without_own : lanes.with_own;
    if (const std::span<run::PairRings> rings = rings_for(m, edges); !rings.empty()) {
      m.explain("rings", why);
      m.made.run.emplace<run::NodeDenseRun>(m.call, edges, m.team.group, rings);
      return MPI_SUCCESS;
    }
  }
  m.explain("spread-out", [&] { return in_node ? why() + "; there is no shared memory left for rings" : why(); });
  return by_schedule(m, choose::plain(m.call.collective, "spread-out"));
}

int by_choice(Making& m, const choose::Selection& selection, std::size_t bytes) {
  const choose::Choice& choice = selection.choice;
  const Engine engine = choice.algorithm->engine;
  if (engine == Engine::mpi && !m.persistent) return by_the_mpi(m, selection.why);
  if (engine != Engine::schedule && engine != Engine::padded) {
    return by_shared_memory_or_messages(
        m, bytes, [&] { return fmt::format("for {}: {}", choose::to_string(choice), selection.why); });
  }
  m.explain(m.team.explains ? choose::to_string(choice).c_str() : "", [&] { return selection.why; });
  return by_schedule(m, choice);
}

int make_dense(Making& m) {
  Team& team = m.team;
  if (!team.eligible && !m.persistent) return by_the_mpi(m, team.why_not);
  if (team.eligible && !team.ready) {
    if (const int error = team::setup(team); error != MPI_SUCCESS)
      return m.persistent ? error : by_the_mpi(m, team.why_not);
  }
  m.take_tag();
  if (!team.eligible) mpi().Comm_size(team.user, &team.group.ranks);
  if (!is_sound(m.call, team.group.ranks)) {
    return m.persistent ? MPI_ERR_ARG : by_the_mpi(m, "an argument that the MPI must look at");
  }
  if (const int error = keep_types(m); error != MPI_SUCCESS) return error;
  ++team.counters.served;
  if (!team.eligible) return by_shared_memory_or_messages(m, 0, [&] { return team.why_not; });
  const std::size_t bytes = global_bytes(m.call, team.group.ranks);
  if (bytes == 0 && is_sized(m.call.collective)) return MPI_SUCCESS;  // nothing moves, on no rank
  return by_choice(m, team::selection_of(team, m.call.collective, bytes).selection, bytes);
}

// ---- Neighbour collectives ----

int by_neighbor_messages(Making& m, const NeighborService& service) {
  m.made.run.emplace<run::BoundRun>(m.call, *service.schedule, service.slots, service.moving, m.traffic(),
                                    m.made.memory());
  return MPI_SUCCESS;
}

int by_neighbor_rings(Making& m) {
  const run::NodeEdges& edges = team::node_edges_of(m.team);
  const std::span<run::PairRings> rings = rings_for(m, edges);
  // A persistent call among no neighbours has no rings, and needs none.
  const bool there = m.persistent ? m.made.rings.pairs.size() == edges.pairs.size() && m.made.rings.area.is_there()
                                  : m.made.lane != nullptr;
  if (!there) {
    return by_neighbor_messages(
        m, direct_service(m.call, m.team, m.persistent, "there is no shared memory left for rings"));
  }
  const BlockNumbers blocks = numbers_of(m);
  m.made.run.emplace<run::NodeNeighborRun>(m.call, edges, blocks.send, blocks.recv, m.team.group, rings);
  return MPI_SUCCESS;
}

int make_neighbors(Making& m) {
  Team& team = m.team;
  const auto refuse = [&m](int error, const std::string& why) { return m.persistent ? error : by_the_mpi(m, why); };
  if (!m.persistent) {
    if (const std::string why = why_no_neighbors(team); !why.empty()) return by_the_mpi(m, why);
  }
  if (const int error = prepare_neighbors(team); error != MPI_SUCCESS) return refuse(error, team::no_communicator);
  m.take_tag();
  const team::Neighbors* neighbors = team::neighbors_of(team);
  if (neighbors == nullptr) return MPI_ERR_TOPOLOGY;
  const bool sound = is_sound(m.call, *neighbors);
  const int error = check_sizes(m.call, team, sound);
  if (error != MPI_SUCCESS) return MPI_ERR_ARG;
  if (!sound) return refuse(MPI_ERR_ARG, "an argument that the MPI must look at");
  if (const int wrong = keep_types(m); wrong != MPI_SUCCESS) return wrong;
  const NeighborService service = service_of_request(m.call, team, m.persistent);
  if (service.by == NeighborService::By::mpi) return by_the_mpi(m, "the MPI was chosen");
  ++team.counters.served;
  return service.by == NeighborService::By::rings ? by_neighbor_rings(m) : by_neighbor_messages(m, service);
}

// The MPI itself has no team to look at: on a communicator that is none of ours.
int make(const Call& call, bool persistent, Team& team, Quadrille_Request_state& made) {
  made.team = team::keep(team);
  made.crowded = team.crowded;
  made.persistent = persistent;
  Making m{call, persistent, team, made};
  return is_neighbor(call.collective) ? make_neighbors(m) : make_dense(m);
}

int make_and_start(const Call& call, bool persistent, Quadrille_Request* request) {
  if (request != nullptr) *request = QUADRILLE_REQUEST_NULL;
  if (!mpi().usable) return raise(call.comm, MPI_ERR_OTHER);
  Team* team = team::team_of(call.comm);
  if (team == nullptr || (persistent && is_inter(call.comm))) return raise(call.comm, MPI_ERR_COMM);
  if (request == nullptr) return raise(call.comm, MPI_ERR_ARG);
  auto made = std::make_unique<Quadrille_Request_state>();
  int error = MPI_SUCCESS;
  {
    const Serving guard;
    const int thrown = thrown_by([&] { error = make(call, persistent, *team, *made); });
    if (thrown != MPI_SUCCESS) error = thrown;
    if (error == MPI_SUCCESS && !persistent)
      error = start(*made);
    else if (error != MPI_SUCCESS)
      error = raise(call.comm, error);
  }
  if (error == MPI_SUCCESS) *request = made.release();
  return error;
}

}  // namespace

int make_request(const Call& call, bool persistent, Quadrille_Request* request) {
  return guarded(call.comm, [&] { return make_and_start(call, persistent, request); });
}

}  // namespace quadrille::api
