// Persistent neighbour collectives. A request keeps its bound run and its memory. Its messages have a tag of
// their own, and inside a node it has rings of its own: ranks may start requests in different orders, and a
// request's starts must not meet those of another.
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "api/neighbor_doors.hpp"
#include "quadrille.h"
#include "run/kept_types.hpp"
#include "run/under_way.hpp"
#include "sys/sys.hpp"
#include "sys/wait.hpp"
#include "team/own_rings.hpp"

using quadrille::mpi;
namespace api = quadrille::api;
namespace choose = quadrille::choose;
namespace memory = quadrille::memory;
namespace run = quadrille::run;
namespace sys = quadrille::sys;
namespace team = quadrille::team;

struct Quadrille_Request_state final : run::Pending {
  team::KeptTeam team;  // first: all else is gone before it
  run::KeptTypes types;
  memory::Pool scratch, send, recv;
  bool crowded = false;                        // ranks share processors: who looks in vain must let others run
  std::unique_ptr<run::NeighborRun> messages;  // one of these two
  std::unique_ptr<run::NodeNeighborRun> rings;
  bool broken = false;      // by an exception: nothing goes on any more
  bool active = false;      // from a start until Wait or Test says that it is complete; it may be so long before
  int error = MPI_SUCCESS;  // of what went on while something else was waited for

  int start() { return messages ? messages->start(false) : rings->start(); }
  int advance() { return messages ? messages->advance(false) : rings->advance(); }
  bool done() const { return broken || (messages ? messages->done() : rings->done()); }
  bool go_on() override {
    int now = MPI_SUCCESS;
    const int thrown = quadrille::thrown_by([&] { now = advance(); });
    broken = broken || thrown != MPI_SUCCESS;
    if (now != MPI_SUCCESS || thrown != MPI_SUCCESS) error = thrown != MPI_SUCCESS ? thrown : now;
    return done();
  }
};

namespace {

// The tags below are taken. MPI has at least 32768 of them; that so many requests lie between two that are
// under way together is not to be expected.
constexpr unsigned first_tag = 64, tags = 32768 - first_tag;

constexpr int turns_before_yield = 100, turns_if_crowded = 4;

// Goes on with all that is under way. True if this request is complete.
bool is_done(const Quadrille_Request_state& request) {
  run::UnderWay& under_way = run::UnderWay::here();
  const std::lock_guard lock(under_way.mutex);
  under_way.advance();
  return request.done();
}

int start(Quadrille_Request_state& request) {
  int error = MPI_SUCCESS;
  const int thrown = quadrille::thrown_by([&] { error = request.start(); });
  return thrown != MPI_SUCCESS ? thrown : error;
}

bool is_null(const Quadrille_Request* request) { return request == nullptr || *request == nullptr; }

// Calls the error handler of the request's communicator or, when that is gone, of MPI_COMM_WORLD.
int raise(const Quadrille_Request_state& request, int error) {
  const MPI_Comm comm = request.team->user;
  return api::raise(comm == mpi().comm_null ? mpi().comm_world : comm, error);
}

// A request is complete: what became of it.
int finish(Quadrille_Request request) {
  request->active = false;
  const int error = std::exchange(request->error, MPI_SUCCESS);
  return error == MPI_SUCCESS ? error : raise(*request, error);
}

int make(run::Call call, team::Team& team, Quadrille_Request& request) {
  if (const int error = api::prepare_neighbors(team); error != MPI_SUCCESS) return error;
  // Counted on all ranks, whatever is wrong on this one.
  const int tag = static_cast<int>(first_tag + team.group.persistent++ % tags);
  const team::Neighbors* neighbors = team::neighbors_of(team);
  if (neighbors == nullptr) return MPI_ERR_TOPOLOGY;
  const bool sound = api::is_sound(call, *neighbors);
  const int error = api::check_sizes(call, team, sound);
  if (!sound || error != MPI_SUCCESS) return MPI_ERR_ARG;
  auto made = std::make_unique<Quadrille_Request_state>();
  made->team = team::keep(team);
  made->crowded = team.crowded;
  if (made->types.keep(call, neighbors->send_blocks, neighbors->recv_blocks) != MPI_SUCCESS) return MPI_ERR_TYPE;
  api::NeighborService service = api::persistent_service_for(call, team);
  std::optional<run::OwnRings> rings;
  if (service.by == api::NeighborService::By::rings) {
    rings = team::own_rings(team, call);
    if (!rings) service = api::direct_service(call, team, "there is no shared memory left for rings");
  }
  if (rings) {
    made->rings = std::make_unique<run::NodeNeighborRun>(call, team::node_edges_of(team), neighbors->send_blocks,
                                                         neighbors->recv_blocks, team.group, std::move(*rings));
  } else {
    made->messages =
        std::make_unique<run::NeighborRun>(call, *service.schedule, service.slots, service.combining,
                                           run::NeighborTraffic{team.group.comm, team.group.quiet, team.group.me, tag},
                                           run::NeighborPools{made->scratch, made->send, made->recv});
  }
  request = made.release();
  return MPI_SUCCESS;
}

int init(choose::Collective collective, const void* sendbuf, const run::Side& send, const run::Side& recv,
         MPI_Comm comm, Quadrille_Request* request) {
  if (request != nullptr) *request = QUADRILLE_REQUEST_NULL;
  if (!mpi().usable) return api::raise(comm, MPI_ERR_OTHER);
  team::Team* team = team::team_of(comm);
  if (team == nullptr || api::is_inter(comm)) return api::raise(comm, MPI_ERR_COMM);
  if (request == nullptr) return api::raise(comm, MPI_ERR_ARG);
  const api::Serving guard;
  int error = MPI_SUCCESS;
  const int thrown = quadrille::thrown_by(
      [&] { error = make(api::make_call(collective, sendbuf, send, recv, comm), *team, *request); });
  if (thrown != MPI_SUCCESS) error = thrown;
  return error == MPI_SUCCESS ? error : api::raise(comm, error);
}

// As init(), whatever is thrown on the way to it.
int guarded_init(choose::Collective collective, const void* sendbuf, const run::Side& send, const run::Side& recv,
                 MPI_Comm comm, Quadrille_Request* request) {
  return api::guarded(comm, [&] { return init(collective, sendbuf, send, recv, comm, request); });
}

int start_one(Quadrille_Request* request) {
  if (is_null(request)) return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  if ((*request)->active) return raise(**request, MPI_ERR_REQUEST);
  int error = MPI_SUCCESS;
  {
    run::UnderWay& under_way = run::UnderWay::here();
    const std::lock_guard lock(under_way.mutex);
    under_way.make_room();  // what is started must be gone on with
    error = start(**request);
    (*request)->active = error == MPI_SUCCESS;
    if (!(*request)->done()) under_way.add(**request);
  }
  return error == MPI_SUCCESS ? error : raise(**request, error);
}

int test_one(Quadrille_Request* request, int* flag) {
  if (is_null(request)) return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  if (flag == nullptr) return raise(**request, MPI_ERR_ARG);
  *flag = is_done(**request) ? 1 : 0;
  if (*flag != 0) return finish(*request);
  // A program that tests until it is done would keep its core for a whole time slice.
  if ((*request)->crowded) sys::yield();
  return MPI_SUCCESS;
}

int wait_for_one(Quadrille_Request* request) {
  if (is_null(request)) return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  const int turns = (*request)->crowded ? turns_if_crowded : turns_before_yield;
  for (int turn = 0; !is_done(**request); ++turn) {
    // Looking on lets the MPI go on; giving the core away lets the peers.
    turn < turns ? sys::pause() : sys::yield();
  }
  return finish(*request);
}

int free_one(Quadrille_Request* request) {
  if (is_null(request)) return MPI_SUCCESS;
  if ((*request)->active) return raise(**request, MPI_ERR_REQUEST);
  delete *request;
  *request = QUADRILLE_REQUEST_NULL;
  return MPI_SUCCESS;
}

}  // namespace

int Quadrille_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                                     Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_alltoall, sendbuf, api::uniform(sendbuf, sendcount, sendtype),
              api::uniform(recvbuf, recvcount, recvtype), comm, request);
}

int Quadrille_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info, Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_alltoallv, sendbuf,
              api::neighbor_vector(sendbuf, sendcounts, sdispls, sendtype),
              api::neighbor_vector(recvbuf, recvcounts, rdispls, recvtype), comm, request);
}

int Quadrille_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info,
                                      Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_alltoallw, sendbuf,
              api::neighbor_typed(sendbuf, sendcounts, sdispls, sendtypes),
              api::neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes), comm, request);
}

int Quadrille_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                                      Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_allgather, sendbuf, api::uniform(sendbuf, sendcount, sendtype),
              api::uniform(recvbuf, recvcount, recvtype), comm, request);
}

int Quadrille_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                       MPI_Info, Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_allgatherv, sendbuf, api::uniform(sendbuf, sendcount, sendtype),
              api::neighbor_vector(recvbuf, recvcounts, displs, recvtype), comm, request);
}

int Quadrille_Neighbor_allgatherw_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                       MPI_Comm comm, MPI_Info, Quadrille_Request* request) {
  return guarded_init(choose::Collective::neighbor_allgatherw, sendbuf, api::uniform(sendbuf, sendcount, sendtype),
              api::neighbor_typed(recvbuf, recvcounts, rdispls, recvtypes), comm, request);
}

int Quadrille_Start(Quadrille_Request* request) {
  return api::guarded(mpi().comm_world, [&] { return start_one(request); });
}

int Quadrille_Test(Quadrille_Request* request, int* flag) {
  return api::guarded(mpi().comm_world, [&] { return test_one(request, flag); });
}

int Quadrille_Wait(Quadrille_Request* request) {
  return api::guarded(mpi().comm_world, [&] { return wait_for_one(request); });
}

int Quadrille_Request_free(Quadrille_Request* request) {
  return api::guarded(mpi().comm_world, [&] { return free_one(request); });
}
