// Writes down what calls a program makes, for `quadrille report`: how many, how long, how large, from where, and by
// which algorithm. A call costs some tens of nanoseconds: what is alike is added up in memory that was made in MPI_Init
// (record_file.hpp), and of short calls only some are timed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "run/call.hpp"
#include "team/record_file.hpp"

namespace quadrille::record {

// Are calls recorded? Set in MPI_Init.
inline bool on = false;

// By the drop-in door, right after MPI_Init: begins if the user wants it. Not collective.
void begin();

// What carries out the call that this thread is in. Without a word the MPI does.
void by(const choose::Choice& choice);
void by(std::string_view name);
// It goes as an earlier one like it did: by this engine, of which there is one algorithm.
void by_the_short_way(choose::Engine engine);

// The blocks of the sparse exchange that this thread is in, when they were found to be right: for each of these ranks `counts`
// elements of `size` bytes.
void sparse_blocks(std::span<const int> destinations, const MPI_Count* counts, std::size_t size);

// What calls have in common that need not be looked at again.
struct Key {
  Collective collective;
  Form form;
  MPI_Comm comm;
  MPI_Datatype type;  // of what is sent
  std::size_t count;
  const void* site;  // the address to which the call returns
};

// What a persistent request sends, as its starts are written down: in bytes, with numbers of its own, since the program may
// free its datatypes and change its arrays.
struct Sent {
  run::Call call;
  std::vector<MPI_Count> bytes;  // of each block, where they differ
  const char* by = "quadrille";  // what carries it out
};
// Of a call without a mistake that has `blocks` blocks to send, by this rank. Throws std::bad_alloc.
std::unique_ptr<Sent> sent_by(const run::Call& call, int blocks, int rank);

enum class Timed : std::uint8_t { no, as_each, as_sample };

// A call from a door. One that is made inside another is not recorded: the program did not make it.
class Recorded {
 public:
  Recorded();
  void begin(const run::Call& call, Form form, const void* site);
  // The sparse exchange. Its blocks are told by sparse_blocks().
  void begin_sparse(MPI_Comm comm, const void* site);
  // The same of a blocking call with one size, which is dense. False, and nothing is begun, unless an earlier one was
  // like it.
  bool begin_like(const Key& key);
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded();

 private:
  void start_clock();

  bool outermost_;
  Entry* entry_ = nullptr;
  Timed timed_ = Timed::no;
  std::uint64_t begin_ = 0;
};

}  // namespace quadrille::record
