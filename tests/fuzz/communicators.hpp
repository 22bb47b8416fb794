// The communicators that live beside each other, each made anew after some steps.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "draw.hpp"

namespace quadrille::fuzz {

// A message to or from this rank. The two ends of it have the same id.
struct Edge {
  int peer = 0;  // in MPI_COMM_WORLD; -1: nobody
  int id = 0;
  int alike = 0;  // the same for edges that some MPIs mix up
};

struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL;  // null where this rank has no part
  std::string name;
  std::uint64_t number = 0;  // of its plan; equal on all of its ranks, and another for each part of a split
  int rank = 0, size = 0;
  bool inter = false;
  bool owned = false;
  bool ready = false;           // nonblocking calls can be served from the first one on
  std::vector<int> world;       // [rank] the rank in MPI_COMM_WORLD
  std::vector<Edge> everybody;  // whom the dense collectives exchange with
  bool topology = false;
  std::vector<Edge> to, from;  // whom the neighbour collectives exchange with
};

// What the MPI at hand is known to do wrong; see scripts/fuzz.py, which names the reasons.
struct Skips {
  bool pairs = false;           // several edges that join two ranks, as in periodic dimensions of 1 or 2
  bool general_graphs = false;  // MPI_Dist_graph_create
  bool reorder = false;
  bool empty_types = false;       // types without data in collectives of one count
  bool in_place_lower = false;    // in place with bounds below zero
  bool gaps = false;              // types with gaps
  bool absolute = false;          // MPI_BOTTOM
  bool overlap = false;           // several collectives in flight
  bool topology_overlap = false;  // collectives of both kinds in flight on one communicator with a topology
  bool started_in_place = false;  // nonblocking and persistent calls in place
  bool lone_started = false;      // nonblocking and persistent calls of one rank
  bool dropped = false;           // MADV_DONTNEED
  bool forks = false;             // children that write into their copies
  bool inter = false;             // intercommunicators
  bool nonblocking = false;       // the MPI's own nonblocking and persistent forms
  bool persistent = false;        // its persistent forms
  bool uneven_types = false;      // different types on the two sides, or on two ranks
  bool in_place = false;
  bool lone_w = false;         // MPI_Alltoallw on one rank
  bool gatherv_types = false;  // different types in MPI_Allgatherv
  bool uniform_types = false;  // different types in MPI_Alltoall
  bool testall = false;        // MPI_Testall of the MPI's own requests
  // Empty, or the name that means nothing.
  std::string read(const std::string& names);
};

class Communicators {
 public:
  // `served_requests`: Quadrille serves what it is ready for.
  Communicators(std::uint64_t seed, const Skips& skips, bool served_requests)
      : seed_(seed), skips_(skips), served_requests_(served_requests) {}
  // The communicator that a step uses, made if it is not there. Collective over MPI_COMM_WORLD.
  const Communicator& at(std::uint64_t step, std::size_t slot);
  std::size_t slots() const { return 8; }
  void free_all();

 private:
  struct Slot {
    std::uint64_t generation = 0;
    bool made = false;
    Communicator communicator;
  };
  std::uint64_t seed_;
  const Skips& skips_;
  bool served_requests_;
  std::vector<Slot> live_ = std::vector<Slot>(8);
};

}  // namespace quadrille::fuzz
