// How rank 0 tells the other ranks of a communicator what it has decided, when the communicator is made ready.
//
// Either all of them wait for each other in broadcasts; or rank 0 goes through all of it at once and writes down what
// it tells, that is sent in one message, and each of the others goes through the same and reads it, when it has come.
// Example: setup_by() tells 320 bytes, then 0 of text, then 0 of a list; rank 0 writes 320 bytes, the others read 320.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quadrille::team {

struct Team;

class Telling {
 public:
  // In broadcasts.
  explicit Telling(Team& team) : team_(&team) {}
  // In one message, which rank 0 writes and the others read.
  Telling(std::span<std::byte> message, bool writes) : rest_(message), writes_(writes) {}
  // `bytes` at `data`, which become those of rank 0. All ranks tell the same in the same order.
  void tell(void* data, std::size_t bytes);
  // Of what a tuning table has: more than this is not to be told. Rank 0 alone looks into one. Half of what there is in
  // a message: the rest is told whatever a table has.
  std::size_t most_bytes() const { return team_ != nullptr ? SIZE_MAX : rest_.size() / 2; }
  // May ranks find out more of each other while they are at it?
  bool may_meet() const;

 private:
  Team* const team_ = nullptr;  // null: in one message
  std::span<std::byte> rest_;
  const bool writes_ = false;
};

// setup() (team/team.hpp), with what rank 0 tells.
int setup_by(Team& team, Telling& telling);

}  // namespace quadrille::team
