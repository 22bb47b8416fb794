// What models of ranks share: a machine whose cells, and variables of one rank, have a name and numbers, and are made
// when they are first asked for.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "machine.hpp"

namespace quadrille::models {

class RankModel {
 public:
  RankModel(const RankModel&) = delete;  // the actions know where it is
  RankModel& operator=(const RankModel&) = delete;
  const Machine& machine() const { return machine_; }

 protected:
  static constexpr int poison = 255;

  RankModel(int ranks, int depth) : machine_(ranks, depth) {}
  int cell(const std::string& name, int a, int b = 0, int c = 0, int initial = 0) {
    const auto [at, is_new] = cells_.try_emplace(Key{name, a, b, c}, 0);
    if (is_new) {
      at->second =
          machine_.cell(name + "[" + std::to_string(a) + "][" + std::to_string(b) + "][" + std::to_string(c) + "]",
                        static_cast<Byte>(initial));
    }
    return at->second;
  }
  int own(const std::string& name, int rank, int peer = 0) {
    const auto [at, is_new] = own_.try_emplace(Key{name, rank, peer, 0}, 0);
    if (is_new) at->second = machine_.own();
    return at->second;
  }

  using Key = std::tuple<std::string, int, int, int>;
  Machine machine_;
  std::map<Key, int> cells_, own_;
};

}  // namespace quadrille::models
