// One call of one rank: its datatypes, its memory, its arguments, and what must come out.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <variant>

#include "doors.hpp"
#include "memory.hpp"
#include "plan.hpp"

namespace quadrille::fuzz {

// Something is wrong: what.
struct Finding {
  std::string what;
};

// Throws one if an MPI function has returned an error.
void succeed(int error, const std::string& what);

struct Block {
  std::size_t type = 0;      // which of the side's types
  std::size_t count = 0;     // of its elements
  std::ptrdiff_t place = 0;  // in extents of the type, or in bytes
  std::ptrdiff_t at = 0;     // in bytes
};

struct Side {
  std::vector<Type> types;
  std::vector<Block> blocks;
  std::size_t count = 0;             // of each block, where there is one count
  std::ptrdiff_t low = 0, high = 0;  // all data lie in [low, high)
  bool absolute = false;             // MPI_BOTTOM, and types that know the address
  std::ptrdiff_t shift = 0;          // else types that know this part of it
};

class Call {
 public:
  // Local: what is drawn here depends on this rank too.
  Call(const CallPlan& plan, const Communicator& where, int rank_in_world);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void fill(int repeat);
  // Blocking forms are complete when it returns. Now and then this rank makes the call with a mistake before, which the
  // MPI refuses: no other rank knows of that.
  void start();
  void finish();
  // For the completion of several calls in one. Null if none is in flight.
  MPI_Request& request() { return request_; }
  // Throws a Finding.
  void verify();
  std::string describe() const;
  // Makes a mistake of this name on purpose; false if this call has nothing that it could spoil.
  bool spoil(const std::string& mistake);
  // For a child of fork: writes all over the buffers.
  void scribble();
  const CallPlan& plan() const { return plan_; }

 private:
  Draw draw_of_repeat(std::uint64_t what) const;
  void make_mistake(Draw& draw);
  void choose_side(Draw& draw, const std::vector<std::size_t>& elements, bool receive, Side& side);
  void choose_types(Draw& draw, const std::vector<std::size_t>& elements, bool receive, bool slim, Side& side);
  void choose_places(Draw& draw, const std::vector<std::size_t>& elements, bool receive, Side& side);
  void take_buffers(Draw& draw);
  void make_arguments(Draw& draw);
  template <class A>
  void make_arguments(Draw& draw, A& arguments);
  template <class ArgumentSide>
  void make_side(Draw& draw, const Side& side, unsigned char* origin, ArgumentSide& made);
  MPI_Datatype handle_of(const Side& side, std::size_t type, unsigned char* origin);
  void write(const Side& side, std::size_t block, unsigned char* origin, int from, int to, int id) const;
  const std::vector<Edge>& sources() const { return is_neighbor(plan_.collective) ? where_.from : where_.everybody; }
  const std::vector<Edge>& targets() const { return is_neighbor(plan_.collective) ? where_.to : where_.everybody; }
  void compare(const unsigned char* got, const std::vector<unsigned char>& expected, const unsigned char* origin,
               const char* what) const;

  const CallPlan plan_;
  const Communicator& where_;
  int me_;
  int repeat_ = 0;
  Side send_, receive_;
  Memory send_memory_, receive_memory_;
  std::size_t send_bytes_ = 0, receive_bytes_ = 0;  // of the buffers with their guards
  unsigned char *send_buffer_ = nullptr, *receive_buffer_ = nullptr;
  unsigned char *send_origin_ = nullptr, *receive_origin_ = nullptr;
  std::vector<unsigned char> sent_, expected_;
  std::vector<MPI_Datatype> own_handles_;  // types that know addresses
  std::variant<Small, Mixed, Large> arguments_, before_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace quadrille::fuzz
