// Drawing numbers that depend on what they are for alone: the same on every rank, and whatever ran before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "../mpi/oracle.hpp"

namespace quadrille::fuzz {

// One number for several: a seed of its own for everything that is drawn.
inline std::uint64_t seed_of(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = 0x51ed270b7a5c1d3fU;
  for (const std::uint64_t part : parts) hash = test::mix(hash * 0x9e3779b97f4a7c15U + part + 1);
  return hash;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return test::mix(state_ += 0x9e3779b97f4a7c15U); }
  // A number of [0, end).
  std::size_t below(std::size_t end) { return end < 2 ? 0 : static_cast<std::size_t>(next() % end); }
  // A number of [least, most].
  std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
  bool one_in(std::size_t chances) { return below(chances) == 0; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace quadrille::fuzz
