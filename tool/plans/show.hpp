// `quadrille show`: a schedule as text or as a page, without MPI.
#pragma once

#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "tool/plans/node_options.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {

struct ShowOptions {
  std::string collective = "alltoall";
  std::string algorithm;  // with parameters: "bruck:radix=4"; empty: zero-rotation-bruck, or torus
  int ranks = 8;
  int me = -1;               // -1: all ranks
  std::string neighborhood;  // neighbour collectives; see neighborhood_text.hpp; empty: moore:2,1
  std::string grid;          // of their ranks; empty: an even torus of `ranks`
  std::string html;          // file for the page on which blocks move; see show_html.hpp
  NodeOptions layout;        // --nodes and --node-map
  std::string nodes;         // a node map as in QUADRILLE_NODES; empty: one node
  // Labels of domains (team/numa.hpp) that ranks take in turn, as from QUADRILLE_TOPOLOGY; empty: one domain.
  std::vector<int> unit_domains;
};

// The domain of each rank.
std::vector<int> domains_in_turn(const std::vector<int>& unit_domains, int ranks);
// What a headline says of the domain of a rank.
std::string domain_text(const std::vector<int>& domains, int rank);

// The same, understood.
struct Shown {
  ShowOptions options;
  Collective collective = Collective::alltoall;
  choose::Choice choice;
  Placement placed;  // of collectives of all ranks, after place_ranks()
};

// Both return an empty string, or one line that says what is wrong.
std::string understand_schedule(const ShowOptions& options, Shown& shown);
std::string place_ranks(Shown& shown);

// Prints the schedule. Returns 0, or 2 if the options are wrong (one line on stderr).
int show_command(const ShowOptions& options);

}  // namespace quadrille::tools
