// Ranks of a node as threads: each has the group that an engine needs, over common control memory. What a rank reaches
// of another is what a test says: all is one process, so XPMEM attaches an address where it is, and the kernel copies
// from this process to itself.
//
// Two ways to run them:
//   drawn   one thread at a time; wherever one waits, the next is drawn. The same seed gives the same order.
//   free    all at once, with random pauses. ThreadSanitizer then sees what is not ordered.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "memory/leaders.hpp"
#include "plan/leaders.hpp"
#include "run/group.hpp"

namespace quadrille::test {

// What ranks reach of each other. The pairs for which something holds are drawn.
struct Reaches {
  int attach = 0, read = 0, write = 0;  // of 100 ordered pairs
  int attach_fails = 0, cma_fails = 0;  // of 100 pairs that have it, although it was thought to work
  bool rings = true;
  bool both_ways = false;  // all pairs or none
};

struct NodeSettings {
  int ranks = 2;
  unsigned seed = 0;
  Reaches reaches;
  std::size_t slot_limit = SIZE_MAX;
  std::size_t cma_from = 0;  // smaller blocks go through rings
  bool streams = false;      // large copies go past the cache
  bool drawn = true;
  int radix = memory::Meeting::flat;  // of meetings
  std::vector<int> node_of = {};      // [rank]; empty: one node. With several nodes, own requests are unavailable
};

// May tests draw the steps?
inline bool drawn_steps() {
#if defined(__SANITIZE_THREAD__)
  return false;  // taking turns would order what must be ordered by the engines
#else
  return true;
#endif
}

// Whose turn it is.
class Turns {
 public:
  Turns(int ranks, unsigned seed);
  void begin(int me);
  // The thread has to wait: another may go on, or the same.
  void pass(int me);
  void end(int me);

 private:
  void draw_next();
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::condition_variable>> called_;
  std::vector<bool> alive_;
  std::mt19937 random_;
  int turn_ = -1;
  std::uint64_t passes_ = 0;
};

// Zeroed memory, as ranks share it.
class CommonMemory {
 public:
  explicit CommonMemory(std::size_t bytes);
  ~CommonMemory();
  CommonMemory(const CommonMemory&) = delete;
  CommonMemory& operator=(const CommonMemory&) = delete;
  std::byte* base() const { return base_; }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

class ThreadsOfANode {
 public:
  explicit ThreadsOfANode(const NodeSettings& settings);
  ~ThreadsOfANode();
  // Runs `work` on each rank. Once.
  void run(const std::function<void(int me, run::Group& group)>& work);
  // Every rank attaches all memory of every other. As ranks of a team know it.
  bool all_attach() const;
  // An inbox for one request.
  memory::Inbox own_inbox(int me);
  // Pairs for one request, with rings of so many bytes.
  memory::Pairs own_pairs(int me, std::size_t ring_bytes);
  // Memory of the ranks of a node, or group, for leaders.
  memory::Leaders own_leaders(int me, const plan::LeadersPlan& plan, const memory::Leaders::Parts& parts);

 private:
  struct Rank;
  static void wait_a_little(void* rank);
  bool draw(int percent, int from, int to, unsigned salt) const;
  int node_of(int rank) const;
  std::vector<int> members_of(int node) const;
  void set_reach(Rank& rank);
  std::byte* own_memory(int me, std::size_t bytes);

  NodeSettings settings_;
  Turns turns_;
  std::vector<std::unique_ptr<CommonMemory>> control_;  // [node]
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CommonMemory>> requests_;  // [request]
  std::vector<std::size_t> made_;                        // [rank]: requests
};

// Each rank makes so many calls. Returns what is wrong, or an empty string. rank_of(me, group) returns a function that
// makes the call of a given number and returns how many of its bytes are wrong.
template <class RankOf>
std::string wrong_in_calls(ThreadsOfANode& threads, std::uint32_t calls, RankOf rank_of) {
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint32_t> first{calls};
  threads.run([&](int me, run::Group& group) {
    auto rank = rank_of(me, group);
    for (std::uint32_t number = 0; number < calls; ++number) {
      const std::size_t bytes = rank(number);
      if (bytes == 0) continue;
      wrong += bytes;
      std::uint32_t known = first.load();
      while (number < known && !first.compare_exchange_weak(known, number)) {
      }
    }
  });
  if (wrong == 0) return "";
  return std::to_string(wrong.load()) + " bytes are wrong, from call " + std::to_string(first.load()) + " on";
}

}  // namespace quadrille::test
