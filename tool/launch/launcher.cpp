#include "tool/launch/launcher.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "sys/sys.hpp"
#include "tool/launch/command.hpp"
#include "tool/launch/libraries.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

// "4.1.4" at the start of `text`, blanks and a colon passed over.
std::string number_in(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == ':' || text[0] == ')' || text[0] == 'v')) {
    text.remove_prefix(1);
  }
  std::size_t length = 0;
  while (length < text.size() && (std::isdigit(static_cast<unsigned char>(text[length])) != 0 || text[length] == '.')) {
    ++length;
  }
  return std::string(text.substr(0, length));
}

// The parent of a process, from /proc; 0 if it cannot be read.
int parent_of(int process) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", process));
  // "pid (name) state parent ...": the name may hold blanks and brackets.
  const std::size_t end = line.rfind(')');
  return end == std::string::npos || end + 4 > line.size() ? 0 : std::atoi(line.c_str() + end + 4);
}

// The programs that started this process, the nearest first. The launcher is a few generations up: mpirun, its proxy,
// perhaps a shell.
std::vector<std::string> ancestors() {
  std::vector<std::string> programs;
  int process = getppid();
  for (int generation = 0; generation < 6 && process > 1; ++generation) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error);
    if (!error) programs.push_back(program.string());
    process = parent_of(process);
  }
  return programs;
}

// The first library in `folder` that programs of this launcher can have; an empty folder stands for the loader's.
std::string library_in(const std::filesystem::path& folder, Abi launcher, const Started& started) {
  for (const Abi abi : all_abis) {
    if (started.wanted != Abi::none && started.wanted != abi) continue;
    for (const char* name : libraries_of(abi)) {
      std::string path = (folder / name).string();
      const bool is_there = folder.empty() ? started.loader_finds(path) : started.is_file(path);
      if (is_there && starts(launcher, abi, abi == Abi::standard && started.is_of_openmpi(path))) return path;
    }
  }
  return "";
}

// The system's folders hold all of its MPIs.
std::string library_beside(const std::filesystem::path& program, Abi launcher, const Started& started) {
  const std::filesystem::path prefix = program.parent_path().parent_path();
  if (prefix == "/usr" || prefix == "/") return "";
  return library_in(prefix / "lib", launcher, started);
}

int number_from_environment(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text != '\0') return std::atoi(text);
  }
  return otherwise;
}

}  // namespace

Abi abi_of_launcher_name(std::string_view name) {
  for (std::string_view known : {"orterun", "orted", "prterun", "prted", "prte", "prun", "oshrun"}) {
    if (name == known) return Abi::openmpi;
  }
  for (std::string_view known :
       {"mpiexec.hydra", "mpiexec.gforker", "hydra", "hydra_pmi_proxy", "hydra_bstrap_proxy"}) {
    if (name == known) return Abi::mpich;
  }
  if (name.ends_with(".openmpi")) return Abi::openmpi;
  if (name.ends_with(".mpich")) return Abi::mpich;
  return Abi::none;
}

Abi abi_of_version_text(std::string_view text) {
  for (std::string_view sign : {"Open MPI", "OpenRTE", "prterun", "PRRTE"}) {
    if (contains(text, sign)) return Abi::openmpi;
  }
  for (std::string_view sign : {"HYDRA", "Intel(R) MPI", "MPICH", "MVAPICH", "gforker"}) {
    if (contains(text, sign)) return Abi::mpich;
  }
  return Abi::none;
}

Abi abi_of_launcher(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  const std::string name = std::string(base_name(error ? path : real.string()));
  if (const Abi abi = abi_of_launcher_name(name); abi != Abi::none) return abi;
  // A batch system's launcher serves every MPI.
  for (std::string_view batch : {"srun", "aprun", "jsrun"}) {
    if (name == batch) return Abi::none;
  }
  return abi_of_version_text(output_of({path, "--version"}, 10));
}

std::string version_in(std::string_view text) {
  struct Sign {
    std::string_view before, title;
  };
  // In this order: Open MPI 5's launcher may name its run time as well.
  constexpr Sign signs[] = {{"(Open MPI)", "Open MPI"},
                            {"(OpenRTE)", "Open MPI"},
                            {"Intel(R) MPI Library for Linux* OS, Version", "Intel MPI"},
                            {"Version:", "MPICH"}};
  for (const Sign& sign : signs) {
    const std::size_t at = text.find(sign.before);
    if (at == std::string_view::npos) continue;
    const std::string number = number_in(text.substr(at + sign.before.size()));
    if (!number.empty()) return fmt::format("{} {}", sign.title, number);
  }
  return "";
}

std::string library_of_launcher(const Started& started) {
  if (!started.environment("QUADRILLE_LIBMPI").empty()) return "";
  for (const std::string& program : started.ancestors) {
    const Abi abi = abi_of_launcher_name(base_name(program));
    if (abi == Abi::none) continue;
    std::string library = library_beside(program, abi, started);
    return library.empty() ? library_in("", abi, started) : library;
  }
  for (const std::string& program : started.ancestors) {  // a launcher may have any name
    if (std::string library = library_beside(program, Abi::none, started); !library.empty()) return library;
  }
  if (!started.environment("OMPI_COMM_WORLD_SIZE").empty()) return library_in("", Abi::openmpi, started);
  const bool has_pmi = !started.environment("PMI_SIZE").empty() || !started.environment("PMI_FD").empty();
  return has_pmi ? library_in("", Abi::mpich, started) : "";
}

std::string standard_library_of_openmpi(const std::string& launcher, const Started& here) {
  std::string library = library_beside(launcher, Abi::openmpi, here);
  return library.empty() ? library_in("", Abi::openmpi, here) : library;
}

namespace {

// As this process was started, or starts others.
Started started_here(Abi wanted) {
  const LoaderPaths paths = loader_paths();
  const auto is_file = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
  };
  const auto loader_finds = [paths](const std::string& name) { return !find_library(name, paths).empty(); };
  const auto is_of_openmpi = [paths](const std::string& library) {
    return mpi_use(find_library(library, paths), paths).of_openmpi;
  };
  return {ancestors(), is_file, loader_finds, environment, is_of_openmpi, wanted};
}

}  // namespace

std::string library_of_launcher(Abi wanted) { return library_of_launcher(started_here(wanted)); }

std::string standard_library_of_openmpi(const std::string& launcher) {
  std::error_code error;
  const auto real = std::filesystem::canonical(launcher, error);
  return standard_library_of_openmpi(error ? launcher : real.string(), started_here(Abi::standard));
}

int ranks_of_launcher() { return number_from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 0); }

int local_rank_of_launcher() {
  return number_from_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
                                  "PALS_LOCAL_RANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"},
                                 -1);
}

void complain_once(std::string_view problem) {
  if (sys::launched_as_first()) {
    complain(problem);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

std::vector<std::string> preload_candidates() {
  std::vector<std::string> folders;
  if (const std::string given = environment("QUADRILLE_LIB_DIR"); !given.empty())
    folders = {given, given + "/quadrille"};
  const std::string prefix = own_directory() + "/..";
  // Installed, in one of the folders that systems use.
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    folders.push_back(fmt::format("{}/{}/quadrille", prefix, folder));
  }
  folders.push_back(prefix + "/lib");  // build tree
  for (std::string& folder : folders) folder += "/libquadrille_mpi.so";
  return folders;
}

std::string find_preload() {
  for (const std::string& candidate : preload_candidates()) {
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error) && access(candidate.c_str(), R_OK) == 0) {
      return std::filesystem::canonical(candidate, error).string();
    }
  }
  return "";
}

}  // namespace quadrille::tools
