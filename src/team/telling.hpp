// How rank 0 tells the other ranks of a communicator what it has decided, when the communicator is made ready.
//
// Either all of them wait for each other in broadcasts; or rank 0 goes through all of it at once and writes down what
// it tells, that is sent in one message, and each of the others goes through the same and reads it, when it has come.
// Example: setup_by() tells 320 bytes, then 0 of text, then 0 of a list; rank 0 writes 320 bytes, the others read 320.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

namespace quadrille::team {

struct Team;

class Telling {
 public:
  virtual ~Telling() = default;
  // `bytes` at `data`, which become those of rank 0. All ranks tell the same in the same order.
  virtual void tell(void* data, std::size_t bytes) = 0;
  // Of what a tuning table has: more than this is not to be told.
  virtual std::size_t most_bytes() const = 0;
  // May ranks find out more of each other while they are at it?
  virtual bool may_meet() const { return true; }
};

class Writing final : public Telling {
 public:
  explicit Writing(std::span<std::byte> room) : room_(room) {}
  void tell(void* data, std::size_t bytes) override {
    if (bytes > room_.size()) throw std::bad_alloc();
    if (bytes > 0) std::memcpy(room_.data(), data, bytes);
    room_ = room_.subspan(bytes);
  }
  // Half of what there is: the rest is told whatever a table has.
  std::size_t most_bytes() const override { return room_.size() / 2; }
  bool may_meet() const override { return false; }

 private:
  std::span<std::byte> room_;
};

class Reading final : public Telling {
 public:
  explicit Reading(std::span<const std::byte> told) : told_(told) {}
  void tell(void* data, std::size_t bytes) override {
    if (bytes > told_.size()) throw std::bad_alloc();
    if (bytes > 0) std::memcpy(data, told_.data(), bytes);
    told_ = told_.subspan(bytes);
  }
  std::size_t most_bytes() const override { return 0; }  // nobody but rank 0 looks into a table
  bool may_meet() const override { return false; }

 private:
  std::span<const std::byte> told_;
};

// setup() (team/team.hpp), with what rank 0 tells.
int setup_by(Team& team, Telling& telling);

}  // namespace quadrille::team
