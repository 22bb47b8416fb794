// `quadrille show --html`: a page on which blocks move, step by step. The page (page/schedules.html) computes no
// schedule: it holds the moves of all algorithms for a few ranks, parameters, node maps and neighbourhoods, as JSON.
//
//   { "start": { "collective", "algorithm", "parameters", "ranks", "place" },   what it shows first
//     "collectives": [ { "name", "gather", "neighbors", "algorithms": [
//         { "name", "line", "source", "copies", "between_nodes",
//           "cases": [ { "parameters": "radix=2", "ranks": 4, "place": "one node", "play": 17 } ] } ] } ],
//     "places": { "4 one node": { "node_of": [0,0,0,0] }, "4 moore:2,1": { "extents", "offsets" } },
//     "plays": [ { "sends", "receives", "scratch", "stride", "steps": [ [ [by, to, [from, to, from, to ...]] ] ] } ] }
//
// A block of a move is a number: (owner * stride + block) * 3 + (0 send, 1 recv, 2 scratch); `to` of a move is -1 for
// copies.
#pragma once

#include <string>

#include "choose/registry.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {

// Writes the page to the file of the options; it begins with the choice, ranks and node map or neighbourhood that they
// name. Returns an empty string, or what is wrong.
std::string write_page(Collective collective, const choose::Choice& choice, const ShowOptions& options);

}  // namespace quadrille::tools
