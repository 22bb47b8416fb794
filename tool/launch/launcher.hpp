// The MPI that a launcher belongs to, and the place of Quadrille's library.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// From the name of the launcher's real file: orterun is Open MPI's, mpiexec.hydra and hydra_pmi_proxy are MPICH's.
// `none` if the name does not say (mpirun, or the launcher of a batch system).
Abi abi_of_launcher_name(std::string_view name);
// From what `launcher --version` prints.
Abi abi_of_version_text(std::string_view text);
// Looks at the file's real name, then asks `path --version`. `none` for a batch system's launcher
// and for launchers that are not known.
Abi abi_of_launcher(const std::string& path);

// The version of an MPI in what a launcher prints: "Open MPI 4.1.4"; empty if it is not found.
std::string version_in(std::string_view text);

// How a rank was started.
struct Started {
  std::vector<std::string> ancestors;  // paths of the programs that started it, the nearest first
  std::function<bool(const std::string& path)> is_file;
  std::function<bool(const std::string& name)> loader_finds;  // this library
  std::function<std::string(const char* name)> environment;
  std::function<bool(const std::string& library)> is_of_openmpi;
  Abi wanted = Abi::none;  // of the library; none: any that the launcher starts
};
// The MPI library of the launcher: the file beside it, else the name of a library that the loader finds. Empty if
// QUADRILLE_LIBMPI names a library, or if the launcher is unknown.
std::string library_of_launcher(const Started& started);
// Of this process.
std::string library_of_launcher(Abi wanted = Abi::none);
// Open MPI's library of the MPI standard's ABI, for programs that its `launcher` starts: the file beside the launcher,
// else the name of a library that the loader finds. Empty if neither is Open MPI's.
std::string standard_library_of_openmpi(const std::string& launcher, const Started& here);
std::string standard_library_of_openmpi(const std::string& launcher);
// Number of ranks that the launcher says it started; 0 if it says nothing.
int ranks_of_launcher();
// Which of the ranks of this machine this is, before MPI starts; -1 if the launcher does not say.
int local_rank_of_launcher();
// Rank 0 says what is wrong; all ranks are to end then. The others wait a moment: a launcher kills all when it sees
// the first end, and nobody would learn why.
void complain_once(std::string_view problem);

// Files where the preload library may be, best first. QUADRILLE_LIB_DIR comes before the places around this binary.
std::vector<std::string> preload_candidates();
// The first candidate that is there, or an empty string.
std::string find_preload();

}  // namespace quadrille::tools
