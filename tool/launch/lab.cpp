#include "tool/launch/lab.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/launch/abi.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr const char* lab_name = "quadrille-lab";
constexpr int cannot_start = 127;  // as a shell says it

}  // namespace

std::vector<std::string> lab_candidates(const std::string& directory_of_tool) {
  return {fmt::format("{}/../libexec/quadrille/{}/{}", directory_of_tool, name_of(own_abi()), lab_name),
          fmt::format("{}/{}", directory_of_tool, lab_name)};
}

int become_lab(char** argv) {
  const std::vector<std::string> candidates = lab_candidates(own_directory());
  for (const std::string& file : candidates) {
    if (access(file.c_str(), F_OK) != 0) continue;
    execv(file.c_str(), argv);
    complain_once(fmt::format("cannot start the laboratory, '{}': {}", file, std::strerror(errno)));
    return cannot_start;
  }
  complain_once(
      fmt::format("figures, the copy phase and maps are the laboratory's, which is not installed: there is "
                  "neither '{}' nor '{}'",
                  candidates[0], candidates[1]));
  return cannot_start;
}

}  // namespace quadrille::tools
