// The explicit door of the sparse exchange. No MPI has it, so no call can be forwarded: communicators on which
// Quadrille serves no other call (one rank, ranks of several worlds, QUADRILLE=off) are served, too.
//
// A mistake of one rank must not leave the others waiting for its messages. So a rank with a
// mistake takes part in the exchange, sends no block, and tells its error along the way
// (run/sparse.cpp).
#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

#include "abi/functions.hpp"
#include "api/serve.hpp"
#include "run/sparse.hpp"
#include "sys/sys.hpp"
#include "team/record.hpp"
#include "team/team.hpp"

using namespace quadrille;

namespace {

struct Arguments {
  run::SparseSend send;
  int destinations;  // may be negative
  MpiType recvtype;
  Quadrille_Received* received;
};

// ---- What is wrong with the arguments of this rank ----

// Asks the MPI: a message to nobody is checked like any other. An error comes back as a code.
int check_type(MpiType type, MpiComm comm) {
  if (type == mpi().datatype_null) return mpi().err_type;
  MpiRequest request = mpi().request_null;
  // One element, as MPICH looks at no type of which there is none. Nobody reads it.
  const int error = mpi().Isend(&request, 1, type, mpi().proc_null, 0, comm, &request);
  return error != mpi_success ? error : mpi().Waitall(1, one(request), mpi().statuses_ignore);
}

int check_blocks(const run::SparseSend& send, const run::Group& group) {
  bool any = false;
  for (std::size_t i = 0; i < send.destinations.size(); ++i) {
    const int to = send.destinations[i];
    if (to < 0 || to >= group.ranks) return mpi().err_rank;
    if (send.counts[i] < 0) return mpi().err_count;
    any = any || send.counts[i] > 0;
  }
  if (!any) return mpi_success;
  if (const int error = check_type(send.type, group.messages().comm); error != mpi_success) return error;
  // Types of absolute addresses come with MPI_BOTTOM, which is null.
  const bool nowhere = send.base == nullptr && type_info(send.type).dense;
  return nowhere && type_info(send.type).size > 0 ? mpi().err_buffer : mpi_success;
}

int check(Arguments& call, const run::Group& group) {
  run::SparseSend& send = call.send;
  if (call.received == nullptr) return mpi().err_arg;
  if (call.destinations < 0) return mpi().err_count;
  if (call.destinations > 0) {
    const int* first = send.destinations.data();
    if (first == nullptr || send.counts == nullptr || send.displacements == nullptr) {
      return mpi().err_arg;
    }
    send.destinations = {first, static_cast<std::size_t>(call.destinations)};
  }
  const int error = check_type(call.recvtype, group.messages().comm);
  return error != mpi_success ? error : check_blocks(send, group);
}

// ---- The memory of what has arrived ----

// Where the elements lie, in bytes from where the first one is: with its gaps, and with what may
// stick out.
struct Reach {
  std::ptrdiff_t least = 0, most = 0;
};

Reach reach_of(MpiType type, std::ptrdiff_t elements) {
  if (elements == 0) return {};
  MpiAint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
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
  const std::size_t arrays = blocks * (sizeof(MpiCount) + sizeof(MpiAint) + sizeof(int));
  const std::size_t before = (arrays + sys::cache_line - 1) / sys::cache_line * sys::cache_line;
  const std::ptrdiff_t from = round_down(reach.least, line);
  void* memory = nullptr;
  if (posix_memalign(&memory, sys::cache_line, before + static_cast<std::size_t>(reach.most - from)) != 0) {
    throw std::bad_alloc();
  }
  received.memory = memory;
  received.counts = static_cast<MpiCount*>(memory);
  received.displs = reinterpret_cast<MpiAint*>(received.counts + blocks);
  received.sources = reinterpret_cast<int*>(received.displs + blocks);
  received.nsources = static_cast<int>(blocks);
  if (reach.most > reach.least) received.data = static_cast<std::byte*>(memory) + before - from;
}

// Sorts the parcels and unpacks them one behind the other.
int hand_over(run::Mail& mail, MpiType type, MpiComm comm, Quadrille_Received& received) {
  const TypeInfo info = type_info(type);
  std::ranges::stable_sort(mail.parcels, {}, &run::Parcel::source);
  std::size_t elements = 0;
  for (const run::Parcel& parcel : mail.parcels) {
    if (info.size == 0 ? parcel.bytes > 0 : parcel.bytes % info.size != 0) return mpi().err_type;
    if (info.size > 0) elements += parcel.bytes / info.size;
  }
  allocate(received, mail.parcels.size(), reach_of(type, static_cast<std::ptrdiff_t>(elements)));
  std::ptrdiff_t at = 0;
  for (std::size_t i = 0; i < mail.parcels.size(); ++i) {
    const run::Parcel& parcel = mail.parcels[i];
    const std::size_t count = info.size > 0 ? parcel.bytes / info.size : 0;
    received.sources[i] = parcel.source;
    received.counts[i] = static_cast<MpiCount>(count);
    received.displs[i] = at;
    if (count > 0) {
      std::byte* to = static_cast<std::byte*>(received.data) + at * info.extent;
      const int error = unpack(parcel.data, to, count, type, info, comm);
      if (error != mpi_success) return error;
    }
    at += static_cast<std::ptrdiff_t>(count);
  }
  return mpi_success;
}

// ---- The exchange ----

int carry(const choose::Choice& choice, run::Group& group, std::vector<run::Parcel>& parcels, int reported,
          run::Mail& mail) {
  // What a rank sends to itself needs no message.
  const auto own =
      std::stable_partition(parcels.begin(), parcels.end(), [&](const auto& p) { return p.destination != group.me; });
  const std::span<const run::Parcel> out(parcels.begin(), own);
  const auto radix = static_cast<int>(plan::value_of(choice.parameters, "radix", 2));
  const int error = choice.algorithm->name == "consensus"
                        ? run::sparse_consensus(group, group.turns.exchanges++, out, reported, mail)
                        : run::sparse_bruck(group, out, radix, reported, mail);
  mail.parcels.insert(mail.parcels.end(), own, parcels.end());
  return error;
}

int exchange(Arguments call, team::Team& team, const choose::Choice& choice) {
  run::Group& group = team.group;
  const MpiComm packing = team.group.messages().quiet;
  int mine = check(call, group);
  std::unique_ptr<std::byte[]> packed;
  std::vector<run::Parcel> parcels;
  run::Mail mail;
  const int thrown = thrown_by([&] {
    if (mine == mpi_success) {
      if (record::on && !call.send.destinations.empty()) {
        const bool any = std::any_of(call.send.counts, call.send.counts + call.send.destinations.size(),
                                     [](MpiCount n) { return n > 0; });
        record::sparse_blocks(call.send.destinations, call.send.counts, any ? type_info(call.send.type).size : 0);
      }
      mine = run::make_parcels(call.send, group.me, packing, packed, parcels);
    }
  });
  if (thrown != mpi_success) mine = thrown;
  if (mine != mpi_success) parcels.clear();
  const int error = carry(choice, group, parcels, class_of(mine), mail);
  if (mine != mpi_success) return mine;
  if (is_fault(error)) return error;  // what was reported may not have come
  if (mail.reported != mpi_success) return mail.reported;
  if (error != mpi_success) return error;
  return hand_over(mail, call.recvtype, packing, *call.received);
}

// The same on all ranks, as the call was not begun on any if it fails.
int prepare(team::Team& team) {
  if (team::watches_faults()) {
    if (const int fault = team::leave_if_faulty(team); fault != mpi_success) return fault;
  }
  if (team.lost) return mpi().err_other;
  if (team.eligible() && !team.ready()) {
    if (const int error = team::setup(team); error != mpi_success) return error;
  }
  return team::prepare_messages(team);
}

const choose::Choice& choose_for(team::Team& team) {
  team::CachedSelection& cached = team::selection_of(team, Collective::exchange, 0);
  team::explain(team, Collective::exchange, cached);
  if (record::on) record::by(cached.selection.choice);
  return cached.selection.choice;
}

int exchange(const Arguments& call, MpiComm comm) {
  team::Team* team = team::team_of(comm);
  if (team == nullptr || is_inter(comm)) return api::raise(comm, mpi().err_comm);
  int error = mpi_success;
  const int thrown = thrown_by([&] {
    error = prepare(*team);
    if (error == mpi_success) error = exchange(call, *team, choose_for(*team));
  });
  error = thrown != mpi_success ? team::error_of_thrown(team->user, thrown) : team::error_after_call(*team, error);
  ++team->counted.counters.served;
  if (error == mpi_success) return error;
  Quadrille_Received_free(call.received);
  return api::raise(comm, error);
}

[[gnu::noinline]] int exchange_from(const void* site, const Arguments& call, MpiComm comm) {
  if (!mpi().usable) return api::raise(comm, mpi().err_other);
  std::optional<record::Recorded> recorded;
  if (record::on) recorded.emplace().begin_sparse(comm, site);
  return api::guarded(comm, [&] { return exchange(call, comm); });
}

}  // namespace

int Quadrille_Exchange(const void* sendbuf, int ndestinations, const int destinations[], const MpiCount sendcounts[],
                       const MpiAint sdispls[], MpiType sendtype, MpiType recvtype, MpiComm comm,
                       Quadrille_Received* received) {
  if (received != nullptr) *received = {};
  const Arguments call{
      {static_cast<const std::byte*>(sendbuf), {destinations, 0}, sendcounts, sdispls, given(sendtype)},
      ndestinations,
      given(recvtype),
      received};
  return api::leave(exchange_from(__builtin_return_address(0), call, given(comm)));
}

int Quadrille_Received_free(Quadrille_Received* received) {
  if (received == nullptr) return mpi_success;
  std::free(received->memory);
  *received = {};
  return mpi_success;
}
