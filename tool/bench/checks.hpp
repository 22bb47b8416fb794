// Checks of the data in the timed run: the buffers are filled before a batch, and compared after it.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

#include "tool/bench/by_turns.hpp"
#include "tool/bench/data.hpp"

namespace quadrille::tools {

// The first, fourth, sixteenth and so on: few, because checks take long and change what is in the caches.
inline bool is_checked(std::size_t round) {
  return std::has_single_bit(round + 1) && std::countr_zero(round + 1) % 2 == 0;
}

// The data of the batches of one thing. It must live as long as what around() returns.
class Checks {
 public:
  // `calls` numbers the calls with known data; wrong bytes of this rank are added to `errors`.
  Checks(BenchData& data, std::uint64_t& calls, std::uint64_t& errors) : data_(data), calls_(calls), errors_(errors) {}

  // `call` makes calls of the thing.
  Timed around(std::function<void(long calls)> call) {
    call_ = std::move(call);
    Timed thing;
    thing.run = [this](long calls) { made_ += calls, call_(calls); };
    thing.before = [this](std::size_t round) {
      if (!is_checked(round)) return;
      data_.fill(++calls_);
      made_ = 0;
    };
    thing.after = [this](std::size_t round) {
      if (!is_checked(round)) return;
      if (data_.alternates() && made_ % 2 == 0) call_(1);
      errors_ += data_.mismatches(calls_);
    };
    return thing;
  }

 private:
  BenchData& data_;
  std::uint64_t &calls_, &errors_;
  std::function<void(long)> call_;
  long made_ = 0;  // since the buffers were filled
};

}  // namespace quadrille::tools
