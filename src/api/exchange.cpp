// The explicit door of the sparse exchange. No MPI has it, so no call can be forwarded: communicators on which
// Quadrille serves no other call (one rank, ranks of several worlds, QUADRILLE=off) are served, too.
//
// A mistake of one rank must not leave the others waiting for its messages. So a rank with a
// mistake takes part in the exchange, sends no block, and tells its error along the way
// (run/sparse_*.cpp).
#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

#include "api/serve.hpp"
#include "quadrille.h"
#include "run/sparse.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/record.hpp"
#include "team/team.hpp"

using quadrille::Collective;
using quadrille::mpi;
namespace api = quadrille::api;
using quadrille::type_info;
using quadrille::TypeInfo;
namespace choose = quadrille::choose;
namespace plan = quadrille::plan;
namespace run = quadrille::run;
namespace sys = quadrille::sys;
namespace team = quadrille::team;

namespace {

struct Arguments {
  run::SparseSend send;
  int destinations;  // may be negative
  MPI_Datatype recvtype;
  Quadrille_Received* received;
};

// ---- What is wrong with the arguments of this rank ----

// Asks the MPI: a message to nobody is checked like any other. An error comes back as a code.
int check_type(MPI_Datatype type, MPI_Comm comm) {
  if (type == mpi().datatype_null) return MPI_ERR_TYPE;
  MPI_Request request = mpi().request_null;
  // One element, as MPICH looks at no type of which there is none. Nobody reads it.
  const int error = mpi().Isend(&request, 1, type, MPI_PROC_NULL, 0, comm, &request);
  return error != MPI_SUCCESS ? error : mpi().Waitall(1, &request, MPI_STATUSES_IGNORE);
}

int check_blocks(const run::SparseSend& send, const run::SparseGroup& group) {
  bool any = false;
  for (std::size_t i = 0; i < send.destinations.size(); ++i) {
    const int to = send.destinations[i];
    if (to < 0 || to >= group.ranks) return MPI_ERR_RANK;
    if (send.counts[i] < 0) return MPI_ERR_COUNT;
    any = any || send.counts[i] > 0;
  }
  if (!any) return MPI_SUCCESS;
  if (const int error = check_type(send.type, group.comm); error != MPI_SUCCESS) return error;
  // Types of absolute addresses come with MPI_BOTTOM, which is null.
  const bool nowhere = send.base == nullptr && type_info(send.type).dense;
  return nowhere && type_info(send.type).size > 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

int check(Arguments& call, const run::SparseGroup& group) {
  run::SparseSend& send = call.send;
  if (call.received == nullptr) return MPI_ERR_ARG;
  if (call.destinations < 0) return MPI_ERR_COUNT;
  if (call.destinations > 0) {
    const int* first = send.destinations.data();
    if (first == nullptr || send.counts == nullptr || send.displacements == nullptr) {
      return MPI_ERR_ARG;
    }
    send.destinations = {first, static_cast<std::size_t>(call.destinations)};
  }
  const int error = check_type(call.recvtype, group.comm);
  return error != MPI_SUCCESS ? error : check_blocks(send, group);
}

// Codes of errors mean something to one process only; classes mean the same everywhere.
int class_of(int error) {
  int result = MPI_ERR_OTHER;
  if (error == MPI_SUCCESS) return error;
  mpi().Error_class(error, &result);
  return result;
}

// ---- The memory of what has arrived ----

// Where the elements lie, in bytes from where the first one is: with its gaps, and with what may
// stick out.
struct Reach {
  std::ptrdiff_t least = 0, most = 0;
};

Reach reach_of(MPI_Datatype type, std::ptrdiff_t elements) {
  if (elements == 0) return {};
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  mpi().Type_get_extent(type, &lower, &extent);
  mpi().Type_get_true_extent(type, &true_lower, &true_extent);
  const std::ptrdiff_t least = std::min({lower, lower + extent, true_lower});
  const std::ptrdiff_t most = std::max({lower, lower + extent, true_lower + true_extent});
  std::ptrdiff_t last = 0;
  if (__builtin_mul_overflow(elements - 1, extent, &last)) throw std::bad_alloc();
  return {std::min(least, least + last), std::max(most, most + last)};
}

std::ptrdiff_t round_down(std::ptrdiff_t bytes, std::ptrdiff_t unit) {
  const std::ptrdiff_t over = bytes % unit;
  return bytes - (over < 0 ? over + unit : over);
}

// One piece of memory: counts, displacements, sources, then the data.
void allocate(Quadrille_Received& received, std::size_t blocks, const Reach& reach) {
  constexpr auto line = static_cast<std::ptrdiff_t>(sys::cache_line);
  if (blocks == 0) return;
  const std::size_t arrays = blocks * (sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(int));
  const std::size_t before = (arrays + sys::cache_line - 1) / sys::cache_line * sys::cache_line;
  const std::ptrdiff_t from = round_down(reach.least, line);
  void* memory = nullptr;
  if (posix_memalign(&memory, sys::cache_line, before + static_cast<std::size_t>(reach.most - from)) != 0) {
    throw std::bad_alloc();
  }
  received.memory = memory;
  received.counts = static_cast<MPI_Count*>(memory);
  received.displs = reinterpret_cast<MPI_Aint*>(received.counts + blocks);
  received.sources = reinterpret_cast<int*>(received.displs + blocks);
  received.nsources = static_cast<int>(blocks);
  if (reach.most > reach.least) received.data = static_cast<std::byte*>(memory) + before - from;
}

// Sorts the parcels and unpacks them one behind the other.
int hand_over(run::Mail& mail, MPI_Datatype type, MPI_Comm comm, Quadrille_Received& received) {
  const TypeInfo info = type_info(type);
  std::stable_sort(mail.parcels.begin(), mail.parcels.end(),
                   [](const auto& a, const auto& b) { return a.source < b.source; });
  std::size_t elements = 0;
  for (const run::Parcel& parcel : mail.parcels) {
    if (info.size == 0 ? parcel.bytes > 0 : parcel.bytes % info.size != 0) return MPI_ERR_TYPE;
    if (info.size > 0) elements += parcel.bytes / info.size;
  }
  allocate(received, mail.parcels.size(), reach_of(type, static_cast<std::ptrdiff_t>(elements)));
  std::ptrdiff_t at = 0;
  for (std::size_t i = 0; i < mail.parcels.size(); ++i) {
    const run::Parcel& parcel = mail.parcels[i];
    const std::size_t count = info.size > 0 ? parcel.bytes / info.size : 0;
    received.sources[i] = parcel.source;
    received.counts[i] = static_cast<MPI_Count>(count);
    received.displs[i] = at;
    if (count > 0) {
      std::byte* to = static_cast<std::byte*>(received.data) + at * info.extent;
      const int error = quadrille::unpack(parcel.data, to, count, type, info, comm);
      if (error != MPI_SUCCESS) return error;
    }
    at += static_cast<std::ptrdiff_t>(count);
  }
  return MPI_SUCCESS;
}

// ---- The exchange ----

int carry(const choose::Choice& choice, const run::SparseGroup& group, std::vector<run::Parcel>& parcels, int reported,
          run::Mail& mail) {
  // What a rank sends to itself needs no message.
  const auto own =
      std::stable_partition(parcels.begin(), parcels.end(), [&](const auto& p) { return p.destination != group.me; });
  const std::span<const run::Parcel> out(parcels.begin(), own);
  const auto radix = static_cast<int>(plan::value_of(choice.parameters, "radix", 2));
  const int error = choice.algorithm->name == "consensus" ? run::sparse_consensus(group, out, reported, mail)
                                                          : run::sparse_bruck(group, out, radix, reported, mail);
  mail.parcels.insert(mail.parcels.end(), own, parcels.end());
  return error;
}

int exchange(Arguments call, team::Team& team, const run::SparseGroup& group, const choose::Choice& choice) {
  const MPI_Comm packing = team.group.messages().quiet;
  int mine = check(call, group);
  std::unique_ptr<std::byte[]> packed;
  std::vector<run::Parcel> parcels;
  run::Mail mail;
  int error = MPI_SUCCESS;
  try {
    if (mine == MPI_SUCCESS) {
      if (quadrille::record::on && !call.send.destinations.empty()) {
        const bool any = std::any_of(call.send.counts, call.send.counts + call.send.destinations.size(),
                                     [](MPI_Count n) { return n > 0; });
        quadrille::record::sparse_blocks(call.send.destinations, call.send.counts,
                                         any ? type_info(call.send.type).size : 0);
      }
      packed = std::make_unique_for_overwrite<std::byte[]>(run::bytes_to_pack(call.send));
      mine = run::make_parcels(call.send, group.me, packed.get(), packing, parcels);
    }
  } catch (const std::bad_alloc&) {
    mine = MPI_ERR_NO_MEM;
  }
  if (mine != MPI_SUCCESS) parcels.clear();
  error = carry(choice, group, parcels, class_of(mine), mail);
  if (mine != MPI_SUCCESS) return mine;
  if (mail.reported != MPI_SUCCESS) return mail.reported;
  if (error != MPI_SUCCESS) return error;
  return hand_over(mail, call.recvtype, packing, *call.received);
}

// The same on all ranks, as the call was not begun on any if it fails.
int prepare(team::Team& team, run::SparseGroup& group) {
  if (team.lost) return MPI_ERR_OTHER;
  if (team.eligible() && !team.ready()) {
    if (const int error = team::setup(team); error != MPI_SUCCESS) return error;
  }
  if (const int error = team::prepare_messages(team); error != MPI_SUCCESS) return error;
  group.comm = team.group.messages().comm;
  group.me = team.group.me;
  group.ranks = team.group.ranks;
  group.spins = team.group.waiter.spins;
  group.turn = &team.group.turns.exchanges;
  return MPI_SUCCESS;
}

const choose::Choice& choose_for(team::Team& team) {
  team::CachedSelection& cached = team::selection_of(team, Collective::exchange, 0);
  team::explain(team, Collective::exchange, cached);
  if (quadrille::record::on) quadrille::record::by(cached.selection.choice);
  return cached.selection.choice;
}

// All of it, with what is thrown as an error; errors are not raised.
int serve(const Arguments& call, team::Team& team) {
  run::SparseGroup group;
  int error = MPI_SUCCESS;
  const int thrown = quadrille::thrown_by([&] {
    error = prepare(team, group);
    if (error == MPI_SUCCESS) error = exchange(call, team, group, choose_for(team));
  });
  return thrown != MPI_SUCCESS ? thrown : error;
}

int exchange(const Arguments& call, MPI_Comm comm) {
  team::Team* team = team::team_of(comm);
  if (team == nullptr || api::is_inter(comm)) return api::raise(comm, MPI_ERR_COMM);
  const int error = serve(call, *team);
  ++team->counted.counters.served;
  if (error == MPI_SUCCESS) return error;
  Quadrille_Received_free(call.received);
  return api::raise(comm, error);
}

[[gnu::noinline]] int exchange_from(const void* site, const Arguments& call, MPI_Comm comm) {
  if (!mpi().usable) return api::raise(comm, MPI_ERR_OTHER);
  std::optional<quadrille::record::Recorded> recorded;
  if (quadrille::record::on) recorded.emplace().begin_sparse(comm, site);
  return api::guarded(comm, [&] { return exchange(call, comm); });
}

}  // namespace

int Quadrille_Exchange(const void* sendbuf, int ndestinations, const int destinations[], const MPI_Count sendcounts[],
                       const MPI_Aint sdispls[], MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                       Quadrille_Received* received) {
  if (received != nullptr) *received = {};
  const Arguments call{{static_cast<const std::byte*>(sendbuf), {destinations, 0}, sendcounts, sdispls, sendtype},
                       ndestinations,
                       recvtype,
                       received};
  return api::leave(exchange_from(__builtin_return_address(0), call, comm));
}

int Quadrille_Received_free(Quadrille_Received* received) {
  if (received == nullptr) return MPI_SUCCESS;
  std::free(received->memory);
  *received = {};
  return MPI_SUCCESS;
}
