// Where a call comes from, in the program's code and in Python's, the clock, and a file that is memory: for recording
// calls.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::sys {

// Nanoseconds of a clock that only goes forward.
inline std::uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

// A function that was looked up. Becomes the type of the pointer that it initialises.
struct Symbol {
  void* address;
  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

struct CodePlace {
  std::string object;         // the file of the program or library
  std::uint64_t address = 0;  // in that file, as its symbol table counts
  std::string symbol;         // the exported function it is in; empty if that is not known
  std::uint64_t behind = 0;   // its beginning
};
CodePlace place_in_code(const void* address);

// A function that has called, and has not returned to yet: the address at which it goes on, and where that lies in the
// stack; null where this cannot be known.
struct Caller {
  const void* returns_to = nullptr;
  const std::byte* kept_at = nullptr;
};

// Who called this thread's function, who called that one, and so on, the nearest first. Takes microseconds.
std::vector<Caller> callers();

// A line of a Python program.
struct PythonPlace {
  std::string file, function;
  int line = 0;
};

// Does a call that returns to this address come from Python: from mpi4py, or from a function that Python calls by its
// address?
bool is_called_by_python(const void* returns_to);

// The line that this thread runs, the same object for each call from there: the nearest that is not of mpi4py or of the
// package quadrille. Null if it cannot be known: for Python before 3.9, and where Python has other threads, one of
// which may hold the interpreter's lock for as long as this call takes.
const PythonPlace* python_place();

// The place itself, if an address is that of one.
const PythonPlace* as_python_place(const void* address);

std::string host_name();

// A new file of `bytes` zeros as memory: what is written there is in the file, however this process ends. Null, and why
// in errno, if it is there already (EEXIST), cannot be made, or the disk has no room for all of it. Never unmapped.
std::byte* make_file_memory(const std::string& path, std::size_t bytes);
// Writes the first `bytes` of such memory to the disk: other hosts may read the file of a network file system.
void flush_file_memory(void* memory, std::size_t bytes);

}  // namespace quadrille::sys
