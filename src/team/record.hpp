// Writes down what calls a program makes, for `quadrille report`: how many, how long, how large, from where, and by
// which algorithm. A call costs some tens of nanoseconds: what is alike is added up in memory that was made in MPI_Init
// (record_file.hpp), and of short calls only some are timed. What that takes is written down as well.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "choose/registry.hpp"
#include "mpi/mpi.hpp"
#include "run/call.hpp"
#include "team/record_file.hpp"

namespace quadrille::record {

// Are calls recorded? Set in MPI_Init.
inline bool on = false;

// By the drop-in door, right after MPI_Init, on all ranks: begins if the user wants it.
void begin();

// What carries out the call that this thread is in. Without a word the MPI does.
void by(const choose::Choice& choice);
void by(std::string_view name);
// It goes as an earlier one like it did: by the engine of inboxes or by that of the exchange.
void by_the_short_way(choose::Engine engine);

// The blocks of the sparse exchange that this thread is in, when they were found to be right: for each of these ranks
// `counts` elements of `size` bytes.
void sparse_blocks(std::span<const int> destinations, const MpiCount* counts, std::size_t size);

// A persistent request is known by its handle: one of the MPI's, or the address of one of ours (handle_of()).
inline MpiRequest handle_of(const void* request) { return {reinterpret_cast<std::uintptr_t>(request)}; }
// The program has made one, by a call without a mistake; `by` carries it out. Without memory for that its starts are
// not written down.
void keep_made(MpiRequest request, const run::Call& call, const char* by);
// It frees one, of whatever kind.
void forget_made(MpiRequest request);

struct SentBlocks;

enum class Timed : std::uint8_t { no, as_each, as_sample };

// What recording itself takes of a call, if that is timed: of every call where something new is looked up, else of a
// few.
class OwnTime {
 public:
  void begin(Timed how);  // once more: it is of a call with something new
  void pause();           // the call itself begins
  bool is_timed() const { return how_ != Timed::no; }
  void end(Times& all, std::uint64_t call_ended);

 private:
  Timed how_ = Timed::no;
  std::uint64_t begin_ = 0, took_ = 0;
};

// A call from a door. One that is made inside another is not recorded: the program did not make it.
class Recorded {
 public:
  Recorded();
  void begin(const run::Call& call, Form form, const void* site) { begin(call, form, site, nullptr); }
  // The sparse exchange. Its blocks are told by sparse_blocks().
  void begin_sparse(MpiComm comm, const void* site);
  // The start of a persistent request, as a call with what the request sends; of one that is not known nothing is
  // written down.
  void begin_start(MpiRequest request, Form form, const void* site);
  Recorded& operator=(Recorded&&) = delete;
  ~Recorded();

 private:
  void begin(const run::Call& call, Form form, const void* site, const SentBlocks* known);

  bool outermost_;
  OwnTime own_;
  Entry* entry_ = nullptr;
  Timed timed_ = Timed::no;
  std::uint64_t begin_ = 0;
};

}  // namespace quadrille::record
