// What `quadrille info` tells of the inside of a node: which ways ranks have to each other's
// memory, tried on this machine and not guessed, and what else decides how fast blocks move there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "memory/reach.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {

// The ways heap, xpmem, cma-read, cma-write and ring, each tried between two processes that are
// siblings, as ranks are. Call it before this process has threads: it forks. A way that `allowed`
// leaves out is not available, whatever the machine can do.
std::vector<Reach> ways_of_node(const memory::Ways& allowed);

// The ways of ways_of_node() as the settings of the environment allow them, with the kernels of
// copies, caches, NUMA domains and the settings themselves. For JSON; print_node() makes text of
// it.
nlohmann::ordered_json describe_node();
std::string node_text(const nlohmann::ordered_json& node);

// ---- For tests. ----

// Whether a process can do this to memory of a sibling: 0, or an error of the system. EILSEQ: wrong data; ECHILD: a
// process did not start, or was ended.
enum class Access : unsigned char { read, write };
int error_of_sibling_access(Access access);

// What is wrong with XPMEM here: its library, then its device. Empty if both are there.
std::string xpmem_obstacle(const std::string& library, const std::string& device);

}  // namespace quadrille::tools
