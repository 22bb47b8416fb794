#include "tool/launch/launcher.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "sys/launched.hpp"
#include "tool/launch/command.hpp"
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

int number_from_environment(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text != '\0') return std::atoi(text);
  }
  return otherwise;
}

}  // namespace

Abi abi_of_launcher_name(std::string_view name) {
  for (std::string_view known : {"orterun", "prterun", "prte", "prun", "oshrun"}) {
    if (name == known) return Abi::openmpi;
  }
  for (std::string_view known : {"mpiexec.hydra", "mpiexec.gforker", "hydra"}) {
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

std::string library_of_launcher(Abi abi) {
  const char* given = std::getenv("QUADRILLE_LIBMPI");
  if (given != nullptr && *given != '\0') return "";
  constexpr std::string_view files[] = {"", "libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1", ""};
  const std::string_view file = files[static_cast<std::size_t>(abi)];
  int process = getppid();
  // The launcher is a few generations up: mpirun, its proxy, perhaps a shell.
  for (int generation = 0; generation < 6 && process > 1; ++generation) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error);
    if (!error) {
      const auto library = program.parent_path().parent_path() / "lib" / file;
      if (std::filesystem::is_regular_file(library, error)) return library.string();
    }
    process = parent_of(process);
  }
  return "";
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

std::vector<std::string> preload_candidates(Abi abi) {
  constexpr std::string_view file = "libquadrille_mpi.so";
  const std::string_view folder = name_of(abi == Abi::standard ? Abi::mpich : abi);
  std::vector<std::string> candidates;
  const auto add_around = [&](const std::string& directory) {
    candidates.push_back(fmt::format("{}/{}/{}", directory, folder, file));
    candidates.push_back(fmt::format("{}/quadrille/{}/{}", directory, folder, file));
    // Each library serves all ABIs whose headers it was built with.
    if (knows(abi)) candidates.push_back(fmt::format("{}/{}", directory, file));
  };
  const char* given = std::getenv("QUADRILLE_LIB_DIR");
  if (given != nullptr && *given != '\0') add_around(given);
  const std::string bin = own_directory();
  // Installed: bin beside lib, or a library directory of a Debian architecture.
  add_around(bin + "/../lib");
  add_around(bin + "/../lib64");
  for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    add_around(bin + "/../lib/" + triplet);
  }
  // Build tree: build/openmpi/bin beside build/mpich/lib.
  candidates.push_back(fmt::format("{}/../../{}/lib/{}", bin, folder, file));
  return candidates;
}

std::string find_preload(Abi abi) {
  for (const std::string& candidate : preload_candidates(abi)) {
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error) && access(candidate.c_str(), R_OK) == 0) {
      return std::filesystem::canonical(candidate, error).string();
    }
  }
  return "";
}

}  // namespace quadrille::tools
