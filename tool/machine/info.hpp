// `quadrille info`: this machine, its MPIs, and what Quadrille can reach on it.
#pragma once

#include <string>

namespace quadrille::tools {

struct InfoOptions {
  bool json = false;
  // Internal, for children: load this MPI library, or start it, or start this driver, and describe it as JSON.
  std::string describe_library, describe_support, describe_driver;
};

int info_command(const InfoOptions& options);

}  // namespace quadrille::tools
