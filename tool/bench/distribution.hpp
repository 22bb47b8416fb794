// How large the blocks of a measured collective are: who sends how much to whom.
//
// The sizes are a pure function of the distribution, the seed, the largest size and the number of
// ranks, in integer arithmetic alone: all ranks and all machines agree, and a rank knows what it
// receives without asking. Neither the distributions of the C++ library nor functions of libm take
// part: their last bits differ between machines, and a last bit can decide a size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::tools {

// N is the size that is measured. "The paper" is Fan et al., "Optimizing the Bruck Algorithm for
// Non-uniform All-to-all Communication" (HPDC 2022), sections 4.1 to 4.3.
enum class Distribution : std::uint8_t {
  equal,      // all blocks have N
  uniform,    // uniform in 0..N
  window,     // the paper's (100-r)-r: uniform in (100-r) percent of N .. N
  normal,     // a normal distribution around N/2, cut at 3 sigma: 0 and N
  power,      // a rank's blocks are N, N*b, N*b^2, ... in a drawn order
  sparse,     // a rank sends N to some others, and nothing to the rest
  one_heavy,  // one rank sends and receives N, blocks between the others are N/F
  file,       // a matrix that the user wrote
  stencil,    // neighbour collectives: a block shrinks with the non-zero coordinates of its neighbour
};

// Bytes from each rank to each other, row by row.
struct TrafficMatrix {
  std::size_t ranks = 0;
  std::vector<std::uint64_t> bytes;
  std::uint64_t largest = 0;
};

struct Traffic {
  Distribution kind = Distribution::equal;
  std::string text = "equal";  // as the user wrote it
  // window: percent; power: the base in units of 2^-64; sparse: destinations; one_heavy: F.
  std::uint64_t parameter = 0;
  std::string path;                             // file
  std::shared_ptr<const TrafficMatrix> matrix;  // file, once it has been read
};

// Understands "uniform", "window:50", "power:0.99" and so on. Returns an empty string, or one line
// that says what is wrong.
std::string parse_traffic(std::string_view text, Traffic& traffic);

// For help texts: what parse_traffic() knows, between commas.
std::string known_distributions();

// Size of the block from `source` to `destination`, from 0 to `largest`. The unit is the caller's;
// a matrix is scaled so that its largest number becomes `largest`.
std::size_t block_size(const Traffic& traffic, std::uint64_t seed, std::size_t largest, int ranks, int source,
                       int destination);

// The same where a rank sends one block to all: one size a rank. Not for a matrix.
std::size_t gathered_size(const Traffic& traffic, std::uint64_t seed, std::size_t largest, int ranks, int source);

// Of the stencil: the ghost cells of a cube of edge m in d dimensions. A neighbour with k non-zero
// coordinates gets m^(d-k), a face being `largest` = m^(d-1) (Traff et al., figure 3). m is rounded
// down to a whole number for all but the faces.
std::size_t stencil_size(std::size_t largest, int dimensions, int nonzero);

// The rank that one_heavy draws.
int heavy_rank(std::uint64_t seed, int ranks);

// Reads the text of a matrix file: as many lines as ranks, with as many numbers each; '#' begins a
// comment, empty lines do not count. `name` is for the error. Same return rule as parse_traffic().
std::string parse_matrix(std::string_view text, std::string_view name, int ranks, TrafficMatrix& matrix);

// The same from a file.
std::string read_matrix(const std::string& path, int ranks, TrafficMatrix& matrix);

}  // namespace quadrille::tools
