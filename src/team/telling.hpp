// How rank 0 tells the other ranks of a communicator what it has decided, when the communicator is made ready.
//
// Either all of them wait for each other in broadcasts; or rank 0 goes through all of it at once and writes down what
// it tells, that is sent in one message, and each of the others goes through the same and reads it, when it has come.
// Example: setup_by() tells 320 bytes, then 0 of text, then 0 of a list; rank 0 writes 320 bytes, the others read 320.
#pragma once

#include <cstddef>

namespace quadrille::team {

struct Team;

class Telling {
 public:
  virtual ~Telling() = default;
  // `bytes` at `data`, which become those of rank 0. All ranks tell the same in the same order.
  virtual void tell(void* data, std::size_t bytes) = 0;
  // Of what a tuning table has: more than this is not to be told. Rank 0 alone looks into one.
  virtual std::size_t most_bytes() const = 0;
  // May ranks find out more of each other while they are at it?
  virtual bool may_meet() const = 0;
};

// setup() (team/team.hpp), with what rank 0 tells.
int setup_by(Team& team, Telling& telling);

}  // namespace quadrille::team
