// One collective call as data: who sends how much of which type to whom, and where it lies.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "door.hpp"
#include "oracle.hpp"

namespace quadrille::test {

// A communicator of the tests.
struct Communicator {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  std::vector<int> world;    // [rank] its rank in MPI_COMM_WORLD
  std::uint64_t number = 0;  // of the communicator, for keys
  mutable std::uint64_t calls = 0;
};

// Describes a communicator that all of its ranks have just made. Collective.
Communicator describe(std::string name, MPI_Comm comm);

// How much rank s sends to rank d.
enum class Pattern {
  even,          // everybody the same
  random,        // anything, some nothing
  zero_rows,     // every other rank sends nothing
  zero_columns,  // every other rank receives nothing
  zero,          // nobody anything
  giant,         // one large block among small ones
  sparse,        // to the next rank only
};
constexpr Pattern all_patterns[] = {Pattern::even, Pattern::random, Pattern::zero_rows, Pattern::zero_columns,
                                    Pattern::zero, Pattern::giant,  Pattern::sparse};
const char* name_of(Pattern pattern);

// Where the blocks of a v or w call lie.
enum class Layout {
  packed,    // one behind the other
  gaps,      // with gaps between them
  shuffled,  // displacements that go up and down, with gaps, some of them negative
};
constexpr Layout all_layouts[] = {Layout::packed, Layout::gaps, Layout::shuffled};
const char* name_of(Layout layout);

// Which datatypes a call uses. With one type in a list everybody uses it; with several, it depends
// on the rank (and on the peer, for alltoallw).
struct Kinds {
  std::string name;
  std::vector<const Type*> send;
  std::vector<const Type*> receive;
};
Kinds same(const std::string& type);
Kinds between(const std::string& send, const std::string& receive);
// Every rank, and for alltoallw every pair of ranks, uses another type of the base.
Kinds mixed(Base base);
// Elements of the base that any of the types can make up without a rest.
int common_units(const Kinds& kinds);

struct Shape {
  Collective collective = Collective::alltoall;
  Kinds kinds;
  std::size_t bytes = 0;  // of a block, rounded up to whole elements; the largest for v and w
  bool in_place = false;
  Pattern pattern = Pattern::even;  // v and w only
  Layout layout = Layout::packed;   // v and w only
  std::uint64_t seed = 0;           // of the random patterns and layouts
};
std::string to_string(const Shape& shape);

// The part of this rank in a call. Displacements are in the blocks.
struct Exchange {
  Collective collective;
  bool in_place;
  std::vector<Block> send;     // [P]; one for allgather and allgatherv; none in place
  std::vector<Block> receive;  // [P]
};

Exchange exchange(const Shape& shape, const Communicator& where);

// The argument arrays of a side.
struct Arguments {
  std::vector<int> counts, displacements, bytes;  // displacements in extents, and in bytes
  std::vector<MPI_Aint> addresses;                // as `bytes`
  std::vector<MPI_Datatype> types;
  explicit Arguments(const std::vector<Block>& blocks);
  friend bool operator==(const Arguments&, const Arguments&) = default;
  // All that may be asked for; `one` has what is the same for all blocks.
  CallSide of(const void* buffer, const Block& one) const;
};

inline const std::vector<Collective> dense_collectives = those(is_dense);

// Whether the MPI itself can be asked to make such a call on so many ranks. Some MPIs write outside of
// the buffer
// - in place, when a datatype has data or a lower bound before the buffer's address;
// - in alltoallw of one rank, when the displacement is not zero;
// - in alltoall of many ranks with small blocks, when the two sides have different datatypes.
// With QUADRILLE_TEST_WEAK_MPI in the environment it cannot be asked at all.
// Where the MPI cannot be asked, a call may only be made if it is sure that Quadrille serves it.
bool mpi_can(const Shape& shape, int ranks);

// Makes the call through the door under test and checks its result and everything around it against
// the oracle. Where `compare` is set and the MPI can be asked, the MPI's own function makes the same
// call and is held to the same oracle: should it differ, then either the oracle is wrong, or the MPI
// is and belongs into mpi_can. Returns an empty string, or what is wrong, with the shape, the
// communicator and the rank. Collective over the communicator.
std::string check(const Shape& shape, const Communicator& where, bool compare = true);

}  // namespace quadrille::test
