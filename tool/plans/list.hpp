// `quadrille list`: the registry, or the settings.
#pragma once

namespace quadrille::tools {

// Prints all algorithms, as text or as JSON: an array of objects with name, collectives, engine,
// needs, parameters, line and source. Returns 0.
int list_command(bool json);

// Prints all settings (team/config.cpp), as text or as JSON: an array of objects with name, values, default, help and
// ranks_must_agree. Returns 0.
int list_settings(bool json);

}  // namespace quadrille::tools
