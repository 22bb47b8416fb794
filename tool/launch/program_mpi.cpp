#include "tool/launch/program_mpi.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tool/launch/added_doors.hpp"
#include "tool/launch/elf.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

// Wrappers for Fortran and C++ have no such function, nor have tools in front of an MPI.
bool is_the_mpi(const std::string& library) {
  const MappedFile file(library);
  return defines_function(file.bytes(), "PMPI_Alltoall");
}

// The words that this process was started with.
std::vector<std::string> own_words() {
  std::string text;
  std::vector<std::string> words;
  if (!read_whole("/proc/self/cmdline", text).empty()) return words;
  for (std::size_t at = 0; at < text.size();) {
    words.emplace_back(text.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

// An MPI's own libraries are looked for in the DT_RPATH of the program first. LD_LIBRARY_PATH stands in for it here,
// and counts only from the start of a process. Returns if that is done already, or cannot be.
void start_anew_with(const std::vector<std::string>& rpath) {
  if (rpath.empty()) return;
  std::string value = fmt::format("{}", fmt::join(rpath, ":"));
  const std::string before = environment("LD_LIBRARY_PATH");
  if (before == value || before.starts_with(value + ":")) return;
  if (!before.empty()) value += ":" + before;
  setenv("LD_LIBRARY_PATH", value.c_str(), 1);
  std::vector<std::string> words = own_words();
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (argv.size() > 1) execv("/proc/self/exe", argv.data());
}

}  // namespace

ProgramMpi mpi_of_program(const std::string& program, const LoaderPaths& paths) {
  const MpiUse use = mpi_use(program, paths);
  const auto file = std::find_if(use.files.begin(), use.files.end(), is_the_mpi);
  return {file != use.files.end() ? *file : "", use.rpath};
}

std::string library_in_place_of(const std::string& program, Abi abi) {
  if (!environment("QUADRILLE_LIBMPI").empty()) return "";
  const LoaderPaths paths = loader_paths();
  if (const ProgramMpi own = mpi_of_program(program, paths); !own.file.empty()) {
    start_anew_with(own.rpath);
    return own.file;
  }
  // mpi4py obeys its variable; what others load is most probably the launcher's.
  std::string of_launcher = library_of_launcher(abi);
  if (!of_launcher.empty() && environment("MPI4PY_LIBMPI").empty()) return of_launcher;
  const Abi known = abi != Abi::none ? abi : abi_of_library(base_name(of_launcher));
  for (const Abi one : all_abis) {
    if (known != Abi::none && known != one) continue;
    const std::vector<std::string> files = libraries_in_reach("", program, one, paths);
    if (!files.empty()) return files.front();
  }
  return of_launcher;
}

}  // namespace quadrille::tools
