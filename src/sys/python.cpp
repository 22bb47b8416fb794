#include "sys/python.hpp"

#include <dlfcn.h>

#include <array>
#include <functional>
#include <string_view>

#include "sys/code.hpp"

namespace quadrille::sys {
namespace {

// Objects of Python, of which nothing is known but that they are there.
struct Object;
struct Frame;
struct ThreadState;
struct Interpreter;

// What is needed of Python's C interface, of the Python that this process is, if it is one. Quadrille links none.
struct Python {
  int (*is_initialized)();
  ThreadState* (*this_thread)();
  Interpreter* (*interpreter_of)(ThreadState*);
  ThreadState* (*first_thread)(Interpreter*);
  ThreadState* (*next_thread)(ThreadState*);
  int (*ensure)();
  void (*release)(int);
  Frame* (*frame)();
  Frame* (*back)(Frame*);
  Object* (*code_of)(Frame*);
  int (*line_of)(Frame*);
  int (*instruction_of)(Frame*);  // since Python 3.11
  Object* (*attribute)(Object*, const char*);
  const char* (*text_of)(Object*);
  void (*clear_error)();
  Object* (*has_error)();
  void (*let_go)(Object*);
  bool is_there = true;

  Python() {
    find(is_initialized, "Py_IsInitialized"), find(this_thread, "PyGILState_GetThisThreadState");
    find(interpreter_of, "PyThreadState_GetInterpreter"), find(first_thread, "PyInterpreterState_ThreadHead");
    find(next_thread, "PyThreadState_Next"), find(ensure, "PyGILState_Ensure"), find(release, "PyGILState_Release");
    find(frame, "PyEval_GetFrame"), find(back, "PyFrame_GetBack"), find(code_of, "PyFrame_GetCode");
    find(line_of, "PyFrame_GetLineNumber"), find(attribute, "PyObject_GetAttrString"),
        find(text_of, "PyUnicode_AsUTF8");
    find(clear_error, "PyErr_Clear"), find(has_error, "PyErr_Occurred"), find(let_go, "Py_DecRef");
    instruction_of = reinterpret_cast<int (*)(Frame*)>(dlsym(RTLD_DEFAULT, "PyFrame_GetLasti"));
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    is_there = is_there && function != nullptr;
  }
};

const Python& python() {
  static const Python functions;
  return functions;
}

// An instruction of a function that called, or its line where the instruction is not known: to look up the line takes
// as long as the function is. The function is held, so that no other comes to be where it is.
struct Instruction {
  const Object* code = nullptr;
  int at = 0;
  bool is_of_library = false;
  const PythonPlace* place = nullptr;
};

// Only touched under the interpreter's lock.
std::array<Instruction, 256> instructions;
std::array<PythonPlace, 256> places;
std::size_t places_used = 0;

std::string text_in(Object* code, const char* attribute) {
  Object* const object = python().attribute(code, attribute);
  const char* const text = object != nullptr ? python().text_of(object) : nullptr;
  std::string copy = text != nullptr ? text : "";
  if (text == nullptr) python().clear_error();
  if (object != nullptr) python().let_go(object);
  return copy;
}

bool is_of_library(std::string_view file) {
  constexpr std::string_view folders[] = {"/mpi4py/", "-packages/quadrille/", "/python/quadrille/"};
  for (const std::string_view folder : folders) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

// The same for all instructions of one line.
const PythonPlace* place_on_line(Object* code, int line) {
  for (const Instruction& one : instructions) {
    if (one.code == code && one.place->line == line) return one.place;
  }
  PythonPlace& place = places[places_used];
  place = {text_in(code, "co_filename"), text_in(code, "co_name"), line};
  ++places_used;
  return &place;
}

// Null if there is no room for one more.
const Instruction* instruction_at(Frame* frame) {
  Object* const code = python().code_of(frame);
  const int at = python().instruction_of != nullptr ? python().instruction_of(frame) : python().line_of(frame);
  const std::size_t first = std::hash<const void*>()(code) / 16 + static_cast<std::size_t>(at);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    Instruction& one = instructions[(first + i) % instructions.size()];
    if (one.code == nullptr) {
      const PythonPlace* const place = place_on_line(code, python().line_of(frame));
      one = {code, at, is_of_library(place->file), place};
      return &one;
    }
    if (one.code != code || one.at != at) continue;
    python().let_go(code);
    return &one;
  }
  python().let_go(code);
  return nullptr;
}

const PythonPlace* place_of(Frame* const nearest) {
  const Instruction* found = nullptr;
  Frame* frame = nearest;
  while (frame != nullptr) {
    found = instruction_at(frame);
    const bool goes_on = found != nullptr && found->is_of_library;
    Frame* const outer = goes_on ? python().back(frame) : nullptr;
    if (frame != nearest) python().let_go(reinterpret_cast<Object*>(frame));
    frame = outer;
  }
  return found != nullptr ? found->place : nullptr;
}

// Does this thread run Python, and no other?
bool is_only_thread() {
  ThreadState* const own = python().this_thread();
  return own != nullptr && python().first_thread(python().interpreter_of(own)) == own &&
         python().next_thread(own) == nullptr;
}

// The interpreter's lock, as long as this lasts.
class Locked {
 public:
  Locked() : state_(python().ensure()) {}
  ~Locked() { python().release(state_); }
  Locked& operator=(Locked&&) = delete;

 private:
  int state_;
};

}  // namespace

bool is_called_by_python(const void* returns_to) {
  const CodePlace at = place_in_code(returns_to);
  const std::string_view object = at.object;
  const std::string_view name = object.substr(object.find_last_of('/') + 1);
  // Of some Pythons libffi is a part.
  const bool may_be = object.find("/mpi4py/") != std::string_view::npos || name.starts_with("libffi.so") ||
                      name.starts_with("_ctypes.") || name.starts_with("libpython") || name.starts_with("python");
  return may_be && python().is_there;
}

const PythonPlace* python_place() {
  if (python().is_initialized() == 0 || !is_only_thread()) return nullptr;
  const Locked lock;
  return python().has_error() == nullptr ? place_of(python().frame()) : nullptr;
}

const PythonPlace* as_python_place(const void* address) {
  for (const PythonPlace& place : places) {
    if (address == &place) return &place;
  }
  return nullptr;
}

}  // namespace quadrille::sys
