// What a process knows of the processes of a communicator: who shares its node, and what they can reach of
// each other's memory.
//
// To find it out takes some twenty collectives. The drop-in door does that once, for MPI_COMM_WORLD, in
// MPI_Init; every communicator then picks its own ranks out of what is known, without a message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/control_pool.hpp"
#include "memory/reach.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "plan/problem.hpp"
#include "run/group.hpp"
#include "sys/sys.hpp"
#include "text/reason.hpp"

namespace quadrille::team {

// What a rank tells the others of its node about itself.
struct Card {
  std::int64_t process = 0;
  std::uint64_t word_at = 0;  // address of a word, and what it holds
  std::uint64_t word = 0;
  std::uint64_t heap_bytes = 0;  // 0: it has no shared heap
  std::int64_t segment = -1;     // of XPMEM; -1: none
  std::int64_t watched = 0;      // 1: a tool watches its memory, to which no other process may write
  sys::Place place = {};         // where it runs
};

// What a rank tells all others about itself.
struct Facts {
  int label;             // of its node
  bool crowded;          // more ranks on its node than processors
  DeviceUse device_use;  // in what its MPI takes pointers to a device's memory
  bool expects_devices;  // it has a driver, or the user has said what the MPI takes
};

struct Process {
  Card card;
  memory::Peer peer;  // whatever the communicator is
};

// A communicator of the ranks that met, in which nobody sends anything to another. Made from the group: by
// MPI_Comm_dup the copy callbacks of the user's attributes would run. Not of this process alone: looking for
// messages there, MPICH would not look at what arrives from others.
struct QuietComm {
  MpiComm comm{};
  int me = 0;
  bool as_world = false;  // its ranks are numbered as those of MPI_COMM_WORLD
  ~QuietComm();
};

// Collective: a communicator of the same ranks as `of` for our own use. MPI_SUCCESS on all ranks or on none: an MPI has
// so many communicators and no more, and most of them are left to the program. `in_init`: in MPI_Init, of
// MPI_COMM_WORLD, which is left as it was: Open MPI counts the communicators that are made from one, and takes the tags
// of some of its messages from that count.
int make_private(MpiComm of, MpiComm& made, bool in_init = false);
void free_private(MpiComm& made);

struct Processes {
  plan::NodeMap nodes;                        // as the MPI says
  std::vector<Facts> facts;                   // of each rank
  std::vector<Process> ranks;                 // what is known of each rank; of other nodes: nothing
  bool heaps_mapped = false;                  // on this node, every process maps every other's heap
  bool reached = false;                       // or may attach all of its memory: each process by one of them
  std::shared_ptr<memory::ControlPool> pool;  // of this node; null: its ranks do not reach the same memory
  std::shared_ptr<QuietComm> quiet;  // of all that met; null if the MPI could not make it, and nothing is known then
};

// Collective over `comm`: finds it all out. `areas` is for how many communicators there shall be control memory; there
// may be less. `quiet` is one that there is already, of these ranks in whatever order.
Processes meet(MpiComm comm, const memory::Ways& ways, std::size_t areas, std::shared_ptr<QuietComm> quiet);

// What is known of `ranks` (their numbers in `all`), in this order.
Processes pick(const Processes& all, std::span<const int> ranks);

// Why this process cannot read the memory of the one with this card by CMA, or write to it, if it `writes`; none if it
// can. What is written is what is there already.
Why why_no_cma(const Card& card, bool writes);

// The ranks of a rank's node, in order.
std::vector<int> members_of(const plan::NodeMap& nodes, int rank);

// Fills what the group, whose control memory is there, knows of its peers. `members` are the ranks of this
// node in `processes`, in order.
void set_reach(run::Group& group, const Processes& processes, std::span<const int> members, const memory::Ways& ways);

// Bytes of the control memory of the ranks of a node's communicator.
std::size_t control_bytes(int ranks);

// Without asking the others: has the launcher started more ranks on this node than processors are left to this one?
// False where it may have bound each rank to some of them.
bool crowded_by_launcher();

// ---- All processes of MPI_COMM_WORLD ----

// For how many communicators a meeting makes control memory, if it is known to have only one to serve.
inline constexpr std::size_t areas_of_one = 2;

// Collective over MPI_COMM_WORLD, in MPI_Init, whose ranks have the same settings: the ranks meet. From then on no
// communicator has to ask whether it happened. False on all ranks if the MPI has no communicator for that.
bool meet_world(const memory::Ways& ways);

// Collective over `comm`: its ranks, whose numbers in MPI_COMM_WORLD are `world_ranks`, meet. If these are
// all that there are, what they learned is kept for other communicators.
Processes meet_here(MpiComm comm, const memory::Ways& ways, const std::vector<int>& world_ranks);

// What is known; null if the world has not met.
std::shared_ptr<const Processes> world();
// The world met in meet_world(): all ranks know it, and agree on their settings.
bool world_has_met();

// Forgets what is known, unmaps the heaps of the peers, and takes this process out of XPMEM, when no group needs them
// any more.
void forget_processes();

// The numbers of the ranks of `comm` in MPI_COMM_WORLD; MPI_UNDEFINED for ranks of another world.
std::vector<int> ranks_in_world(MpiComm comm);

}  // namespace quadrille::team
