// Which MPI does a program use? Follows its dependencies as the dynamic loader would.
#pragma once

#include <string>
#include <vector>

#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// What a file is, for `quadrille run`.
enum class FileKind : std::uint8_t {
  script,   // begins with #!, or is no ELF file: its MPI cannot be known from outside
  program,  // a dynamic ELF program
  fixed,    // a static ELF program, or one of another word size: nothing can be preloaded
};

struct MpiUse {
  FileKind kind = FileKind::script;
  Abi abi = Abi::none;
  std::string library;   // the first library that decided `abi`
  Abi also = Abi::none;  // a second, different ABI among the dependencies; `none` in sane programs
  std::string also_library;
  std::vector<std::string> files;   // the libraries of an MPI that were found
  bool of_openmpi = false;          // some of what was found needs a library that Open MPI alone has
  bool loads_later = false;         // may load its MPI by dlopen, or start a program that has one
  std::vector<std::string> others;  // the other libraries that the program and these need, and no MPI alone
  std::vector<std::string> rpath;   // where the loader looks first for all of them: the program's DT_RPATH
};

// Where the loader looks for shared libraries when files do not say.
struct LoaderPaths {
  std::vector<std::string> library_path;                   // LD_LIBRARY_PATH
  std::vector<std::pair<std::string, std::string>> cache;  // soname, path
  std::vector<std::string> standard;                       // /lib, /usr/lib, ...
};
// The paths of this machine and environment.
LoaderPaths loader_paths();

// Path of the file that the loader would take for `soname`, or an empty string.
std::string find_library(const std::string& soname, const LoaderPaths& paths);

// The system's own libraries load plug-ins and look up functions, but none of an MPI.
bool is_system_library(const std::string& path);

// Looks at the program at `path` and at all libraries it needs. A damaged program counts as
// `fixed`; a library that is not found or not readable is passed over.
MpiUse mpi_use(const std::string& path, const LoaderPaths& paths);

}  // namespace quadrille::tools
