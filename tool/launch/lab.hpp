// The laboratory: a program of its own, `quadrille-lab`, which repeats the experiments of the papers. The command does
// not need it, but finds it: `quadrille bench --figure hint-6` becomes `quadrille-lab bench --figure hint-6`.
#pragma once

#include <string>
#include <vector>

namespace quadrille::tools {

// Where it may be, best first: where it is installed, and where it is built.
std::vector<std::string> lab_candidates(const std::string& directory_of_tool);

// Becomes the laboratory, with the same arguments. Returns only if there is none: the exit status, after one line on
// stderr. `argv` ends with a null pointer.
int become_lab(char** argv);

}  // namespace quadrille::tools
