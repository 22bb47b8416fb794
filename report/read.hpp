// What the ranks have written down, put together. As JSON, which is also what the page holds and what --data keeps:
//
//   { "format": 2, "version", "date", "command": [...], "settings": ["QUADRILLE=off"], "status": 0,
//     "quiet": { "quiet": true, ... },              of the machine where report was started, before the run
//     "ranks": 8, "told": 8, "finished": 8,
//     "hosts": [...], "node_of": [...],             of each rank; -1: it told nothing
//     "seconds": [...], "in_calls": [...],          of each rank: from MPI_Init to MPI_Finalize, and in the calls
//     "in_calls_error": [...],                      of "in_calls": the standard error of what is an estimate
//     "scale": [...],                               by which estimates were multiplied, so that they fit into "seconds"
//     "recording": [...],                           the same, that recording took, by estimate
//     "communicators": [ { "name", "ranks", "made", "inter", "told", "world_ranks": [...],
//                          "bin": 1, "bytes": [[...]],
//                          "neighbors": { "sources": [[...]], "destinations": [[...]] } or { "why": "..." } } ],
//     "traffic": { "bin": 1, "bytes": [[...]] },    all communicators, by ranks of the world
//     "calls": [ { "collective", "form", "communicator": 0, "where": { "object", "symbol", "line" }, "told": 8,
//                  "calls": 100, "bytes", "least", "most", "seconds": [least, mean, most], "error", "longest", "timed":
//                  0.1, "by": [ { "name", "calls", "seconds" } ], "samples": [ { "call", "bytes": [[...]] } ] } ],
//     "left_out": { "communicators", "sites", "entries", "names", "bytes" } }
//
// "neighbors" has, of a communicator on which neighbour calls were made, the neighbours of each rank: the k-th edge to
// a rank is that rank's k-th edge from there. The bytes of a sample of such calls are those along each edge to a
// destination, in the same order; of other calls those to each rank.
//
// Numbers of `calls` and `by` are of a rank, the mean over those that told; `bytes` are of all ranks. A call without a
// communicator (-1) is what had no room. `bin`: so many ranks share a row and a column.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quadrille::tools {

using ReportData = nlohmann::ordered_json;

// Reads the files of all ranks in a folder. Null where no rank has recorded a call.
ReportData read_recorded(const std::string& folder);

// Has a rank left a file that another version of Quadrille has written? Such files are not read.
bool has_records_of_another_version(const std::string& folder);

}  // namespace quadrille::tools
