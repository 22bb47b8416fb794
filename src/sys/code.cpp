#include "sys/code.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <string_view>

namespace quadrille::sys {
namespace {

// ---- Frames of functions ----

constexpr std::size_t most_callers = 32;

_Unwind_Reason_Code add_caller(_Unwind_Context* context, void* all) {
  auto& found = *static_cast<std::vector<Caller>*>(all);
  Caller one{reinterpret_cast<const void*>(_Unwind_GetIP(context)), nullptr};
  // On x86-64 a call leaves the address below the frame of its caller. Elsewhere it may be anywhere.
  const auto* const below = reinterpret_cast<const std::byte*>(_Unwind_GetCFA(context)) - sizeof(void*);
#if defined(__x86_64__)
  if (std::memcmp(below, &one.returns_to, sizeof(void*)) == 0) one.kept_at = below;
#else
  static_cast<void>(below);
#endif
  found.push_back(one);
  return found.size() < most_callers ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

// ---- Python ----

// Objects of Python, of which nothing is known but that they are there.
struct Object;
struct Frame;
struct ThreadState;
struct Interpreter;

// What is needed of Python's C interface, of the Python that this process is, if it is one. Quadrille links none.
struct Python {
  bool is_there = true;
  int (*is_initialized)() = find("Py_IsInitialized");
  ThreadState* (*this_thread)() = find("PyGILState_GetThisThreadState");
  Interpreter* (*interpreter_of)(ThreadState*) = find("PyThreadState_GetInterpreter");
  ThreadState* (*first_thread)(Interpreter*) = find("PyInterpreterState_ThreadHead");
  ThreadState* (*next_thread)(ThreadState*) = find("PyThreadState_Next");
  int (*ensure)() = find("PyGILState_Ensure");
  void (*release)(int) = find("PyGILState_Release");
  Frame* (*frame)() = find("PyEval_GetFrame");
  Frame* (*back)(Frame*) = find("PyFrame_GetBack");
  Object* (*code_of)(Frame*) = find("PyFrame_GetCode");
  int (*line_of)(Frame*) = find("PyFrame_GetLineNumber");
  Object* (*attribute)(Object*, const char*) = find("PyObject_GetAttrString");
  const char* (*text_of)(Object*) = find("PyUnicode_AsUTF8");
  void (*clear_error)() = find("PyErr_Clear");
  Object* (*has_error)() = find("PyErr_Occurred");
  void (*let_go)(Object*) = find("Py_DecRef");
  int (*instruction_of)(Frame*) = Symbol{dlsym(RTLD_DEFAULT, "PyFrame_GetLasti")};  // since Python 3.11

 private:
  Symbol find(const char* name) {
    void* const address = dlsym(RTLD_DEFAULT, name);
    is_there = is_there && address != nullptr;
    return {address};
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
  return std::ranges::any_of(folders, [&](std::string_view folder) { return file.find(folder) != file.npos; });
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

CodePlace place_in_code(const void* address) {
  CodePlace place;
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return place;
  const auto number = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  if (info.dli_fname != nullptr) place.object = info.dli_fname;
  place.address = number(address) - (map != nullptr ? map->l_addr : number(info.dli_fbase));
  if (info.dli_sname == nullptr) return place;
  place.symbol = info.dli_sname;
  place.behind = number(address) - number(info.dli_saddr);
  return place;
}

std::vector<Caller> callers() {
  std::vector<Caller> found;
  found.reserve(most_callers);
  _Unwind_Backtrace(add_caller, &found);
  return found;
}

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

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::byte* make_file_memory(const std::string& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  // A page that the disk has no room for would be a bus error when it is written.
  void* base = MAP_FAILED;
  int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = errno;
  }
  close(file);
  if (base != MAP_FAILED) return static_cast<std::byte*>(base);
  unlink(path.c_str());
  errno = error;
  return nullptr;
}

void flush_file_memory(void* memory, std::size_t bytes) { msync(memory, bytes, MS_SYNC); }

}  // namespace quadrille::sys
