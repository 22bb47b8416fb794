// Facts about this machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::tools {

// "AMD EPYC 9654"; empty if the system does not say.
std::string processor_name();

// Bytes of memory that programs can still get; 0 if the system does not say.
std::size_t available_memory();

// Something of the system that Quadrille can use on a node, or why not.
struct Reach {
  std::string name;
  bool available = false;
  std::string detail;
};
std::vector<Reach> reachable();

// An MPI library's version string cut to its first statement: "Open MPI v4.1.4", "MPICH 5.0.2".
std::string first_words_of_version(std::string_view text);

}  // namespace quadrille::tools
