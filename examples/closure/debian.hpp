// The dependency graph of Debian packages. Without MPI.
//
// Reads Packages indexes: the format of /var/lib/dpkg/status and of /var/lib/apt/lists/*_Packages,
// plain, compressed with gzip, or (with apt installed) in any format of apt. The vertices are the packages,
// numbered in the order of their names. A package has an edge to every package that could serve one of its
// dependencies:
//
//     Package: editor
//     Depends: libc6 (>= 2.34), python3:any | perl, mail-agent
//
// has edges to libc6, to python3 and perl (to all existing alternatives), and to all packages with
// `Provides: mail-agent`. Text in brackets, including versions, is ignored. A package with several
// versions, or in several indexes, has the dependencies of all of them. A dependency that a package
// itself provides gives no edge.
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

// The packages of an index, in its order, without those that dpkg lists as not installed. Throws
// std::runtime_error of one line, with `name` for the text, if the text has no package.
std::vector<Package> parse_packages(std::string_view text, const std::string& name);

// Reads one index, or all indexes of a folder: the files with "_Packages" in their names.
std::vector<Package> read_packages(const std::string& path);

// The graph of all packages, or of those of some sections and all their direct and indirect dependencies.
Graph package_graph(const std::vector<Package>& packages, const std::vector<std::string>& sections);

}  // namespace closure
