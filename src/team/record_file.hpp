// What `quadrille report` has a program write down of its calls: a file of each rank, which is memory while the program
// runs. Numbers and short texts at fixed places: nothing is allocated, and nothing grows. Read by report/.
//
// Calls that are alike share an entry: of one collective and form, on one communicator, from one place in the program,
// with blocks of about one size. What has no room left is added up in the entries of `others`, which have no
// communicator and no place; so no call is lost, however different they all are.
#pragma once

#include <cstdint>

namespace quadrille::record {

inline constexpr std::uint64_t magic = 0x3744524f43455251;  // "QRECORD7"
// All versions of the file begin so; the last byte is the version's.
inline constexpr std::uint64_t mask_of_all = 0x00ffffffffffffff;

// Of persistent requests: they are made, started, or started in a stream. To make one moves nothing, so it has no
// bytes.
enum class Form : std::uint8_t { blocking, nonblocking, persistent, started, enqueued };

inline constexpr int most_communicators = 64;
inline constexpr int most_sites = 128;
inline constexpr int most_names = 64;
inline constexpr int most_entries = 256;
inline constexpr int most_ways = 6;
inline constexpr int most_samples = 4;
inline constexpr int most_ranks_with_matrix = 1024;  // of a communicator; of larger ones only sums are kept

// Offsets are in bytes from the beginning of the file; 0: not there.
struct Communicator {
  std::uint64_t group = 0;  // who is in it: a hash, the same on all of its ranks
  std::int32_t turn = 0;    // of those of one group that there are at a time
  std::int32_t ranks = 0, rank = 0;
  std::uint32_t made = 0;  // how many were made one after the other
  std::uint32_t is_inter = 0;
  char name[32] = {};
  std::uint64_t world_ranks = 0;  // int32[ranks]
  std::uint64_t sent = 0;         // uint64[ranks]: bytes to each of them, of calls whose blocks may differ
  // From its first neighbour call on: int32[sources + destinations], from whom and to whom this rank has an edge. The
  // k-th edge to a rank is that rank's k-th edge from this one.
  std::uint64_t neighbors = 0;
  std::int32_t sources = 0, destinations = 0;
  std::uint32_t neighbors_differ = 0;  // 1: one that was made later has other neighbours
};

// What called; the address to which the call returns. Of a script: its file, a function and a line.
struct Site {
  char object[128] = {}, symbol[96] = {};
  std::uint64_t address = 0, behind = 0;
  std::uint32_t line = 0;  // 0: no script
};

struct Name {
  char text[64] = {};
};

// How long calls took. First each is timed, and later, if they are short, one of many of the rest: the first ones,
// which may take long, do not count for more than they are.
struct Times {
  std::uint64_t timed = 0, nanoseconds = 0;            // of those of which each was timed
  std::uint64_t sampled = 0, sampled_nanoseconds = 0;  // of the rest
  double sampled_squares = 0;                          // the sum of the squares of these nanoseconds
};

// Calls that one algorithm served.
struct Way {
  std::int32_t name = 0;
  std::uint32_t unused = 0;
  std::uint64_t calls = 0;
  Times times;
};

// The blocks of one call that has counts of its own: call number `call` of the entry.
struct Sample {
  std::uint64_t call = 0;   // from 1 on; 0: none
  std::uint64_t bytes = 0;  // uint64[ranks]; between neighbours uint64[destinations]
};

struct Entry {
  std::uint8_t collective = 0;
  Form form = Form::blocking;
  std::uint8_t size_class = 0;  // of collectives whose ranks all know the size
  std::int16_t communicator = -1, site = -1;
  std::uint64_t calls = 0, longest = 0;
  Times times;
  std::uint64_t bytes = 0;
  std::uint64_t least_block = UINT64_MAX, most_block = 0;  // the former, while no call had a block
  std::uint32_t ways_used = 0, ways_lost = 0;
  Way ways[most_ways];
  Sample samples[most_samples];
};

struct Header {
  std::uint64_t magic = 0;
  std::int32_t rank = 0, ranks = 0, node = -1;
  char host[64] = {};
  std::uint64_t begin = 0, end = 0;  // when MPI_Init was done and MPI_Finalize began, in nanoseconds; 0: it never began
  std::uint64_t latest = 0;          // the end of the last call that was timed
  std::uint32_t communicators = 0, sites = 0, names = 0, entries = 0;
  std::uint32_t communicators_lost = 0, sites_lost = 0, entries_lost = 0, names_lost = 0;  // calls that found no room
  std::uint64_t unplaced = 0;  // bytes whose receivers are not known
  Times own;  // what recording itself took: where something is new of each call, of the rest of samples
  std::uint64_t room = 0, room_used = 0;  // of the arrays behind this
};

struct File {
  Header header;
  Communicator communicators[most_communicators];
  Site sites[most_sites];
  Name names[most_names];
  Entry entries[most_entries];  // the first are the `others`, one for each collective
};

}  // namespace quadrille::record
