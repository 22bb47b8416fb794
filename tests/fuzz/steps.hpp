// A step: one or more calls on one communicator, or on two by two threads. It depends on the seed and its number alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "call.hpp"
#include "communicators.hpp"

namespace quadrille::fuzz {

// How many calls this rank has made.
using Counts = std::array<std::array<std::atomic<std::uint64_t>, forms>, collective_count>;

class Steps {
 public:
  Steps(std::uint64_t seed, int rank, const Wishes& wishes, Communicators& communicators)
      : seed_(seed), rank_(rank), wishes_(wishes), communicators_(communicators) {}
  // Throws a Finding.
  void run(std::uint64_t step);
  const Counts& counts() const { return counts_; }

 private:
  void repeat_one(std::uint64_t seed, const Communicator& where, int thread);
  void overlap(std::uint64_t seed, const Communicator& where);
  static void complete_all(Draw& draw, const std::vector<std::unique_ptr<Call>>& calls,
                           const std::vector<std::size_t>& order, Call*& now);
  void two_threads(std::uint64_t seed, const Communicator& one, const Communicator& other);
  void count(const CallPlan& plan);

  std::uint64_t seed_;
  int rank_;
  const Wishes& wishes_;
  Communicators& communicators_;
  bool spoiled_ = false;
  Counts counts_{};
};

}  // namespace quadrille::fuzz
