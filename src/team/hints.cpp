#include "team/hints.hpp"

#include <fmt/core.h>

#include "mpi/mpi.hpp"
#include "team/config.hpp"

namespace quadrille::team {
namespace {

void read_hint(Hints& hints, const std::string& key, const std::string& value) {
  bool* const meant = key == "quadrille_check"       ? &hints.check
                      : key == "quadrille_iso_sizes" ? &hints.iso_sizes
                                                     : nullptr;
  const std::optional<bool> on = switch_of(value);
  if (meant == nullptr) {
    hints.problems.push_back(fmt::format("unknown info key {}; expected quadrille_check or quadrille_iso_sizes", key));
  } else if (!on) {
    hints.problems.push_back(fmt::format("info key {}={}: expected true or false; ignored", key, value));
  } else {
    *meant = *on;
  }
}

}  // namespace

Hints read_hints(MpiInfo info) {
  Hints hints;
  int keys = 0;
  if (info == mpi().info_null || mpi().Info_get_nkeys(info, &keys) != mpi_success) return hints;
  for (int i = 0; i < keys; ++i) {
    char key[most_mpi_text + 1] = {}, value[64] = {};
    int found = 0;
    if (mpi().Info_get_nthkey(info, i, key) != mpi_success) continue;
    if (!std::string(key).starts_with("quadrille_")) {
      hints.others = true;
      continue;
    }
    mpi().Info_get(info, key, sizeof value - 1, value, &found);
    if (found != 0) read_hint(hints, key, value);
  }
  return hints;
}

void say_problems(const Hints& hints, const std::string& where) {
  for (const std::string& problem : hints.problems) say(where + ": " + problem);
}

}  // namespace quadrille::team
