// The hash from which the benchmark draws its data and its sizes.
#pragma once

#include <cstdint>

namespace quadrille::tools {

// A good mix of the bits of one word (splitmix64's finalizer).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A word for a pair of ranks; `what` tells several words of the same pair apart.
inline std::uint64_t key_of(std::uint64_t seed, int source, int destination, std::uint64_t what) {
  const auto pair =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32) | static_cast<std::uint32_t>(destination);
  return mix(mix(mix(seed) ^ pair) ^ what);
}

}  // namespace quadrille::tools
