// The graph of what Debian packages need. No MPI here.
//
// Reads Packages indexes: the format of /var/lib/dpkg/status and of /var/lib/apt/lists/*_Packages,
// plain, compressed with gzip, or in any way that apt uses (where apt is installed). The vertices are the packages,
// numbered in the order of their names. A package has an edge to every package that could serve one of its
// dependencies:
//
//     Package: editor
//     Depends: libc6 (>= 2.34), python3:any | perl, mail-agent
//
// has edges to libc6, to python3 and perl (of the alternatives that exist, all), and to all
// packages with `Provides: mail-agent`. What is between brackets, and versions with it, is ignored.
// A package that several indexes have, or several versions of, needs what any of them needs. What a
// package needs and provides itself is no edge.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph.hpp"

namespace closure {

struct Package {
  std::string name;
  std::string section;
  std::vector<std::string> needs;  // Depends and Pre-Depends
  std::vector<std::string> provides;
};

// The packages of an index, in its order. Those that dpkg knows of but has not installed are left
// out. Throws std::runtime_error of one line if the text has no package; `name` is what it calls
// the text.
std::vector<Package> parse_packages(std::string_view text, const std::string& name);

// Reads one index, or all indexes of a folder: the files with "_Packages" in their names.
std::vector<Package> read_packages(const std::string& path);

// The graph of all packages; or of those of some sections and all that these need, directly or not.
Graph package_graph(const std::vector<Package>& packages, const std::vector<std::string>& sections);

}  // namespace closure
