// Which MPI does a launcher belong to, and where is Quadrille's library for it?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// From the name of the launcher's real file: orterun is Open MPI's, mpiexec.hydra is MPICH's.
// `none` if the name does not say (mpirun, or the launcher of a batch system).
Abi abi_of_launcher_name(std::string_view name);
// From what `launcher --version` prints.
Abi abi_of_version_text(std::string_view text);
// Looks at the file's real name, then asks `path --version`. `none` for a batch system's launcher
// and for launchers that are not known.
Abi abi_of_launcher(const std::string& path);

// The version of an MPI in what a launcher prints: "Open MPI 4.1.4"; empty if it is not found.
std::string version_in(std::string_view text);

// Inside a started rank: the MPI library that lies beside the launcher that started us, so that the
// tool uses the launcher's MPI and not another one that the loader would find first. Empty if
// QUADRILLE_LIBMPI names one, or if there is none beside it.
std::string library_of_launcher(Abi abi);
// Number of ranks that the launcher says it started; 0 if it says nothing.
int ranks_of_launcher();
// Which of the ranks of this machine this is, before MPI starts; -1 if the launcher does not say.
int local_rank_of_launcher();
// Rank 0 says what is wrong; all ranks are to end then. The others wait a moment: a launcher kills all when it sees
// the first end, and nobody would learn why.
void complain_once(std::string_view problem);

// Files where the preload library for `abi` may be, best first. QUADRILLE_LIB_DIR comes before the
// places around this binary.
std::vector<std::string> preload_candidates(Abi abi);
// The first candidate that is there, or an empty string.
std::string find_preload(Abi abi);

}  // namespace quadrille::tools
