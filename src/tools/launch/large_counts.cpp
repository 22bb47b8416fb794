#include "tools/launch/large_counts.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tools/launch/elf.hpp"

namespace quadrille::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* names[] = {"libmpi.so.12", "libmpich.so.12"};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_mpi_with_large_counts(const std::string& library) {
  const MappedFile file(library);
  return defines_function(file.bytes(), "MPI_Alltoall_c");
}

// Of an MPI that lies beside `program`, which is in its folder for programs.
void add_beside(const fs::path& program, std::vector<std::string>& libraries) {
  const fs::path prefix = program.parent_path().parent_path();
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    for (const char* name : names) {
      const fs::path library = prefix / folder / name;
      if (is_file(library)) libraries.push_back(library.string());
    }
  }
}

// As it is called, which is in a virtual environment, and the file that this leads to.
void add_beside_all(const std::string& program, std::vector<std::string>& libraries) {
  if (program.empty()) return;
  std::error_code error;
  add_beside(fs::absolute(program, error), libraries);
  if (const fs::path real = fs::canonical(program, error); !error) add_beside(real, libraries);
}

// A list of files, and of folders with one.
void add_named(std::string_view list, std::vector<std::string>& libraries) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    const fs::path entry(list.substr(0, end));
    if (is_file(entry)) libraries.push_back(entry.string());
    if (is_file(entry / names[0])) libraries.push_back((entry / names[0]).string());
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

bool all_have_large_counts(const std::vector<std::string>& libraries) {
  return !libraries.empty() && std::all_of(libraries.begin(), libraries.end(), is_mpi_with_large_counts);
}

bool program_has(const std::string& launcher, const std::string& program, Abi abi, const LoaderPaths& paths) {
  if (!program.empty()) {
    const MpiUse use = mpi_use(program, paths);
    if (use.abi == abi) return std::any_of(use.files.begin(), use.files.end(), is_mpi_with_large_counts);
  }
  return all_have_large_counts(libraries_in_reach(launcher, program, paths));
}

}  // namespace

std::vector<std::string> libraries_in_reach(const std::string& launcher, const std::string& program,
                                            const LoaderPaths& paths) {
  std::vector<std::string> libraries;
  if (const char* given = std::getenv("MPI4PY_LIBMPI")) add_named(given, libraries);
  add_beside_all(launcher, libraries);
  add_beside_all(program, libraries);
  std::string loaders = find_library(names[0], paths);
  if (loaders.empty() && libraries.empty()) loaders = find_library(names[1], paths);
  if (!loaders.empty()) libraries.push_back(loaders);
  return libraries;
}

bool has_large_counts(const Command& command, Abi abi, const LoaderPaths& paths) {
  if (abi != Abi::mpich) return false;
  if (command.programs.empty()) return program_has(command.launcher_path, "", abi, paths);
  return std::all_of(command.programs.begin(), command.programs.end(), [&](const CommandProgram& program) {
    return program_has(command.launcher_path, program.path, abi, paths);
  });
}

std::string find_large_preload(const std::string& preload) {
  const fs::path library = fs::path(preload).parent_path() / "libquadrille_mpi_large.so";
  return is_file(library) ? library.string() : "";
}

}  // namespace quadrille::tools
