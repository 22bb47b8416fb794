// Where in a Python program a call comes from: for recording calls.
#pragma once

#include <string>

namespace quadrille::sys {

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

}  // namespace quadrille::sys
