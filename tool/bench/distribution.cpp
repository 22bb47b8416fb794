#include "tool/bench/distribution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tool/bench/hash.hpp"

namespace quadrille::tools {
namespace {

__extension__ using Wide = unsigned __int128;

// Tells what sizes are drawn from apart from what data are drawn from, which counts calls from 1.
constexpr std::uint64_t sizes = ~std::uint64_t{0};

std::uint64_t draw(std::uint64_t seed, int source, int destination) { return key_of(seed, source, destination, sizes); }

// Uniform in least..most. The modulus favours small numbers by less than 2^-17: sizes end at 2^46.
std::size_t between(std::uint64_t drawn, std::size_t least, std::size_t most) {
  return least + drawn % (most - least + 1);
}

// Section 4.2 of the paper: "instead of varying the data-block sizes from 0 to N, we varied the
// sizes from (100-r)% of N to N". So R is the width of the window, which ends at N; 100 is uniform.
std::size_t from_window(std::uint64_t drawn, std::uint64_t percent, std::size_t largest) {
  const Wide least = (Wide{largest} * (100 - percent) + 99) / 100;
  return between(drawn, static_cast<std::size_t>(least), largest);
}

// ---- Fixed point numbers with 62 binary places ----

constexpr int places = 62;
constexpr std::uint64_t one = std::uint64_t{1} << places;

std::uint64_t times(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>((Wide{a} * b) >> places); }

// exp(-x) for x in 0..4.5. For a sixteenth of x the series needs few terms; the 16th power of that
// is four squarings. The error is some units of the last 62 places, and the same everywhere.
std::uint64_t exp_of_minus(Wide x) {
  const auto part = static_cast<std::uint64_t>(x / 16);
  std::uint64_t sum = one;
  for (std::uint64_t term = 14; term > 0; --term) sum = one - times(part, sum) / term;
  for (int squaring = 0; squaring < 4; ++squaring) sum = times(sum, sum);
  return sum;
}

// The density of a normal distribution at `size`, 1 at its middle: sigma is a sixth of `largest`.
std::uint64_t normal_density(std::size_t size, std::size_t largest) {
  const std::size_t twice = 2 * size;
  const std::size_t away = twice > largest ? twice - largest : largest - twice;
  const auto part = static_cast<std::uint64_t>((Wide{away} << places) / largest);  // of 3 sigma
  return exp_of_minus(Wide{times(part, part)} * 9 / 2);
}

// Section 4.3 of the paper: "a window on this distribution, from -3 sigma to +3 sigma". Rejection
// draws from that exactly, without logarithms or a table: a size uniform in 0..N is kept with a
// probability of its density, else another one is drawn. That takes 2.4 draws where N is large.
std::size_t from_normal(std::uint64_t drawn, std::size_t largest) {
  if (largest == 0) return 0;
  while (true) {
    const std::size_t size = between(drawn, 0, largest);
    drawn = mix(drawn);
    if (drawn >> (64 - places) < normal_density(size, largest)) return size;
    drawn = mix(drawn);
  }
}

// ---- Drawn orders ----

// Where `place` of 0..count-1 comes to in an order that `key` decides. A Feistel network permutes
// a power of four; what falls outside of 0..count-1 goes through it again, until it falls inside.
// Each place is found by itself, so that nobody stores or sends an order.
std::uint64_t shuffled(std::uint64_t place, std::uint64_t count, std::uint64_t key) {
  const int half = std::max(1, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2);
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t right = place & mask;
      const std::uint64_t left = place >> half;
      place = (right << half) | (left ^ (mix(key ^ mix(right ^ (round << 48))) & mask));
    }
  } while (place >= count);
  return place;
}

// base^exponent in units of 2^-64; the exponent is not 0. By squaring, each product rounded.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  const auto product = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>((Wide{a} * b + (Wide{1} << 63)) >> 64);
  };
  std::uint64_t result = 0;
  bool started = false;  // 1 itself does not fit
  for (; exponent > 0; exponent >>= 1, base = product(base, base)) {
    if ((exponent & 1) == 0) continue;
    result = started ? product(result, base) : base;
    started = true;
  }
  return result;
}

// Section 4.3 of the paper: "we generate P data-block sizes for every process". Theirs begin with
// N, each is the one before times the base, and then their order is drawn. So all ranks send the
// same, and how fast the sizes fall does not depend on P: on few ranks all are close to N.
std::size_t from_power(std::uint64_t base, std::uint64_t exponent, std::size_t largest) {
  if (exponent == 0) return largest;
  return static_cast<std::size_t>((Wide{power(base, exponent)} * largest + (Wide{1} << 63)) >> 64);
}

// An order of the destinations of `source`: not drawn for a pair, but for a row.
std::uint64_t row_key(std::uint64_t seed, int source) { return draw(seed, source, -1); }

bool is_destination(std::uint64_t seed, std::uint64_t destinations, int ranks, int source, int destination) {
  if (source == destination) return false;
  const int other = destination < source ? destination : destination - 1;
  return shuffled(static_cast<std::uint64_t>(other), static_cast<std::uint64_t>(ranks) - 1, row_key(seed, source)) <
         destinations;
}

std::size_t from_matrix(const TrafficMatrix& matrix, std::size_t largest, int source, int destination) {
  if (matrix.largest == 0) return 0;
  const std::uint64_t bytes =
      matrix.bytes[static_cast<std::size_t>(source) * matrix.ranks + static_cast<std::size_t>(destination)];
  return static_cast<std::size_t>((Wide{bytes} * largest + matrix.largest / 2) / matrix.largest);
}

}  // namespace

std::size_t stencil_size(std::size_t largest, int dimensions, int nonzero) {
  if (nonzero <= 1) return largest;
  // The edge: the largest m with m^(d-1) <= largest.
  std::size_t low = 0, high = largest;
  while (low < high) {
    const std::size_t middle = high - (high - low) / 2;
    Wide face = 1;
    for (int k = 1; k < dimensions && face <= largest; ++k) face *= middle;
    face <= largest ? low = middle : high = middle - 1;
  }
  std::size_t size = 1;
  for (int k = nonzero; k < dimensions; ++k) size *= low;
  return std::min(size, largest);
}

int heavy_rank(std::uint64_t seed, int ranks) {
  return static_cast<int>(draw(seed, -1, -1) % static_cast<std::uint64_t>(ranks));
}

std::size_t block_size(const Traffic& traffic, std::uint64_t seed, std::size_t largest, int ranks, int source,
                       int destination) {
  const std::uint64_t drawn = draw(seed, source, destination);
  switch (traffic.kind) {
    case Distribution::equal:
      return largest;
    case Distribution::uniform:
      return between(drawn, 0, largest);
    case Distribution::window:
      return from_window(drawn, traffic.parameter, largest);
    case Distribution::normal:
      return from_normal(drawn, largest);
    case Distribution::power:
      return from_power(
          traffic.parameter,
          shuffled(static_cast<std::uint64_t>(destination), static_cast<std::uint64_t>(ranks), row_key(seed, source)),
          largest);
    case Distribution::sparse:
      return is_destination(seed, traffic.parameter, ranks, source, destination) ? largest : 0;
    case Distribution::one_heavy: {
      const int heavy = heavy_rank(seed, ranks);
      return source == heavy || destination == heavy ? largest : largest / traffic.parameter;
    }
    case Distribution::file:
    case Distribution::stencil:  // not between ranks
      break;
  }
  return traffic.matrix ? from_matrix(*traffic.matrix, largest, source, destination) : 0;
}

std::size_t gathered_size(const Traffic& traffic, std::uint64_t seed, std::size_t largest, int ranks, int source) {
  switch (traffic.kind) {
    case Distribution::power:
      // The sizes of one row, so that a gather has each of them once.
      return block_size(traffic, seed, largest, ranks, 0, source);
    case Distribution::sparse:
      return shuffled(static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(ranks), row_key(seed, 0)) <
                     traffic.parameter
                 ? largest
                 : 0;
    case Distribution::one_heavy:
      return source == heavy_rank(seed, ranks) ? largest : largest / traffic.parameter;
    default:
      return block_size(traffic, seed, largest, ranks, source, 0);
  }
}

}  // namespace quadrille::tools
