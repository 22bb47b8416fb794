// `quadrille info`: this machine, its MPIs, and what Quadrille can reach on it.
#pragma once

#include <string>

namespace quadrille::tools {

struct InfoOptions {
  bool json = false;
  std::string describe_library;  // internal: load this MPI library and describe it as JSON
};

int info_command(const InfoOptions& options);

}  // namespace quadrille::tools
