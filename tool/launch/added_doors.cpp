#include "tool/launch/added_doors.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tool/launch/elf.hpp"

namespace quadrille::tools {
namespace {

namespace fs = std::filesystem;

// A library with doors, for the MPIs that have this function.
struct Doors {
  Abi abi;
  const char* library;
  const char* function;
};
constexpr Doors all_doors[] = {
    {Abi::mpich, "libquadrille_mpi_large.so", "MPI_Alltoall_c"},
    {Abi::mpich, "libquadrille_mpi_persistent.so", "MPI_Alltoall_init_c"},
    {Abi::standard, "libquadrille_mpi_large.so", "MPI_Alltoall_c"},
    {Abi::standard, "libquadrille_mpi_persistent.so", "MPI_Alltoall_init"},
    {Abi::openmpi, "libquadrille_mpi_persistent.so", "MPI_Alltoall_init"},
    {Abi::openmpi, "libquadrille_mpix_persistent.so", "MPIX_Alltoall_init"},
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool has(const std::string& library, const char* function) {
  const MappedFile file(library);
  return defines_function(file.bytes(), function);
}

// The system's own folders are the loader's last resort.
bool is_of_the_system(const fs::path& prefix) { return prefix == "/usr" || prefix == "/"; }

// Of an MPI that lies beside `program`, which is in its folder for programs. What a program finds among the system's
// libraries the loader finds, and what the loader finds before them, the program does too.
void add_beside(const fs::path& program, Abi abi, bool loader_finds, std::vector<std::string>& libraries) {
  const fs::path prefix = program.parent_path().parent_path();
  if (loader_finds && is_of_the_system(prefix)) return;
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    for (const char* name : libraries_of(abi)) {
      const fs::path library = prefix / folder / name;
      if (is_file(library)) libraries.push_back(library.string());
    }
  }
}

// As it is called, which is in a virtual environment, and the file that this leads to.
void add_beside_all(const std::string& program, Abi abi, bool loader_finds, std::vector<std::string>& libraries) {
  if (program.empty()) return;
  std::error_code error;
  add_beside(fs::absolute(program, error), abi, loader_finds, libraries);
  if (const fs::path real = fs::canonical(program, error); !error) add_beside(real, abi, loader_finds, libraries);
}

// A list of files, and of folders with one.
void add_named(std::string_view list, Abi abi, std::vector<std::string>& libraries) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    const fs::path entry(list.substr(0, end));
    if (is_file(entry)) libraries.push_back(entry.string());
    const fs::path inside = entry / libraries_of(abi).front();
    if (is_file(inside)) libraries.push_back(inside.string());
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

bool program_has(const char* function, const std::string& launcher, const std::string& program, Abi abi,
                 const LoaderPaths& paths) {
  const auto has_it = [&](const std::string& library) { return has(library, function); };
  if (!program.empty()) {
    const MpiUse use = mpi_use(program, paths);
    if (use.abi == abi) return std::any_of(use.files.begin(), use.files.end(), has_it);
  }
  const std::vector<std::string> libraries = libraries_in_reach(launcher, program, abi, paths);
  return !libraries.empty() && std::all_of(libraries.begin(), libraries.end(), has_it);
}

bool command_has(const char* function, const Command& command, Abi abi, const LoaderPaths& paths) {
  if (command.programs.empty()) return program_has(function, command.launcher_path, "", abi, paths);
  return std::all_of(command.programs.begin(), command.programs.end(), [&](const CommandProgram& program) {
    return program_has(function, command.launcher_path, program.path, abi, paths);
  });
}

}  // namespace

std::vector<std::string> libraries_in_reach(const std::string& launcher, const std::string& program, Abi abi,
                                            const LoaderPaths& paths) {
  std::vector<std::string> libraries;
  const std::vector<const char*> names = libraries_of(abi);
  std::string loaders = find_library(names.front(), paths);
  if (const char* given = std::getenv("MPI4PY_LIBMPI")) add_named(given, abi, libraries);
  add_beside_all(launcher, abi, !loaders.empty(), libraries);
  add_beside_all(program, abi, !loaders.empty(), libraries);
  if (loaders.empty() && libraries.empty()) loaders = find_library(names.back(), paths);
  if (!loaders.empty()) libraries.push_back(loaders);
  return libraries;
}

std::vector<std::string> added_doors(const Command& command, Abi abi, const std::string& preload,
                                     const LoaderPaths& paths) {
  std::vector<std::string> added;
  for (const Doors& doors : all_doors) {
    const fs::path library = fs::path(preload).parent_path() / doors.library;
    if (doors.abi != abi || !is_file(library)) continue;
    if (command_has(doors.function, command, abi, paths)) added.push_back(library.string());
  }
  return added;
}

}  // namespace quadrille::tools
