// The neighbours of a rank in the topology of its communicator, and the isomorphic neighbourhoods that
// Quadrille_Iso_neighborhood_create keeps on a communicator.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "choose/select.hpp"
#include "plan/additive_basis.hpp"
#include "plan/neighborhood.hpp"
#include "plan/order.hpp"
#include "run/engines.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// A value that is computed when it is first asked for. Any thread may ask.
template <class Value>
class Lazy {
 public:
  template <class Find>
  const Value& get(const Find& find) const {
    std::call_once(once_, [&] { value_ = find(); });
    return value_;
  }

 private:
  mutable std::once_flag once_;
  mutable Value value_{};
};

// The same neighbourhood around every process of a grid.
struct Isomorphic {
  plan::Grid grid;
  plan::Neighborhood neighborhood;
  bool asserted = false;  // when it was made, by the user: block i of a v or w call has one size on all ranks
  bool checked = false;   // and that is to be checked in each call
  bool whole = false;     // no process lacks a neighbour
  // Does every process send to somebody and receive from somebody? One that does not may give any size.
  bool nobody_alone() const;
  // What combining costs.
  const choose::CombiningCosts& costs(bool gather) const;
  plan::NeighborProblem problem(int me, const plan::Parameters& parameters) const {
    return {&grid, &neighborhood, me, parameters, &last_basis_};
  }

 private:
  Lazy<choose::CombiningCosts> alltoall_, allgather_;
  Lazy<bool> nobody_alone_;
  // Of this process: programs make communicators of one neighbourhood again and again.
  static inline plan::LastBasis last_basis_;
};

// Adds to a grid and a neighbourhood what follows from them. The same on all ranks.
std::shared_ptr<Isomorphic> isomorphic_around(plan::Grid grid, plan::Neighborhood neighborhood);

// The edges between all ranks of a node, and what they are on this one.
struct NodeGraph {
  std::vector<plan::EdgeCopy> edges;
  run::EdgesHere here;
};

struct Neighbors {
  // The edges that exist, with blocks of the user's arrays. They are ordered so that the k-th message to a rank is for
  // the k-th edge that this rank has from us.
  plan::EdgeEnds sources, destinations;
  // Blocks in the user's arrays, those for absent neighbours of a Cartesian communicator included.
  int recv_blocks = 0, send_blocks = 0;
  std::optional<run::NodeEdges> node_edges;  // the same, by the other rank; none until first needed
  // Of all ranks; none until first needed.
  std::optional<NodeGraph> node_graph;
  // Several edges may join two processes: some MPIs mix them up. True of any graph, as only some ranks would know.
  bool doubtful = false;
  // Cartesian and isomorphic communicators: where block i of the neighbourhood is in the user's arrays; -1
  // if this rank lacks that neighbour.
  std::shared_ptr<const Isomorphic> isomorphic;
  std::vector<int> iso_send, iso_recv;
  // Of the communicator of which this one may be a duplicate; null once the ranks have asked each other.
  std::shared_ptr<const Isomorphic> of_original;
  bool sought = false;       // a grid behind a graph; see recognize()
  bool asserted = false;     // by the user, on all ranks: block i of a v or w call has one size on all ranks
  bool checked = false;      // that is to be checked in each call
  bool asked = false;        // whether it is asserted; see ask_assertion()
  std::optional<bool> wish;  // what Quadrille_Set_iso_sizes was given

  // Whether all ranks know the size of block i in a v or w call. A rank that forwards the block may itself have no
  // block i.
  bool sizes_known() const { return asserted && isomorphic != nullptr && isomorphic->whole; }
  bool checks_sizes() const { return checked && sizes_known(); }
};

// The grid of a Cartesian communicator. False if it is none, or the MPI refuses to tell.
bool grid_of(MpiComm cart, plan::Grid& grid);

// Keeps a neighbourhood on a communicator; duplicates of it will have it, too. Returns an MPI error code.
int keep_isomorphic(MpiComm comm, std::shared_ptr<const Isomorphic> isomorphic);

// Have the ranks not asked each other yet whether the communicator has the neighbourhood of the one that it may be a
// duplicate of? The same on all ranks.
inline bool may_be_duplicate(const Neighbors* n) { return n != nullptr && n->of_original != nullptr; }
// Collective: asks that. Returns an MPI error code.
int ask_original(Team& team);

// Does its communicator have a topology? The same on all ranks.
bool has_topology(const Team& team);

// The neighbours of this rank, as the MPI tells them; null if the communicator has no topology. Not collective.
std::shared_ptr<Neighbors> read_neighbors(MpiComm comm);

// What this rank knows of its neighbours; null if the communicator has no topology. Asks the MPI once. Not
// collective.
const Neighbors* neighbors_of(Team& team);

// May combining messages pay: do the ranks live on several nodes, and have a processor each, or a tuning table that
// knows what waiting for ranks without one costs? The same on all ranks.
bool may_combine(const Team& team);

// Do all ranks share a node and reach each other's memory by load and store, and was something measured there? The same
// on all ranks.
bool may_choose_inside(const Team& team);

// Does the user want an algorithm with this need? The same on all ranks.
bool forces(const Team& team, bool choose::Needs::*need);

// Is it a graph behind which a grid has not been sought yet, and would it be used? The same on all ranks.
bool may_be_grid(Team& team);

// Collective: looks whether the ranks form a torus in which all have the same neighbours, or a mesh in which all have
// those of the same neighbours that stay inside (plan/recognize.hpp), and if so treats the communicator as isomorphic
// from then on. Returns an MPI error code.
int recognize(Team& team);

// Has the user not been asked yet whether block i has one size on all ranks, and might the answer be used? The same on
// all ranks.
bool may_be_asserted(Team& team);

// Collective: whether all ranks assert it, in the info of the communicator or by Quadrille_Set_iso_sizes.
void ask_assertion(Team& team);

// The edges by the other rank, for a call inside a node.
const run::NodeEdges& node_edges_of(Team& team);

// The edges of all ranks, in a schedule of this rank's copies. Collective when it is first called on a team, and for
// the same algorithm on all ranks; `error` is an MPI error code. The team has its communicator for messages.
const plan::Schedule* copy_plan_of(Team& team, const choose::Choice& choice, int& error);

// The schedule of a neighbour algorithm on this team, built on first use. Not collective.
const plan::Schedule& neighbor_plan_of(Team& team, const choose::Choice& choice);
// Between which blocks of the user's arrays that schedule moves. Valid until more is known of the neighbours.
run::NeighborSlots slots_of(const Team& team, const choose::Choice& choice);

// What is known to all ranks about calls of a neighbour collective whose largest block has `bytes`.
choose::NeighborKey neighbor_key_of(Team& team, Collective collective, std::size_t bytes, bool drop_in);
// What serves such a call; see selection_of().
choose::Selection select_among_neighbors(Team& team, Collective collective, std::size_t bytes, bool drop_in);

}  // namespace quadrille::team
